/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands a leaving worker's connections, with their unread bytes, to the slot's next worker. */

#include "handoff.h"

#include "abi.h"
#include "clients.h"

#include <errno.h>
#include <poll.h>
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
	uint32_t peer_len;
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

static int in_socket = -1, out_socket = -1;
static struct batch batch;
static uint8_t bytes[CLIENT_BUFFER_SIZE + BATCH_BYTES];

void handoff_init(int in, int out)
{
	in_socket = in;
	out_socket = out;
}

static int send_batch(const int fds[], size_t size)
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
		struct pollfd p = {.fd = out_socket, .events = POLLOUT};

		if (sendmsg(out_socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) != -1)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || poll(&p, 1, FULL_WAIT_MS) == 0)
			return -1;
	}
}

void handoff_send_all(void)
{
	struct client *c = clients_parked();

	while (c) {
		struct client *sent[BATCH];
		int fds[BATCH];
		size_t size = 0;

		batch = (struct batch){.abi = ABI_VERSION};
		while (c && batch.count < BATCH && size < BATCH_BYTES) {
			struct entry *e = &batch.entries[batch.count];

			*e = (struct entry){.in = c->in,
					    .phase = c->phase,
					    .pending = (uint32_t)client_pending(c),
					    .peer_len = c->peer_len,
					    .peer = c->peer};
			memcpy(bytes + size, c->buffer + c->start, e->pending);
			size += e->pending;
			fds[batch.count] = c->fd;
			sent[batch.count++] = c;
			clients_unlist(c);
			c = clients_parked();
		}
		/* Ours are closed either way: if it failed there is nobody to serve them. */
		(void)send_batch(fds, size);
		for (uint32_t i = 0; i < batch.count; i++)
			clients_drop(sent[i]);
	}
}

static void take_entry(const struct entry *e, int fd, const uint8_t *data)
{
	struct client *c = clients_add(fd);

	if (!c)
		return;
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

void handoff_receive(void)
{
	union control control;
	struct iovec iov[2] = {{.iov_base = &batch, .iov_len = sizeof(batch)},
			       {.iov_base = bytes, .iov_len = sizeof(bytes)}};
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(in_socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
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

void handoff_abandon(void)
{
	(void)close(in_socket);
	(void)close(out_socket);
}
