/* SPDX-License-Identifier: BSD-2-Clause */
/* The intercepted calls, a line each; exports.map lists the same names. */

#include "lifecycle.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* glibc's headers name the parameters with two underscores, which is not for us to do. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
#define EXPORT __attribute__((visibility("default")))

EXPORT int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict len)
{
	return lifecycle_accept(fd, addr, len);
}

EXPORT int accept4(int fd, struct sockaddr *restrict addr, socklen_t *restrict len, int flags)
{
	return lifecycle_accept4(fd, addr, len, flags);
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
	return lifecycle_write(fd, data, size);
}

EXPORT int close(int fd)
{
	return lifecycle_close(fd);
}

EXPORT ssize_t read(int fd, void *data, size_t size)
{
	return lifecycle_read(fd, data, size);
}

EXPORT ssize_t recv(int fd, void *data, size_t size, int flags)
{
	return lifecycle_recv(fd, data, size, flags);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return lifecycle_poll(fds, count, timeout);
}

EXPORT int shutdown(int fd, int how)
{
	return lifecycle_shutdown(fd, how);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
