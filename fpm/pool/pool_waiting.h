/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits at slots that have no worker, in a pool whose number of workers changes. */
#ifndef FPM_POOL_WAITING_H
#define FPM_POOL_WAITING_H

#include <stdbool.h>

struct pool;
struct pool_waiting;
struct slot;

/**
 * pool_waiting_new() - what watches a pool's listeners; it watches none yet
 * @pool:	Pool with all listeners
 *
 * Return: to be released by pool_waiting_free(), or NULL if memory is short
 */
struct pool_waiting *pool_waiting_new(struct pool *pool);

/**
 * pool_waiting_free() - watch nothing any more
 * @waiting:	From pool_waiting_new(), may be NULL
 */
void pool_waiting_free(struct pool_waiting *waiting);

/**
 * pool_waiting_set() - begin or end to watch a slot
 * @waiting:	Its pool's
 * @slot:	Slot
 * @on:		It has no worker, and gets one only if somebody wants it
 *
 * Whoever connects there, or was left there by a worker that has gone, is passed on to a sibling
 * that idles; if there is none the slot gets a worker; if there can't be one more, it is passed on
 * all the same, and waits for a sibling with all others that do.
 */
void pool_waiting_set(struct pool_waiting *waiting, const struct slot *slot, bool on);

#endif
