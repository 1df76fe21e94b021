/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of a worker's connections, and what is done to one by system calls. */

#include "clients.h"

#include "libc.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * Each connection that is not being served stands in one queue, oldest first:
 *	ready	  a request waits in its buffer
 *	fresh	  new, nothing of a request has come
 *	idle	  likewise, but not new
 *	partial	  a part of a head has come, or the rest of an old body is still coming
 *	drained	  answered and shut down; the peer has not closed yet
 * All but the ready ones are in the watch set, edge-triggered: with maxevents = 1 the kernel's
 * list of ready descriptors is the order in which they became so. An edge is used up only by
 * reading until there is nothing, or less than there was room for.
 *
 * A client is taken out of the watch set before its descriptor is closed: the program may hold
 * another descriptor of the same socket, and would keep the entry alive.
 */

/* Descriptors of ours stand above what scripts commonly open. */
#define PRIVATE_FD_MIN 64
/* Descriptors that are left to scripts. */
#define SCRIPT_FDS     128
/* A peer that does not close after its answer is held that long. */
#define DRAIN_MS       5000

static struct {
	int epoll;
	struct clients_limits limits;
	struct client *table;
	uint8_t *buffers;
	unsigned int size;
	uint64_t serial;
	uint32_t held;
	unsigned int unused_from; /* entries from here on were never used */
	struct client_queue free;
	struct client_queue ready;
	struct client_queue fresh;
	struct client_queue idle;
	struct client_queue partial;
	struct client_queue drained;
} all = {.epoll = -1};

uint64_t clients_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int clients_init(int epoll, const struct clients_limits *limits)
{
	struct rlimit nofile;

	all.epoll = epoll;
	all.limits = *limits;
	all.size = CLIENT_MAX;
	if (getrlimit(RLIMIT_NOFILE, &nofile) == 0 && nofile.rlim_cur < CLIENT_MAX + SCRIPT_FDS)
		all.size = nofile.rlim_cur > 2 * SCRIPT_FDS
				   ? (unsigned int)(nofile.rlim_cur - SCRIPT_FDS)
				   : (unsigned int)nofile.rlim_cur / 2;
	TAILQ_INIT(&all.free);
	TAILQ_INIT(&all.ready);
	TAILQ_INIT(&all.fresh);
	TAILQ_INIT(&all.idle);
	TAILQ_INIT(&all.partial);
	TAILQ_INIT(&all.drained);
	/* Address space only: a page comes to be when a connection needs it. */
	all.table = map(all.size * sizeof(*all.table));
	all.buffers = map((size_t)all.size * CLIENT_BUFFER_SIZE);
	return all.table && all.buffers ? 0 : -1;
}

static void enqueue(struct client *c, struct client_queue *queue)
{
	if (c->queue)
		TAILQ_REMOVE(c->queue, c, link);
	c->queue = queue;
	if (queue)
		TAILQ_INSERT_TAIL(queue, c, link);
}

static int watch(struct client *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = c};

	if (c->watched)
		return 0;
	if (epoll_ctl(all.epoll, EPOLL_CTL_ADD, c->fd, &event) == -1)
		return -1;
	c->watched = true;
	return 0;
}

void clients_drop(struct client *client)
{
	struct client *c = client;

	if (c->watched)
		(void)epoll_ctl(all.epoll, EPOLL_CTL_DEL, c->fd, NULL);
	c->watched = false;
	if (c->fd != -1)
		(void)libc_calls()->close(c->fd);
	c->fd = -1;
	c->phase = CLIENT_FREE;
	all.held--;
	enqueue(c, &all.free);
}

uint32_t clients_held(void)
{
	return all.held;
}

uint32_t clients_room(void)
{
	return all.size - all.held;
}

/* Of those that have no request ready, the one that has waited for longest. */
static struct client *longest_waiting(void)
{
	struct client *heads[] = {TAILQ_FIRST(&all.idle), TAILQ_FIRST(&all.fresh),
				  TAILQ_FIRST(&all.partial)};
	struct client *oldest = NULL;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (heads[i] && (!oldest || heads[i]->since_ms < oldest->since_ms))
			oldest = heads[i];
	return oldest;
}

/* Makes a free entry of the one that is missed least. */
static void evict(void)
{
	struct client *c = TAILQ_FIRST(&all.drained);

	for (unsigned int i = 0; !c && i < all.size; i++) {
		struct client *oldest = longest_waiting();

		if (!oldest)
			return;
		/* One more look: its request may have come by now. */
		if (stream_has_input(oldest))
			clients_read(oldest);
		else
			c = oldest;
	}
	if (!c)
		return;
	/* The program may hold the socket as well; the peer is to see the end all the same. */
	stream_end(c);
	clients_drop(c);
}

struct client *clients_add(int fd)
{
	struct client *c;

	if (TAILQ_EMPTY(&all.free) && all.unused_from == all.size)
		evict();
	c = TAILQ_FIRST(&all.free);
	if (c) {
		enqueue(c, NULL);
	} else if (all.unused_from < all.size) {
		c = &all.table[all.unused_from];
		c->buffer = all.buffers + (size_t)all.unused_from * CLIENT_BUFFER_SIZE;
		all.unused_from++;
	} else {
		(void)libc_calls()->close(fd);
		return NULL;
	}
	client_start(c, fd);
	c->serial = ++all.serial;
	all.held++;
	return c;
}

void clients_wait(struct client *client)
{
	struct client *c = client;
	struct client_queue *queue;

	if (c->phase == CLIENT_READY) {
		enqueue(c, &all.ready);
		return;
	}
	if (c->phase == CLIENT_DRAIN)
		queue = &all.drained;
	else if (c->phase == CLIENT_REST || client_pending(c) > 0)
		queue = &all.partial;
	else
		queue = c->fresh ? &all.fresh : &all.idle;
	if (watch(c) == -1) {
		clients_drop(c);
		return;
	}
	/* The rest of an old body and the next head have their time limits one after the other. */
	if (c->queue == queue && c->waits_in == c->phase)
		return;
	c->since_ms = clients_now_ms();
	c->waits_in = c->phase;
	enqueue(c, queue);
}

/* Reads once; returns false if there is no more to read for now, or the client is gone. */
static bool read_some(struct client *c)
{
	uint8_t *at;
	size_t room = client_room(c, &at);
	ssize_t n = stream_read(c, at, room);

	if (n == -1 && errno == EAGAIN) {
		c->more = false;
		return false;
	}
	if (n <= 0) {
		/* The program's number may refer to the socket still, and the peer may wait. */
		stream_end(c);
		clients_drop(c);
		return false;
	}
	if (c->phase != CLIENT_DRAIN)
		c->end += (uint32_t)n;
	c->more = (size_t)n == room || c->hung_up;
	return true;
}

/* Its edge is used up and there is more to read: the kernel shall report it again, in its turn. */
static void watch_again(struct client *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = c};

	(void)epoll_ctl(all.epoll, EPOLL_CTL_MOD, c->fd, &event);
}

void clients_read(struct client *client)
{
	int saved_errno = errno;
	/* Bounded, lest a peer that sends without end keeps us here. */
	for (int i = 0; i < 16; i++) {
		bool read = read_some(client);

		if (client->phase == CLIENT_FREE)
			break;
		if (client_look(client) || !read || !client->more)
			break;
	}
	if (client->phase != CLIENT_FREE)
		clients_wait(client);
	if (client->more && client->watched && client->phase != CLIENT_READY)
		watch_again(client);
	errno = saved_errno;
}

void clients_event(struct client *client, bool hung_up)
{
	client->hung_up = client->hung_up || hung_up;
	if (client->phase == CLIENT_SERVED || client->phase == CLIENT_READY)
		client->missed = true;
	else
		clients_read(client);
}

void clients_park(struct client *client)
{
	if ((!client->more && !client->missed) || client->phase == CLIENT_READY) {
		clients_wait(client);
		return;
	}
	client->missed = false;
	clients_read(client);
}

int clients_unshare(struct client *client)
{
	int fd = fcntl(client->fd, F_DUPFD_CLOEXEC, PRIVATE_FD_MIN);

	if (fd == -1)
		return -1;
	client->fd = fd;
	return 0;
}

void clients_drain(struct client *client)
{
	client->phase = CLIENT_DRAIN;
	client->start = client->end = client->scan = 0;
	clients_read(client);
}

bool clients_have_ready(void)
{
	return !TAILQ_EMPTY(&all.ready);
}

struct client *clients_first_ready(void)
{
	return TAILQ_FIRST(&all.ready);
}

struct client *clients_ready(void)
{
	struct client *c = TAILQ_FIRST(&all.ready);

	if (c)
		enqueue(c, NULL);
	return c;
}

/* Drops the head of a queue while it is older than allowed; returns the time left, or -1. */
static int expire(struct client_queue *queue, uint32_t limit_ms, uint64_t now)
{
	struct client *c;

	if (limit_ms == 0)
		return -1;
	while ((c = TAILQ_FIRST(queue)) != NULL) {
		uint64_t age = now - c->since_ms;

		if (age < limit_ms)
			return (int)(limit_ms - age) + 1;
		stream_end(c);
		clients_drop(c);
	}
	return -1;
}

static int sooner(int a, int b)
{
	if (a == -1 || b == -1)
		return a == -1 ? b : a;
	return a < b ? a : b;
}

int clients_expire(void)
{
	uint64_t now;
	int left;

	if (TAILQ_EMPTY(&all.partial) && TAILQ_EMPTY(&all.drained) &&
	    (all.limits.keepalive_timeout_ms == 0 ||
	     (TAILQ_EMPTY(&all.idle) && TAILQ_EMPTY(&all.fresh))))
		return -1;
	now = clients_now_ms();
	left = expire(&all.partial, all.limits.header_timeout_ms, now);
	left = sooner(left, expire(&all.drained, DRAIN_MS, now));
	left = sooner(left, expire(&all.fresh, all.limits.keepalive_timeout_ms, now));
	return sooner(left, expire(&all.idle, all.limits.keepalive_timeout_ms, now));
}

/* Queues of those that wait between two requests, the most urgent first. */
static struct client_queue *const parked[] = {&all.ready, &all.partial, &all.idle, &all.fresh};
#define PARKED_QUEUES (sizeof(parked) / sizeof(parked[0]))

static struct client *first_from(size_t queue)
{
	struct client *c = NULL;

	while (!c && queue < PARKED_QUEUES)
		c = TAILQ_FIRST(parked[queue++]);
	return c;
}

struct client *clients_parked(void)
{
	return first_from(0);
}

struct client *clients_after(const struct client *client)
{
	struct client *next = TAILQ_NEXT(client, link);
	size_t queue = 0;

	if (next)
		return next;
	while (queue < PARKED_QUEUES && parked[queue] != client->queue)
		queue++;
	return first_from(queue + 1);
}

struct client *clients_fresh(void)
{
	uint64_t now = TAILQ_EMPTY(&all.fresh) ? 0 : clients_now_ms();
	struct client *c;

	while ((c = TAILQ_FIRST(&all.fresh)) != NULL && now - c->born_ms >= CLIENT_FRESH_MS) {
		c->fresh = false;
		clients_wait(c);
	}
	return c;
}

struct client *clients_idle(void)
{
	return TAILQ_FIRST(&all.idle);
}

void clients_unlist(struct client *client)
{
	enqueue(client, NULL);
}

void clients_abandon(void)
{
	for (unsigned int i = 0; i < all.unused_from; i++) {
		const struct client *c = &all.table[i];

		if (c->phase != CLIENT_FREE && c->fd != -1)
			(void)libc_calls()->close(c->fd);
		if (c->phase != CLIENT_FREE && c->answers != -1)
			(void)libc_calls()->close(c->answers);
	}
	all.unused_from = 0;
	TAILQ_INIT(&all.free);
	TAILQ_INIT(&all.ready);
	TAILQ_INIT(&all.fresh);
	TAILQ_INIT(&all.idle);
	TAILQ_INIT(&all.partial);
	TAILQ_INIT(&all.drained);
}
