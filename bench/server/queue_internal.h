/* SPDX-License-Identifier: BSD-2-Clause */
/* What queue.c and queue_watch.c share: a reader of accept queues that is used many times. */
#ifndef BENCH_SERVER_QUEUE_INTERNAL_H
#define BENCH_SERVER_QUEUE_INTERNAL_H

#include "sock_diag.h"
#include "usage.h"

#include <stdbool.h>

/**
 * struct queue - the accept queue of an endpoint, as last read
 * @match:	How well the listener fits that it is of
 * @depth:	Connections that wait
 * @limit:	Backlog, 0 = not known
 */
struct queue {
	enum sock_diag_match match;
	unsigned int depth;
	unsigned int limit;
};

/**
 * struct queue_reader - what it takes to read queues again and again
 * @endpoints:	Endpoints, not owned
 * @queues:	One for each (owned)
 * @count:	Entries of both
 * @fd:		From sock_diag_open(), owned
 * @local:	There are unix sockets
 * @inet:	There are TCP sockets
 */
struct queue_reader {
	const struct endpoint *endpoints;
	struct queue *queues;
	size_t count;
	int fd;
	bool local;
	bool inet;
};

/**
 * queue_reader_init() - get ready
 * @reader:	Set up
 * @endpoints:	Endpoints, must stay where they are
 * @count:	Entries
 *
 * Return: 0 or negative errno
 */
int queue_reader_init(struct queue_reader *reader, const struct endpoint *endpoints, size_t count);

/**
 * queue_reader_read() - read all queues
 * @reader:	Reader
 * @ret_depth:	Set on success
 *
 * Return: 0 or negative errno
 */
int queue_reader_read(struct queue_reader *reader, struct queue_depth *ret_depth);

/**
 * queue_reader_done() - release
 * @reader:	Reader
 */
void queue_reader_done(struct queue_reader *reader);

#endif
