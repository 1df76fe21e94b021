/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a responder is: from the text of a command line to addresses. */
#include "endpoint.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *transport_name(enum transport transport)
{
	static const char *const names[] = {
		[TRANSPORT_TCP] = "tcp",
		[TRANSPORT_UNIX] = "unix",
		[TRANSPORT_PIPE] = "pipe",
	};

	static_assert(sizeof(names) / sizeof(names[0]) == TRANSPORTS, "a transport without name");
	return transport < TRANSPORTS ? names[transport] : "unknown";
}

static int refuse(char *error, size_t size, const char *reason)
{
	(void)snprintf(error, size, "%s", reason);
	return -EINVAL;
}

/* Passes over "unix:" or "tcp:", which web servers' configurations have. */
static int strip_prefix(const char **text, char *error, size_t size)
{
	const char *rest = *text;

	if (strncmp(rest, "unix:", 5) == 0) {
		rest += 5;
		if (*rest != '/' && *rest != '@')
			return refuse(error, size, "\"unix:\" must be followed by /PATH or @NAME");
	} else if (strncmp(rest, "tcp:", 4) == 0) {
		rest += 4;
		if (strpbrk(rest, "/@") != NULL)
			return refuse(error, size, "\"tcp:\" must be followed by HOST:PORT");
	}
	*text = rest;
	return 0;
}

static bool has_port(const struct address_socket *socket)
{
	if (socket->addr.sa.sa_family == AF_INET)
		return ((const struct sockaddr_in *)&socket->addr.storage)->sin_port != 0;
	if (socket->addr.sa.sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)&socket->addr.storage)->sin6_port != 0;
	return true;
}

/*
 * A name may stand for several addresses, and a measurement goes to one. Where "localhost" is both,
 * responders mostly listen on 127.0.0.1 alone.
 */
static const struct address_socket *choose(const struct address_socket *sockets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sockets[i].addr.sa.sa_family == AF_INET)
			return &sockets[i];
	}
	return &sockets[0];
}

static void set_pipe(const struct address_socket *in, struct endpoint *endpoint)
{
	static const char suffix[] = ".in";
	const char *path = in->addr.un.sun_path;
	size_t length = strlen(path) - strlen(suffix);

	endpoint->transport = TRANSPORT_PIPE;
	memcpy(endpoint->path, path, length);
	(void)snprintf(endpoint->text, sizeof(endpoint->text), "pipe:%s", endpoint->path);
}

static int resolve(const struct address *address, unsigned int slot, struct endpoint *endpoint,
		   char *error, size_t size)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	size_t count = 0;
	int rc;

	rc = address_resolve(address, slot, sockets, &count, error, size);
	if (rc < 0)
		return rc;
	if (address->kind == ADDRESS_PIPE) {
		set_pipe(&sockets[0], endpoint);
		return 0;
	}
	endpoint->transport = address->kind == ADDRESS_INET ? TRANSPORT_TCP : TRANSPORT_UNIX;
	endpoint->socket = *choose(sockets, count);
	if (!has_port(&endpoint->socket))
		return refuse(error, size, "port 0 can't be connected to");
	(void)address_format(&endpoint->socket, endpoint->text, sizeof(endpoint->text));
	return 0;
}

int endpoint_parse(const char *text, unsigned int workers, struct endpoint **ret, size_t *ret_count,
		   char *error, size_t size)
{
	struct endpoint *endpoints = NULL;
	struct address address;
	size_t count;
	int rc;

	rc = strip_prefix(&text, error, size);
	if (rc < 0)
		return rc;
	rc = address_parse(text, workers, &address, error, size);
	if (rc < 0)
		return rc;
	count = address.per_slot ? workers : 1;
	endpoints = calloc(count, sizeof(*endpoints));
	if (endpoints == NULL) {
		(void)snprintf(error, size, "out of memory");
		rc = -ENOMEM;
	}
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = resolve(&address, (unsigned int)i + 1, &endpoints[i], error, size);
	address_done(&address);
	if (rc < 0) {
		free(endpoints);
		return rc;
	}
	*ret = endpoints;
	*ret_count = count;
	return 0;
}
