/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrivals that wait in the client for a free connection: a ring of times. */
#include "load_queue.h"

#include <errno.h>
#include <stdlib.h>

int load_queue_init(struct load_queue *queue, uint64_t limit)
{
	*queue = (struct load_queue){.limit = limit};
	if (limit == 0)
		return 0;
	queue->due = calloc(limit, sizeof(*queue->due));
	return queue->due != NULL ? 0 : -ENOMEM;
}

void load_queue_done(struct load_queue *queue)
{
	free(queue->due);
	*queue = (struct load_queue){.limit = 0};
}

bool load_queue_push(struct load_queue *queue, uint64_t due_ns)
{
	uint64_t at;

	if (queue->count == queue->limit)
		return false;
	at = queue->first + queue->count++;
	queue->due[at < queue->limit ? at : at - queue->limit] = due_ns;
	return true;
}

uint64_t load_queue_pop(struct load_queue *queue)
{
	const uint64_t due_ns = queue->due[queue->first];

	if (++queue->first == queue->limit)
		queue->first = 0;
	queue->count--;
	return due_ns;
}
