/* SPDX-License-Identifier: BSD-2-Clause */
/* Depth and limit of the accept queues of endpoints. */

#include "queue_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int queue_reader_init(struct queue_reader *reader, const struct endpoint *endpoints, size_t count)
{
	int fd;

	memset(reader, 0, sizeof(*reader));
	reader->fd = -1;
	reader->queues = calloc(count, sizeof(*reader->queues));
	if (!reader->queues && count > 0)
		return -ENOMEM;
	fd = sock_diag_open();
	if (fd < 0) {
		queue_reader_done(reader);
		return fd;
	}
	reader->fd = fd;
	reader->endpoints = endpoints;
	reader->count = count;
	for (size_t i = 0; i < count; i++) {
		reader->local = reader->local || endpoints[i].transport == TRANSPORT_UNIX;
		reader->inet = reader->inet || endpoints[i].transport == TRANSPORT_TCP;
	}
	return 0;
}

void queue_reader_done(struct queue_reader *reader)
{
	if (reader->fd != -1)
		(void)close(reader->fd);
	reader->fd = -1;
	free(reader->queues);
	reader->queues = NULL;
}

/* Several listeners that fit equally well share an address by SO_REUSEPORT. */
static void take_listener(const struct sock_diag_listener *listener, void *data)
{
	struct queue_reader *reader = data;

	for (size_t i = 0; i < reader->count; i++) {
		struct queue *queue = &reader->queues[i];
		enum sock_diag_match match = sock_diag_match(listener, &reader->endpoints[i]);

		if (match == SOCK_DIAG_OTHER || match < queue->match)
			continue;
		if (match > queue->match)
			*queue = (struct queue){.match = match};
		queue->depth += listener->depth;
		queue->limit += listener->limit;
	}
}

int queue_reader_read(struct queue_reader *reader, struct queue_depth *ret_depth)
{
	struct queue_depth sum = {0};
	int ret = 0;

	memset(reader->queues, 0, reader->count * sizeof(*reader->queues));
	if (reader->local)
		ret = sock_diag_list(reader->fd, AF_UNIX, 0, take_listener, reader);
	if (reader->inet && ret == 0)
		ret = sock_diag_list(reader->fd, AF_INET, 0, take_listener, reader);
	/* A kernel without IPv6 has no listeners of it. */
	if (reader->inet && ret == 0)
		(void)sock_diag_list(reader->fd, AF_INET6, 0, take_listener, reader);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < reader->count; i++) {
		const struct queue *queue = &reader->queues[i];

		sum.depth += queue->depth;
		if (queue->depth > sum.deepest)
			sum.deepest = queue->depth;
		if (queue->limit > 0 && (sum.limit == 0 || queue->limit < sum.limit))
			sum.limit = queue->limit;
	}
	*ret_depth = sum;
	return 0;
}

int queue_read(const struct endpoint *endpoints, size_t count, struct queue_depth *ret_depth)
{
	struct queue_reader reader;
	int ret = queue_reader_init(&reader, endpoints, count);

	if (ret < 0)
		return ret;
	ret = queue_reader_read(&reader, ret_depth);
	queue_reader_done(&reader);
	return ret;
}
