/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening connections of each transport, moving bytes, and what an errno means. */
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct transport_link no_link = {.in = -1, .out = -1};

static void switch_on(int fd, int level, int option)
{
	const int on = 1;

	/* An option that this kernel lacks changes what is measured, not whether it works. */
	(void)setsockopt(fd, level, option, &on, sizeof(on));
}

static bool is_loopback(const struct endpoint *endpoint)
{
	struct sockaddr_in address;

	if (endpoint->transport != TRANSPORT_TCP || endpoint->socket.addr.sa.sa_family != AF_INET)
		return false;
	memcpy(&address, &endpoint->socket.addr.storage, sizeof(address));
	return ntohl(address.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

bool transport_can_rotate(const struct endpoint *endpoint, int error)
{
	return (error == -EADDRNOTAVAIL || error == -EAGAIN) && is_loopback(endpoint);
}

/* The port is left to connect(), which knows where to: the same one may serve several peers. */
static int bind_source(int fd, uint8_t source)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl((uint32_t)IN_LOOPBACKNET << IN_CLASSA_NSHIFT | source)};

	switch_on(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) == -1 ? -errno : 0;
}

static int open_socket(const struct endpoint *endpoint, const struct transport_options *options,
		       struct transport_link *ret_link)
{
	const bool tcp = endpoint->transport == TRANSPORT_TCP;
	const int fd = socket(endpoint->socket.addr.sa.sa_family,
			      SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int off = 0;
	int rc = 0;

	if (fd == -1)
		return -errno;
	if (tcp && options->nodelay)
		switch_on(fd, IPPROTO_TCP, TCP_NODELAY);
	if (tcp && options->quickack)
		switch_on(fd, IPPROTO_TCP, TCP_QUICKACK);
	if (options->source != 0 && is_loopback(endpoint))
		rc = bind_source(fd, options->source);
	if (rc == 0 && connect(fd, &endpoint->socket.addr.sa, endpoint->socket.len) == -1)
		rc = -errno;
	if (rc < 0 && rc != -EINPROGRESS) {
		(void)close(fd);
		return rc;
	}
	*ret_link = (struct transport_link){
		.in = fd,
		.out = fd,
		.quickack = tcp && options->quickack,
	};
	/* connect() must not wait, but receiving may. */
	if (options->blocking)
		(void)ioctl(fd, FIONBIO, &off);
	return rc;
}

static int open_half(const char *path, const char *suffix, int flags)
{
	char name[sizeof(((struct endpoint *)NULL)->path) + 8];
	int fd;

	(void)snprintf(name, sizeof(name), "%s%s", path, suffix);
	fd = open(name, flags | O_NONBLOCK | O_CLOEXEC);
	return fd == -1 ? -errno : fd;
}

/* A pipe holds a megabyte at most; one that is filled faster than this is not ours to wait for. */
static void empty_pipe(int fd)
{
	char rest[4096];

	for (int i = 0; i < 256 && read(fd, rest, sizeof(rest)) > 0; i++)
		;
}

static int open_pipes(const char *path, const struct transport_options *options,
		      struct transport_link *ret_link)
{
	/* Answers first: a responder may start to write as soon as it has a request. */
	const int in = open_half(path, ".out", O_RDONLY);
	int out;

	if (in < 0)
		return in;
	out = open_half(path, ".in", O_WRONLY);
	if (out < 0) {
		(void)close(in);
		return out;
	}
	empty_pipe(in);
	if (options->blocking)
		(void)fcntl(in, F_SETFL, 0);
	*ret_link = (struct transport_link){.in = in, .out = out, .pipe = true};
	return 0;
}

int transport_open(const struct endpoint *endpoint, const struct transport_options *options,
		   struct transport_link *ret_link)
{
	if (endpoint->transport == TRANSPORT_PIPE)
		return open_pipes(endpoint->path, options, ret_link);
	return open_socket(endpoint, options, ret_link);
}

void transport_close(struct transport_link *link)
{
	if (link->in != -1)
		(void)close(link->in);
	if (link->pipe && link->out != -1)
		(void)close(link->out);
	*link = no_link;
}

ssize_t transport_send(const struct transport_link *link, const void *data, size_t size)
{
	const ssize_t bytes = link->pipe ? write(link->out, data, size)
					 : send(link->out, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

	return bytes == -1 ? -errno : bytes;
}

ssize_t transport_receive(const struct transport_link *link, void *buffer, size_t size, bool wait)
{
	const ssize_t bytes = link->pipe ? read(link->in, buffer, size)
					 : recv(link->in, buffer, size, wait ? 0 : MSG_DONTWAIT);

	if (link->quickack && bytes > 0)
		switch_on(link->in, IPPROTO_TCP, TCP_QUICKACK);
	return bytes == -1 ? -errno : bytes;
}

int transport_connect_error(const struct transport_link *link)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(link->out, SOL_SOCKET, SO_ERROR, &error, &size) == -1)
		return -errno;
	return -error;
}

enum failure transport_connect_failure(enum transport transport, int error)
{
	switch (-error) {
	case EAGAIN:
		/* TCP has no such answer to a full queue: it means that the ports are used up. */
		return transport == TRANSPORT_TCP ? FAILURE_ADDRESSES : FAILURE_EAGAIN;
	case EADDRNOTAVAIL:
		return FAILURE_ADDRESSES;
	case ECONNREFUSED:
	case ENXIO: /* a named pipe that nobody reads */
		return FAILURE_REFUSED;
	case ECONNRESET:
	case ECONNABORTED:
	case EPIPE:
		return FAILURE_CONNECT_RESET;
	case ETIMEDOUT:
		return FAILURE_CONNECT_TIMEOUT;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
		return FAILURE_LOCAL;
	default:
		/* ENOENT, EACCES, EPERM, ENOTDIR, ENETUNREACH, EPROTOTYPE ... */
		return FAILURE_NO_PATH;
	}
}

enum failure transport_send_failure(int error)
{
	return error == -EPIPE ? FAILURE_SEND_PIPE : FAILURE_SEND_RESET;
}
