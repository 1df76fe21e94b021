/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool: its listeners, its template and its slots, from start to stop. */
#ifndef FPM_POOL_H
#define FPM_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct conf_pool;
struct ev_loop;
struct pool;
struct rlimit;

/**
 * struct pool_events - what the manager is told
 * @ready:	Every slot has, or had, a worker
 * @failed:	It never got ready; @why says what its program said. It wants to be stopped
 * @may_start:	May it have one more worker, so that process.max is kept
 * @stopped:	After pool_stop(): no process of it is left
 */
struct pool_events {
	void (*ready)(void *data, struct pool *pool);
	void (*failed)(void *data, struct pool *pool, const char *why);
	void (*stopped)(void *data, struct pool *pool);
	bool (*may_start)(void *data);
};

/**
 * struct pool_start - what a pool is made of
 * @loop:	Event loop
 * @conf:	Its configuration, which stays the caller's and in use
 * @library:	Descriptor of libberth-worker.so
 * @nofile:	RLIMIT_NOFILE of its processes
 * @lenders:	Pools that run already: listeners of the same address are shared with them, and with
 *		the one of the same name the connections that wait between two workers; until
 *		pool_take_over()
 * @lender_count: Entries of @lenders
 * @events:	Callbacks
 * @data:	Passed to them
 */
struct pool_start {
	struct ev_loop *loop;
	const struct conf_pool *conf;
	int library;
	const struct rlimit *nofile;
	struct pool *const *lenders;
	size_t lender_count;
	const struct pool_events *events;
	void *data;
};

/**
 * pool_new() - a pool with its listeners open, and no process yet
 * @start:	What it is made of
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: pool, or NULL with nothing left behind
 */
struct pool *pool_new(const struct pool_start *start, char *error, size_t size);

/**
 * pool_free() - close its listeners and remove their files
 * @pool:	Pool without processes, may be NULL
 */
void pool_free(struct pool *pool);

/**
 * pool_take_over() - what it shares with older pools is its own from now on
 * @pool:	A pool that is ready; its lenders are to be stopped
 *
 * Backlog, owner and mode of shared listeners become what its configuration says.
 */
void pool_take_over(struct pool *pool);

/**
 * pool_set_owner() - whom its events are told to from now on
 * @pool:	Pool
 * @data:	Passed to its callbacks
 */
void pool_set_owner(struct pool *pool, void *data);

/**
 * pool_start() - start its processes; @ready or @failed follows
 * @pool:	A new pool
 */
void pool_start(struct pool *pool);

/**
 * pool_stop() - ask every worker to finish and leave; @stopped follows, maybe at once
 * @pool:	Pool
 */
void pool_stop(struct pool *pool);

/**
 * pool_kill() - hurry a stop: end what is left at once
 * @pool:	A pool that is stopping
 */
void pool_kill(struct pool *pool);

/**
 * pool_processes() - number of its workers: serving, starting, leaving
 * @pool:	Pool
 *
 * Return: their number
 */
unsigned int pool_processes(const struct pool *pool);

/**
 * pool_describe() - what it is and where it listens, for the log
 * @pool:	Pool
 * @buffer:	Set to e.g. "pool www: 4 workers of php-cgi (template) at /run/www-1.sock ..."
 * @size:	Bytes of @buffer
 *
 * Return: @buffer
 */
const char *pool_describe(const struct pool *pool, char *buffer, size_t size);

struct state_pool;

/**
 * pool_export() - what the next manager needs to go on with it
 * @pool:	A pool that is ready
 * @ret_state:	All zero, filled in
 *
 * Return: 0 or -ENOMEM
 */
int pool_export(const struct pool *pool, struct state_pool *ret_state);

/**
 * pool_adopt() - go on with one that another manager has left; pool_resume() comes next
 * @start:	What it is made of, without lenders
 * @state:	What the other manager said of it, which fits the configuration; its descriptors are
 *		taken over
 * @usable:	False: its processes speak another version. They go on, none is started, and what
 *		they say is not read
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: pool, ready, or NULL
 */
struct pool *pool_adopt(const struct pool_start *start, const struct state_pool *state, bool usable,
			char *error, size_t size);

/**
 * pool_resume() - catch up with what happened while nobody looked
 * @pool:	From pool_adopt()
 */
void pool_resume(struct pool *pool);

#endif
