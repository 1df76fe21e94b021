/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's limit of open files: how many it needs, and raising it. */
#ifndef FPM_LIMITS_H
#define FPM_LIMITS_H

#include <stddef.h>
#include <sys/resource.h>

struct conf;

/**
 * limits_raise() - make room for the listeners, pipes and pidfds of every pool
 * @conf:	Configuration
 * @also:	Another one whose pools run at the same time, NULL if there is none
 * @ret_original: The limit as it was, which is what workers get
 * @error:	On failure: the arithmetic, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0, or -EMFILE if the hard limit is too low
 */
int limits_raise(const struct conf *conf, const struct conf *also, struct rlimit *ret_original,
		 char *error, size_t size);

/**
 * limits_stored() - how many descriptors a configuration leaves to a next manager
 * @conf:	Configuration
 *
 * Return: number, as FileDescriptorStoreMax= has to be at least
 */
unsigned long limits_stored(const struct conf *conf);

#endif
