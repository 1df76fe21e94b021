/* SPDX-License-Identifier: BSD-2-Clause */
/* One worker process of a slot as the manager sees it, from its fork to its end. */
#ifndef FPM_SLOT_WORKER_H
#define FPM_SLOT_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct abi_score;
struct pool;
struct process_end;
struct slot;
struct slot_worker;

/**
 * struct slot_worker_events - what its slot is told; in each the worker may be freed
 * @up:		It exists and accepts; not called for one that is executed, which exists at once
 * @failed:	It could not be made; @error is a negative errno
 * @ended:	It has ended
 */
struct slot_worker_events {
	void (*up)(struct slot_worker *worker);
	void (*failed)(struct slot_worker *worker, int error);
	void (*ended)(struct slot_worker *worker, const struct process_end *end);
};

/**
 * struct slot_worker_start - how workers of a pool are made
 * @pool:	Their pool
 * @slot_number: Slot number from 1
 * @handoff:	The slot's pair of sockets for connections: where they arrive, where they go
 * @listeners:	Listening sockets
 * @listener_count: Entries of @listeners
 * @fresh:	A pair of sockets in place of the pool's, for one that serves none of the pool's
 *		clients and has no request limit; NULL for a slot's worker
 */
struct slot_worker_start {
	struct pool *pool;
	unsigned int slot_number;
	const int *handoff;
	const int *listeners;
	unsigned int listener_count;
	const int *fresh;
};

/**
 * slot_worker_new() - start a worker
 * @start:	How
 * @events:	Callbacks; none is called before this returns
 * @data:	For the owner
 * @ret_worker:	Set on success
 *
 * Return: 0 or negative errno
 */
int slot_worker_new(const struct slot_worker_start *start, const struct slot_worker_events *events,
		    void *data, struct slot_worker **ret_worker);

/**
 * slot_worker_free() - forget a worker
 * @worker:	Worker, may be NULL; if it still runs it is asked to leave, unwatched
 */
void slot_worker_free(struct slot_worker *worker);

/**
 * slot_worker_ask() - ask it to finish what it does and leave
 * @worker:	A worker that is up
 *
 * One of a template sees the end of its lifeline before it accepts again, whatever program it
 * is; one that was executed gets SIGTERM. It is killed if it is still there after
 * process_control_timeout.
 */
void slot_worker_ask(struct slot_worker *worker);

/**
 * slot_worker_recycle() - likewise, with a successor or no need of one: nothing is urgent
 * @worker:	A worker that is up
 *
 * It is not killed as long as it is busy. slot_worker_ask() may follow.
 */
void slot_worker_recycle(struct slot_worker *worker);

/**
 * slot_worker_terminate() - end it in the middle of the request that takes it too long
 * @worker:	A worker of a template that is up
 *
 * It is asked to leave, so its other clients go to its successor, and gets SIGTERM. If it is still
 * in the same request after a second, or process_control_timeout if that is less, it is killed.
 */
void slot_worker_terminate(struct slot_worker *worker);

/**
 * slot_worker_kill() - end it at once
 * @worker:	A worker that is up
 */
void slot_worker_kill(struct slot_worker *worker);

/* What was given to slot_worker_new(). */
void *slot_worker_data(const struct slot_worker *worker);

/* Its pid, 0 before it is up; after slot_worker_new() it tells whether @up is still to come. */
pid_t slot_worker_pid(const struct slot_worker *worker);

/* Requests that it has answered, by its own word; always 0 for one that was executed. */
uint64_t slot_worker_served(const struct slot_worker *worker);

/* A copy of its entry of the scoreboard; false if it was executed and has none. */
bool slot_worker_score(const struct slot_worker *worker, struct abi_score *ret_score);

/* It shall tell when it goes busy or holds more or less; it must have a score. */
void slot_worker_ask_to_ring(struct slot_worker *worker);

/* The last line that it printed, "" if none. */
const char *slot_worker_last_words(const struct slot_worker *worker);

/* True once it has reached its request limit. */
bool slot_worker_wants_successor(const struct slot_worker *worker);

/* True while it says that it has a connection. */
bool slot_worker_is_busy(const struct slot_worker *worker);

/* Since when it is busy with its request, as scoreboard_busy_since() says; 0 if it is not. */
uint64_t slot_worker_busy_since(const struct slot_worker *worker);

/**
 * slot_worker_is_worn() - has it come to the end of its life, by its memory or by its age
 * @worker:	A worker that is up
 * @with_memory: Look at its memory, too
 * @now_ms:	The time
 *
 * The first time that it has, it is logged why.
 *
 * Return: true if it wants to be replaced
 */
bool slot_worker_is_worn(struct slot_worker *worker, bool with_memory, uint64_t now_ms);

/* When its age will have reached its limit, milliseconds of clock_ms(); UINT64_MAX for never. */
uint64_t slot_worker_expires_ms(const struct slot_worker *worker);

/* True if it has answered a request, or works on one, since it was last measured. */
bool slot_worker_has_worked(const struct slot_worker *worker);

/* Milliseconds since it was started. */
uint64_t slot_worker_age_ms(const struct slot_worker *worker);

/* True once it was asked to leave, however urgently, or killed by us. */
bool slot_worker_was_asked(const struct slot_worker *worker);

/* Which template of its pool it came from. */
unsigned int slot_worker_template(const struct slot_worker *worker);

struct state_worker;

/* What the next manager needs to go on with it; @ret_state is all zero. Returns 0 or -ENOMEM. */
int slot_worker_export(const struct slot_worker *worker, struct state_worker *ret_state);

/* Goes on with what another manager has left, whose descriptors are taken over; NULL if memory is short. */
struct slot_worker *slot_worker_adopt(struct pool *pool, unsigned int slot_number,
				      const struct state_worker *state,
				      const struct slot_worker_events *events, void *data);

#endif
