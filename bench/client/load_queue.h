/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrivals that wait in the client for a free connection: a ring of times. */
#ifndef BENCH_CLIENT_LOAD_QUEUE_H
#define BENCH_CLIENT_LOAD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct load_queue - all zero is one that takes nothing
 * @due:	When they were due
 * @limit:	Entries of @due
 * @first:	Index of the oldest one
 * @count:	How many wait
 */
struct load_queue {
	uint64_t *due;
	uint64_t limit;
	uint64_t first;
	uint64_t count;
};

/**
 * load_queue_init() - allocate
 * @queue:	Set up
 * @limit:	Most that may wait, may be 0
 *
 * Return: 0 or -ENOMEM
 */
int load_queue_init(struct load_queue *queue, uint64_t limit);

/**
 * load_queue_done() - release
 * @queue:	Queue, may be all zero
 */
void load_queue_done(struct load_queue *queue);

/**
 * load_queue_push() - one more has to wait
 * @queue:	Queue
 * @due_ns:	When it was due
 *
 * Return: false if no more may wait
 */
bool load_queue_push(struct load_queue *queue, uint64_t due_ns);

/**
 * load_queue_pop() - the oldest one waits no longer
 * @queue:	Queue that is not empty
 *
 * Return: when it was due
 */
uint64_t load_queue_pop(struct load_queue *queue);

#endif
