/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the programs are that can be measured. */
#ifndef BENCH_SERVER_LOCATE_H
#define BENCH_SERVER_LOCATE_H

#include <stddef.h>

/**
 * locate_ours() - a program of this project
 * @name:	Its name
 * @ret_path:	Set on success: beside us, where a build or an installation has it, or in PATH
 * @size:	Bytes of @ret_path
 *
 * Return: 0 or -ENOENT
 */
int locate_ours(const char *name, char *ret_path, size_t size);

/**
 * locate_program() - a program of the system
 * @name:	A path with a '/', or a name that is looked up in PATH, then in the folders for
 *		programs of the administrator
 * @ret_path:	Set on success
 * @size:	Bytes of @ret_path
 *
 * Return: 0, -ENOENT or -EACCES
 */
int locate_program(const char *name, char *ret_path, size_t size);

/**
 * locate_php_fpm() - php-fpm, which Debian calls php-fpm8.2
 * @ret_path:	Set on success; of several the newest one
 * @size:	Bytes of @ret_path
 *
 * Return: 0 or -ENOENT
 */
int locate_php_fpm(char *ret_path, size_t size);

#endif
