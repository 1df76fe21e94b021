/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a responder is: TCP, unix socket, or a pair of named pipes. */
#ifndef BENCH_CLIENT_ENDPOINT_H
#define BENCH_CLIENT_ENDPOINT_H

#include "fpm/listener/address.h"

#include <stddef.h>

enum transport {
	TRANSPORT_TCP = 0,
	TRANSPORT_UNIX,
	TRANSPORT_PIPE,
	TRANSPORTS,
};

/**
 * transport_name() - "tcp", "unix" or "pipe"
 * @transport:	Transport
 *
 * Return: a static string
 */
const char *transport_name(enum transport transport);

/**
 * struct endpoint - one address of a responder
 * @transport:	Transport
 * @socket:	TRANSPORT_TCP, TRANSPORT_UNIX: socket address
 * @path:	TRANSPORT_PIPE: requests go into the named pipe "PATH.in", answers come out of
 *		"PATH.out"; one client, one worker
 * @text:	As reports show it
 */
struct endpoint {
	enum transport transport;
	struct address_socket socket;
	char path[108];
	char text[ADDRESS_TEXT_MAX];
};

/**
 * endpoint_parse() - the endpoints that a text means
 * @text:	"/path/of.sock", "@name", "HOST:PORT", "[::1]:PORT", "PORT", "pipe:/path"; "unix:" or
 *		"tcp:" may stand in front. With "%n" (path, name) or "+%n" (port) it means @workers of
 *		them, numbered from 1
 * @workers:	How many workers, 1 or more
 * @ret:	Set on success, allocated: one endpoint, or @workers of them
 * @ret_count:	Set on success
 * @error:	On failure: what is wrong and what is accepted, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0, -EINVAL, -ENOMEM or what address_resolve() returns
 */
int endpoint_parse(const char *text, unsigned int workers, struct endpoint **ret, size_t *ret_count,
		   char *error, size_t size);

#endif
