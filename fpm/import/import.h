/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns the configuration of another process manager into one of berth. */
#ifndef FPM_IMPORT_H
#define FPM_IMPORT_H

/**
 * import_run() - do what "berth import" does
 * @argc:	Words of @argv
 * @argv:	"import" and its arguments
 *
 * Prints a configuration on standard output, or what is wrong on standard error and nothing else.
 *
 * Return: exit status
 */
int import_run(int argc, char *argv[]);

#endif
