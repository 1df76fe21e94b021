/* SPDX-License-Identifier: BSD-2-Clause */
/* All pools of one configuration, as a whole: a reload puts a new generation in the old one's place. */
#ifndef FPM_GENERATION_H
#define FPM_GENERATION_H

#include <stdbool.h>
#include <stddef.h>

struct conf;
struct ev_loop;
struct generation;
struct pool;
struct rlimit;

/**
 * struct generation_events - what the manager is told
 * @ready:	Every pool is ready
 * @failed:	One did not get ready, @why says whose it is and what its program said; told once.
 *		It wants to be stopped
 * @stopped:	After generation_stop(): no process of it is left
 */
struct generation_events {
	void (*ready)(void *data, struct generation *generation);
	void (*failed)(void *data, struct generation *generation, const char *why);
	void (*stopped)(void *data, struct generation *generation);
};

/**
 * generation_new() - open the listeners of all pools; no process yet
 * @loop:	Event loop
 * @conf:	Configuration, taken over also on failure
 * @library:	Descriptor of libberth-worker.so
 * @nofile:	RLIMIT_NOFILE of all processes
 * @lender:	Generation whose listeners and waiting connections it shares where the addresses
 *		are the same, until generation_take_over(); NULL if there is none
 * @events:	Callbacks
 * @data:	Passed to them
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: generation, or NULL with nothing left behind and nothing of @lender changed
 */
struct generation *generation_new(struct ev_loop *loop, struct conf *conf, int library,
				  const struct rlimit *nofile, struct generation *lender,
				  const struct generation_events *events, void *data, char *error,
				  size_t size);

/**
 * generation_new_pool() - one pool, to be put into the place of the one of that name
 * @loop:	Event loop
 * @conf:	Configuration with that pool alone, taken over also on failure
 * @library:	Descriptor of libberth-worker.so
 * @nofile:	RLIMIT_NOFILE of all processes
 * @running:	Generation that has a pool of that name, and shares with it as in generation_new()
 *		until generation_exchange()
 * @events:	Callbacks
 * @data:	Passed to them
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: as generation_new()
 */
struct generation *generation_new_pool(struct ev_loop *loop, struct conf *conf, int library,
				       const struct rlimit *nofile, struct generation *running,
				       const struct generation_events *events, void *data,
				       char *error, size_t size);

/**
 * generation_free() - close the listeners that are its own
 * @generation:	Generation without processes, may be NULL; one that shares comes before its lender
 */
void generation_free(struct generation *generation);

/**
 * generation_start() - start all pools; @ready or @failed follows
 * @generation:	A new one
 */
void generation_start(struct generation *generation);

/**
 * generation_take_over() - what was shared is this one's from now on
 * @generation:	One that is ready; its lender is to be stopped
 */
void generation_take_over(struct generation *generation);

/**
 * generation_exchange() - put a new pool in the place of the old one
 * @running:	Generation that runs, which has the new pool then
 * @next:	One of generation_new_pool() that is ready; it has the old pool then, and is to be
 *		stopped
 */
void generation_exchange(struct generation *running, struct generation *next);

/**
 * generation_stop() - ask every worker to finish and leave; @stopped follows, maybe at once
 * @generation:	Generation
 *
 * Return: false if that was done before
 */
bool generation_stop(struct generation *generation);

/**
 * generation_kill() - hurry a stop
 * @generation:	One that is stopping
 */
void generation_kill(struct generation *generation);

/**
 * generation_pools() - its pools
 * @generation:	Generation
 * @ret_count:	Their number
 *
 * Return: pools, valid as long as it is
 */
struct pool *const *generation_pools(const struct generation *generation, size_t *ret_count);

/**
 * generation_conf() - its configuration
 * @generation:	Generation
 *
 * Return: configuration, valid as long as it is
 */
const struct conf *generation_conf(const struct generation *generation);

struct state_pool;

/**
 * generation_export() - what the next manager needs to go on with it
 * @generation:	One that is ready
 * @ret_pools:	Set to an allocated list
 * @ret_count:	Its entries
 *
 * Return: 0 or -ENOMEM
 */
int generation_export(const struct generation *generation, struct state_pool **ret_pools,
		      size_t *ret_count);

/**
 * generation_adopt() - go on with one that another manager has left
 * @loop:	Event loop
 * @conf:	Its configuration, taken over also on failure
 * @library:	Descriptor of libberth-worker.so
 * @nofile:	RLIMIT_NOFILE of all processes
 * @pools:	What the other manager said of its pools; they fit the configuration
 * @usable:	False: its processes speak another version, see pool_adopt()
 * @events:	Callbacks; @ready is not called
 * @data:	Passed to them
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: generation, or NULL
 */
struct generation *generation_adopt(struct ev_loop *loop, struct conf *conf, int library,
				    const struct rlimit *nofile, const struct state_pool *pools,
				    bool usable, const struct generation_events *events, void *data,
				    char *error, size_t size);

/**
 * generation_resume() - catch up with what happened while nobody looked
 * @generation:	From generation_adopt()
 */
void generation_resume(struct generation *generation);

#endif
