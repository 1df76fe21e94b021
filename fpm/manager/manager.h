/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager: event loop, signals, start, reload, upgrade and stop of all pools. */
#ifndef FPM_MANAGER_H
#define FPM_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

struct conf;
struct state;

/* Reads the configuration once more; NULL if it has errors: logged, and the first one in @error. */
typedef struct conf *(*manager_load_fn)(void *data, char *error, size_t size);

/**
 * struct manager_start - what the manager is told by the command line
 * @load:	Called for each reload
 * @data:	Passed to @load
 * @argv:	Of main(): with it the next version is executed
 * @revived:	The state was left by one that died, not by one that executed us
 */
struct manager_start {
	manager_load_fn load;
	void *data;
	char **argv;
	bool revived;
};

/**
 * manager_run() - start every pool, serve until a stop signal, stop
 * @conf:	Configuration, taken over
 * @start:	What it is told
 * @state:	What another manager has left, which goes on: read, checked, and released by the
 *		caller; NULL if everything starts afresh
 *
 * SIGTERM, SIGINT and SIGQUIT stop; a second one hurries. SIGHUP reloads, SIGUSR1 opens the log
 * again, SIGUSR2 has the program that is installed now go on in our place. Before all pools are
 * ready a failure of any undoes everything; after that nothing but a stop ends the manager.
 *
 * Return: an enum command_exit
 */
int manager_run(struct conf *conf, const struct manager_start *start, struct state *state);

#endif
