/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening connections of each transport, moving bytes, and what an errno means. */
#ifndef BENCH_CLIENT_TRANSPORT_H
#define BENCH_CLIENT_TRANSPORT_H

#include "bench/client/endpoint.h"
#include "bench/client/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct transport_options - socket options of new connections
 * @nodelay:	TCP_NODELAY
 * @quickack:	TCP_QUICKACK; it wears off, so transport_receive() sets it again
 * @source:	TCP to 127/8: our address is 127.0.0.SOURCE; 0 = as the kernel chooses
 * @blocking:	transport_receive() may be asked to wait; otherwise it never does
 */
struct transport_options {
	bool nodelay;
	bool quickack;
	bool blocking;
	uint8_t source;
};

/**
 * struct transport_link - an open connection
 * @in:		Answers are read from it, -1 if there is none
 * @out:	Requests are written to it; the same as @in but for pipes
 * @pipe:	It is a pair of pipes
 * @quickack:	See struct transport_options; only set for TCP
 */
struct transport_link {
	int in;
	int out;
	bool pipe;
	bool quickack;
};

/**
 * transport_can_rotate() - has an endpoint other source addresses to be reached from
 * @endpoint:	Where to
 * @error:	Negative errno of transport_open()
 *
 * Return: true if it is in 127/8 and the local ports for the present source are used up
 */
bool transport_can_rotate(const struct endpoint *endpoint, int error);

/**
 * transport_open() - start a connection, without waiting
 * @endpoint:	Where to
 * @options:	Socket options
 * @ret_link:	Set on success and for -EINPROGRESS, to be released by transport_close()
 *
 * What still lies in a pipe of answers belongs to nobody any more and is thrown away.
 *
 * Return: 0, -EINPROGRESS (TCP: writable, or a send() that works, will tell), or negative errno
 */
int transport_open(const struct endpoint *endpoint, const struct transport_options *options,
		   struct transport_link *ret_link);

/**
 * transport_close() - close it
 * @link:	Link, may have no descriptors
 */
void transport_close(struct transport_link *link);

/**
 * transport_send() - write what can be written without waiting; never raises SIGPIPE on sockets
 * @link:	Link
 * @data:	Bytes
 * @size:	How many
 *
 * Return: bytes taken, or negative errno
 */
ssize_t transport_send(const struct transport_link *link, const void *data, size_t size);

/**
 * transport_receive() - read what is there
 * @link:	Link
 * @buffer:	Filled from the start
 * @size:	Bytes of @buffer
 * @wait:	Wait until something is there; only for links that were opened as blocking. Such a pipe
 *		waits in any case, so it must be known that something is there
 *
 * Return: bytes read, 0 at the end of file, or negative errno
 */
ssize_t transport_receive(const struct transport_link *link, void *buffer, size_t size, bool wait);

/**
 * transport_connect_error() - the error of a connection that was in progress
 * @link:	Link
 *
 * Return: 0 or negative errno
 */
int transport_connect_error(const struct transport_link *link);

/**
 * transport_connect_failure() - class of a connection that could not be opened
 * @transport:	Transport
 * @error:	Negative errno
 *
 * Return: class
 */
enum failure transport_connect_failure(enum transport transport, int error);

/**
 * transport_send_failure() - class of a request that could not be sent
 * @error:	Negative errno
 *
 * Return: class
 */
enum failure transport_send_failure(int error);

#endif
