/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's bytes by system calls: what is the same, and what is not, for sockets and pipes. */

#include "stream.h"

#include "client.h"
#include "libc.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static bool is_pipe(const struct client *c)
{
	return c->answers != -1;
}

/* The flag O_NONBLOCK would be the manager's and the next worker's as well. */
static bool pipe_is_readable(const struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	return libc_calls()->poll(&p, 1, 0) == 1;
}

ssize_t stream_read(const struct client *client, void *data, size_t size)
{
	ssize_t n;

	if (is_pipe(client) && !pipe_is_readable(client)) {
		errno = EAGAIN;
		return -1;
	}
	do
		n = is_pipe(client) ? libc_calls()->read(client->fd, data, size)
				    : libc_calls()->recv(client->fd, data, size, MSG_DONTWAIT);
	while (n == -1 && errno == EINTR);
	return n;
}

ssize_t stream_wait(const struct client *client, void *data, size_t size)
{
	if (is_pipe(client))
		return libc_calls()->read(client->fd, data, size);
	return libc_calls()->recv(client->fd, data, size, 0);
}

bool stream_has_input(const struct client *client)
{
	char byte;
	int size = 0;

	if (is_pipe(client))
		return ioctl(client->fd, FIONREAD, &size) == 0 && size > 0;
	return libc_calls()->recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

ssize_t stream_write(const struct client *client, int fd, const void *data, size_t size)
{
	return libc_calls()->write(client && is_pipe(client) ? client->answers : fd, data, size);
}

void stream_end(const struct client *client)
{
	if (!is_pipe(client))
		(void)libc_calls()->shutdown(client->fd, SHUT_RDWR);
}
