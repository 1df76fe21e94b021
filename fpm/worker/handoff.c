/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands connections, with their unread bytes, to another worker of the pool. */

#include "handoff.h"

#include "abi.h"
#include "clients.h"
#include "peers.h"
#include "template.h"
#include "transfer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Unread bytes after which a message is sent with fewer connections than it could carry. */
#define BATCH_BYTES 65536U

/* How long a full socket is waited for: its reader is about to take what is there. */
#define FULL_WAIT_MS 200

/* A slot's pair reaches the slot's next worker, the pool's pair whichever worker idles. */
struct pair {
	int in;
	int out;
};

static struct pair slot = {-1, -1}, pool = {-1, -1};
static bool helps;
static struct transfer batch;
static uint8_t bytes[CLIENT_BUFFER_SIZE + BATCH_BYTES];

void handoff_init(const struct template_worker *worker)
{
	const int *fds = worker->fds;

	slot = (struct pair){fds[ABI_SPAWN_FD_HANDOFF_IN], fds[ABI_SPAWN_FD_HANDOFF_OUT]};
	pool = (struct pair){fds[ABI_SPAWN_FD_FRESH_IN], fds[ABI_SPAWN_FD_FRESH_OUT]};
	helps = worker->message.rescue == ABI_RESCUE_ALL;
}

/* Sends a message of clients from one on, of its queue or of all; false if that failed. */
static bool send_some(struct client *c, int out, int wait_ms, bool all)
{
	struct client *sent[TRANSFER_BATCH];
	uint32_t count = 0;
	int fds[TRANSFER_BATCH] = {-1};
	size_t size = 0;
	bool done;

	if (!c)
		return false;
	batch = (struct transfer){.abi = ABI_VERSION};
	while (c && count < TRANSFER_BATCH && size < BATCH_BYTES) {
		struct transfer_entry *e = &batch.entries[count];

		*e = (struct transfer_entry){.in = c->in,
					     .rest = c->phase == CLIENT_REST,
					     .pending = (uint32_t)client_pending(c),
					     .fresh = c->fresh,
					     .was_served = c->was_served,
					     .born_ms = c->born_ms,
					     .peer_len = c->peer_len,
					     .peer = c->peer};
		memcpy(bytes + size, c->buffer + c->start, e->pending);
		size += e->pending;
		fds[count] = c->fd;
		sent[count++] = c;
		/* They keep their places until it is known that they are sent. */
		c = all ? clients_after(c) : TAILQ_NEXT(c, link);
	}
	batch.count = count;
	done = transfer_send(out, &batch, bytes, size, fds, wait_ms) == 0;
	for (uint32_t i = 0; i < count; i++) {
		if (done) {
			clients_drop(sent[i]);
		} else if (sent[i]->fresh && sent[i]->phase == CLIENT_HEAD) {
			sent[i]->fresh = false;
			clients_wait(sent[i]);
		}
	}
	return done;
}

void handoff_send_all(void)
{
	while (send_some(clients_parked(), slot.out, FULL_WAIT_MS, true))
		;
}

void handoff_send_early(void)
{
	while (send_some(clients_parked(), slot.out, 0, true))
		;
}

void handoff_send_fresh(void)
{
	while (helps && send_some(clients_fresh(), pool.out, 0, false))
		;
}

bool handoff_send_idle(void)
{
	return helps && send_some(clients_idle(), pool.out, 0, false);
}

static void take_entry(const struct transfer_entry *e, int fd, const uint8_t *data)
{
	struct client *c;

	if (e->pending > CLIENT_BUFFER_SIZE || e->peer_len > sizeof(e->peer) ||
	    (e->unchecked && !peers_allowed(fd, (const struct sockaddr *)&e->peer))) {
		(void)close(fd);
		return;
	}
	c = clients_add(fd);
	if (!c)
		return;
	c->fresh = e->fresh;
	c->was_served = e->was_served;
	c->born_ms = e->born_ms;
	c->peer = e->peer;
	c->peer_len = e->peer_len;
	memcpy(c->buffer, data, e->pending);
	c->end = e->pending;
	if (e->rest) {
		c->phase = CLIENT_REST;
		c->in = e->in;
	}
	/* A head may be complete already; otherwise what has come meanwhile is read. */
	if (client_look(c))
		clients_wait(c);
	else
		clients_read(c);
}

static void receive(int in)
{
	int fds[TRANSFER_BATCH];
	uint32_t count = transfer_receive(in, &batch, bytes, sizeof(bytes), fds);
	size_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		take_entry(&batch.entries[i], fds[i], bytes + at);
		at += batch.entries[i].pending;
	}
}

bool handoff_send_ready(void)
{
	while (send_some(clients_first_ready(), pool.out, 0, false))
		;
	handoff_send_fresh();
	return !clients_have_ready();
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
