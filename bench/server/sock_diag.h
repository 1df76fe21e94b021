/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel for listening sockets and their accept queues. */
#ifndef BENCH_SERVER_SOCK_DIAG_H
#define BENCH_SERVER_SOCK_DIAG_H

#include "bench/client/endpoint.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct sock_diag_listener - a socket that listens
 * @inode:	As /proc/PID/fd shows it
 * @depth:	Connections that wait to be accepted
 * @limit:	Its backlog, which somaxconn has cut
 * @address:	What it is bound to
 * @file_device: Unix socket in the file system: where its file is
 * @file_inode:	Likewise, 0 = not known
 */
struct sock_diag_listener {
	uint32_t inode;
	uint32_t depth;
	uint32_t limit;
	struct address_socket address;
	dev_t file_device;
	ino_t file_inode;
};

/* Called for each listener. */
typedef void (*sock_diag_fn)(const struct sock_diag_listener *listener, void *data);

/**
 * sock_diag_open() - a socket for sock_diag_list()
 *
 * Return: descriptor or negative errno
 */
int sock_diag_open(void);

/**
 * sock_diag_list() - all listeners of a family in this network namespace
 * @fd:		From sock_diag_open()
 * @family:	AF_UNIX, AF_INET or AF_INET6
 * @port:	AF_INET, AF_INET6: only those of this port, 0 = all
 * @listener:	Called for each
 * @data:	Passed to it
 *
 * Return: 0 or negative errno
 */
int sock_diag_list(int fd, int family, unsigned int port, sock_diag_fn listener, void *data);

/* How well a listener fits a client's address, from not at all. */
enum sock_diag_match {
	SOCK_DIAG_OTHER = 0,
	SOCK_DIAG_WILDCARD, /* TCP: bound to all addresses; unix: the name of its file fits */
	SOCK_DIAG_EXACT,
};

/**
 * sock_diag_match() - does a client that connects to an endpoint come to a listener
 * @listener:	Listener
 * @endpoint:	Endpoint, a socket
 *
 * Of several listeners the one that fits best gets the client.
 *
 * Return: how well it fits
 */
enum sock_diag_match sock_diag_match(const struct sock_diag_listener *listener,
				     const struct endpoint *endpoint);

#endif
