/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a worker waits: for its listeners, its clients, its predecessor's clients, its lifeline. */
#ifndef FPM_WORKER_WAIT_H
#define FPM_WORKER_WAIT_H

#include <stdbool.h>

struct client;
struct template_worker;

/**
 * wait_init() - open the watch set
 * @worker:	What the manager sent
 *
 * Return: 0, or -1 with errno
 */
int wait_init(const struct template_worker *worker);

/**
 * wait_next() - wait for a request
 *
 * The clients that it comes from are taken in the order in which they became ready, new ones and
 * kept ones alike. When the lifeline ends, the clients are handed to the slot's next worker.
 *
 * Return: a client whose head is in its buffer, or NULL with errno: EINTR after a signal, EINVAL
 * when the worker is to leave, else what accept4() said
 */
struct client *wait_next(void);

/**
 * wait_take_ready() - take what is ready, without waiting
 *
 * For the time while the program is busy. The lifeline is left alone.
 *
 * Return: true if there was something
 */
bool wait_take_ready(void);

/**
 * wait_let_go() - take nothing more if the worker is to leave
 *
 * For the time while the program is busy. The listeners are closed, as the next manager may want to
 * have them, and what siblings and predecessors pass on is left to others.
 *
 * Return: true if it is to leave
 */
bool wait_let_go(void);

/**
 * wait_is_over() - is the worker to leave
 *
 * Return: true once wait_next() has seen the end of the lifeline
 */
int wait_is_over(void);

/**
 * wait_abandon() - close what belongs to the slot, in a copy that a script forked
 *
 * Async-signal-safe.
 */
void wait_abandon(void);

#endif
