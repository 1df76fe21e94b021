/* SPDX-License-Identifier: BSD-2-Clause */
/* What pools and slots are doing, as JSON. */
#ifndef FPM_STATUS_H
#define FPM_STATUS_H

#include <jansson.h>

struct generation;
struct pool;

/**
 * status_of_pool() - a pool and its slots
 * @pool:	Pool
 *
 * Return: a new object, or NULL if memory is short
 */
json_t *status_of_pool(const struct pool *pool);

#endif
