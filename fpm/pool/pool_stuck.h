/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers that wait for a lock whose owner is dead, and what is done about it. */
#ifndef FPM_POOL_STUCK_H
#define FPM_POOL_STUCK_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pool;
struct process_end;
struct slot_worker;

/**
 * struct pool_stuck - what a pool remembers of that; all zero = nothing
 * @timer:	Runs while somebody may have died with a lock in hand
 * @seen:	Of each slot: who waited for a lock when it was last looked at, NULL = not yet
 * @denied:	It was said that we may not look
 */
struct pool_stuck {
	ev_timer timer;
	struct stuck_worker *seen;
	bool denied;
};

/**
 * pool_stuck_init() - set it up
 * @pool:	Pool
 */
void pool_stuck_init(struct pool *pool);

/**
 * pool_stuck_note() - a worker has ended; if it was killed in a request, watch its siblings
 * @pool:	Pool
 * @worker:	Worker, about to be freed
 * @end:	How it ended
 */
void pool_stuck_note(struct pool *pool, const struct slot_worker *worker,
		     const struct process_end *end);

/**
 * pool_stuck_renewed() - the pool has a template with new memory: end who waits for the old locks
 * @pool:	Pool; its slots replace their workers
 */
void pool_stuck_renewed(struct pool *pool);

/**
 * pool_stuck_done() - look no more
 * @pool:	Pool, maybe without pool_stuck_init()
 */
void pool_stuck_done(struct pool *pool);

#endif
