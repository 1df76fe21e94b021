/* SPDX-License-Identifier: BSD-2-Clause */
/* How many workers a pool has: pm = dynamic and ondemand, and what berth scale says. */

#include "fpm/pool/pool_sizing.h"

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/pool/pool.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/pool/pool_waiting.h"
#include "fpm/pool/slot_standin.h"
#include "fpm/pool/slot_worker.h"
#include "fpm/manager/store.h"

#include <errno.h>
#include <ev.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Theory of operation
 *
 * A slot that nobody needs is EMPTY, and pool_waiting.c watches its sockets. A worker leaves only
 * while it idles and holds no kept connection; should one come at this very moment, the worker
 * serves it first, or leaves it in the slot's pair of sockets, which is watched as well.
 *
 * The scoreboard tells who idles and since when, but not that something has changed there. So that
 * nobody has to look again and again, a worker can be asked to ring: it wakes the manager once,
 * when it goes busy or holds another number of connections.
 *
 *	ondemand  One timer runs to the moment at which the first worker will have idled for long
 *		  enough. Those that hold connections by then ring when that changes.
 *	dynamic	  While there is something to do, and while idle workers are too few or too many, the
 *		  manager looks every LOOK seconds. If nothing has happened since the last look all
 *		  workers are asked to ring, and nothing runs until one does.
 *
 * There are at most pool->most workers, which is what berth scale says; those that are too many are
 * asked to leave at once, also while they are busy or hold connections: what they hold they put
 * into the slot's pair, from where it is passed on. A static pool has workers in its first slots
 * then, and the others are like empty ones of the other kinds, but get none.
 */
#define LOOK	     0.1
#define LATER	     1.0  /* looks for what others have to set free */
#define SHRINK_MS    1000 /* from one worker that leaves a dynamic pool to the next */
#define COARSE_MS    10	  /* the clock of the scoreboard may be that much behind */
#define RATE_SPAN_MS 1000

/**
 * struct pool_sizing - see above
 * @pool:	Pool
 * @waiting:	Watches the sockets of empty slots
 * @begun:	It is at work
 * @timer:	Runs to the next look
 * @served:	Requests that all workers had served at the last one
 * @shrunk_ms:	When the last worker was asked to leave
 * @span_ms:	When the present span of pm.max_spawn_rate began
 * @started:	Workers that were started in it
 * @told:	It was said that pm.max_children is too low
 */
struct pool_sizing {
	struct pool *pool;
	struct pool_waiting *waiting;
	bool begun;
	ev_timer timer;
	uint64_t served;
	uint64_t shrunk_ms;
	uint64_t span_ms;
	unsigned int started;
	bool told;
};

/* What the workers do; @spare has idled for longest of those that could leave, NULL if none. */
struct tally {
	unsigned int idle;
	unsigned int busy;
	unsigned int starting;
	uint64_t served;
	uint64_t spare_since_ms;
	struct slot *spare;
};

unsigned int pool_sizing_first(const struct conf_pool *conf)
{
	if (conf->pm == CONF_PM_STATIC)
		return conf->max_children;
	return conf->pm == CONF_PM_DYNAMIC ? conf->start_servers : 0;
}

static void look_in(struct pool_sizing *s, double seconds)
{
	ev_timer_stop(s->pool->loop, &s->timer);
	ev_timer_set(&s->timer, seconds, 0.);
	ev_timer_start(s->pool->loop, &s->timer);
}

bool pool_sizing_is_fixed(const struct slot *slot)
{
	return slot->pool->conf->pm == CONF_PM_STATIC && slot->number <= slot->pool->most;
}

static unsigned int count_slots(const struct pool *pool)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		count += pool->slots[i].state != SLOT_EMPTY;
	return count;
}

/* May one more slot have a worker. */
static bool has_room(const struct slot *slot)
{
	const struct pool *pool = slot->pool;

	if (pool->conf->pm == CONF_PM_STATIC)
		return pool_sizing_is_fixed(slot);
	return pool->most == pool->conf->max_children || count_slots(pool) < pool->most;
}

static bool may_start(struct pool_sizing *s)
{
	const struct pool *pool = s->pool;
	uint64_t now = clock_ms();

	if (pool->state != POOL_READY || !pool_can_spawn(pool))
		return false;
	if (now - s->span_ms >= RATE_SPAN_MS) {
		s->span_ms = now;
		s->started = 0;
	}
	return s->started < pool->conf->max_spawn_rate && pool->events->may_start(pool->data);
}

bool pool_sizing_start(struct slot *slot)
{
	struct pool_sizing *s = slot->pool->sizing;

	if (!has_room(slot) || !may_start(s))
		return false;
	s->started++;
	slot_start(slot);
	return slot->state != SLOT_EMPTY;
}

static void count_worker(struct tally *t, struct slot *slot)
{
	struct abi_score score;

	if (!slot_worker_score(slot->current, &score))
		return;
	t->served += score.served;
	if (score.state != ABI_STATE_IDLE) {
		t->busy++;
		return;
	}
	t->idle++;
	if (score.parked > 0 || slot->state != SLOT_UP)
		return;
	if (t->spare && t->spare_since_ms <= score.since_ns / 1000000U)
		return;
	t->spare = slot;
	t->spare_since_ms = score.since_ns / 1000000U;
}

static struct tally count(const struct pool *pool)
{
	struct tally t = {0};

	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		struct slot *slot = &pool->slots[i];

		if (slot->state == SLOT_STARTING)
			t.starting++;
		else if (slot->current)
			count_worker(&t, slot);
	}
	return t;
}

/* Dynamic */

static void tell_too_few(struct pool_sizing *s, bool too_few)
{
	if (too_few && !s->told)
		log_warning("pool %s: all %u workers that %s allows are there, and "
			    "fewer than pm.min_spare_servers idle",
			    s->pool->conf->name, s->pool->most,
			    s->pool->most == s->pool->conf->max_children ? "pm.max_children"
									 : "berth scale");
	s->told = too_few;
}

/* Starts so many; returns when to look again for that, 0 = never. */
static double grow(struct pool_sizing *s, unsigned int missing)
{
	const struct pool *pool = s->pool;
	bool room = false;

	/* The template's readiness brings us back. */
	if (!pool_can_spawn(pool))
		return 0.;
	for (unsigned int i = 0; i < pool->conf->max_children && missing > 0; i++) {
		if (pool->slots[i].state != SLOT_EMPTY)
			continue;
		if (!has_room(&pool->slots[i]))
			break;
		room = true;
		if (!pool_sizing_start(&pool->slots[i]))
			return LATER;
		missing--;
	}
	tell_too_few(s, missing > 0 && !room);
	return 0.;
}

/* Asks one to leave, if it is time; returns when to look again for the next one, 0 = never. */
static double shrink(struct pool_sizing *s, const struct tally *t)
{
	uint64_t now = clock_ms();

	if (!t->spare)
		return 0.;
	if (now - s->shrunk_ms < SHRINK_MS)
		return (double)(s->shrunk_ms + SHRINK_MS - now) / 1000.;
	s->shrunk_ms = now;
	return slot_spare(t->spare) ? 0.001 : LATER;
}

static void ask_to_ring(const struct pool *pool)
{
	struct abi_score score;

	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		if (pool->slots[i].current && slot_worker_score(pool->slots[i].current, &score))
			slot_worker_ask_to_ring(pool->slots[i].current);
}

static void look_dynamic(struct pool_sizing *s)
{
	const struct conf_pool *conf = s->pool->conf;
	struct tally t = count(s->pool);
	bool busy = t.busy > 0 || t.starting > 0 || t.served != s->served;
	double again = 0.;

	s->served = t.served;
	if (t.idle + t.starting < conf->min_spare_servers)
		again = grow(s, conf->min_spare_servers - t.idle - t.starting);
	else
		tell_too_few(s, false);
	if (t.idle > conf->max_spare_servers)
		again = shrink(s, &t);
	if (!busy) {
		ask_to_ring(s->pool);
		t = count(s->pool);
		busy = t.busy > 0 || t.starting > 0 || t.served != s->served;
	}
	if (busy && (again == 0. || again > LOOK))
		again = LOOK;
	if (again > 0.)
		look_in(s, again);
}

/* On demand */

/* Returns the milliseconds until the worker is to be looked at again, 0 = when it rings. */
static uint64_t look_at_worker(struct slot *slot, uint64_t now)
{
	const uint64_t limit = slot->pool->conf->process_idle_timeout_ms;
	struct abi_score score;
	uint64_t until;

	if (!slot_worker_score(slot->current, &score))
		return 0;
	if (score.state != ABI_STATE_IDLE || slot->state != SLOT_UP)
		return limit;
	until = score.since_ns / 1000000U + limit + COARSE_MS;
	if (until > now)
		return until - now;
	if (score.parked == 0)
		return slot_spare(slot) ? 0 : limit;
	slot_worker_ask_to_ring(slot->current);
	(void)slot_worker_score(slot->current, &score);
	return score.state == ABI_STATE_IDLE && score.parked > 0 ? 0 : 1;
}

static void look_ondemand(struct pool_sizing *s)
{
	const struct pool *pool = s->pool;
	uint64_t now = clock_ms();
	uint64_t first = 0;

	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		uint64_t left = 0;

		if (pool->slots[i].current)
			left = look_at_worker(&pool->slots[i], now);
		if (left > 0 && (first == 0 || left < first))
			first = left;
	}
	if (first > 0)
		look_in(s, (double)first / 1000.);
}

/* Berth scale */

static void look_static(struct pool_sizing *s)
{
	const struct pool *pool = s->pool;

	/* The template's readiness starts them otherwise. */
	for (unsigned int i = 0; i < pool->most && pool_can_spawn(pool); i++) {
		if (pool->slots[i].state != SLOT_EMPTY)
			continue;
		if (!pool->events->may_start(pool->data)) {
			look_in(s, LATER);
			return;
		}
		slot_start(&pool->slots[i]);
	}
}

static bool is_surplus(const struct slot *slot, unsigned int count)
{
	if (slot->state == SLOT_EMPTY)
		return false;
	return slot->pool->conf->pm == CONF_PM_STATIC ? slot->number > slot->pool->most
						      : count > slot->pool->most;
}

/* Asks those to leave that are too many; false if some can't yet. */
static bool let_go(const struct pool *pool)
{
	unsigned int count = count_slots(pool);
	bool done = true;

	for (unsigned int i = pool->conf->max_children; i-- > 0;) {
		struct slot *slot = &pool->slots[i];

		if (!is_surplus(slot, count))
			continue;
		if (slot_spare(slot))
			count--;
		else
			done = false;
	}
	return done || count <= pool->most;
}

static void look_within(struct pool_sizing *s, double seconds)
{
	if (!ev_is_active(&s->timer) || ev_timer_remaining(s->pool->loop, &s->timer) > seconds)
		look_in(s, seconds);
}

static void timer_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pool_sizing *s = w->data;
	bool fits;

	(void)loop, (void)revents;
	if (s->pool->state != POOL_READY)
		return;
	fits = let_go(s->pool);
	if (s->pool->conf->pm == CONF_PM_DYNAMIC)
		look_dynamic(s);
	else if (s->pool->conf->pm == CONF_PM_ONDEMAND)
		look_ondemand(s);
	else
		look_static(s);
	if (!fits)
		look_within(s, LOOK);
}

void pool_sizing_look(struct pool *pool)
{
	struct pool_sizing *s = pool->sizing;

	if (!s || !s->begun)
		return;
	/* Who has just rung is busy; whether that lasts shows a little later. */
	if (pool->conf->pm == CONF_PM_DYNAMIC) {
		look_within(s, LOOK);
		return;
	}
	look_in(s, 0.);
}

void pool_sizing_slot(struct slot *slot)
{
	struct pool *pool = slot->pool;
	struct pool_sizing *s = pool->sizing;

	if (!s || !s->begun)
		return;
	pool_waiting_set(s->waiting, slot, slot->state == SLOT_EMPTY && pool->state == POOL_READY);
	/* If it runs it ends before a worker that is new now has idled for long enough. */
	if (pool->state == POOL_READY && pool->conf->pm != CONF_PM_STATIC &&
	    !ev_is_active(&s->timer))
		look_in(s, pool->conf->pm == CONF_PM_DYNAMIC
				   ? LOOK
				   : pool->conf->process_idle_timeout_ms / 1000.);
}

void pool_sizing_begin(struct pool *pool)
{
	if (!pool->sizing || pool->sizing->begun)
		return;
	pool->sizing->begun = true;
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		pool_sizing_slot(&pool->slots[i]);
	pool_sizing_look(pool);
}

int pool_sizing_init(struct pool *pool)
{
	struct pool_sizing *s;

	if (pool->conf->pm == CONF_PM_STATIC && pool->most == pool->conf->max_children)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->pool = pool;
	ev_timer_init(&s->timer, timer_cb, 0., 0.);
	s->timer.data = s;
	pool->sizing = s;
	s->waiting = pool_waiting_new(pool);
	if (!s->waiting)
		return -ENOMEM;
	/* They are watched in another way from now on. */
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		if (pool->slots[i].state == SLOT_EMPTY)
			slot_standin_set(&pool->slots[i], false);
	return 0;
}

int pool_sizing_scale(struct pool *pool, unsigned int most)
{
	unsigned int before = pool->most;
	int result;

	pool->most = most;
	if (!pool->sizing) {
		result = pool_sizing_init(pool);
		if (result < 0) {
			pool_sizing_free(pool);
			pool->most = before;
			return result;
		}
		pool_sizing_begin(pool);
	}
	pool_sizing_look(pool);
	store_touch();
	return 0;
}

void pool_sizing_free(struct pool *pool)
{
	struct pool_sizing *s = pool->sizing;

	if (!s)
		return;
	ev_timer_stop(pool->loop, &s->timer);
	pool_waiting_free(s->waiting);
	free(s);
	pool->sizing = NULL;
}
