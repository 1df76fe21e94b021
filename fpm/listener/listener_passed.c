/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets that somebody else has opened, and whose owner, mode and file are not ours. */
#include "fpm/listener/listener_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* O_NONBLOCK is whoever's who has the socket, but systemd only waits for its first client. */
static int set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) == -1 ? -errno : 0;
}

int listener_open_passed(int fd, const struct address_socket *address,
			 const struct listener_options *options, struct listener *ret_listener,
			 char *error, size_t size)
{
	static const int on = 1;
	struct listener listener = {.fd = fd, .address = *address, .passed = true};
	int result = set_nonblocking(fd, options->nonblocking);

	if (result == 0 && address->addr.sa.sa_family != AF_UNIX &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1)
		result = -errno;
	if (result < 0)
		return listener_fail(result, error, size, "the socket that was passed: %s",
				     strerror(-result));
	/* Port 0, which never equals itself, stands for whichever it is. */
	if (!address_equal(address, address))
		listener.address = listener_actual_address(&listener);
	*ret_listener = listener;
	return 0;
}

struct address_socket listener_actual_address(const struct listener *listener)
{
	struct address_socket actual = {.len = sizeof(actual.addr)};

	if (!listener->passed || getsockname(listener->fd, &actual.addr.sa, &actual.len) == -1)
		return listener->address;
	return actual;
}
