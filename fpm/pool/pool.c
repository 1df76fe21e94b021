/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool: its listeners, its template and its slots, from start to stop. */

#include "fpm/pool/pool.h"

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/process/environment.h"
#include "fpm/conf/peers.h"
#include "fpm/process/phpini.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/pool/pool_sizing.h"
#include "fpm/process/program.h"
#include "fpm/pool/slot_worker.h"
#include "fpm/manager/store.h"
#include "fpm/pool/template.h"
#include "fpm/pool/warmup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 *	NEW --start--> STARTING --all slots up--> READY --stop--> STOPPING --> STOPPED
 *			   \--failed (and the manager stops us)------/
 *
 * In template mode the template comes first and each slot starts when it is ready; in exec mode
 * slots start at once, and the pool is ready when all workers have lived for EXEC_READY.
 *
 * Before READY, the end of the template, or of an executed worker, fails the pool. After it,
 * nothing does: a template that ended is started again, with back-off, while its workers go on;
 * when the new one is ready, each slot's worker is replaced, for it has the old one's memory.
 */
#define EXEC_READY 1.0

/* Idle workers that are asked to leave at the same time. */
#define LEAVE_AT_ONCE 32

static void start_template(struct pool *pool);

static void fail(struct pool *pool, const char *why)
{
	ev_timer_stop(pool->loop, &pool->ready_timer);
	pool->events->failed(pool->data, pool, why);
}

bool pool_can_spawn(const struct pool *pool)
{
	if (pool->state == POOL_STOPPING || pool->state == POOL_STOPPED)
		return false;
	return pool->conf->spawn == CONF_SPAWN_EXEC || template_is_ready(pool->template);
}

/* Those that have a worker, too, as the template may be a new one. */
static void start_slots(struct pool *pool)
{
	unsigned int first = pool->state == POOL_STARTING ? pool_sizing_first(pool->conf) : 0;

	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		if (i < first || pool_sizing_is_fixed(&pool->slots[i]) ||
		    pool->slots[i].state != SLOT_EMPTY)
			slot_start(&pool->slots[i]);
	pool_sizing_look(pool);
	/* It may start without any worker. */
	pool_slot_up(pool);
}

/* The template */

static void set_ready_timer(struct pool *pool)
{
	ev_timer_stop(pool->loop, &pool->ready_timer);
	ev_timer_set(&pool->ready_timer, pool->conf->process_start_timeout_ms / 1000. + 1., 0.);
	ev_timer_start(pool->loop, &pool->ready_timer);
}

static void end_warmup(struct pool *pool)
{
	warmup_free(pool->warmup);
	pool->warmup = NULL;
}

static void warmup_over_cb(struct pool *pool, const char *why)
{
	end_warmup(pool);
	if (why) {
		fail(pool, why);
		return;
	}
	if (pool->state == POOL_STARTING)
		set_ready_timer(pool);
	start_slots(pool);
}

/*
 * A start goes on without a script that fails, as a site that is slow at first is better than none,
 * and so does a template that takes another one's place. A reload has something to fall back on.
 */
static void warm_up(struct pool *pool)
{
	static const struct warmup_events events = {.over = warmup_over_cb};

	if (pool->conf->warmup_count > 0)
		pool->warmup = warmup_new(
			pool, pool->state == POOL_STARTING && pool->lender_count > 0, &events);
	if (!pool->warmup)
		start_slots(pool);
	else
		ev_timer_stop(pool->loop, &pool->ready_timer);
}

static void template_ready_cb(void *data)
{
	struct pool *pool = data;

	/* php-cgi has read it; executed workers each read it again. */
	phpini_remove(pool->ini_dir);
	pool->ini_dir = NULL;
	pool_limits_template(pool);
	if (pool->state == POOL_READY)
		log_notice("pool %s: new template, pid %d", pool->conf->name,
			   template_pid(pool->template));
	pool_stuck_renewed(pool);
	warm_up(pool);
}

static void stopped(struct pool *pool)
{
	pool->state = POOL_STOPPED;
	pool->events->stopped(pool->data, pool);
}

void pool_template_later(struct pool *pool, int64_t delay_ms)
{
	ev_timer_set(&pool->template_timer, (double)(delay_ms > 0 ? delay_ms : 0) / 1000., 0.);
	ev_timer_start(pool->loop, &pool->template_timer);
}

static void template_again(struct pool *pool, const char *why)
{
	uint64_t now = clock_ms();
	bool healthy = respawn_healthy(0, now - pool->template_respawn.started_ms);
	uint64_t delay = respawn_delay_ms(&pool->template_respawn, healthy, now, drand48());

	log_alert("pool %s: its template has ended: %s; next start in %.1f s", pool->conf->name,
		  why, (double)delay / 1000.);
	pool_template_later(pool, (int64_t)delay);
}

static void template_ended_cb(void *data, const char *why)
{
	struct pool *pool = data;

	end_warmup(pool);
	template_free(pool->template);
	pool->template = NULL;
	if (pool->state == POOL_STARTING)
		fail(pool, why);
	else if (pool->state == POOL_READY)
		template_again(pool, why);
	else if (pool->state == POOL_STOPPING && !pool->closing)
		pool_slot_closed(pool);
}

static void template_timer_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop, (void)revents;
	start_template(w->data);
}

const struct template_events pool_template_events = {.ready = template_ready_cb,
						     .ended = template_ended_cb};

static void start_template(struct pool *pool)
{
	char name[80], error[512] = "";

	pool->template_respawn.started_ms = clock_ms();
	if (!pool->ini_dir && phpini_write(pool->conf, &pool->ini_dir, error, sizeof(error)) < 0)
		goto fail;
	environment_free(pool->envp);
	pool->envp = environment_new(pool->conf, pool->ini_dir);
	if (!pool->envp) {
		(void)snprintf(error, sizeof(error), "%s", strerror(ENOMEM));
		goto fail;
	}
	pool->spawn.envp = pool->envp;
	(void)snprintf(name, sizeof(name), "pool %s", pool->conf->name);
	pool->template = template_new(pool->loop, name, &pool->spawn, pool->library,
				      pool->conf->process_start_timeout_ms, &pool_template_events,
				      pool, error, sizeof(error));
	if (pool->template) {
		pool->template_serial++;
		return;
	}
fail:
	if (pool->state == POOL_READY)
		template_again(pool, error);
	else
		fail(pool, error);
}

/* Slots */

static bool all_have_been_up(const struct pool *pool)
{
	for (unsigned int i = 0; i < pool_sizing_first(pool->conf); i++)
		if (!pool->slots[i].has_been_up)
			return false;
	return true;
}

static void become_ready(struct pool *pool)
{
	ev_timer_stop(pool->loop, &pool->ready_timer);
	pool->state = POOL_READY;
	if (!pool->lender)
		pool_sizing_begin(pool);
	pool->events->ready(pool->data, pool);
}

static void ready_timer_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pool *pool = w->data;

	(void)loop, (void)revents;
	if (pool->conf->spawn == CONF_SPAWN_EXEC && all_have_been_up(pool))
		become_ready(pool);
	else
		fail(pool, "not every worker could be started within process_start_timeout");
}

void pool_slot_up(struct pool *pool)
{
	if (pool->state != POOL_STARTING || !all_have_been_up(pool))
		return;
	if (pool->conf->spawn == CONF_SPAWN_TEMPLATE) {
		become_ready(pool);
		return;
	}
	ev_timer_stop(pool->loop, &pool->ready_timer);
	ev_timer_set(&pool->ready_timer, EXEC_READY, 0.);
	ev_timer_start(pool->loop, &pool->ready_timer);
}

void pool_worker_ended(struct pool *pool, const struct slot_worker *worker)
{
	char why[512];
	const char *last = slot_worker_last_words(worker);

	if (pool->state != POOL_STARTING || pool->conf->spawn != CONF_SPAWN_EXEC)
		return;
	(void)snprintf(why, sizeof(why), "a worker ended before it was ready%s%s",
		       last[0] ? "; its last words: " : "", last);
	fail(pool, why);
}

/*
 * Closes every slot but the idle ones at once, and of those as many as leave room: the end of a
 * php-cgi takes some milliseconds of CPU time, and hundreds that end at the same time would all run
 * into process_control_timeout.
 */
static void close_slots(struct pool *pool)
{
	unsigned int leaving = 0;

	pool->closing = true;
	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		struct slot *slot = &pool->slots[i];

		if (slot->state == SLOT_CLOSED)
			leaving += !slot_is_closed(slot);
		else if (!slot_is_idle(slot))
			slot_close(slot);
	}
	for (unsigned int i = 0; i < pool->conf->max_children && leaving < LEAVE_AT_ONCE; i++) {
		if (pool->slots[i].state == SLOT_CLOSED)
			continue;
		slot_close(&pool->slots[i]);
		leaving++;
	}
	pool->closing = false;
}

void pool_slot_closed(struct pool *pool)
{
	if (pool->state != POOL_STOPPING || pool->closing)
		return;
	close_slots(pool);
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		if (!slot_is_closed(&pool->slots[i]))
			return;
	/* Workers are gone; their parent, which reaped them, is not needed any more. */
	if (!pool->template)
		stopped(pool);
	else if (template_is_ready(pool->template))
		template_shutdown(pool->template);
}

/* Some worker has reached its request limit, or starts on a request; the scoreboard says which. */
static void attention_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct pool *pool = w->data;
	uint64_t count;

	(void)loop, (void)revents;
	if (read(w->fd, &count, sizeof(count)) == -1)
		return;
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		slot_look(&pool->slots[i]);
	pool_limits_look(pool);
	pool_sizing_look(pool);
}

void pool_watch_attention(struct pool *pool, int fd)
{
	ev_io_init(&pool->attention, attention_cb, fd, EV_READ);
	pool->attention.data = pool;
	ev_io_start(pool->loop, &pool->attention);
}

/* What workers share besides their scoreboard. */
static int open_shared(struct pool *pool)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd == -1)
		return -errno;
	pool_watch_attention(pool, fd);
	if (pool->lender) {
		memcpy(pool->fresh, pool->lender->fresh, sizeof(pool->fresh));
		return 0;
	}
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pool->fresh) == -1 ? -errno
											: 0;
}

/* Start and stop */

void pool_start(struct pool *pool)
{
	pool->state = POOL_STARTING;
	set_ready_timer(pool);
	if (pool->conf->spawn == CONF_SPAWN_TEMPLATE)
		start_template(pool);
	else
		start_slots(pool);
}

void pool_stop(struct pool *pool)
{
	if (pool->state == POOL_STOPPING || pool->state == POOL_STOPPED)
		return;
	pool->state = POOL_STOPPING;
	ev_timer_stop(pool->loop, &pool->ready_timer);
	ev_timer_stop(pool->loop, &pool->template_timer);
	end_warmup(pool);
	pool_stuck_done(pool);
	/* One that is not ready yet has no loop that could be asked to leave. */
	if (pool->template && !template_is_ready(pool->template))
		template_kill(pool->template);
	pool_slot_closed(pool);
}

void pool_kill(struct pool *pool)
{
	pool->closing = true;
	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		slot_close(&pool->slots[i]);
		slot_kill(&pool->slots[i]);
	}
	pool->closing = false;
	pool_slot_closed(pool);
	if (pool->template && !template_is_ready(pool->template))
		template_kill(pool->template);
}

void pool_take_over(struct pool *pool)
{
	pool_listen_take_over(pool);
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		slot_take_over(&pool->slots[i]);
	if (pool->lender)
		pool->lender->lender = pool;
	pool->lender = NULL;
	pool_sizing_begin(pool);
	pool->lenders = NULL;
	pool->lender_count = 0;
}

void pool_prepare_spawn(struct pool *pool, const struct rlimit *nofile)
{
	pool->spawn = (struct spawn_request){.path = pool->path,
					     .argv = pool->conf->argv,
					     .chdir = pool->conf->chdir,
					     .identity = &pool->conf->identity,
					     .attributes = &pool->conf->attributes,
					     .nofile = *nofile};
	if (pool->conf->chroot) {
		pool->jail = (struct jail){.root = pool->conf->chroot, .chdir = pool->conf->chdir};
		pool->spawn.jail = &pool->jail;
	}
}

/* What would only be found out when the first process is started, and then told less well. */
static int check_places(const struct conf_pool *conf, char *error, size_t size)
{
	const char *problem =
		conf->attributes.cgroup ? attributes_check_cgroup(conf->attributes.cgroup) : NULL;
	int result = conf->chroot ? jail_check(conf->chroot) : 0;

	if (result < 0)
		(void)snprintf(error, size, "chroot %s: %s", conf->chroot, strerror(-result));
	if (!problem)
		return result;
	(void)snprintf(error, size, "cgroup %s: %s", conf->attributes.cgroup, problem);
	return -EINVAL;
}

void pool_set_owner(struct pool *pool, void *data)
{
	pool->data = data;
}

static int prepare(struct pool *pool, const struct rlimit *nofile, char *error, size_t size)
{
	const struct conf_pool *conf = pool->conf;
	int result;

	pool->path = program_find(conf->argv[0]);
	if (!pool->path) {
		result = -errno;
		(void)snprintf(error, size, "program %s: %s", conf->argv[0], strerror(-result));
		return result;
	}
	result = check_places(conf, error, size);
	if (result < 0)
		return result;
	pool_prepare_spawn(pool, nofile);
	result = pool_listen(pool, error, size);
	if (result < 0 || conf->spawn == CONF_SPAWN_TEMPLATE)
		return result;
	result = phpini_write(conf, &pool->ini_dir, error, size);
	if (result < 0)
		return result;
	pool->envp = environment_new(conf, pool->ini_dir);
	pool->spawn.envp = pool->envp;
	return pool->envp ? 0 : -ENOMEM;
}

/* Only pools whose workers come from a template have connections that wait. */
static struct pool *find_lender(const struct pool_start *start)
{
	for (size_t i = 0; i < start->lender_count; i++) {
		struct pool *lender = start->lenders[i];

		if (strcmp(lender->conf->name, start->conf->name) == 0 &&
		    lender->conf->spawn == CONF_SPAWN_TEMPLATE &&
		    start->conf->spawn == CONF_SPAWN_TEMPLATE)
			return lender;
	}
	return NULL;
}

static int init_slots(struct pool *pool)
{
	int result = 0;

	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		bool has_lender = pool->lender && i < pool->lender->conf->max_children;
		int initialised = slot_init(&pool->slots[i], pool, i + 1,
					    has_lender ? &pool->lender->slots[i] : NULL);

		result = result == 0 ? initialised : result;
	}
	return result;
}

unsigned int pool_processes(const struct pool *pool)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		count += slot_processes(&pool->slots[i]);
	return count;
}

struct pool *pool_alloc(const struct pool_start *start)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->loop = start->loop;
	pool->conf = start->conf;
	pool->most = start->conf->max_children;
	pool->events = start->events;
	pool->data = start->data;
	pool->library = start->library;
	pool->lenders = start->lenders;
	pool->lender_count = start->lender_count;
	pool->lender = find_lender(start);
	pool->board.fd = -1;
	pool->fresh[0] = pool->fresh[1] = pool->peers = -1;
	ev_io_init(&pool->attention, attention_cb, -1, EV_READ);
	pool_stuck_init(pool);
	ev_timer_init(&pool->template_timer, template_timer_cb, 0., 0.);
	ev_timer_init(&pool->ready_timer, ready_timer_cb, 0., 0.);
	pool->template_timer.data = pool->ready_timer.data = pool;
	pool_limits_init(pool);
	pool->slots = calloc(pool->conf->max_children, sizeof(*pool->slots));
	if (!pool->slots) {
		free(pool);
		return NULL;
	}
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		slot_reset(&pool->slots[i], pool, i + 1);
	return pool;
}

struct pool *pool_new(const struct pool_start *start, char *error, size_t size)
{
	const struct conf_pool *conf = start->conf;
	struct pool *pool = pool_alloc(start);
	int result = -ENOMEM;

	error[0] = '\0';
	if (!pool)
		goto fail;
	result = init_slots(pool);
	if (result == 0)
		result = open_shared(pool);
	/* A slot's worker, its successor, and those that retire. */
	if (result == 0)
		result =
			scoreboard_init(&pool->board, (2 + SLOT_RETIRING_MAX) * conf->max_children);
	if (result == 0 && conf->spawn == CONF_SPAWN_TEMPLATE)
		result = peers_seal(&conf->peers, &pool->peers);
	if (result == 0)
		result = prepare(pool, start->nofile, error, size);
	if (result == 0)
		result = pool_sizing_init(pool);
	if (result == 0)
		return pool;
fail:
	if (!error[0])
		(void)snprintf(error, size, "%s", strerror(-result));
	pool_free(pool);
	return NULL;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	pool_sizing_free(pool);
	ev_timer_stop(pool->loop, &pool->template_timer);
	ev_timer_stop(pool->loop, &pool->ready_timer);
	end_warmup(pool);
	pool_stuck_done(pool);
	pool_limits_stop(pool);
	for (unsigned int i = 0; pool->slots && i < pool->conf->max_children; i++)
		slot_done(&pool->slots[i]);
	for (size_t i = 0; i < pool->shared_count; i++)
		listener_close(&pool->shared[i]);
	template_free(pool->template);
	ev_io_stop(pool->loop, &pool->attention);
	if (pool->attention.fd != -1) {
		store_forget(pool->attention.fd);
		(void)close(pool->attention.fd);
	}
	for (int i = 0; i < 2; i++)
		if (pool->fresh[i] != -1 && !pool->lender)
			(void)close(pool->fresh[i]);
	if (pool->peers != -1)
		(void)close(pool->peers);
	scoreboard_done(&pool->board);
	phpini_remove(pool->ini_dir);
	environment_free(pool->envp);
	free(pool->path);
	free(pool->shared);
	free(pool->slots);
	free(pool);
}

const char *pool_describe(const struct pool *pool, char *buffer, size_t size)
{
	const struct conf_pool *conf = pool->conf;
	size_t len;

	len = (size_t)snprintf(buffer, size, "pool %s: %s%u worker%s of %s (%s) at", conf->name,
			       conf->pm == CONF_PM_STATIC ? "" : "up to ", conf->max_children,
			       conf->max_children == 1 ? "" : "s", pool->path,
			       conf_spawn_name(conf->spawn));
	for (size_t i = 0; i < conf->listen_count && len < size; i++)
		len += (size_t)snprintf(buffer + len, size - len, "%s %s", i ? "," : "",
					conf->listen[i].address.text);
	return buffer;
}
