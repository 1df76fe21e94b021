/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands a leaving worker's connections, with their unread bytes, to the slot's next worker. */
#ifndef FPM_WORKER_HANDOFF_H
#define FPM_WORKER_HANDOFF_H

/**
 * handoff_init() - take the slot's pair of sockets
 * @in:		Where a predecessor's connections arrive
 * @out:	Where ours go to
 */
void handoff_init(int in, int out);

/**
 * handoff_send_all() - hand over every connection that waits between two requests
 *
 * The messages wait in the socket, which the manager keeps open, until a worker of the slot takes
 * them. A connection that can't be sent is closed.
 */
void handoff_send_all(void);

/**
 * handoff_receive() - take in what a predecessor has sent
 */
void handoff_receive(void);

/**
 * handoff_abandon() - close the sockets, in a copy that a script forked
 *
 * Async-signal-safe.
 */
void handoff_abandon(void);

#endif
