/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder with a pool's php_value and php_admin_value settings, for PHP_INI_SCAN_DIR. */
#ifndef FPM_PHPINI_H
#define FPM_PHPINI_H

#include <stddef.h>

struct conf_pool;

/**
 * phpini_write() - make the folder
 * @pool:	Pool
 * @ret_dir:	Its path, allocated; NULL if the pool has no such setting
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Readable by the pool's group only. Needed until php-cgi has started.
 *
 * Return: 0 or negative errno
 */
int phpini_write(const struct conf_pool *pool, char **ret_dir, char *error, size_t size);

/**
 * phpini_remove() - remove the folder and release its path
 * @dir:	From phpini_write(), may be NULL
 */
void phpini_remove(char *dir);

#endif
