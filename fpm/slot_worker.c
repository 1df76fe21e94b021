/* SPDX-License-Identifier: BSD-2-Clause */
/* One worker process of a slot as the manager sees it, from its fork to its end. */

#include "slot_worker.h"

#include "clock.h"
#include "conf.h"
#include "log.h"
#include "output.h"
#include "pool_internal.h"
#include "process.h"
#include "spawn.h"
#include "state.h"
#include "template.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	bool asked;
	ev_timer deadline;
};

static void ended_cb(struct process *process, const struct process_end *end)
{
	struct slot_worker *w = process->data;

	ev_timer_stop(w->pool->loop, &w->deadline);
	output_drain(w->output);
	w->events->ended(w, end);
}

static void deadline_cb(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct slot_worker *w = timer->data;

	(void)loop, (void)revents;
	log_warning(
		"pool %s slot %u pid %d: did not leave within process_control_timeout (%.1f s), "
		"killed",
		w->pool->conf->name, w->slot_number, w->process.pid,
		w->pool->conf->process_control_timeout_ms / 1000.);
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
static uint32_t request_limit(const struct conf_pool *conf)
{
	if (conf->max_requests == 0)
		return 0;
	return conf->max_requests + (uint32_t)(drand48() * (conf->max_requests_jitter + 1.));
}

static int start_from_template(struct slot_worker *w, const struct slot_worker_start *start,
			       int output)
{
	int lifeline[2];
	int result = -E2BIG;

	if (start->listener_count > ABI_LISTENERS_MAX)
		goto fail;
	result = scoreboard_take(&w->pool->board, &w->score);
	if (result < 0)
		goto fail;
	w->has_score = true;
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
	w->ticket.max_requests = request_limit(w->pool->conf);
	w->ticket.header_timeout_ms = w->pool->conf->request_header_timeout_ms;
	w->ticket.keepalive_timeout_ms = w->pool->conf->keepalive_timeout_ms;
	w->ticket.pipes = conf_has_pipes(w->pool->conf);
	w->ticket.rescue = w->pool->conf->rescue && w->pool->conf->max_children > 1;
	w->ticket.fds[ABI_SPAWN_FD_OUTPUT] = output;
	w->ticket.fds[ABI_SPAWN_FD_LIFELINE] = lifeline[0];
	w->ticket.fds[ABI_SPAWN_FD_SCOREBOARD] = w->pool->board.fd;
	w->ticket.fds[ABI_SPAWN_FD_ATTENTION] = w->pool->attention.fd;
	w->ticket.fds[ABI_SPAWN_FD_FRESH_IN] = w->pool->fresh[0];
	w->ticket.fds[ABI_SPAWN_FD_FRESH_OUT] = w->pool->fresh[1];
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
	request.end_with_us = true;
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

void slot_worker_ask(struct slot_worker *worker)
{
	if (worker->asked)
		return;
	worker->asked = true;
	if (worker->lifeline != -1) {
		(void)close(worker->lifeline);
		worker->lifeline = -1;
	} else {
		(void)process_signal(&worker->process, SIGTERM);
	}
	ev_timer_stop(worker->pool->loop, &worker->deadline);
	ev_timer_init(&worker->deadline, deadline_cb,
		      worker->pool->conf->process_control_timeout_ms / 1000., 0.);
	ev_timer_start(worker->pool->loop, &worker->deadline);
}

void slot_worker_kill(struct slot_worker *worker)
{
	worker->asked = true;
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
	return worker->has_score &&
	       scoreboard_read(&worker->pool->board, worker->score).state == ABI_STATE_BUSY;
}

uint64_t slot_worker_age_ms(const struct slot_worker *worker)
{
	return clock_ms() - worker->started_ms;
}

bool slot_worker_was_asked(const struct slot_worker *worker)
{
	return worker->asked;
}

unsigned int slot_worker_template(const struct slot_worker *worker)
{
	return worker->template_serial;
}

int slot_worker_export(const struct slot_worker *worker, struct state_worker *ret_state)
{
	const struct slot_worker *w = worker;
	double left = ev_timer_remaining(w->pool->loop, (ev_timer *)(uintptr_t)&w->deadline);

	*ret_state = (struct state_worker){
		.pid = w->process.pid,
		.pidfd = w->process.pidfd,
		.lifeline = w->lifeline,
		.score = w->has_score ? (int64_t)w->score : -1,
		.started_ms = (int64_t)w->started_ms,
		.template_serial = w->template_serial,
		.asked = w->asked,
		.deadline_ms = ev_is_active(&w->deadline) ? (int64_t)(left * 1000.) : -1,
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
	w->asked = state->asked != 0;
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
