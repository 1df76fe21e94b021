/* SPDX-License-Identifier: BSD-2-Clause */
/* Warm-up: scripts that are requested before a new template's workers serve. */
#ifndef FPM_WARMUP_H
#define FPM_WARMUP_H

#include <stdbool.h>

struct pool;
struct warmup;

/**
 * struct warmup_events - what the pool is told
 * @over:	All scripts were requested, or one failed that must not; then @why says which and
 *		how, else it is NULL. The warm-up is to be freed
 */
struct warmup_events {
	void (*over)(struct pool *pool, const char *why);
};

/**
 * warmup_new() - begin to request the scripts of a pool, one after the other
 * @pool:	Pool whose template is ready
 * @strict:	A script that fails ends it; otherwise that is logged, and the next one follows
 * @events:	Callbacks; none is called before this returns
 *
 * Return: warm-up, or NULL if memory is short
 */
struct warmup *warmup_new(struct pool *pool, bool strict, const struct warmup_events *events);

/**
 * warmup_free() - end it, and the process that runs the present script
 * @warmup:	Warm-up, may be NULL
 */
void warmup_free(struct warmup *warmup);

#endif
