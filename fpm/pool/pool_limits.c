/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of a pool's workers that the manager enforces: time of a request, memory, age. */

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/log.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/process/proc_stat.h"
#include "fpm/pool/slot_worker.h"
#include "fpm/pool/template.h"

#include <time.h>

/*
 * Theory of operation
 *
 * One timer a pool, set for the earliest moment at which a limit may be reached:
 *	request_terminate_timeout  when the oldest request that runs now will be too old
 *	pm.max_worker_lifetime	   when the next worker will be too old
 *	pm.max_worker_memory	   MEASURE_MS after the last look, while anything is worked on
 * Each time everything is looked at anew, so nothing has to be remembered but when memory is due.
 *
 * While every worker idles, the first and the last of these have no such moment. The manager then
 * writes into the scoreboard that it wants to hear of the next request, looks once more, and sleeps;
 * a worker that starts on a request wakes it by the eventfd that it also tells its request limit
 * by. So an idle pool wakes nobody, and a busy one wakes the manager not once a request, but once
 * a time limit.
 *
 * A request that takes too long: its slot is given its next worker at once, and the old one is ended.
 * It is asked to leave first, by which its thread (rescue.c) hands all its clients but the one that
 * is being served to the successor, so nobody else notices, even if it has to be killed.
 */
#define MEASURE_MS 2000

/* Coarse clocks differ by some milliseconds. */
#define TIMER_MIN_MS 5

#define NS_PER_MS 1000000U

static uint64_t coarse_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Ends a worker's request if it takes too long; returns in how many milliseconds it will. */
static uint64_t look_at_request(struct slot *slot, struct slot_worker *worker)
{
	uint64_t limit_ms = slot->pool->conf->request_terminate_timeout_ms;
	uint64_t since_ns = worker ? slot_worker_busy_since(worker) : 0;
	uint64_t now_ns = coarse_ns();
	uint64_t age_ms;

	if (since_ns == 0)
		return UINT64_MAX;
	age_ms = now_ns > since_ns ? (now_ns - since_ns) / NS_PER_MS : 0;
	if (age_ms < limit_ms)
		return limit_ms - age_ms;
	slot_worker_terminate(worker);
	if (worker == slot->current)
		slot_overtime(slot);
	return UINT64_MAX;
}

static uint64_t look_at_requests(struct pool *pool)
{
	uint64_t left_ms = UINT64_MAX;

	if (pool->conf->request_terminate_timeout_ms == 0)
		return left_ms;
	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		struct slot *slot = &pool->slots[i];

		for (size_t j = 0; j < SLOT_RETIRING_MAX; j++)
			left_ms = earlier(left_ms, look_at_request(slot, slot->retiring[j]));
		left_ms = earlier(left_ms, look_at_request(slot, slot->current));
	}
	return left_ms;
}

/* Replaces workers that are too old or too big; those that can't be replaced yet are due again. */
static uint64_t look_at_wear(struct pool *pool, uint64_t now_ms, bool measure)
{
	uint64_t left_ms = UINT64_MAX;

	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		struct slot *slot = &pool->slots[i];

		if (slot->state != SLOT_UP)
			continue;
		if (slot_worker_is_worn(slot->current, measure, now_ms)) {
			slot_recycle(slot);
			left_ms = earlier(left_ms, MEASURE_MS);
		} else if (slot_worker_expires_ms(slot->current) != UINT64_MAX) {
			left_ms = earlier(left_ms, slot_worker_expires_ms(slot->current) - now_ms);
		}
	}
	return left_ms;
}

static bool has_worked(const struct pool *pool)
{
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		if (pool->slots[i].current && slot_worker_has_worked(pool->slots[i].current))
			return true;
	return false;
}

/* When memory is to be looked at next; true in @ret_now if that is now. */
static uint64_t plan_measuring(struct pool *pool, uint64_t now_ms, bool *ret_now)
{
	*ret_now = pool->measure_ms != 0 && now_ms >= pool->measure_ms;
	if (!pool->measures || !has_worked(pool)) {
		pool->measure_ms = 0;
		return UINT64_MAX;
	}
	if (pool->measure_ms == 0 || *ret_now)
		pool->measure_ms = now_ms + MEASURE_MS;
	return pool->measure_ms - now_ms;
}

bool pool_limits_announced(const struct pool *pool)
{
	return pool->conf->request_terminate_timeout_ms > 0 || pool->measures;
}

static void set_timer(struct pool *pool, uint64_t left_ms)
{
	ev_timer_stop(pool->loop, &pool->limits_timer);
	if (left_ms == UINT64_MAX)
		return;
	if (left_ms < TIMER_MIN_MS)
		left_ms = TIMER_MIN_MS;
	pool->limits_due_ms = clock_ms() + left_ms;
	ev_timer_set(&pool->limits_timer, (double)left_ms / 1000., 0.);
	/* The loop's own idea of the time is as old as its last wake-up. */
	ev_now_update(pool->loop);
	ev_timer_start(pool->loop, &pool->limits_timer);
}

/* Returns in how many milliseconds one of the limits on work may be reached. */
static uint64_t look_at_work(struct pool *pool, uint64_t now_ms, bool *ret_measure)
{
	return earlier(look_at_requests(pool), plan_measuring(pool, now_ms, ret_measure));
}

void pool_limits_look(struct pool *pool)
{
	uint64_t now_ms, left_ms;
	bool measure;

	if (!pool_limits_announced(pool) && pool->conf->max_worker_lifetime_ms == 0)
		return;
	now_ms = clock_ms();
	left_ms = look_at_work(pool, now_ms, &measure);
	if (left_ms == UINT64_MAX) {
		bool again;

		scoreboard_announce(&pool->board, true);
		/* Whoever started meanwhile may not have seen it. */
		left_ms = look_at_work(pool, now_ms, &again);
		measure |= again;
	}
	if (left_ms != UINT64_MAX)
		scoreboard_announce(&pool->board, false);
	set_timer(pool, earlier(left_ms, look_at_wear(pool, now_ms, measure)));
}

static void timer_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop, (void)revents;
	pool_limits_look(w->data);
}

void pool_limits_init(struct pool *pool)
{
	ev_timer_init(&pool->limits_timer, timer_cb, 0., 0.);
	pool->limits_timer.data = pool;
	pool->measures = pool->conf->max_worker_memory > 0;
}

void pool_limits_stop(struct pool *pool)
{
	ev_timer_stop(pool->loop, &pool->limits_timer);
}

void pool_limits_template(struct pool *pool)
{
	uint64_t limit = pool->conf->max_worker_memory;
	uint64_t bytes;

	if (limit == 0 || proc_stat_anonymous(template_pid(pool->template), &bytes) < 0)
		return;
	pool->measures = bytes < limit;
	if (!pool->measures)
		log_warning("pool %s: pm.max_worker_memory (%.1f MiB) is less than its workers are "
			    "born with (%.1f MiB), so it is not applied",
			    pool->conf->name, (double)limit / 1048576., (double)bytes / 1048576.);
}

void pool_limits_worker(struct pool *pool, const struct slot_worker *worker)
{
	uint64_t expires_ms = slot_worker_expires_ms(worker);
	uint64_t now_ms;

	if (expires_ms == UINT64_MAX ||
	    (ev_is_active(&pool->limits_timer) && pool->limits_due_ms <= expires_ms))
		return;
	now_ms = clock_ms();
	set_timer(pool, expires_ms > now_ms ? expires_ms - now_ms : 0);
}
