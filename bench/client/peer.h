/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the other end of a connection has ever read anything. */
#ifndef BENCH_CLIENT_PEER_H
#define BENCH_CLIENT_PEER_H

#include "bench/client/transport.h"

#include <stddef.h>

enum peer_state {
	PEER_UNKNOWN = 0, /* the kernel does not tell: another machine, or a module is missing */
	PEER_HAS_READ,	  /* accepted, and at least one byte was read */
	PEER_IDLE,	  /* not accepted yet, or accepted and not one byte was read */
};

/**
 * peer_look() - ask the kernel about the other end of a connection
 * @link:	Connection; nothing was ever received on it
 * @transport:	Its transport
 * @sent:	Bytes that were sent on it
 *
 * A socket that no process has accepted has no inode; NETLINK_SOCK_DIAG tells that, and how much of
 * an accepted one's input is unread, also to users without privileges. Without that module unix
 * sockets are judged by what is still charged to our send buffer.
 *
 * Return: see there
 */
enum peer_state peer_look(const struct transport_link *link, enum transport transport, size_t sent);

#endif
