/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager: event loop, signals, start and stop of all pools. */
#ifndef FPM_MANAGER_H
#define FPM_MANAGER_H

struct conf;

/**
 * manager_run() - start every pool, serve until a stop signal, stop
 * @conf:	Configuration
 *
 * SIGTERM, SIGINT and SIGQUIT stop; a second one hurries. Before all pools are ready a failure of
 * any undoes everything; after that nothing but a stop ends the manager.
 *
 * Return: an enum command_exit
 */
int manager_run(const struct conf *conf);

#endif
