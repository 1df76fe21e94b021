/* SPDX-License-Identifier: BSD-2-Clause */
/* One slot of a pool: its own listeners, at most one current worker, and retiring ones. */

#include "fpm/pool/slot.h"

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/log.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/pool/pool_sizing.h"
#include "fpm/process/process.h"
#include "fpm/pool/slot_handoff.h"
#include "fpm/pool/slot_standin.h"
#include "fpm/pool/slot_worker.h"
#include "fpm/manager/state.h"
#include "fpm/manager/store.h"
#include "fpm/pool/template.h"
#include "fpm/timer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * Everything that happens to a slot is an event; the table `actions` at the end says what it
 * does in each state, and a pair that can't be is logged.
 *
 *	EMPTY --start--> STARTING --up--> UP --ended--> STARTING, or BACKOFF --timer--> STARTING
 *	UP --start, template is newer--> REPLACING --up--> UP, the old worker is retiring
 *	UP --overtime--> STARTING or BACKOFF, the old worker is retiring
 *	UP --spare--> EMPTY, the worker is retiring
 *	BACKOFF --spare--> EMPTY
 *	any --close--> CLOSED --last one ended--> (the pool is told)
 *
 * A worker that is replaced at a limit finishes its request, however long that takes; while too many
 * do, no other is replaced. One of a former template has process_control_timeout.
 *
 * The listeners stay open all the time, so clients wait in their queue while there is no worker.
 * A slot is never given up.
 */
enum slot_event {
	SLOT_EVENT_START = 0,
	SLOT_EVENT_UP,	   /* @starting is there */
	SLOT_EVENT_FAILED, /* @starting could not be made, and is gone */
	SLOT_EVENT_ENDED,  /* @current has ended, and is gone */
	SLOT_EVENT_TIMER,
	SLOT_EVENT_LIMIT,    /* @current has reached its request limit */
	SLOT_EVENT_OVERTIME, /* @current is being ended in its request */
	SLOT_EVENT_SPARE,    /* no worker is needed */
	SLOT_EVENT_CLOSE,
	SLOT_EVENT_MAX,
};

typedef void (*slot_action_fn)(struct slot *slot);

static void dispatch(struct slot *slot, enum slot_event event);

static const char *const state_names[] = {
	[SLOT_EMPTY] = "empty",		[SLOT_STARTING] = "starting", [SLOT_UP] = "up",
	[SLOT_REPLACING] = "replacing", [SLOT_BACKOFF] = "backoff",   [SLOT_CLOSED] = "closed",
};
_Static_assert(sizeof(state_names) / sizeof(state_names[0]) == SLOT_STATE_MAX, "a name a state");

static void set_timer(struct slot *slot, uint64_t delay_ms)
{
	ev_timer_stop(slot->pool->loop, &slot->timer);
	ev_timer_set(&slot->timer, (double)delay_ms / 1000., 0.);
	ev_timer_start(slot->pool->loop, &slot->timer);
}

/* Logs within the pool's limit, so that a crashing pool does not fill a disk. */
#define slot_log(slot, level, ...)                                                              \
	do {                                                                                    \
		unsigned int left_out;                                                          \
		if (log_limit_pass(&(slot)->pool->log_limit, clock_ms(), &left_out)) {          \
			if (left_out > 0)                                                       \
				log_notice("pool %s: %u lines about its workers were left out", \
					   (slot)->pool->conf->name, left_out);                 \
			log_write(level, __VA_ARGS__);                                          \
		}                                                                               \
	} while (0)

static void log_end(const struct slot *slot, const struct slot_worker *worker,
		    const struct process_end *end, uint64_t delay_ms)
{
	bool planned = slot_worker_was_asked(worker) || (end->known && end->status == 0);
	char how[80], next[48] = "";

	if (delay_ms > 0)
		(void)snprintf(next, sizeof(next), "; next start in %.1f s",
			       (double)delay_ms / 1000.);
	slot_log(slot, planned ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING,
		 "pool %s slot %u pid %d: ended with %s after %.1f s and %llu requests%s",
		 slot->pool->conf->name, slot->number, end->pid,
		 process_end_describe(end, how, sizeof(how)),
		 (double)slot_worker_age_ms(worker) / 1000.,
		 (unsigned long long)slot_worker_served(worker), next);
}

/* Clients of a slot that will have no worker for a while go to the others. */
static void set_state(struct slot *slot, enum slot_state state)
{
	const struct pool *pool = slot->pool;
	bool idle = state == SLOT_BACKOFF || state == SLOT_EMPTY;

	slot->state = state;
	store_touch();
	pool_sizing_slot(slot);
	if (state == SLOT_EMPTY && pool->sizing)
		idle = false;
	slot_standin_set(slot, idle && pool->state == POOL_READY && pool->conf->rescue &&
				       pool->conf->spawn == CONF_SPAWN_TEMPLATE);
}

bool slot_is_idle(const struct slot *slot)
{
	return slot->current && !slot_worker_is_busy(slot->current);
}

bool slot_is_closed(const struct slot *slot)
{
	if (slot->state != SLOT_CLOSED || slot->current || slot->starting)
		return false;
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		if (slot->retiring[i])
			return false;
	return true;
}

static void tell_if_closed(struct slot *slot)
{
	if (slot_is_closed(slot))
		pool_slot_closed(slot->pool);
}

/* Events from workers */

static void worker_up_cb(struct slot_worker *worker)
{
	dispatch(slot_worker_data(worker), SLOT_EVENT_UP);
}

static void worker_failed_cb(struct slot_worker *worker, int error)
{
	struct slot *slot = slot_worker_data(worker);

	if (error != -EPIPE)
		slot_log(slot, LOG_LEVEL_ERROR, "pool %s slot %u: can't start a worker: %s",
			 slot->pool->conf->name, slot->number, strerror(-error));
	slot_worker_free(worker);
	slot->starting = NULL;
	dispatch(slot, SLOT_EVENT_FAILED);
}

static void retiring_ended(struct slot *slot, struct slot_worker *worker,
			   const struct process_end *end)
{
	log_end(slot, worker, end, 0);
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		if (slot->retiring[i] == worker)
			slot->retiring[i] = NULL;
	slot_worker_free(worker);
	tell_if_closed(slot);
	/* What had to wait for a place. */
	if (slot->state == SLOT_UP) {
		slot_start(slot);
		slot_look(slot);
	}
}

static void worker_ended_cb(struct slot_worker *worker, const struct process_end *end)
{
	struct slot *slot = slot_worker_data(worker);
	bool healthy;

	pool_stuck_note(slot->pool, worker, end);
	if (worker != slot->current) {
		retiring_ended(slot, worker, end);
		return;
	}
	healthy = respawn_healthy(slot_worker_served(worker), slot_worker_age_ms(worker));
	slot->delay_ms = respawn_delay_ms(&slot->respawn, healthy, clock_ms(), drand48());
	log_end(slot, worker, end, slot->state == SLOT_CLOSED ? 0 : slot->delay_ms);
	slot->current = NULL;
	pool_worker_ended(slot->pool, worker);
	slot_worker_free(worker);
	dispatch(slot, SLOT_EVENT_ENDED);
}

static const struct slot_worker_events worker_events = {
	.up = worker_up_cb,
	.failed = worker_failed_cb,
	.ended = worker_ended_cb,
};

/* Actions */

static void back_off(struct slot *slot)
{
	set_state(slot, SLOT_BACKOFF);
	set_timer(slot, slot->delay_ms);
}

static void no_worker(struct slot *slot)
{
	slot->delay_ms = respawn_delay_ms(&slot->respawn, false, clock_ms(), drand48());
	back_off(slot);
}

/* Sets @starting, or @current if the worker exists at once. */
static int make_worker(struct slot *slot)
{
	int listeners[SLOT_LISTENERS_MAX];
	struct slot_worker_start start = {.pool = slot->pool,
					  .slot_number = slot->number,
					  .handoff = slot->handoff,
					  .listeners = listeners};
	struct slot_worker *worker;
	int result;

	start.listener_count = pool_listeners(slot->pool, slot, listeners);
	slot->respawn.started_ms = clock_ms();
	result = slot_worker_new(&start, &worker_events, slot, &worker);
	if (result < 0) {
		slot_log(slot, LOG_LEVEL_ERROR, "pool %s slot %u: can't start a worker: %s",
			 slot->pool->conf->name, slot->number, strerror(-result));
		return result;
	}
	slot->starting = worker;
	return 0;
}

static void start(struct slot *slot)
{
	if (!pool_can_spawn(slot->pool)) {
		set_state(slot, SLOT_EMPTY);
		return;
	}
	set_state(slot, SLOT_STARTING);
	if (make_worker(slot) < 0)
		no_worker(slot);
	else if (slot_worker_pid(slot->starting) != 0)
		dispatch(slot, SLOT_EVENT_UP);
}

static void start_or_wait(struct slot *slot)
{
	if (slot->delay_ms > 0)
		back_off(slot);
	else
		start(slot);
}

static bool has_retiring_place(const struct slot *slot)
{
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		if (!slot->retiring[i])
			return true;
	return false;
}

static void replace(struct slot *slot)
{
	if (!pool_can_spawn(slot->pool) || !has_retiring_place(slot))
		return;
	/* Failure leaves the old worker in place; the next call tries again. */
	if (make_worker(slot) == 0)
		set_state(slot, SLOT_REPLACING);
}

/* Those of another template can wait for locks in its memory whose owner is dead. */
static bool is_older(const struct slot *slot, const struct slot_worker *worker)
{
	return slot_worker_template(worker) != slot->pool->template_serial;
}

static void replace_if_older(struct slot *slot)
{
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		if (slot->retiring[i] && is_older(slot, slot->retiring[i]))
			slot_worker_ask(slot->retiring[i]);
	if (is_older(slot, slot->current))
		replace(slot);
}

static void up(struct slot *slot)
{
	slot->current = slot->starting;
	slot->starting = NULL;
	set_state(slot, SLOT_UP);
	slot->has_been_up = true;
	pool_limits_worker(slot->pool, slot->current);
	pool_slot_up(slot->pool);
}

static void retire(struct slot *slot, struct slot_worker *worker)
{
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++) {
		if (slot->retiring[i])
			continue;
		slot->retiring[i] = worker;
		if (is_older(slot, worker))
			slot_worker_ask(worker);
		else
			slot_worker_recycle(worker);
		return;
	}
	/* So many that never left: this one is not waited for. */
	slot_worker_kill(worker);
	slot_worker_free(worker);
}

static void spare(struct slot *slot)
{
	struct slot_worker *worker = slot->current;

	if (!has_retiring_place(slot))
		return;
	slot->current = NULL;
	retire(slot, worker);
	set_state(slot, SLOT_EMPTY);
}

static void give_up(struct slot *slot)
{
	ev_timer_stop(slot->pool->loop, &slot->timer);
	set_state(slot, SLOT_EMPTY);
}

static void up_replaced(struct slot *slot)
{
	retire(slot, slot->current);
	up(slot);
}

/* It has got its signal already, and is only waited for. */
static void set_aside(struct slot *slot)
{
	struct slot_worker *worker = slot->current;

	slot->current = NULL;
	retire(slot, worker);
	slot->delay_ms = respawn_delay_ms(&slot->respawn, true, clock_ms(), drand48());
	start_or_wait(slot);
}

static void set_aside_replaced(struct slot *slot)
{
	struct slot_worker *worker = slot->current;

	slot->current = NULL;
	retire(slot, worker);
	set_state(slot, SLOT_STARTING);
}

static void keep_old(struct slot *slot)
{
	set_state(slot, SLOT_UP);
}

static void wait_for_starting(struct slot *slot)
{
	set_state(slot, SLOT_STARTING);
}

static void failed(struct slot *slot)
{
	if (pool_can_spawn(slot->pool))
		no_worker(slot);
	else
		set_state(slot, SLOT_EMPTY);
}

static void close_workers(struct slot *slot)
{
	set_state(slot, SLOT_CLOSED);
	ev_timer_stop(slot->pool->loop, &slot->timer);
	slot_worker_free(slot->starting);
	slot->starting = NULL;
	if (slot->current)
		slot_worker_ask(slot->current);
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		if (slot->retiring[i])
			slot_worker_ask(slot->retiring[i]);
	tell_if_closed(slot);
}

static void ignore(struct slot *slot)
{
	(void)slot;
}

static const slot_action_fn actions[SLOT_STATE_MAX][SLOT_EVENT_MAX] = {
	[SLOT_EMPTY] = {[SLOT_EVENT_START] = start, [SLOT_EVENT_CLOSE] = close_workers},
	[SLOT_STARTING] = {[SLOT_EVENT_START] = ignore,
			   [SLOT_EVENT_UP] = up,
			   [SLOT_EVENT_FAILED] = failed,
			   [SLOT_EVENT_CLOSE] = close_workers},
	[SLOT_UP] = {[SLOT_EVENT_START] = replace_if_older,
		     [SLOT_EVENT_LIMIT] = replace,
		     [SLOT_EVENT_OVERTIME] = set_aside,
		     [SLOT_EVENT_SPARE] = spare,
		     [SLOT_EVENT_ENDED] = start_or_wait,
		     [SLOT_EVENT_CLOSE] = close_workers},
	[SLOT_REPLACING] = {[SLOT_EVENT_START] = ignore,
			    [SLOT_EVENT_LIMIT] = ignore,
			    [SLOT_EVENT_OVERTIME] = set_aside_replaced,
			    [SLOT_EVENT_UP] = up_replaced,
			    [SLOT_EVENT_FAILED] = keep_old,
			    [SLOT_EVENT_ENDED] = wait_for_starting,
			    [SLOT_EVENT_CLOSE] = close_workers},
	[SLOT_BACKOFF] = {[SLOT_EVENT_START] = ignore,
			  [SLOT_EVENT_TIMER] = start,
			  [SLOT_EVENT_SPARE] = give_up,
			  [SLOT_EVENT_CLOSE] = close_workers},
	[SLOT_CLOSED] = {[SLOT_EVENT_START] = ignore,
			 [SLOT_EVENT_LIMIT] = ignore,
			 [SLOT_EVENT_OVERTIME] = ignore,
			 [SLOT_EVENT_ENDED] = tell_if_closed,
			 [SLOT_EVENT_CLOSE] = ignore},
};

static void dispatch(struct slot *slot, enum slot_event event)
{
	slot_action_fn action = actions[slot->state][event];

	if (action)
		action(slot);
	else
		log_error("pool %s slot %u: event %d can't be in state %s", slot->pool->conf->name,
			  slot->number, event, state_names[slot->state]);
}

static void timer_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop, (void)revents;
	dispatch(w->data, SLOT_EVENT_TIMER);
}

void slot_reset(struct slot *slot, struct pool *pool, unsigned int number)
{
	*slot = (struct slot){.pool = pool, .number = number, .handoff = {-1, -1}};
	ev_timer_init(&slot->timer, timer_cb, 0., 0.);
	slot->timer.data = slot;
}

int slot_init(struct slot *slot, struct pool *pool, unsigned int number, struct slot *lender)
{
	slot_reset(slot, pool, number);
	if (lender && lender->handoff[0] != -1) {
		slot->lender = lender;
		memcpy(slot->handoff, lender->handoff, sizeof(slot->handoff));
		return 0;
	}
	return pool->conf->spawn == CONF_SPAWN_TEMPLATE ? slot_handoff_open(slot->handoff) : 0;
}

void slot_take_over(struct slot *slot)
{
	if (slot->lender)
		slot->lender->lender = slot;
	slot->lender = NULL;
}

void slot_start(struct slot *slot)
{
	dispatch(slot, SLOT_EVENT_START);
}

void slot_look(struct slot *slot)
{
	if (slot->current && slot_worker_wants_successor(slot->current))
		dispatch(slot, SLOT_EVENT_LIMIT);
}

void slot_overtime(struct slot *slot)
{
	dispatch(slot, SLOT_EVENT_OVERTIME);
}

void slot_recycle(struct slot *slot)
{
	dispatch(slot, SLOT_EVENT_LIMIT);
}

bool slot_spare(struct slot *slot)
{
	if (slot->state != SLOT_UP && slot->state != SLOT_BACKOFF)
		return false;
	dispatch(slot, SLOT_EVENT_SPARE);
	return slot->state == SLOT_EMPTY;
}

unsigned int slot_processes(const struct slot *slot)
{
	unsigned int count = (slot->current != NULL) + (slot->starting != NULL);

	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		count += slot->retiring[i] != NULL;
	return count;
}

void slot_close(struct slot *slot)
{
	dispatch(slot, SLOT_EVENT_CLOSE);
}

void slot_kill(struct slot *slot)
{
	if (slot->current)
		slot_worker_kill(slot->current);
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		if (slot->retiring[i])
			slot_worker_kill(slot->retiring[i]);
}

void slot_done(struct slot *slot)
{
	slot_standin_set(slot, false);
	ev_timer_stop(slot->pool->loop, &slot->timer);
	slot_worker_free(slot->starting);
	slot_worker_free(slot->current);
	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		slot_worker_free(slot->retiring[i]);
	for (size_t i = 0; i < slot->listener_count; i++)
		listener_close(&slot->listeners[i]);
	/* The pool has a successor, and this slot has none in it. */
	if (slot->pool->lender && !slot->lender && slot->handoff[0] != -1)
		(void)slot_handoff_pass_on(slot->handoff, slot->pool->fresh[1], SIZE_MAX);
	for (int i = 0; i < 2; i++)
		if (slot->handoff[i] != -1 && !slot->lender)
			(void)close(slot->handoff[i]);
	free(slot->listeners);
}

const char *slot_state_name(const struct slot *slot)
{
	if (slot->current && (slot->state == SLOT_UP || slot->state == SLOT_REPLACING))
		return slot_worker_is_busy(slot->current) ? "busy" : "idle";
	return state_names[slot->state];
}

static int export_workers(const struct slot *slot, struct state_slot *state)
{
	int result = 0;

	if (slot->current && slot_worker_pid(slot->current) != 0) {
		state->current = calloc(1, sizeof(*state->current));
		result = state->current ? slot_worker_export(slot->current, state->current)
					: -ENOMEM;
	}
	state->retiring = calloc(SLOT_RETIRING_MAX, sizeof(*state->retiring));
	if (!state->retiring)
		return -ENOMEM;
	for (size_t i = 0; result == 0 && i < SLOT_RETIRING_MAX; i++)
		if (slot->retiring[i] && slot_worker_pid(slot->retiring[i]) != 0)
			result = slot_worker_export(slot->retiring[i],
						    &state->retiring[state->retiring_count++]);
	return result;
}

int slot_export(const struct slot *slot, struct state_slot *ret_state)
{
	int result;

	*ret_state = (struct state_slot){
		.handoff_in = slot->handoff[0],
		.handoff_out = slot->handoff[1],
		.failures = slot->respawn.failures,
		.started_ms = (int64_t)slot->respawn.started_ms,
		.delay_ms = (int64_t)slot->delay_ms,
		.wait_ms = timer_left_ms(slot->pool->loop, &slot->timer),
		.has_been_up = slot->has_been_up,
	};
	result = listener_export(slot->listeners, slot->listener_count, &ret_state->listeners,
				 &ret_state->listener_count);
	return result == 0 ? export_workers(slot, ret_state) : result;
}

static int adopt_workers(struct slot *slot, const struct state_slot *state)
{
	for (size_t i = 0; i < state->retiring_count; i++) {
		slot->retiring[i] = slot_worker_adopt(slot->pool, slot->number, &state->retiring[i],
						      &worker_events, slot);
		if (!slot->retiring[i])
			return -ENOMEM;
	}
	if (!state->current)
		return 0;
	slot->current =
		slot_worker_adopt(slot->pool, slot->number, state->current, &worker_events, slot);
	return slot->current ? 0 : -ENOMEM;
}

int slot_adopt(struct slot *slot, const struct state_slot *state)
{
	int result;

	slot->handoff[0] = state->handoff_in;
	slot->handoff[1] = state->handoff_out;
	slot->respawn.failures = (unsigned int)state->failures;
	slot->respawn.started_ms = (uint64_t)state->started_ms;
	slot->delay_ms = (uint64_t)state->delay_ms;
	slot->has_been_up = state->has_been_up != 0;
	result = listener_adopt(state->listeners, state->listener_count, &slot->listeners);
	if (result < 0)
		return result;
	slot->listener_count = state->listener_count;
	result = adopt_workers(slot, state);
	if (result < 0)
		return result;
	if (slot->current) {
		slot->state = SLOT_UP;
	} else if (state->wait_ms >= 0) {
		set_state(slot, SLOT_BACKOFF);
		set_timer(slot, (uint64_t)state->wait_ms);
	} else {
		set_state(slot, SLOT_EMPTY);
	}
	return 0;
}
