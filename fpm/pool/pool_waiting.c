/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits at slots that have no worker, in a pool whose number of workers changes. */

#include "fpm/pool/pool_waiting.h"

#include "fpm/conf/conf.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/pool/pool_sizing.h"
#include "fpm/pool/slot_handoff.h"
#include "fpm/pool/slot_standin.h"

#include <ev.h>
#include <poll.h>
#include <stdlib.h>

/*
 * Theory of operation
 *
 * Of a slot without a worker its own listeners and its pair of sockets are watched, as long as
 * pool_waiting_set() says so. What every worker reads, that is the pool's pair and its shared
 * listeners, is watched as long as one slot is: nobody may be there, or all may be busy. As idle
 * workers read it as well, usually before us, it is looked at no more often than every AGAIN
 * seconds.
 *
 * What the kernel has told one worker of it, it does not tell the others, and that worker may have
 * left instead of reading it. So what still waits after KICK_AFTER looks, while somebody idles, is
 * put there anew.
 */
#define AGAIN	   0.01
#define KICK_AFTER 3

/* When nobody can take a client, and no worker can be started, seconds. */
#define PAUSE 0.05

struct waiting_slot {
	struct pool_waiting *waiting;
	struct slot *slot;
	bool on;
	ev_io handoff;
	ev_io *listeners; /* as many as the slot has */
};

/**
 * struct pool_waiting - see above
 * @pool:	Pool
 * @slots:	One entry a slot
 * @on:		Number of those that are on
 * @fresh:	Watches the pool's pair
 * @shared:	Watch its shared listeners
 * @again:	Runs while what all share is not watched
 * @pause:	Runs while nothing is watched
 * @looks:	Looks in a row at which something waited while somebody idled
 */
struct pool_waiting {
	struct pool *pool;
	struct waiting_slot *slots;
	unsigned int on;
	ev_io fresh;
	ev_io *shared;
	ev_timer again;
	ev_timer pause;
	unsigned int looks;
};

static void set_watcher(struct pool_waiting *w, ev_io *watcher, bool on)
{
	if (on)
		ev_io_start(w->pool->loop, watcher);
	else
		ev_io_stop(w->pool->loop, watcher);
}

static void watch_slot(struct pool_waiting *w, struct waiting_slot *s, bool on)
{
	set_watcher(w, &s->handoff, on);
	for (size_t i = 0; i < s->slot->listener_count; i++)
		set_watcher(w, &s->listeners[i], on);
}

static void watch_shared(struct pool_waiting *w, bool on)
{
	set_watcher(w, &w->fresh, on);
	for (size_t i = 0; i < w->pool->shared_count; i++)
		set_watcher(w, &w->shared[i], on);
}

static void start_timer(struct pool_waiting *w, ev_timer *timer, double seconds)
{
	ev_timer_stop(w->pool->loop, timer);
	ev_timer_set(timer, seconds, 0.);
	ev_timer_start(w->pool->loop, timer);
}

static void watch_all(struct pool_waiting *w, bool on)
{
	for (unsigned int i = 0; i < w->pool->conf->max_children; i++)
		if (w->slots[i].on)
			watch_slot(w, &w->slots[i], on);
	ev_timer_stop(w->pool->loop, &w->again);
	watch_shared(w, on && w->on > 0);
}

static void pause_cb(struct ev_loop *loop, ev_timer *timer, int revents)
{
	(void)loop, (void)revents;
	watch_all(timer->data, true);
}

static void again_cb(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct pool_waiting *w = timer->data;

	(void)loop, (void)revents;
	if (w->on > 0)
		watch_shared(w, true);
}

static void pause_all(struct pool_waiting *w)
{
	watch_all(w, false);
	start_timer(w, &w->pause, PAUSE);
}

static void look_again(struct pool_waiting *w)
{
	watch_shared(w, false);
	start_timer(w, &w->again, AGAIN);
}

static bool somebody_idles(const struct pool *pool)
{
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		if (pool->slots[i].state == SLOT_UP && slot_is_idle(&pool->slots[i]))
			return true;
	return false;
}

static bool has_input(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* One that idles may be about to take what waits already. */
static bool sibling_is_free(const struct pool *pool)
{
	return somebody_idles(pool) && !has_input(pool->fresh[0]);
}

static void listener_cb(struct ev_loop *loop, ev_io *watcher, int revents)
{
	const struct waiting_slot *s = watcher->data;
	const struct pool *pool = s->slot->pool;

	(void)loop, (void)revents;
	if (!sibling_is_free(pool) && pool_sizing_start(s->slot))
		return;
	if (slot_standin_can_pass_on(pool) && slot_standin_pass_on(pool, watcher->fd) == 0)
		return;
	pause_all(s->waiting);
}

static void handoff_cb(struct ev_loop *loop, ev_io *watcher, int revents)
{
	const struct waiting_slot *s = watcher->data;
	const struct pool *pool = s->slot->pool;

	(void)loop, (void)revents;
	if (!sibling_is_free(pool) && pool_sizing_start(s->slot))
		return;
	if (slot_standin_can_pass_on(pool) &&
	    slot_handoff_pass_on(s->slot->handoff, pool->fresh[1], 1) > 0)
		return;
	pause_all(s->waiting);
}

static struct slot *first_empty(const struct pool_waiting *w)
{
	for (unsigned int i = 0; i < w->pool->conf->max_children; i++)
		if (w->slots[i].on)
			return w->slots[i].slot;
	return NULL;
}

static void kick(struct pool_waiting *w, int fd)
{
	w->looks = 0;
	if (!slot_standin_can_pass_on(w->pool))
		return;
	if (fd == w->pool->fresh[0])
		(void)slot_handoff_pass_on(w->pool->fresh, w->pool->fresh[1], 1);
	else
		(void)slot_standin_pass_on(w->pool, fd);
}

static void shared_cb(struct ev_loop *loop, ev_io *watcher, int revents)
{
	struct pool_waiting *w = watcher->data;
	struct slot *slot = first_empty(w);

	(void)loop, (void)revents;
	look_again(w);
	if (somebody_idles(w->pool)) {
		if (++w->looks >= KICK_AFTER)
			kick(w, watcher->fd);
		return;
	}
	w->looks = 0;
	/* Who is busy now may be so because he has just taken it. */
	if (slot && has_input(watcher->fd))
		(void)pool_sizing_start(slot);
}

void pool_waiting_set(struct pool_waiting *waiting, const struct slot *slot, bool on)
{
	struct pool_waiting *w = waiting;
	struct waiting_slot *s = &w->slots[slot->number - 1];

	if (s->on == on)
		return;
	s->on = on;
	w->on += on ? 1U : -1U;
	if (ev_is_active(&w->pause))
		return;
	watch_slot(w, s, on);
	if (w->on == 0)
		watch_shared(w, false);
	else if (!ev_is_active(&w->again))
		watch_shared(w, true);
}

static void init_watcher(ev_io *watcher, void (*cb)(struct ev_loop *, ev_io *, int), int fd,
			 void *data)
{
	ev_io_init(watcher, cb, fd, EV_READ);
	watcher->data = data;
}

static bool init_slot(struct pool_waiting *w, struct slot *slot)
{
	struct waiting_slot *s = &w->slots[slot->number - 1];

	*s = (struct waiting_slot){.waiting = w, .slot = slot};
	s->listeners = calloc(slot->listener_count + 1, sizeof(*s->listeners));
	if (!s->listeners)
		return false;
	init_watcher(&s->handoff, handoff_cb, slot->handoff[0], s);
	for (size_t i = 0; i < slot->listener_count; i++)
		init_watcher(&s->listeners[i], listener_cb, slot->listeners[i].fd, s);
	return true;
}

struct pool_waiting *pool_waiting_new(struct pool *pool)
{
	struct pool_waiting *w = calloc(1, sizeof(*w));
	bool done;

	if (!w)
		return NULL;
	w->pool = pool;
	ev_timer_init(&w->again, again_cb, 0., 0.);
	ev_timer_init(&w->pause, pause_cb, 0., 0.);
	w->again.data = w->pause.data = w;
	init_watcher(&w->fresh, shared_cb, pool->fresh[0], w);
	w->slots = calloc(pool->conf->max_children, sizeof(*w->slots));
	w->shared = calloc(pool->shared_count + 1, sizeof(*w->shared));
	done = w->slots && w->shared;
	for (size_t i = 0; done && i < pool->shared_count; i++)
		init_watcher(&w->shared[i], shared_cb, pool->shared[i].fd, w);
	for (unsigned int i = 0; done && i < pool->conf->max_children; i++)
		done = init_slot(w, &pool->slots[i]);
	if (done)
		return w;
	pool_waiting_free(w);
	return NULL;
}

void pool_waiting_free(struct pool_waiting *waiting)
{
	struct pool_waiting *w = waiting;

	if (!w)
		return;
	for (unsigned int i = 0; w->slots && i < w->pool->conf->max_children; i++) {
		if (w->slots[i].on && !ev_is_active(&w->pause))
			watch_slot(w, &w->slots[i], false);
		free(w->slots[i].listeners);
	}
	if (w->shared)
		watch_shared(w, false);
	ev_timer_stop(w->pool->loop, &w->again);
	ev_timer_stop(w->pool->loop, &w->pause);
	free(w->slots);
	free(w->shared);
	free(w);
}
