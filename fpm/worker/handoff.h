/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands connections, with their unread bytes, to another worker of the pool. */
#ifndef FPM_WORKER_HANDOFF_H
#define FPM_WORKER_HANDOFF_H

#include <stdbool.h>

struct template_worker;

/**
 * handoff_init() - take the sockets
 * @worker:	What the manager sent
 */
void handoff_init(const struct template_worker *worker);

/**
 * handoff_send_all() - hand over every connection that waits between two requests
 *
 * The messages wait in the socket, which the manager keeps open, until a worker of the slot takes
 * them. A connection that can't be sent is closed.
 */
void handoff_send_all(void);

/**
 * handoff_send_early() - likewise while the program is busy, without waiting for room
 *
 * The connection that is being served stays.
 */
void handoff_send_early(void);

/**
 * handoff_receive() - take in what a predecessor has sent
 */
void handoff_receive(void);

/**
 * handoff_send_fresh() - before going busy: give new connections that wait to the other workers
 *
 * A connection that has sent nothing yet would have to wait for the end of our request, even while
 * other workers idle. Those that stay silent are left alone after CLIENT_FRESH_MS. Nothing is passed
 * on in a pool with pm.rescue = no.
 */
void handoff_send_fresh(void);

/**
 * handoff_send_idle() - give some connections that idle to another worker, which has more room
 *
 * Those that have idled for longest, at most TRANSFER_BATCH of them; none in a pool with
 * pm.rescue = no.
 *
 * Return: true if some are on their way
 */
bool handoff_send_idle(void);

/**
 * handoff_send_ready() - give requests that wait, and new connections, to the other workers
 *
 * Return: true if no request is left here
 */
bool handoff_send_ready(void);

/**
 * handoff_receive_fresh() - take in what a worker that went busy has passed on
 */
void handoff_receive_fresh(void);

/**
 * handoff_abandon() - close the sockets, in a copy that a script forked
 *
 * Async-signal-safe.
 */
void handoff_abandon(void);

#endif
