/* SPDX-License-Identifier: BSD-2-Clause */
/* How many workers a pool has: pm = dynamic and ondemand, and what berth scale says. */
#ifndef FPM_POOL_SIZING_H
#define FPM_POOL_SIZING_H

#include <stdbool.h>

struct conf_pool;
struct pool;
struct pool_sizing;
struct slot;

/**
 * pool_sizing_first() - number of workers that a pool starts with
 * @conf:	Its configuration
 *
 * Return: their number; the first slots get them
 */
unsigned int pool_sizing_first(const struct conf_pool *conf);

/**
 * pool_sizing_init() - make what a pool needs whose slots may be empty
 * @pool:	Pool with all listeners; gets none of it if all of its slots always have a worker
 *
 * Return: 0 or -ENOMEM
 */
int pool_sizing_init(struct pool *pool);

/**
 * pool_sizing_free() - release it
 * @pool:	Pool
 */
void pool_sizing_free(struct pool *pool);

/**
 * pool_sizing_begin() - from now on the number of workers follows what is to be done
 * @pool:	A pool that is ready; nothing happens if it has begun already
 */
void pool_sizing_begin(struct pool *pool);

/**
 * pool_sizing_slot() - a slot has changed its state
 * @slot:	Slot
 */
void pool_sizing_slot(struct slot *slot);

/**
 * pool_sizing_look() - a worker has told that something has changed, or a new template is there
 * @pool:	Pool
 */
void pool_sizing_look(struct pool *pool);

/**
 * pool_sizing_is_fixed() - is a slot to have a worker all the time
 * @slot:	Slot
 *
 * Return: true if it is, so that it is empty only while it waits for a template
 */
bool pool_sizing_is_fixed(const struct slot *slot);

/**
 * pool_sizing_scale() - how many workers there are, or may be, from now on
 * @pool:	A pool that is ready, of a template and without pipes
 * @most:	From 1 to the number of its slots
 *
 * Those that are too many finish their request and leave, from the highest slot on. Whoever is
 * there, or comes there, is passed on to the others.
 *
 * Return: 0, or -ENOMEM with nothing changed
 */
int pool_sizing_scale(struct pool *pool, unsigned int most);

/**
 * pool_sizing_start() - have a worker in an empty slot, if no limit forbids it
 * @slot:	Empty slot
 *
 * Return: false if there can be none at the moment
 */
bool pool_sizing_start(struct slot *slot);

#endif
