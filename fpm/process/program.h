/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds a pool's program, and tells why one can't be a template. */
#ifndef FPM_PROGRAM_H
#define FPM_PROGRAM_H

#include <stddef.h>

/**
 * program_find() - the path of a program
 * @name:	A path with a '/', or a name that is looked up in our PATH
 *
 * Return: path, allocated, or NULL with errno (ENOENT, EACCES, ENOMEM)
 */
char *program_find(const char *name);

/**
 * program_template_problem() - what keeps a program from being a template
 * @path:	Its path
 *
 * Return: e.g. "it is set-uid, so no library can be preloaded", NULL if nothing is known
 */
const char *program_template_problem(const char *path);

/**
 * program_self() - where a later version of this program will be
 * @argv0:	How it was called
 *
 * The path that it was called by, links not followed, if that leads to the program that runs:
 * such a link may point to the next version by then. Otherwise what the kernel says.
 *
 * Return: absolute path, to be freed, or NULL
 */
char *program_self(const char *argv0);

#endif
