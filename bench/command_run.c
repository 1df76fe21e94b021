/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench run: load on one responder, and what came of it. */

#include "command.h"
#include "progress.h"
#include "session.h"

#include "bench/client/load.h"
#include "bench/compare/report.h"
#include "bench/compare/rounds.h"
#include "bench/server/target.h"
#include "bench/server/usage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_INTERVAL_MS 10

static int open_target(const struct session *s, struct target *target)
{
	const struct options *o = s->options;
	unsigned int workers = o->workers ? o->workers : 1;
	char error[600];
	int rc = -EINVAL;

	if (o->starts) {
		const struct target_options t = {
			.kind = o->start,
			.transport = o->transport,
			.workers = o->workers,
			.backlog = o->backlog,
			.body_size = o->size,
			.cpus = s->plan.placement == PLACEMENT_FREE ? NULL : &s->plan.server,
		};

		rc = target_start(&t, target, error, sizeof(error));
	} else if (o->server_pid > 0 && kill(o->server_pid, 0) == -1 && errno == ESRCH) {
		(void)snprintf(error, sizeof(error), "--server-pid: there is no process %d",
			       o->server_pid);
	} else {
		rc = target_attach(o->address, workers, o->server_pid, target, error,
				   sizeof(error));
	}
	if (rc < 0)
		session_say("%s", error);
	return rc;
}

static void progress_cb(uint64_t answered, uint64_t failed, uint64_t elapsed_ns, void *data)
{
	(void)data;
	progress_show("%.0f s: %llu answers (%.0f/s), %llu failures", (double)elapsed_ns / 1e9,
		      (unsigned long long)answered,
		      elapsed_ns > 0 ? (double)answered * 1e9 / (double)elapsed_ns : 0,
		      (unsigned long long)failed);
}

static struct load_options make_load(const struct session *s, const struct target *target,
				     const struct request *request)
{
	const struct options *o = s->options;
	struct load_options load = o->load;

	load.endpoints = target->endpoints;
	load.endpoint_count = target->endpoint_count;
	load.request = request;
	load.threads = o->threads;
	load.connections = o->connections;
	load.keep = o->keep;
	load.seed = o->seed;
	load.duration_ns = o->duration_ns;
	load.requests = o->requests;
	load.cpus = s->plan.placement == PLACEMENT_FREE ? NULL : &s->plan.client;
	load.spin = s->plan.placement == PLACEMENT_SPLIT && load.arrivals != LOAD_CLOSED;
	load.stop = &session_stop;
	load.progress = progress_cb;
	return load;
}

/* Loads the target and files the outcome as the only round of a cell. */
static int measure(const struct session *s, const struct load_options *load, struct cell *cell)
{
	const struct target *target = cell->target;
	struct load_result *result = calloc(1, sizeof(*result));
	struct queue_watch *watch;
	struct usage before, after, used;
	struct queue_depth depth;
	char error[300] = "out of memory";
	int rc = result ? 0 : -ENOMEM;

	if (queue_read(target->endpoints, target->endpoint_count, &depth) == 0)
		cell->queue_limit = depth.limit;
	if (rc == 0) {
		watch = queue_watch_start(target->endpoints, target->endpoint_count,
					  QUEUE_INTERVAL_MS);
		usage_read(target->pid, false, &before);
		rc = load_run(load, result, error, sizeof(error));
		usage_read(target->pid, true, &after);
		usage_since(&before, &after, &used);
		queue_watch_stop(watch, &cell->rounds[0].queue_mean,
				 &cell->rounds[0].queue_deepest);
	}
	progress_clear();
	if (rc < 0) {
		session_say("%s", error);
	} else {
		const struct cell_round queue = cell->rounds[0];

		cell_take(cell, 0, result, &used, s->options->threads, 0);
		cell->rounds[0].queue_mean = queue.queue_mean;
		cell->rounds[0].queue_deepest = queue.queue_deepest;
		cell->pss_kib = used.pss_kib;
	}
	free(result);
	return rc;
}

static int judge(const struct session *s, const struct cell *cell, bool whole)
{
	bool required = session_requirements(s, cell, 1);

	if (session_stop)
		session_say("interrupted: these are the figures up to then");
	return whole && required && session_failures(s, cell) == 0 && cell->total->answered > 0
		       ? OPTIONS_EXIT_OK
		       : OPTIONS_EXIT_FAILED;
}

/* Whether the client was what was measured; without a null responder nobody knows. */
static void measure_ceiling(const struct session *s, const struct load_options *load,
			    struct cell *cell)
{
	const struct ceiling_options options = {
		.load = *load, .plan = &s->plan, .stop = &session_stop};
	char error[300];

	if (load->arrivals != LOAD_CLOSED || session_stop || cell->total->answered == 0)
		return;
	progress_show("how fast could the client be");
	(void)ceilings_measure(cell, 1, &options, error, sizeof(error));
	progress_clear();
}

/* What a responder of ours answers is known, unless something else is asked for. */
static struct response_expect make_expect(const struct options *o)
{
	struct response_expect expect = o->expect;

	if (o->starts && !expect.check_length && !o->request.script && !o->request.query &&
	    !o->request_file) {
		expect.check_length = true;
		expect.length = o->size;
	}
	return expect;
}

static int run_on(struct session *s, const struct target *target, struct cell *cell,
		  struct rounds *rounds, const struct request *request)
{
	struct load_options load = make_load(s, target, request);
	struct report report = {.rounds = rounds};

	*cell = (struct cell){.transport = target->endpoints[0].transport,
			      .keep = s->options->keep ||
				      target->endpoints[0].transport == TRANSPORT_PIPE,
			      .connections = s->options->connections,
			      .body_size = s->options->starts ? s->options->size : 0,
			      .target = target,
			      .request = request,
			      .expect = make_expect(s->options)};
	if (cell_init(cell) < 0)
		return OPTIONS_EXIT_FAILED;
	load.expect = &cell->expect;
	if (measure(s, &load, cell) < 0)
		return OPTIONS_EXIT_FAILED;
	cell->body_size = cell->total->body_length;
	measure_ceiling(s, &load, cell);
	report_wrap_run(cell, &load, s->options->seed, rounds);
	return judge(s, cell, session_report(s, &report, report_table));
}

static int load_target(struct session *s, const struct target *target, struct cell *cell,
		       struct rounds *rounds, struct request *request)
{
	if (!s->options->starts)
		session_check_placement(s, target);
	environment_add(&s->environment, "target", "%s", target->name);
	if (target->version[0])
		environment_add(&s->environment, "version", "%s", target->version);
	if (!session_request(s->options, target->script[0] ? target->script : NULL,
			     s->options->starts ? s->options->size : 0, request))
		return OPTIONS_EXIT_USAGE;
	return run_on(s, target, cell, rounds, request);
}

int command_run(struct session *session)
{
	struct session *s = session;
	struct request request = {0};
	struct target target = {0};
	struct cell *cell = calloc(1, sizeof(*cell));
	struct rounds *rounds = calloc(1, sizeof(*rounds));
	int status = OPTIONS_EXIT_FAILED;

	if (!cell || !rounds) {
		session_say("out of memory");
	} else {
		int rc = open_target(s, &target);

		status = rc == 0	 ? load_target(s, &target, cell, rounds, &request)
			 : rc == -EINVAL ? OPTIONS_EXIT_USAGE
					 : OPTIONS_EXIT_FAILED;
	}
	request_done(&request);
	target_stop(&target);
	if (cell)
		cell_done(cell);
	free(cell);
	free(rounds);
	return status;
}
