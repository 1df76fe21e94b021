/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a worker waits: for its listeners, its clients, its predecessor's clients, its lifeline. */

#include "wait.h"

#include "abi.h"
#include "clients.h"
#include "handoff.h"
#include "libc.h"
#include "peers.h"
#include "score.h"
#include "template.h"
#include "transfer.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * One epoll set, made after the fork, watches everything. Listeners are level-triggered: with
 * maxevents = 1 the kernel puts the one it returned at the end of its ready list, so they take
 * turns with each other and with clients, which are edge-triggered. EPOLLEXCLUSIVE wakes one
 * worker a connection when a pool shares a listener.
 *
 * Each round takes one event from the kernel and one ready client from our own queue, so a client
 * that has sent several requests at once gets its turn behind those that became ready meanwhile.
 *
 * Before the table is full, some that have idled for longest are given to a sibling that holds far
 * fewer; only far fewer, or two workers would give each other theirs without end. What siblings pass on
 * is left to others for FULL_PATIENCE_MS then: we would take back our own.
 *
 * What siblings have passed on is left to others while the table has no room for a message of it:
 * taking it would close connections that are idle here, and their clients may be about to send. It
 * is taken all the same after FULL_PATIENCE_MS, as the others may be full, too.
 *
 * The lifeline's end of file says that the worker is to leave, or that the manager is gone. It
 * is looked at only here, between two requests, so whatever runs is finished first.
 *
 * A worker on a pair of pipes has one client from the start and never another one. When that is
 * gone, as the program and the stream of requests are out of step, it leaves: its successor begins
 * anew.
 */
#define FULL_PATIENCE_MS 100
#define FAR_FEWER	 (4 * TRANSFER_BATCH)

static struct {
	int epoll;
	int lifeline;
	int listeners[ABI_LISTENERS_MAX];
	size_t listener_count;
	bool over;
	bool let_go;
	bool pipes;
	int handoff; /* where the slot's last worker puts its clients */
	int fresh;   /* where siblings pass clients on */
	bool takes_fresh;
	uint64_t left_since_ms; /* since when it is left to others, 0 = it is not */
} self = {.epoll = -1, .lifeline = -1, .handoff = -1, .fresh = -1};

/* Data of an epoll event: a client's address, or one of these, which are none. */
static char lifeline_mark, handoff_mark, fresh_mark;

static int watch(int fd, uint32_t events, void *data)
{
	struct epoll_event event = {.events = events, .data.ptr = data};

	return epoll_ctl(self.epoll, EPOLL_CTL_ADD, fd, &event);
}

/* The stream may hold a request already, so it is looked at. */
static int take_pipes(int requests, int answers)
{
	struct client *client = clients_add(requests);

	if (!client)
		return -1;
	client->answers = answers;
	clients_read(client);
	return 0;
}

/* False if that failed, which it can't but at the start. */
static bool take_fresh(bool on)
{
	if (self.fresh == -1 || on == self.takes_fresh)
		return true;
	self.takes_fresh = on;
	/* EPOLLEXCLUSIVE can't be set or cleared by a change. */
	if (!on)
		return epoll_ctl(self.epoll, EPOLL_CTL_DEL, self.fresh, NULL) == 0;
	return watch(self.fresh, EPOLLIN | EPOLLEXCLUSIVE, &fresh_mark) == 0;
}

/* Makes room, if another worker has far more of it. */
static bool give_idle(void)
{
	return clients_held() > FAR_FEWER && score_other_holds_fewer(clients_held() - FAR_FEWER) &&
	       handoff_send_idle();
}

/* Decides whether to take what siblings pass on; returns how long to wait at most. */
static int mind_room(int timeout_ms)
{
	bool full = clients_room() < TRANSFER_BATCH;
	uint64_t now;

	if (self.fresh == -1)
		return timeout_ms;
	if (!full && self.left_since_ms == 0) {
		(void)take_fresh(true);
		return timeout_ms;
	}
	now = clients_now_ms();
	if (full && give_idle()) {
		self.left_since_ms = now;
	} else if (self.left_since_ms != 0 && now - self.left_since_ms >= FULL_PATIENCE_MS) {
		/* One look without waiting, and then it is the others' turn again, unless there is room. */
		self.left_since_ms = full ? now : 0;
		(void)take_fresh(true);
		return full ? 0 : timeout_ms;
	}
	if (self.left_since_ms == 0)
		self.left_since_ms = now;
	(void)take_fresh(false);
	return timeout_ms == -1 || timeout_ms > FULL_PATIENCE_MS ? FULL_PATIENCE_MS : timeout_ms;
}

static int watch_listeners(const struct template_worker *worker)
{
	handoff_init(worker);
	self.handoff = worker->fds[ABI_SPAWN_FD_HANDOFF_IN];
	if (watch(self.handoff, EPOLLIN, &handoff_mark) == -1)
		return -1;
	self.fresh = worker->fds[ABI_SPAWN_FD_FRESH_IN];
	if (!take_fresh(true))
		return -1;
	self.listener_count = worker->message.listeners;
	for (size_t i = 0; i < self.listener_count; i++) {
		self.listeners[i] = worker->fds[ABI_SPAWN_FD_LISTENER + i];
		if (watch(self.listeners[i], EPOLLIN | EPOLLEXCLUSIVE, &self.listeners[i]) == -1)
			return -1;
	}
	return 0;
}

int wait_init(const struct template_worker *worker)
{
	const int *fds = worker->fds;
	struct clients_limits limits = {
		.header_timeout_ms = worker->message.header_timeout_ms,
		.keepalive_timeout_ms = worker->message.keepalive_timeout_ms,
	};

	self.lifeline = fds[ABI_SPAWN_FD_LIFELINE];
	self.pipes = worker->message.pipes != 0;
	if (self.pipes)
		limits = (struct clients_limits){0};
	self.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (self.epoll == -1 || clients_init(self.epoll, &limits) == -1 ||
	    watch(self.lifeline, EPOLLIN, &lifeline_mark) == -1)
		return -1;
	if (self.pipes)
		return take_pipes(fds[ABI_SPAWN_FD_LISTENER], fds[ABI_SPAWN_FD_LISTENER + 1]);
	return watch_listeners(worker);
}

static bool is_listener(const void *data)
{
	return (const int *)data >= self.listeners &&
	       (const int *)data < self.listeners + self.listener_count;
}

/* Returns -1 with errno if accept4() failed in a way that the program should know of. */
static int take_connection(int listener)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd = libc_calls()->accept4(listener, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);
	struct client *client;

	if (fd == -1)
		return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? 0 : -1;
	if (!peers_allowed(fd, (const struct sockaddr *)&peer)) {
		(void)libc_calls()->close(fd);
		return 0;
	}
	client = clients_add(fd);
	if (!client)
		return 0;
	score_accepted();
	client->fresh = true;
	client->born_ms = clients_now_ms();
	client->peer = peer;
	client->peer_len = len;
	clients_read(client);
	return 0;
}

static bool is_hung_up(const struct epoll_event *event)
{
	return (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
}

/* Takes at most one event; returns -1 with errno if the program is to know. */
static int take_event(int timeout_ms)
{
	struct epoll_event event;
	int n = epoll_wait(self.epoll, &event, 1, timeout_ms);

	if (n <= 0)
		return n;
	if (event.data.ptr == &lifeline_mark) {
		self.over = true;
		handoff_send_all();
		errno = EINVAL;
		return -1;
	}
	if (event.data.ptr == &handoff_mark)
		handoff_receive();
	else if (event.data.ptr == &fresh_mark)
		handoff_receive_fresh();
	else if (is_listener(event.data.ptr))
		return take_connection(*(int *)event.data.ptr);
	else
		clients_event(event.data.ptr, is_hung_up(&event));
	return 0;
}

struct client *wait_next(void)
{
	for (;;) {
		int timeout_ms = clients_expire();
		struct client *client;

		if (self.over || (self.pipes && clients_held() == 0)) {
			errno = EINVAL;
			return NULL;
		}
		score_parked(clients_held());
		timeout_ms = mind_room(timeout_ms);
		if (take_event(clients_have_ready() ? 0 : timeout_ms) == -1)
			return NULL;
		client = clients_ready();
		if (client)
			return client;
	}
}

bool wait_take_ready(void)
{
	struct epoll_event event;

	if (clients_have_ready())
		return true;
	if (epoll_wait(self.epoll, &event, 1, 0) != 1)
		return false;
	/* What siblings have passed on is not for a busy one; behind it there may be more. */
	if (event.data.ptr == &fresh_mark && epoll_wait(self.epoll, &event, 1, 0) != 1)
		return false;
	if (event.data.ptr == &fresh_mark || event.data.ptr == &lifeline_mark)
		return false;
	if (event.data.ptr == &handoff_mark)
		handoff_receive();
	else if (is_listener(event.data.ptr))
		(void)take_connection(*(int *)event.data.ptr);
	else
		clients_event(event.data.ptr, is_hung_up(&event));
	return true;
}

bool wait_let_go(void)
{
	struct pollfd p = {.fd = self.lifeline, .events = POLLIN};

	if (self.let_go || self.pipes || libc_calls()->poll(&p, 1, 0) != 1)
		return self.let_go;
	self.let_go = true;
	/* Our clients go there, for the successor; we must not take them back. */
	(void)epoll_ctl(self.epoll, EPOLL_CTL_DEL, self.handoff, NULL);
	(void)take_fresh(false);
	self.fresh = -1;
	/* The manager may hold them still, so their entries would live on. */
	for (size_t i = 0; i < self.listener_count; i++) {
		(void)epoll_ctl(self.epoll, EPOLL_CTL_DEL, self.listeners[i], NULL);
		(void)libc_calls()->close(self.listeners[i]);
	}
	self.listener_count = 0;
	return true;
}

int wait_is_over(void)
{
	return self.over;
}

void wait_abandon(void)
{
	/* The set is shared with the worker: closing this copy leaves its entries alone. */
	(void)close(self.epoll);
	(void)close(self.lifeline);
	for (size_t i = 0; i < self.listener_count; i++)
		(void)close(self.listeners[i]);
}
