/* SPDX-License-Identifier: BSD-2-Clause */
/* What a pool shares with its slots and their workers. */
#ifndef FPM_POOL_INTERNAL_H
#define FPM_POOL_INTERNAL_H

#include "fpm/process/jail.h"
#include "fpm/listener/listener.h"
#include "fpm/log.h"
#include "fpm/pool/pool_stuck.h"
#include "fpm/pool/respawn.h"
#include "fpm/pool/scoreboard.h"
#include "fpm/pool/slot.h"
#include "fpm/process/spawn.h"

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf_pool;
struct pool_events;
struct pool_sizing;
struct pool_start;
struct template;
struct warmup;
struct template_events;

enum pool_state {
	POOL_NEW = 0,
	POOL_STARTING,
	POOL_READY,
	POOL_STOPPING,
	POOL_STOPPED,
};

/**
 * struct pool - a pool
 * @loop:		Event loop
 * @conf:		Its configuration
 * @lenders:		While it is being made: pools whose listeners it may share
 * @lender_count:	Entries of @lenders
 * @lender:		Pool of the same name whose @fresh it shares, NULL if that is its own; after
 *			a reload its successor, which has it now
 * @events:		Callbacks of the manager
 * @data:		Passed to them
 * @state:		State
 * @library:		Descriptor of libberth-worker.so
 * @spawn:		What its processes are made of; descriptors are added
 * @jail:		Root folder of its processes, if they have one of their own
 * @ini_dir:		Folder with its PHP settings, NULL if there are none
 * @shared:		Listeners that every slot accepts on, @shared_count of them
 * @slots:		conf->max_children of them
 * @board:		Scoreboard
 * @attention:		Watches the eventfd that a worker writes when it has reached its request limit
 * @fresh:		Where workers that go busy pass new connections on to idle ones: in, out
 * @peers:		Sealed memfd of who may connect, -1 in exec mode
 * @template:		Present template, NULL in exec mode and while there is none
 * @warmup:		While scripts are run in it that it is to remember, else NULL
 * @template_serial:	Number of templates started so far
 * @template_respawn:	Memory of their back-off
 * @template_timer:	Runs while the next one waits
 * @ready_timer:	Until ready: how long that may take, or how long workers must live
 * @stuck:		Memory of workers that were killed in a request
 * @limits_timer:	When a worker may reach a limit that the manager enforces
 * @limits_due_ms:	When that timer ends
 * @measure_ms:		When memory is to be looked at, 0 = when somebody has worked
 * @measures:		pm.max_worker_memory is applied
 * @most:		How many workers it has if it is static, else how many it may have
 * @sizing:		How many workers there are, NULL if always as many as slots
 * @closing:		Slots are being closed, so that the last one counts only once
 * @log_limit:		For lines about workers' ends
 */
struct pool {
	struct ev_loop *loop;
	const struct conf_pool *conf;
	struct pool *const *lenders;
	size_t lender_count;
	struct pool *lender;
	const struct pool_events *events;
	void *data;
	enum pool_state state;
	int library;
	struct spawn_request spawn;
	struct jail jail;
	char *path;
	char **envp;
	char *ini_dir;
	struct listener *shared;
	size_t shared_count;
	struct slot *slots;
	struct scoreboard board;
	ev_io attention;
	int fresh[2];
	int peers;
	struct template *template;
	struct warmup *warmup;
	unsigned int template_serial;
	struct respawn template_respawn;
	ev_timer template_timer;
	ev_timer ready_timer;
	struct pool_stuck stuck;
	ev_timer limits_timer;
	uint64_t limits_due_ms;
	uint64_t measure_ms;
	bool measures;
	unsigned int most;
	struct pool_sizing *sizing;
	bool closing;
	struct log_limit log_limit;
};

struct slot_worker;

/* A pool without anything but its configuration and slots; NULL if memory is short. */
struct pool *pool_alloc(const struct pool_start *start);

/* What its processes are made of, once its program is known. */
void pool_prepare_spawn(struct pool *pool, const struct rlimit *nofile);

/* Watches its eventfd. */
void pool_watch_attention(struct pool *pool, int fd);

/* Starts its next template after a time. */
void pool_template_later(struct pool *pool, int64_t delay_ms);

extern const struct template_events pool_template_events;

/* Can a worker be made now: always in exec mode, else if the template is ready. */
bool pool_can_spawn(const struct pool *pool);

/* The descriptors that a slot's workers accept on; returns their number. */
unsigned int pool_listeners(const struct pool *pool, const struct slot *slot,
			    int ret_fds[SLOT_LISTENERS_MAX]);

/* A slot has a new worker. */
void pool_slot_up(struct pool *pool);

/* A slot's current worker has ended, and is about to be freed. */
void pool_worker_ended(struct pool *pool, const struct slot_worker *worker);

/* A closed slot has no process any more. */
void pool_slot_closed(struct pool *pool);

/* Opens every listener of the pool, or shares it; on failure says why, with some left for pool_free(). */
int pool_listen(struct pool *pool, char *error, size_t size);

/* The shared listeners become its own, with its options. */
void pool_listen_take_over(struct pool *pool);

/* Limits that the manager enforces: none of these costs anything in a pool that has none. */
void pool_limits_init(struct pool *pool);
void pool_limits_stop(struct pool *pool);

/* A worker has started on a request, or a limit may be reached: looks at all of them. */
void pool_limits_look(struct pool *pool);

/* True if they are about what workers do, so that these are to tell of it. */
bool pool_limits_announced(const struct pool *pool);

/* The pool has a new template. */
void pool_limits_template(struct pool *pool);

/* A slot has a new current worker. */
void pool_limits_worker(struct pool *pool, const struct slot_worker *worker);

#endif
