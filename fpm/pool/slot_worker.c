/* SPDX-License-Identifier: BSD-2-Clause */
/* One worker process of a slot as the manager sees it, from its fork to its end. */

#include "fpm/pool/slot_worker.h"

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/log.h"
#include "fpm/process/output.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/process/proc_stat.h"
#include "fpm/process/process.h"
#include "fpm/process/spawn.h"
#include "fpm/manager/state.h"
#include "fpm/manager/store.h"
#include "fpm/pool/template.h"
#include "fpm/timer.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1024. * 1024.)

/* A request that is over its time may go on for that long after SIGTERM. */
#define TERMINATE_GRACE_MS  1000
/* A recycled worker that idles and is still there after this is stuck. */
#define RECYCLE_PATIENCE_MS 1000

/* How urgently it is to leave. */
enum leaving {
	LEAVING_NOT = 0,
	LEAVING_RECYCLED, /* when its request is over, however long that takes */
	LEAVING_ASKED,	  /* within process_control_timeout */
	LEAVING_OVERTIME, /* its request is to end now */
};

struct slot_worker {
	struct pool *pool;
	const struct slot_worker_events *events;
	void *data;
	unsigned int slot_number;
	struct template *template; /* while @ticket is with it */
	struct template_ticket ticket;
	struct process process;
	struct output *output;
	int lifeline;
	uint32_t score;
	bool has_score;
	uint64_t started_ms;
	unsigned int template_serial;
	bool killed;
	enum leaving leaving;
	uint64_t overtime_since; /* of the request that was over its time */
	uint64_t memory_max;	 /* with jitter, 0 = none */
	uint64_t expires_ms;	 /* with jitter, UINT64_MAX = never */
	uint64_t measured;	 /* requests that it had answered when it was measured */
	bool worn;
	ev_timer deadline;
};

static void ended_cb(struct process *process, const struct process_end *end)
{
	struct slot_worker *w = process->data;

	ev_timer_stop(w->pool->loop, &w->deadline);
	output_drain(w->output);
	w->events->ended(w, end);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Time that it has to leave, by how urgent that is. */
static uint64_t patience_ms(const struct slot_worker *w)
{
	uint64_t control_ms = w->pool->conf->process_control_timeout_ms;

	if (w->leaving == LEAVING_OVERTIME)
		return control_ms < TERMINATE_GRACE_MS ? control_ms : TERMINATE_GRACE_MS;
	return w->leaving == LEAVING_RECYCLED ? max_u64(control_ms, RECYCLE_PATIENCE_MS)
					      : control_ms;
}

static void set_deadline(struct slot_worker *w)
{
	ev_timer_stop(w->pool->loop, &w->deadline);
	ev_timer_set(&w->deadline, (double)patience_ms(w) / 1000., 0.);
	ev_timer_start(w->pool->loop, &w->deadline);
}

static void kill_overtime(struct slot_worker *w)
{
	const struct abi_score score = scoreboard_read(&w->pool->board, w->score);
	char lost[64] = "";

	if (score.parked > 0)
		(void)snprintf(lost, sizeof(lost), ", and %u kept connections with it",
			       score.parked);
	log_warning("pool %s slot %u pid %d: still in the same request %.1f s after SIGTERM, "
		    "killed%s",
		    w->pool->conf->name, w->slot_number, w->process.pid,
		    (double)patience_ms(w) / 1000., lost);
	slot_worker_kill(w);
}

static void deadline_cb(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct slot_worker *w = timer->data;
	uint64_t since = slot_worker_busy_since(w);

	(void)loop, (void)revents;
	if (w->leaving == LEAVING_RECYCLED && since != 0) {
		set_deadline(w);
		return;
	}
	if (w->leaving == LEAVING_OVERTIME && since != 0 && since == w->overtime_since) {
		kill_overtime(w);
		return;
	}
	/* The request has ended after all; the rest of its way out is like any worker's. */
	if (w->leaving == LEAVING_OVERTIME) {
		w->leaving = LEAVING_ASKED;
		set_deadline(w);
		return;
	}
	log_warning(
		"pool %s slot %u pid %d: did not leave within process_control_timeout (%.1f s), "
		"killed",
		w->pool->conf->name, w->slot_number, w->process.pid,
		(double)patience_ms(w) / 1000.);
	slot_worker_kill(w);
}

static void watch(struct slot_worker *w, pid_t pid, int pidfd)
{
	w->process.data = w;
	output_label(w->output, "pool %s slot %u pid %d", w->pool->conf->name, w->slot_number, pid);
	process_watch(&w->process, w->pool->loop, pid, pidfd, ended_cb);
}

static void close_given(struct slot_worker *w)
{
	(void)close(w->ticket.fds[ABI_SPAWN_FD_OUTPUT]);
	(void)close(w->ticket.fds[ABI_SPAWN_FD_LIFELINE]);
	w->template = NULL;
}

static void spawned_cb(struct template_ticket *ticket, pid_t pid, int pidfd, int error)
{
	struct slot_worker *w =
		(struct slot_worker *)((char *)ticket - offsetof(struct slot_worker, ticket));

	close_given(w);
	if (error < 0) {
		w->events->failed(w, error);
		return;
	}
	watch(w, pid, pidfd);
	w->events->up(w);
}

/* Workers that start together must not all leave together. */
static uint64_t with_jitter(uint64_t limit, uint64_t jitter)
{
	return limit == 0 ? 0 : limit + (uint64_t)(drand48() * ((double)jitter + 1.));
}

static void set_limits(struct slot_worker *w)
{
	const struct conf_pool *conf = w->pool->conf;
	uint64_t lifetime_ms =
		with_jitter(conf->max_worker_lifetime_ms, conf->max_worker_lifetime_jitter_ms);

	w->memory_max = with_jitter(conf->max_worker_memory, conf->max_worker_memory_jitter);
	w->expires_ms = lifetime_ms > 0 ? w->started_ms + lifetime_ms : UINT64_MAX;
}

static enum abi_rescue rescue_mode(const struct conf_pool *conf)
{
	if (conf->rescue && conf->max_children > 1)
		return ABI_RESCUE_ALL;
	/* Who ends a worker in its request has to save its other clients. */
	return conf->request_terminate_timeout_ms > 0 && !conf_has_pipes(conf) ? ABI_RESCUE_LEAVING
									       : ABI_RESCUE_NONE;
}

static int start_from_template(struct slot_worker *w, const struct slot_worker_start *start,
			       int output)
{
	const int *fresh = start->fresh ? start->fresh : w->pool->fresh;
	int lifeline[2];
	int result = -E2BIG;

	if (start->listener_count > ABI_LISTENERS_MAX)
		goto fail;
	result = scoreboard_take(&w->pool->board, &w->score);
	if (result < 0)
		goto fail;
	w->has_score = true;
	/* Its first request may be the one that the manager waits for. */
	w->pool->board.entries[w->score].announce = pool_limits_announced(w->pool);
	if (pipe2(lifeline, O_CLOEXEC) == -1) {
		result = -errno;
		goto fail;
	}
	w->lifeline = lifeline[1];
	w->template = w->pool->template;
	w->template_serial = w->pool->template_serial;
	w->ticket.slot = w->slot_number;
	w->ticket.score = w->score;
	w->ticket.scores = w->pool->board.count;
	w->ticket.spawned = spawned_cb;
	if (!start->fresh) {
		w->ticket.max_requests = (uint32_t)with_jitter(w->pool->conf->max_requests,
							       w->pool->conf->max_requests_jitter);
		w->ticket.rescue = rescue_mode(w->pool->conf);
	}
	w->ticket.header_timeout_ms = w->pool->conf->request_header_timeout_ms;
	w->ticket.keepalive_timeout_ms = w->pool->conf->keepalive_timeout_ms;
	w->ticket.pipes = conf_has_pipes(w->pool->conf);
	w->ticket.fds[ABI_SPAWN_FD_OUTPUT] = output;
	w->ticket.fds[ABI_SPAWN_FD_LIFELINE] = lifeline[0];
	w->ticket.fds[ABI_SPAWN_FD_SCOREBOARD] = w->pool->board.fd;
	w->ticket.fds[ABI_SPAWN_FD_ATTENTION] = w->pool->attention.fd;
	w->ticket.fds[ABI_SPAWN_FD_FRESH_IN] = fresh[0];
	w->ticket.fds[ABI_SPAWN_FD_FRESH_OUT] = fresh[1];
	w->ticket.fds[ABI_SPAWN_FD_PEERS] = w->pool->peers;
	w->ticket.fds[ABI_SPAWN_FD_HANDOFF_IN] = start->handoff[0];
	w->ticket.fds[ABI_SPAWN_FD_HANDOFF_OUT] = start->handoff[1];
	memcpy(w->ticket.fds + ABI_SPAWN_FD_LISTENER, start->listeners,
	       start->listener_count * sizeof(int));
	w->ticket.fd_count = ABI_SPAWN_FD_LISTENER + start->listener_count;
	template_request(w->template, &w->ticket);
	return 0;
fail:
	(void)close(output);
	return result;
}

static int start_executed(struct slot_worker *w, const struct slot_worker_start *start, int output)
{
	struct spawn_request request = w->pool->spawn;
	int pidfd, result;
	pid_t pid;

	request.fds[0] = start->listeners[0];
	request.fds[1] = request.fds[2] = output;
	request.fd_count = 3;
	/* With a store, the next manager goes on with it. */
	request.end_with_us = !store_available();
	result = spawn_program(&request, &pid, &pidfd);
	(void)close(output);
	if (result < 0)
		return result;
	watch(w, pid, pidfd);
	return 0;
}

int slot_worker_new(const struct slot_worker_start *start, const struct slot_worker_events *events,
		    void *data, struct slot_worker **ret_worker)
{
	const struct identity *identity = &start->pool->conf->identity;
	struct slot_worker *w = calloc(1, sizeof(*w));
	int output = -1;
	int result = -ENOMEM;

	if (!w)
		return -ENOMEM;
	w->pool = start->pool;
	w->events = events;
	w->data = data;
	w->slot_number = start->slot_number;
	w->lifeline = -1;
	w->started_ms = clock_ms();
	set_limits(w);
	ev_timer_init(&w->deadline, deadline_cb, 0., 0.);
	w->deadline.data = w;
	w->output = output_new(w->pool->loop, identity->uid, identity->gid, &output);
	if (!w->output) {
		result = -errno;
		goto fail;
	}
	if (w->pool->conf->spawn == CONF_SPAWN_TEMPLATE)
		result = start_from_template(w, start, output);
	else
		result = start_executed(w, start, output);
	if (result < 0)
		goto fail;
	*ret_worker = w;
	return 0;
fail:
	slot_worker_free(w);
	return result;
}

void slot_worker_free(struct slot_worker *worker)
{
	struct slot_worker *w = worker;

	if (!w)
		return;
	if (w->template) {
		template_cancel(w->template, &w->ticket);
		close_given(w);
	}
	ev_timer_stop(w->pool->loop, &w->deadline);
	process_forget(&w->process);
	if (w->lifeline != -1)
		(void)close(w->lifeline);
	if (w->has_score)
		scoreboard_give_back(&w->pool->board, w->score);
	output_release(w->output);
	free(w);
}

/* Asks it to leave, or again if that is more urgent now. */
static void ask(struct slot_worker *w, enum leaving leaving)
{
	if (w->leaving >= leaving || w->killed)
		return;
	store_touch();
	if (w->lifeline != -1) {
		/* Its end comes a little later if systemd has a copy of it; a byte does as well. */
		(void)!write(w->lifeline, "", 1);
		(void)close(w->lifeline);
		w->lifeline = -1;
	} else if (w->leaving == LEAVING_NOT) {
		(void)process_signal(&w->process, SIGTERM);
	}
	w->leaving = leaving;
	set_deadline(w);
}

void slot_worker_ask(struct slot_worker *worker)
{
	ask(worker, LEAVING_ASKED);
}

void slot_worker_recycle(struct slot_worker *worker)
{
	ask(worker, LEAVING_RECYCLED);
}

void slot_worker_terminate(struct slot_worker *worker)
{
	struct slot_worker *w = worker;
	const struct abi_score score = scoreboard_read(&w->pool->board, w->score);
	uint64_t since = slot_worker_busy_since(w);

	/* It may have ended by itself meanwhile. */
	if (since == 0 || w->leaving == LEAVING_OVERTIME || w->killed)
		return;
	log_warning("pool %s slot %u pid %d: request takes longer than request_terminate_timeout "
		    "(%.1f s), ended: %s %s (%s)",
		    w->pool->conf->name, w->slot_number, w->process.pid,
		    w->pool->conf->request_terminate_timeout_ms / 1000., score.method, score.uri,
		    score.script);
	w->overtime_since = since;
	ask(w, LEAVING_OVERTIME);
	(void)process_signal(&w->process, SIGTERM);
}

void slot_worker_kill(struct slot_worker *worker)
{
	worker->killed = true;
	(void)process_signal(&worker->process, SIGKILL);
}

void *slot_worker_data(const struct slot_worker *worker)
{
	return worker->data;
}

pid_t slot_worker_pid(const struct slot_worker *worker)
{
	return worker->process.pid;
}

uint64_t slot_worker_served(const struct slot_worker *worker)
{
	if (!worker->has_score)
		return 0;
	return scoreboard_read(&worker->pool->board, worker->score).served;
}

bool slot_worker_score(const struct slot_worker *worker, struct abi_score *ret_score)
{
	if (worker->has_score)
		*ret_score = scoreboard_read(&worker->pool->board, worker->score);
	return worker->has_score;
}

void slot_worker_ask_to_ring(struct slot_worker *worker)
{
	scoreboard_ask_to_ring(&worker->pool->board, worker->score);
}

const char *slot_worker_last_words(const struct slot_worker *worker)
{
	return output_last(worker->output);
}

bool slot_worker_wants_successor(const struct slot_worker *worker)
{
	return worker->has_score &&
	       scoreboard_read(&worker->pool->board, worker->score).wants_successor;
}

bool slot_worker_is_busy(const struct slot_worker *worker)
{
	return slot_worker_busy_since(worker) != 0;
}

uint64_t slot_worker_busy_since(const struct slot_worker *worker)
{
	return worker->has_score ? scoreboard_busy_since(&worker->pool->board, worker->score) : 0;
}

bool slot_worker_has_worked(const struct slot_worker *worker)
{
	return slot_worker_is_busy(worker) || slot_worker_served(worker) != worker->measured;
}

static void measure(struct slot_worker *w)
{
	uint64_t served = slot_worker_served(w);
	uint64_t bytes;

	/* One that has answered nothing has what any new one would have. */
	if (w->memory_max == 0 || served == w->measured ||
	    proc_stat_anonymous(w->process.pid, &bytes) < 0)
		return;
	w->measured = served;
	if (bytes <= w->memory_max)
		return;
	w->worn = true;
	log_notice("pool %s slot %u pid %d: has %.1f MiB of memory, above pm.max_worker_memory "
		   "(%.1f MiB), replaced",
		   w->pool->conf->name, w->slot_number, w->process.pid, (double)bytes / MIB,
		   (double)w->memory_max / MIB);
}

bool slot_worker_is_worn(struct slot_worker *worker, bool with_memory, uint64_t now_ms)
{
	struct slot_worker *w = worker;

	if (!w->worn && now_ms >= w->expires_ms) {
		w->worn = true;
		log_notice("pool %s slot %u pid %d: has reached pm.max_worker_lifetime (%.1f s), "
			   "replaced",
			   w->pool->conf->name, w->slot_number, w->process.pid,
			   (double)(w->expires_ms - w->started_ms) / 1000.);
	}
	if (!w->worn && with_memory)
		measure(w);
	return w->worn;
}

uint64_t slot_worker_expires_ms(const struct slot_worker *worker)
{
	return worker->expires_ms;
}

uint64_t slot_worker_age_ms(const struct slot_worker *worker)
{
	return clock_ms() - worker->started_ms;
}

bool slot_worker_was_asked(const struct slot_worker *worker)
{
	return worker->leaving != LEAVING_NOT || worker->killed;
}

unsigned int slot_worker_template(const struct slot_worker *worker)
{
	return worker->template_serial;
}

int slot_worker_export(const struct slot_worker *worker, struct state_worker *ret_state)
{
	const struct slot_worker *w = worker;

	*ret_state = (struct state_worker){
		.pid = w->process.pid,
		.pidfd = w->process.pidfd,
		.lifeline = w->lifeline,
		.score = w->has_score ? (int64_t)w->score : -1,
		.started_ms = (int64_t)w->started_ms,
		.template_serial = w->template_serial,
		.asked = slot_worker_was_asked(w),
		.leaving = w->leaving,
		.overtime_since = (int64_t)w->overtime_since,
		.deadline_ms = timer_left_ms(w->pool->loop, &w->deadline),
		.output = calloc(1, sizeof(*ret_state->output)),
	};
	return ret_state->output ? output_export(w->output, ret_state->output) : -ENOMEM;
}

struct slot_worker *slot_worker_adopt(struct pool *pool, unsigned int slot_number,
				      const struct state_worker *state,
				      const struct slot_worker_events *events, void *data)
{
	struct slot_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->pool = pool;
	w->events = events;
	w->data = data;
	w->slot_number = slot_number;
	w->lifeline = state->lifeline;
	w->has_score = pool->board.entries && state->score != -1;
	w->score = w->has_score ? (uint32_t)state->score : 0;
	w->started_ms = (uint64_t)state->started_ms;
	w->template_serial = (unsigned int)state->template_serial;
	w->leaving = (enum leaving)state->leaving;
	w->overtime_since = (uint64_t)state->overtime_since;
	set_limits(w);
	w->output = output_adopt(pool->loop, state->output);
	if (!w->output) {
		free(w);
		return NULL;
	}
	if (w->has_score)
		scoreboard_claim(&pool->board, w->score);
	w->process.data = w;
	process_watch(&w->process, pool->loop, (pid_t)state->pid, state->pidfd, ended_cb);
	ev_timer_init(&w->deadline, deadline_cb, (double)state->deadline_ms / 1000., 0.);
	w->deadline.data = w;
	if (state->deadline_ms >= 0)
		ev_timer_start(pool->loop, &w->deadline);
	return w;
}
