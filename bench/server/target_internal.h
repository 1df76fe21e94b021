/* SPDX-License-Identifier: BSD-2-Clause */
/* Between target.c and the files of its kinds. */
#ifndef BENCH_SERVER_TARGET_INTERNAL_H
#define BENCH_SERVER_TARGET_INTERNAL_H

#include "launch.h"

#include <stdint.h>

/*
 * target_KIND_prepare() - put the command of a kind together
 *
 * Sets the launch's program, listen, name, note, words and variables, and writes what the program
 * needs into the folder.
 *
 * Return: 0, -ENOENT (program not installed), or another negative errno; @error is set then
 */
int target_null_prepare(struct launch *launch, char *error, size_t size);
int target_berth_prepare(struct launch *launch, char *error, size_t size);
int target_fpm_prepare(struct launch *launch, char *error, size_t size);
int target_spawn_fcgi_prepare(struct launch *launch, char *error, size_t size);

/**
 * target_find_php() - find php-cgi
 * @launch:	Launch
 * @ret_path:	Set on success
 * @path_size:	Bytes of @ret_path
 * @error:	Set on failure
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int target_find_php(const struct launch *launch, char *ret_path, size_t path_size, char *error,
		    size_t size);

/**
 * target_php_write() - write the scripts of a PHP target
 * @launch:	Launch
 * @ret_script:	Set to the path of the script that is measured
 * @size:	Bytes of @ret_script
 *
 * Return: 0 or negative errno
 */
int target_php_write(const struct launch *launch, char *ret_script, size_t size);

/**
 * target_php_describe() - ask PHP for its version and opcode cache
 * @target:	Running target; @version is set
 * @note:	Appended to it
 * @deadline_ms: Time of clock_ms()
 */
void target_php_describe(struct target *target, const char *note, uint64_t deadline_ms);

/**
 * target_wait() - wait until each endpoint answers
 * @target:	Target, started or attached
 * @launch:	How it was started, NULL = not by us
 * @error:	Set on failure, without what the program printed
 * @size:	Bytes of @error
 *
 * Return: 0, -ETIMEDOUT, -ECHILD (the program has ended) or another negative errno
 */
int target_wait(const struct target *target, const struct launch *launch, char *error, size_t size);

#endif
