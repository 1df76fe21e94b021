/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's accept(): its own listeners and its lifeline. */
#ifndef FPM_WORKER_ACCEPT_H
#define FPM_WORKER_ACCEPT_H

#include <sys/socket.h>

struct template_worker;

/**
 * accept_init() - watch a worker's listeners and lifeline
 * @worker:	What the manager sent for it
 *
 * Return: 0, or -1 with errno
 */
int accept_init(const struct template_worker *worker);

/**
 * accept_next() - wait for a connection
 * @addr:	As for accept4()
 * @len:	As for accept4()
 * @flags:	As for accept4(); SOCK_CLOEXEC is added
 *
 * Return: a connection, blocking unless @flags says otherwise, or -1 with errno: EINTR after a
 * signal, EINVAL when the worker is to leave, else accept4()'s
 */
int accept_next(struct sockaddr *addr, socklen_t *len, int flags);

/**
 * accept_abandon() - close what belongs to the slot, in a copy that a script forked
 *
 * Async-signal-safe.
 */
void accept_abandon(void);

#endif
