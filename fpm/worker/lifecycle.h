/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process is (template, worker, a script's copy of one) and what that makes of a call. */
#ifndef FPM_WORKER_LIFECYCLE_H
#define FPM_WORKER_LIFECYCLE_H

#include <poll.h>
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

/*
 * The same for the calls that a program makes on the connection that accept() gave it: in a worker
 * connection.h says what they do, everywhere else they are the C library's.
 */
ssize_t lifecycle_read(int fd, void *data, size_t size);
ssize_t lifecycle_write(int fd, const void *data, size_t size);
ssize_t lifecycle_recv(int fd, void *data, size_t size, int flags);
int lifecycle_poll(struct pollfd *fds, nfds_t count, int timeout);
int lifecycle_shutdown(int fd, int how);
int lifecycle_close(int fd);

#endif
