/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of spawn-fcgi 1.6.4. */
#ifndef FPM_SPAWN_FCGI_H
#define FPM_SPAWN_FCGI_H

#include <stdbool.h>

/**
 * spawn_fcgi_is_called() - is it spawn-fcgi that was called
 * @argc:	Of main()
 * @argv:	Of main()
 *
 * Return: how many words of @argv stand in front of spawn-fcgi's own, whose first is its name; -1
 * if it is something else that was called
 */
int spawn_fcgi_is_called(int argc, char *const argv[]);

/**
 * spawn_fcgi_run() - do what spawn-fcgi does
 * @argc:	Words of @argv
 * @argv:	Its name and arguments, may be put in another order
 *
 * Messages go to standard output and standard error, as it has them. With -n and with --supervise
 * the process becomes another program, and this returns only if that fails.
 *
 * Return: exit status
 */
int spawn_fcgi_run(int argc, char *argv[]);

#endif
