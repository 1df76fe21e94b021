/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers that wait for a lock whose owner is dead, and what is done about it. */

#include "fpm/pool/pool_stuck.h"

#include "fpm/conf/conf.h"
#include "fpm/log.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/process/process.h"
#include "fpm/process/shared_lock.h"
#include "fpm/pool/slot_worker.h"
#include "fpm/pool/template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/*
 * Theory of operation
 *
 * All workers of a template share memory (APCu's, the opcode cache's), and locks in it. One that is
 * killed with such a lock in hand never gives it back: whoever needs it next waits for ever, and so
 * does its successor, which has the same memory.
 *
 * So when a worker was killed by a signal in the middle of a request, its siblings are looked at,
 * soon at first and then once a minute, until there is a new template. Who sleeps on a lock in
 * shared memory, and did so in the same request when it was last looked at, is stuck: those locks
 * are held for microseconds. Then the template is ended, whose successor has new memory, and the
 * pool replaces its workers one after the other as it does when a template dies by itself; those
 * that are stuck can't leave when they are asked to, and are killed.
 */
#define LOOK_FIRST_S 1.
#define LOOK_LAST_S  60.

/**
 * struct stuck_worker - who waited for a lock when it was last looked at
 * @pid:	Its pid, 0 = nobody did
 * @served:	How many requests it had answered
 * @since_ns:	When its request began
 */
struct stuck_worker {
	pid_t pid;
	uint64_t served;
	uint64_t since_ns;
};

static bool waits_for_lock(struct pool *pool, const struct slot_worker *worker)
{
	int result = shared_lock_waits(slot_worker_pid(worker));

	if ((result == -EACCES || result == -ENOTSUP) && !pool->stuck.denied) {
		pool->stuck.denied = true;
		log_warning(
			"pool %s: a worker was killed in a request; whether others wait for a lock "
			"that it held can't be told: /proc/%d/syscall: %s",
			pool->conf->name, slot_worker_pid(worker), strerror(-result));
	}
	return result == 1;
}

/* Looks at a slot's worker; true if it waits as it did when it was last looked at. */
static bool look(struct pool *pool, unsigned int index)
{
	const struct slot_worker *worker = pool->slots[index].current;
	struct stuck_worker *seen = &pool->stuck.seen[index];
	struct stuck_worker now = {0};
	struct abi_score score;
	bool same;

	if (worker && slot_worker_score(worker, &score) && score.state == ABI_STATE_BUSY &&
	    waits_for_lock(pool, worker))
		now = (struct stuck_worker){.pid = slot_worker_pid(worker),
					    .served = score.served,
					    .since_ns = score.since_ns};
	same = now.pid != 0 && now.pid == seen->pid && now.served == seen->served &&
	       now.since_ns == seen->since_ns;
	*seen = now;
	return same;
}

static void forget(struct pool *pool)
{
	ev_timer_stop(pool->loop, &pool->stuck.timer);
	free(pool->stuck.seen);
	pool->stuck.seen = NULL;
}

static void look_again(struct pool *pool)
{
	ev_timer *timer = &pool->stuck.timer;

	timer->repeat = timer->repeat * 2. < LOOK_LAST_S ? timer->repeat * 2. : LOOK_LAST_S;
	ev_timer_again(pool->loop, timer);
}

static void look_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pool *pool = w->data;
	unsigned int stuck = 0;

	(void)loop, (void)revents;
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		stuck += look(pool, i);
	if (stuck == 0 || !template_is_ready(pool->template)) {
		look_again(pool);
		return;
	}
	ev_timer_stop(pool->loop, w);
	log_alert(
		"pool %s: %u of its workers wait for a lock in shared memory that a killed worker "
		"held; all get new memory",
		pool->conf->name, stuck);
	template_kill(pool->template);
}

void pool_stuck_init(struct pool *pool)
{
	ev_init(&pool->stuck.timer, look_cb);
	pool->stuck.timer.data = pool;
}

void pool_stuck_note(struct pool *pool, const struct slot_worker *worker,
		     const struct process_end *end)
{
	if (pool->state != POOL_READY || !end->known || !WIFSIGNALED(end->status) ||
	    !slot_worker_is_busy(worker) || slot_worker_template(worker) != pool->template_serial)
		return;
	if (!pool->stuck.seen)
		pool->stuck.seen = calloc(pool->conf->max_children, sizeof(*pool->stuck.seen));
	if (!pool->stuck.seen)
		return;
	pool->stuck.timer.repeat = LOOK_FIRST_S;
	ev_timer_again(pool->loop, &pool->stuck.timer);
}

void pool_stuck_renewed(struct pool *pool)
{
	if (!pool->stuck.seen)
		return;
	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		struct slot_worker *worker = pool->slots[i].current;

		if (worker && slot_worker_template(worker) != pool->template_serial &&
		    waits_for_lock(pool, worker))
			slot_worker_kill(worker);
	}
	forget(pool);
}

void pool_stuck_done(struct pool *pool)
{
	forget(pool);
}
