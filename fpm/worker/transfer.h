/* SPDX-License-Identifier: BSD-2-Clause */
/* The message that carries connections from one process to another. */
#ifndef FPM_WORKER_TRANSFER_H
#define FPM_WORKER_TRANSFER_H

#include "fcgi/wire.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Most connections of a message. */
#define TRANSFER_BATCH 32

/**
 * struct transfer_entry - one connection
 * @in:		Where an old request's input stands that is still to be passed over
 * @rest:	There is such a rest
 * @fresh:	It is new, and nobody has served it yet
 * @was_served:	A request of it was served before
 * @pending:	Its unread bytes in the message
 * @peer_len:	Bytes of @peer
 * @unchecked:	Nobody has looked yet whether its peer may connect
 * @reserved:	0
 * @born_ms:	When it was accepted, CLOCK_MONOTONIC_COARSE
 * @peer:	Its peer, as accept() gave it
 */
struct transfer_entry {
	struct wire_parser in;
	uint32_t rest;
	uint32_t fresh;
	uint32_t pending;
	uint32_t peer_len;
	uint32_t unchecked;
	uint32_t was_served;
	uint64_t born_ms;
	struct sockaddr_storage peer;
};

/**
 * struct transfer - the fixed part; unread bytes follow, one connection's behind the other's
 * @abi:	ABI_VERSION
 * @count:	Entries in use
 * @entries:	Connections, in the order of the descriptors
 */
struct transfer {
	uint32_t abi;
	uint32_t count;
	struct transfer_entry entries[TRANSFER_BATCH];
};

/**
 * transfer_send() - send a message; it is whole or not there at all
 * @out:	SOCK_SEQPACKET socket
 * @transfer:	Filled in
 * @bytes:	Unread bytes
 * @size:	Bytes of @bytes
 * @fds:	Descriptors
 * @wait_ms:	How long to wait when the socket is full
 *
 * Return: 0, or -1 with errno
 */
int transfer_send(int out, const struct transfer *transfer, const void *bytes, size_t size,
		  const int fds[], int wait_ms);

/**
 * transfer_receive() - take a message, without waiting
 * @in:		SOCK_SEQPACKET socket
 * @ret_transfer: Fixed part
 * @bytes:	Where unread bytes go
 * @size:	Bytes of @bytes
 * @ret_fds:	Descriptors, close-on-exec
 *
 * A message that was cut, or is of another version, is dropped with its connections.
 *
 * Return: number of connections, 0 if there are none to be had
 */
uint32_t transfer_receive(int in, struct transfer *ret_transfer, void *bytes, size_t size,
			  int ret_fds[TRANSFER_BATCH]);

#endif
