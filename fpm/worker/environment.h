/* SPDX-License-Identifier: BSD-2-Clause */
/* The template's environment: tells that it is one, and must not be seen by scripts. */
#ifndef FPM_WORKER_ENVIRONMENT_H
#define FPM_WORKER_ENVIRONMENT_H

#include <stdbool.h>

/**
 * environment_is_template() - was this program started as a template by a manager of our ABI
 * @ret_dumpable:	Set if so: may its own user trace it
 *
 * Return: true if so
 */
bool environment_is_template(bool *ret_dumpable);

/**
 * environment_forget() - remove what the manager put there for the start
 *
 * Also overwrites the strings, which /proc/self/environ would go on showing, and gives
 * LD_PRELOAD and PHP_INI_SCAN_DIR the values that the pool gave them, if any. Closes the
 * library's inherited descriptor and makes the control socket close-on-exec.
 */
void environment_forget(void);

#endif
