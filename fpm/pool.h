/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool: its listeners, its template and its slots, from start to stop. */
#ifndef FPM_POOL_H
#define FPM_POOL_H

#include <stddef.h>
#include <sys/resource.h>

struct conf_pool;
struct ev_loop;
struct pool;

/**
 * struct pool_events - what the manager is told
 * @ready:	Every slot has, or had, a worker
 * @failed:	It never got ready; @why says what its program said. It wants to be stopped
 * @stopped:	After pool_stop(): no process of it is left
 */
struct pool_events {
	void (*ready)(void *data, struct pool *pool);
	void (*failed)(void *data, struct pool *pool, const char *why);
	void (*stopped)(void *data, struct pool *pool);
};

/**
 * pool_new() - a pool with its listeners open, and no process yet
 * @loop:	Event loop
 * @conf:	Its configuration, which stays the caller's and in use
 * @library:	Descriptor of libberth-worker.so
 * @nofile:	RLIMIT_NOFILE of its processes
 * @events:	Callbacks
 * @data:	Passed to them
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: pool, or NULL with nothing left behind
 */
struct pool *pool_new(struct ev_loop *loop, const struct conf_pool *conf, int library,
		      const struct rlimit *nofile, const struct pool_events *events, void *data,
		      char *error, size_t size);

/**
 * pool_free() - close its listeners and remove their files
 * @pool:	Pool without processes, may be NULL
 */
void pool_free(struct pool *pool);

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
 * pool_describe() - what it is and where it listens, for the log
 * @pool:	Pool
 * @buffer:	Set to e.g. "pool www: 4 workers of php-cgi (template) at /run/www-1.sock ..."
 * @size:	Bytes of @buffer
 *
 * Return: @buffer
 */
const char *pool_describe(const struct pool *pool, char *buffer, size_t size);

#endif
