/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager: event loop, signals, start, reload and stop of all pools. */
#ifndef FPM_MANAGER_H
#define FPM_MANAGER_H

#include <stddef.h>

struct conf;

/* Reads the configuration once more; NULL if it has errors: logged, and the first one in @error. */
typedef struct conf *(*manager_load_fn)(void *data, char *error, size_t size);

/**
 * manager_run() - start every pool, serve until a stop signal, stop
 * @conf:	Configuration, taken over
 * @load:	Called for each reload
 * @data:	Passed to @load
 *
 * SIGTERM, SIGINT and SIGQUIT stop; a second one hurries. SIGHUP reloads, SIGUSR1 opens the log
 * again. Before all pools are ready a failure of any undoes everything; after that nothing but a
 * stop ends the manager.
 *
 * Return: an enum command_exit
 */
int manager_run(struct conf *conf, manager_load_fn load, void *data);

#endif
