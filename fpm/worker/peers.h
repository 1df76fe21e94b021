/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may connect: the pool's listen.allowed_clients and listen.allowed_uids. */
#ifndef FPM_WORKER_PEERS_H
#define FPM_WORKER_PEERS_H

#include <stdbool.h>
#include <sys/socket.h>

/**
 * peers_open() - take the pool's list
 * @fd:		memfd of struct abi_peers, closed in any case; empty if everybody may connect
 *
 * Return: 0, or -1 with errno: then there is no telling who may
 */
int peers_open(int fd);

/**
 * peers_allowed() - may this client stay
 * @fd:		Its connection
 * @peer:	Its address, as accept() gave it
 *
 * TCP clients are looked for in the one list and those of unix sockets in the other. Who is
 * refused is told on descriptor 2, PEERS_LINES times a second at most.
 *
 * Return: true if so
 */
bool peers_allowed(int fd, const struct sockaddr *peer);
#define PEERS_LINES 4

#endif
