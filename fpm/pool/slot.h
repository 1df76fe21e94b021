/* SPDX-License-Identifier: BSD-2-Clause */
/* One slot of a pool: its own listeners, at most one current worker, and retiring ones. */
#ifndef FPM_SLOT_H
#define FPM_SLOT_H

#include "fpm/listener/listener.h"
#include "fpm/pool/respawn.h"

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct slot_standin;
struct slot_worker;

#define SLOT_LISTENERS_MAX 64
#define SLOT_RETIRING_MAX  4

enum slot_state {
	SLOT_EMPTY = 0, /* no worker; waits to be told, or for a template */
	SLOT_STARTING,	/* the first worker, or the next one, is being made */
	SLOT_UP,	/* the current worker accepts: idle or busy, as the scoreboard says */
	SLOT_REPLACING, /* likewise, and its successor is being made */
	SLOT_BACKOFF,	/* waits before it starts a worker */
	SLOT_CLOSED,	/* starts no more; waits for its workers to end */
	SLOT_STATE_MAX,
};

/**
 * struct slot - one slot
 * @pool:	Its pool
 * @number:	Number from 1
 * @state:	State
 * @listeners:	Its own listeners, @listener_count of them; shared ones are the pool's
 * @handoff:	Where a worker's connections arrive, and where they go when it leaves
 * @lender:	Slot of an older pool whose @handoff it shares, NULL if that is its own; after a
 *		reload its successor, which has it now
 * @current:	Worker that serves, NULL if there is none
 * @starting:	Worker that is being made, NULL if there is none
 * @retiring:	Workers that were asked to leave, NULL where there is none
 * @standin:	Looks after its clients while it has no worker, NULL if it has one
 * @respawn:	Memory of its back-off
 * @delay_ms:	Wait before the next start
 * @timer:	Runs in SLOT_BACKOFF
 * @has_been_up: It had a worker at least once
 */
struct slot {
	struct pool *pool;
	unsigned int number;
	enum slot_state state;
	struct listener *listeners;
	size_t listener_count;
	int handoff[2];
	struct slot *lender;
	struct slot_worker *current;
	struct slot_worker *starting;
	struct slot_worker *retiring[SLOT_RETIRING_MAX];
	struct slot_standin *standin;
	struct respawn respawn;
	uint64_t delay_ms;
	ev_timer timer;
	bool has_been_up;
};

/**
 * slot_reset() - a slot that has nothing at all yet, not even a pair of sockets
 * @slot:	Storage, released by slot_done()
 * @pool:	Its pool
 * @number:	Number from 1
 */
void slot_reset(struct slot *slot, struct pool *pool, unsigned int number);

/**
 * slot_init() - an empty slot without listeners
 * @slot:	Storage, released by slot_done()
 * @pool:	Its pool
 * @number:	Number from 1
 * @lender:	Slot of an older pool that it shares the connections with which wait between two
 *		workers, until slot_take_over(); may be NULL
 *
 * Return: 0 or negative errno
 */
int slot_init(struct slot *slot, struct pool *pool, unsigned int number, struct slot *lender);

/**
 * slot_take_over() - what it shares is its own from now on
 * @slot:	Slot
 */
void slot_take_over(struct slot *slot);

/**
 * slot_start() - have a worker, of the pool's present template
 * @slot:	Slot
 *
 * Does nothing if it has one or waits in back-off. A worker of an older template is replaced:
 * its successor is there before it is asked to leave. If the template isn't ready the slot waits
 * until this is called again.
 */
void slot_start(struct slot *slot);

/**
 * slot_spare() - ask its worker to leave, and have none until slot_start()
 * @slot:	Slot
 *
 * Return: false if it has a worker that can't leave now, or that is being made
 */
bool slot_spare(struct slot *slot);

/**
 * slot_processes() - number of its workers: serving, starting, leaving
 * @slot:	Slot
 *
 * Return: their number
 */
unsigned int slot_processes(const struct slot *slot);

/**
 * slot_look() - see whether its worker has reached its request limit, and replace it
 * @slot:	Slot
 */
void slot_look(struct slot *slot);

/**
 * slot_overtime() - its worker is being ended in its request: have the next one at once
 * @slot:	Slot with a current worker
 */
void slot_overtime(struct slot *slot);

/**
 * slot_recycle() - replace its worker as at its request limit
 * @slot:	Slot with a current worker
 *
 * Does nothing while that can't be done; ask again then.
 */
void slot_recycle(struct slot *slot);

/**
 * slot_close() - ask every worker to leave and start no more
 * @slot:	Slot
 *
 * pool_slot_closed() is called when the last one has ended, maybe at once.
 */
void slot_close(struct slot *slot);

/**
 * slot_is_idle() - does its worker wait for a request
 * @slot:	Slot
 *
 * Return: true if it has one, and that does not say that it is busy
 */
bool slot_is_idle(const struct slot *slot);

/**
 * slot_is_closed() - has slot_close() done its work
 * @slot:	Slot
 *
 * Return: true if no process of it is left and none will be
 */
bool slot_is_closed(const struct slot *slot);

/**
 * slot_kill() - end what is left of a closed slot at once
 * @slot:	Slot
 */
void slot_kill(struct slot *slot);

/**
 * slot_done() - release workers and listeners
 * @slot:	Slot
 */
void slot_done(struct slot *slot);

/**
 * slot_state_name() - its state in words
 * @slot:	Slot
 *
 * Return: "empty", "starting", "idle", "busy", "backoff" or "closed"
 */
const char *slot_state_name(const struct slot *slot);

struct state_slot;

/**
 * slot_export() - what the next manager needs to go on with it
 * @slot:	Slot
 * @ret_state:	All zero, filled in; a worker that is still being made is not in it
 *
 * Return: 0 or -ENOMEM
 */
int slot_export(const struct slot *slot, struct state_slot *ret_state);

/**
 * slot_adopt() - go on with one that another manager has left
 * @slot:	Storage with @pool and @number set; released by slot_done() in any case
 * @state:	What it said of it; its descriptors are taken over
 *
 * Return: 0 or negative errno
 */
int slot_adopt(struct slot *slot, const struct state_slot *state);

#endif
