/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening TCP sockets. */
#include "fpm/listener/listener_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/*
 * Accepted sockets inherit TCP_NODELAY; PHP never sets it, and responses above 8 KB would stall.
 * Without SO_REUSEADDR a restart would fail while old connections are in TIME_WAIT. IPV6_V6ONLY
 * makes "[::]" mean the same on every machine, whatever net.ipv6.bindv6only says.
 */
static int set_options(int fd, bool v6_only)
{
	static const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1)
		return -errno;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1)
		return -errno;
	if (v6_only && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == -1)
		return -errno;
	return 0;
}

static const char *hint(int code)
{
	switch (code) {
	case EADDRNOTAVAIL:
		return ", no interface of this machine has that address";
	case EACCES:
		return ", ports below net.ipv4.ip_unprivileged_port_start are root's";
	default:
		return "";
	}
}

/* With SO_REUSEADDR two sockets may share an address until one of them listens. */
static int bind_and_listen(struct listener *listener, int backlog)
{
	struct address_socket *address = &listener->address;

	if (bind(listener->fd, &address->addr.sa, address->len) == -1)
		return -errno;
	if (listen(listener->fd, backlog) == -1)
		return -errno;
	if (getsockname(listener->fd, &address->addr.sa, &address->len) == -1)
		return -errno;
	return 0;
}

int listener_inet_open(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size)
{
	char text[ADDRESS_TEXT_MAX];
	int rc;

	rc = listener_socket(listener, options, error, size);
	if (rc < 0)
		return rc;
	rc = set_options(listener->fd,
			 listener->address.addr.sa.sa_family == AF_INET6 && !options->dual_stack);
	if (rc == 0)
		rc = bind_and_listen(listener, options->backlog);
	if (rc == -EADDRINUSE)
		return listener_fail_in_use(&listener->address, error, size);
	if (rc < 0)
		return listener_fail(rc, error, size, "can't listen on %s: %s%s",
				     address_format(&listener->address, text, sizeof(text)),
				     strerror(-rc), hint(-rc));
	return 0;
}
