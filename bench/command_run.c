/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench run: load on one responder, and what came of it. */

#include "command.h"
#include "progress.h"
#include "session.h"

#include "bench/client/load.h"
#include "bench/compare/report.h"
#include "bench/server/target.h"
#include "bench/server/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_INTERVAL_MS 10

static bool open_target(const struct session *s, struct target *target)
{
	const struct options *o = s->options;
	unsigned int workers = o->workers ? o->workers : 1;
	char error[600];
	int rc;

	if (o->starts) {
		const struct target_options t = {
			.kind = o->start,
			.transport = o->transport,
			/* Each pair of pipes has one client. */
			.workers = o->workers			    ? o->workers
				   : o->transport == TRANSPORT_PIPE ? o->connections
								    : 1,
			.backlog = o->backlog,
			.body_size = o->size,
			.cpus = s->plan.placement == PLACEMENT_FREE ? NULL : &s->plan.server,
		};

		rc = target_start(&t, target, error, sizeof(error));
	} else {
		rc = target_attach(o->address, workers, o->server_pid, target, error,
				   sizeof(error));
	}
	if (rc < 0)
		session_say("%s", error);
	return rc == 0;
}

static void progress_cb(uint64_t answered, uint64_t failed, uint64_t elapsed_ns, void *data)
{
	(void)data;
	progress_show("%.0f s: %llu answers, %llu failures", (double)elapsed_ns / 1e9,
		      (unsigned long long)answered, (unsigned long long)failed);
}

static struct load_options make_load(const struct session *s, const struct target *target,
				     const struct request *request)
{
	const struct options *o = s->options;
	struct load_options load = o->load;

	load.endpoints = target->endpoints;
	load.endpoint_count = target->endpoint_count;
	load.request = request;
	load.expect = &o->expect;
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
	char error[300] = "out of memory";
	int rc = result ? 0 : -ENOMEM;

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

static int judge(const struct session *s, struct cell *cell, bool whole)
{
	bool required = session_requirements(s, cell, 1);

	if (session_stop)
		session_say("interrupted: these are the figures up to then");
	/* Whoever sets thresholds decides what failures mean. */
	if (s->options->requirement_count == 0 && failures_total(&cell->total->failures) > 0)
		required = false;
	return whole && required && cell->total->answered > 0 ? OPTIONS_EXIT_OK
							      : OPTIONS_EXIT_FAILED;
}

static int run_on(const struct session *s, const struct target *target, struct cell *cell,
		  struct rounds *rounds, const struct request *request)
{
	const struct load_options load = make_load(s, target, request);
	struct report report = {.rounds = rounds};

	*cell = (struct cell){.transport = target->endpoints[0].transport,
			      .keep = s->options->keep ||
				      target->endpoints[0].transport == TRANSPORT_PIPE,
			      .connections = s->options->connections,
			      .body_size = s->options->starts ? s->options->size : 0,
			      .target = target,
			      .request = request,
			      .expect = s->options->expect};
	if (cell_init(cell) < 0 || measure(s, &load, cell) < 0)
		return OPTIONS_EXIT_FAILED;
	cell->body_size = cell->total->body_length;
	report_wrap_run(cell, &load, s->options->seed, rounds);
	return judge(s, cell, session_report(s, &report, report_table));
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
	} else if (open_target(s, &target)) {
		environment_add(&s->environment, "target", "%s", target.name);
		if (target.version[0])
			environment_add(&s->environment, "version", "%s", target.version);
		if (!session_request(s->options, target.script[0] ? target.script : NULL,
				     s->options->starts ? s->options->size : 0, &request))
			status = OPTIONS_EXIT_USAGE;
		else
			status = run_on(s, &target, cell, rounds, &request);
	}
	request_done(&request);
	target_stop(&target);
	if (cell)
		cell_done(cell);
	free(cell);
	free(rounds);
	return status;
}
