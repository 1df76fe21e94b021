/* SPDX-License-Identifier: BSD-2-Clause */
/* While a slot has no worker: the manager passes its clients on to the pool's other workers. */
#ifndef FPM_SLOT_STANDIN_H
#define FPM_SLOT_STANDIN_H

#include <stdbool.h>

struct pool;
struct slot;
struct slot_standin;

/**
 * slot_standin_set() - begin or end to stand in for a slot's worker
 * @slot:	Slot
 * @on:		It has no worker, and will have none for a while
 *
 * Connections are accepted on the slot's own listeners and put where any worker of the pool that
 * idles takes them. If memory is short they wait in the listeners' queues instead.
 */
void slot_standin_set(struct slot *slot, bool on);

/**
 * slot_standin_can_pass_on() - is there a worker and room for its client
 * @pool:	Pool
 *
 * Return: true if a connection that is passed on will be served
 */
bool slot_standin_can_pass_on(const struct pool *pool);

/**
 * slot_standin_pass_on() - accept a connection for the pool's workers
 * @pool:	Pool, one that can pass on
 * @listener:	Listening socket of it
 *
 * Return: 0 also if nobody connects any more, or -EMFILE or -ENFILE
 */
int slot_standin_pass_on(const struct pool *pool, int listener);

#endif
