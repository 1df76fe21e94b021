/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's own versions of the intercepted calls. */
#ifndef FPM_WORKER_LIBC_H
#define FPM_WORKER_LIBC_H

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

struct libc_calls {
	int (*accept)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*accept4)(int fd, struct sockaddr *addr, socklen_t *len, int flags);
	ssize_t (*write)(int fd, const void *data, size_t size);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *data, size_t size);
	ssize_t (*recv)(int fd, void *data, size_t size, int flags);
	int (*poll)(struct pollfd *fds, nfds_t count, int timeout);
	int (*shutdown)(int fd, int how);
};

/**
 * libc_bind() - look the originals up; called when the library is loaded
 *
 * A call that comes even earlier, from another library's constructor, goes straight to the kernel.
 */
void libc_bind(void);

/**
 * libc_calls() - the originals
 *
 * Return: table without NULL entries
 */
const struct libc_calls *libc_calls(void);

#endif
