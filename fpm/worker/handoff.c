/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands connections, with their unread bytes, to another worker of the pool. */

#include "handoff.h"

#include "abi.h"
#include "clients.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * A message carries up to BATCH connections: a fixed head, their unread bytes one behind the
 * other, and their descriptors. It is whole or not there at all (SOCK_SEQPACKET), and once it is
 * in the socket the connections stay open whatever becomes of either worker.
 */
#define BATCH	    32
#define BATCH_BYTES 65536U

/* How long a full socket is waited for: its reader is about to take what is there. */
#define FULL_WAIT_MS 200

struct entry {
	struct wire_parser in; /* CLIENT_REST: where the old request's input stands */
	uint32_t phase;
	uint32_t pending;
	uint32_t fresh;
	uint32_t peer_len;
	uint64_t born_ms;
	struct sockaddr_storage peer;
};

struct batch {
	uint32_t abi;
	uint32_t count;
	struct entry entries[BATCH];
};

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * BATCH)];
};

/* A slot's pair reaches the slot's next worker, the pool's pair whichever worker idles. */
struct pair {
	int in;
	int out;
};

static struct pair slot = {-1, -1}, pool = {-1, -1};
static struct batch batch;
static uint8_t bytes[CLIENT_BUFFER_SIZE + BATCH_BYTES];

void handoff_init(const int fds[])
{
	slot = (struct pair){fds[ABI_SPAWN_FD_HANDOFF_IN], fds[ABI_SPAWN_FD_HANDOFF_OUT]};
	pool = (struct pair){fds[ABI_SPAWN_FD_FRESH_IN], fds[ABI_SPAWN_FD_FRESH_OUT]};
}

static int send_batch(int out, const int fds[], size_t size, int wait_ms)
{
	union control control = {0};
	struct iovec iov[2] = {{.iov_base = &batch, .iov_len = sizeof(batch)},
			       {.iov_base = bytes, .iov_len = size}};
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(batch.count * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(batch.count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, batch.count * sizeof(int));
	for (;;) {
		struct pollfd p = {.fd = out, .events = POLLOUT};

		if (sendmsg(out, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) != -1)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || wait_ms == 0 || poll(&p, 1, wait_ms) == 0)
			return -1;
	}
}

/* Sends up to BATCH clients from a queue; returns false if there was none, or if that failed. */
static bool send_some(struct client *(*first)(void), int out, int wait_ms)
{
	struct client *sent[BATCH], *c = first();
	uint32_t count = 0;
	int fds[BATCH];
	size_t size = 0;
	bool done;

	if (!c)
		return false;
	batch = (struct batch){.abi = ABI_VERSION};
	while (c && count < BATCH && size < BATCH_BYTES) {
		struct entry *e = &batch.entries[count];

		*e = (struct entry){.in = c->in,
				    .phase = c->phase,
				    .pending = (uint32_t)client_pending(c),
				    .fresh = c->fresh,
				    .born_ms = c->born_ms,
				    .peer_len = c->peer_len,
				    .peer = c->peer};
		memcpy(bytes + size, c->buffer + c->start, e->pending);
		size += e->pending;
		fds[count] = c->fd;
		sent[count++] = c;
		clients_unlist(c);
		c = first();
	}
	batch.count = count;
	done = send_batch(out, fds, size, wait_ms) == 0;
	for (uint32_t i = 0; i < count; i++) {
		if (done) {
			clients_drop(sent[i]);
			continue;
		}
		sent[i]->fresh = false;
		clients_wait(sent[i]);
	}
	return done;
}

void handoff_send_all(void)
{
	while (send_some(clients_parked, slot.out, FULL_WAIT_MS))
		;
}

void handoff_send_fresh(void)
{
	while (send_some(clients_fresh, pool.out, 0))
		;
}

static void take_entry(const struct entry *e, int fd, const uint8_t *data)
{
	struct client *c = clients_add(fd);

	if (!c)
		return;
	c->fresh = e->fresh;
	c->born_ms = e->born_ms;
	c->peer = e->peer;
	c->peer_len = e->peer_len;
	memcpy(c->buffer, data, e->pending);
	c->end = e->pending;
	if (e->phase == CLIENT_REST) {
		c->phase = CLIENT_REST;
		c->in = e->in;
	}
	/* A head may be complete already; otherwise what has come meanwhile is read. */
	if (client_look(c))
		clients_wait(c);
	else
		clients_read(c);
}

static size_t take_fds(struct msghdr *msg, int fds[BATCH])
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	}
	return count;
}

static void receive(int in)
{
	union control control;
	struct iovec iov[2] = {{.iov_base = &batch, .iov_len = sizeof(batch)},
			       {.iov_base = bytes, .iov_len = sizeof(bytes)}};
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(in, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	size_t at = 0, count;
	int fds[BATCH];

	if (n <= 0)
		return;
	count = take_fds(&msg, fds);
	for (size_t i = 0; i < count; i++) {
		const struct entry *e = &batch.entries[i];

		/* Another version of the library after an upgrade, or a descriptor limit. */
		if (batch.abi != ABI_VERSION || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
		    i >= batch.count || e->pending > CLIENT_BUFFER_SIZE) {
			(void)close(fds[i]);
			continue;
		}
		take_entry(e, fds[i], bytes + at);
		at += e->pending;
	}
}

void handoff_send_ready(void)
{
	while (send_some(clients_first_ready, pool.out, 0))
		;
	handoff_send_fresh();
}

void handoff_receive(void)
{
	receive(slot.in);
}

void handoff_receive_fresh(void)
{
	receive(pool.in);
}

void handoff_abandon(void)
{
	(void)close(slot.in);
	(void)close(slot.out);
	(void)close(pool.in);
	(void)close(pool.out);
}
