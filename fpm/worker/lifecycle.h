/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process is (template, worker, a script's copy of one) and what that makes of a call. */
#ifndef FPM_WORKER_LIFECYCLE_H
#define FPM_WORKER_LIFECYCLE_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/**
 * lifecycle_accept() - accept(), as the program calls it
 * @fd:		As for accept()
 * @addr:	As for accept()
 * @len:	As for accept()
 *
 * On any descriptor but 0, and outside berth, this is the C library's accept(). On 0 the
 * template serves the manager and returns in the forked workers only, a worker accepts on its
 * own listeners, and a copy that a script forked gets EINVAL, which ends it.
 *
 * Return: a close-on-exec connection, or -1 with errno
 */
int lifecycle_accept(int fd, struct sockaddr *addr, socklen_t *len);

/**
 * lifecycle_accept4() - accept4(), likewise
 * @fd:		As for accept4()
 * @addr:	As for accept4()
 * @len:	As for accept4()
 * @flags:	As for accept4()
 *
 * Return: a connection, or -1 with errno
 */
int lifecycle_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);

/**
 * lifecycle_write() - write(), likewise
 * @fd:		As for write()
 * @data:	As for write()
 * @size:	As for write()
 *
 * A worker notes what it answers to its client.
 *
 * Return: as for write()
 */
ssize_t lifecycle_write(int fd, const void *data, size_t size);

/**
 * lifecycle_close() - close(), likewise
 * @fd:		As for close()
 *
 * Return: as for close()
 */
int lifecycle_close(int fd);

#endif
