/* SPDX-License-Identifier: BSD-2-Clause */
/* Which process answers at an endpoint. */
#ifndef BENCH_SERVER_OWNER_H
#define BENCH_SERVER_OWNER_H

#include "bench/client/endpoint.h"

#include <sys/types.h>

/**
 * owner_find() - the root of the process tree that answers
 * @endpoint:	Endpoint
 *
 * Of the processes that have the listener (or the pipe) open it is the one that the others descend
 * from. Only root sees that of other users; of a unix socket the kernel tells everybody who called
 * listen().
 *
 * Return: pid, or 0 if it can't be known
 */
pid_t owner_find(const struct endpoint *endpoint);

#endif
