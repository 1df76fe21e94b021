/* SPDX-License-Identifier: BSD-2-Clause */
/* While a slot has no worker: the manager passes its clients on to the pool's other workers. */

#include "fpm/pool/slot_standin.h"

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/pool/slot.h"
#include "fpm/worker/transfer.h"

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* When the pool's socket is full, or nobody is there to read it, look again after this, seconds. */
#define PAUSE 0.1

/**
 * struct slot_standin - watches a slot's listeners
 * @slot:	Slot
 * @pause:	Runs while nobody could take a client
 * @count:	Entries of @listeners
 * @listeners:	A watcher each
 */
struct slot_standin {
	struct slot *slot;
	ev_timer pause;
	size_t count;
	ev_io listeners[];
};

static bool anybody_up(const struct pool *pool)
{
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		if (pool->slots[i].current)
			return true;
	return false;
}

bool slot_standin_can_pass_on(const struct pool *pool)
{
	struct pollfd p = {.fd = pool->fresh[1], .events = POLLOUT};

	return anybody_up(pool) && poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

int slot_standin_pass_on(const struct pool *pool, int listener)
{
	struct transfer transfer = {.abi = ABI_VERSION, .count = 1};
	struct transfer_entry *entry = &transfer.entries[0];
	int fd;

	/* Who may connect is the workers' business: they know the list, and tell of those refused. */
	*entry = (struct transfer_entry){
		.fresh = 1, .unchecked = 1, .peer_len = sizeof(entry->peer)};
	fd = accept4(listener, (struct sockaddr *)&entry->peer, &entry->peer_len, SOCK_CLOEXEC);
	if (fd == -1)
		return errno == EMFILE || errno == ENFILE ? -errno : 0;
	entry->born_ms = clock_ms();
	(void)transfer_send(pool->fresh[1], &transfer, NULL, 0, &fd, 0);
	(void)close(fd);
	return 0;
}

static void watch(struct slot_standin *s, bool on)
{
	for (size_t i = 0; i < s->count; i++) {
		if (on)
			ev_io_start(s->slot->pool->loop, &s->listeners[i]);
		else
			ev_io_stop(s->slot->pool->loop, &s->listeners[i]);
	}
}

static void pause_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop, (void)revents;
	watch(w->data, true);
}

static void listener_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct slot_standin *s = w->data;
	const struct pool *pool = s->slot->pool;

	(void)revents;
	if (slot_standin_can_pass_on(pool) && slot_standin_pass_on(pool, w->fd) == 0)
		return;
	watch(s, false);
	ev_timer_start(loop, &s->pause);
}

static struct slot_standin *standin_new(struct slot *slot)
{
	struct slot_standin *s =
		calloc(1, sizeof(*s) + slot->listener_count * sizeof(s->listeners[0]));

	if (!s)
		return NULL;
	s->slot = slot;
	s->count = slot->listener_count;
	ev_timer_init(&s->pause, pause_cb, PAUSE, 0.);
	s->pause.data = s;
	for (size_t i = 0; i < s->count; i++) {
		ev_io_init(&s->listeners[i], listener_cb, slot->listeners[i].fd, EV_READ);
		s->listeners[i].data = s;
	}
	return s;
}

void slot_standin_set(struct slot *slot, bool on)
{
	struct slot_standin *s = slot->standin;

	if (on && !s) {
		slot->standin = standin_new(slot);
		if (slot->standin)
			watch(slot->standin, true);
	} else if (!on && s) {
		watch(s, false);
		ev_timer_stop(slot->pool->loop, &s->pause);
		free(s);
		slot->standin = NULL;
	}
}
