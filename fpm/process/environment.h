/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the environment of a pool's processes. */
#ifndef FPM_ENVIRONMENT_H
#define FPM_ENVIRONMENT_H

struct conf_pool;

/**
 * environment_new() - the environment of a template or an executed worker
 * @pool:	Pool
 * @ini_dir:	Folder with generated PHP settings, NULL if there are none
 *
 * Made, not inherited: with clear_env it holds env[...], USER and HOME of the pool's user, and
 * what berth needs; without it, the manager's variables too. PHP_FCGI_CHILDREN, which makes
 * php-cgi fork a family of its own, and what systemd tells the manager alone are left out;
 * PHP_FCGI_MAX_REQUESTS, unset, means 500 to php-cgi, so it is set to 0 (no limit) unless the
 * pool sets it. A template also gets what libberth-worker.so needs.
 *
 * Return: NULL-terminated, for environment_free(), or NULL if memory is short
 */
char **environment_new(const struct conf_pool *pool, const char *ini_dir);

/**
 * environment_free() - release it
 * @environment: From environment_new(), may be NULL
 */
void environment_free(char **environment);

#endif
