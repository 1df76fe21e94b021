/* SPDX-License-Identifier: BSD-2-Clause */
/* While a slot has no worker: the manager passes its clients on to the pool's other workers. */
#ifndef FPM_SLOT_STANDIN_H
#define FPM_SLOT_STANDIN_H

#include <stdbool.h>

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

#endif
