/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench ramp: how much load a responder sustains on each transport. */

#include "command.h"
#include "progress.h"
#include "session.h"

#include "bench/compare/ramp.h"
#include "bench/compare/ramp_say.h"
#include "bench/server/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A ramp, its responders, and what is asked of them. */
struct ascent {
	struct session *session;
	struct target started[RAMP_TARGETS_MAX];
	struct request requests[RAMP_TARGETS_MAX];
	struct ramp_target targets[RAMP_TARGETS_MAX];
	size_t count;
	struct ramp ramp;
};

static const enum transport default_transports[] = {TRANSPORT_UNIX, TRANSPORT_TCP};

static int start(const struct ascent *ascent, enum transport transport, struct target *target)
{
	const struct session *s = ascent->session;
	const struct options *o = s->options;
	const struct target_options t = {
		.kind = o->starts ? o->start : TARGET_BERTH,
		.transport = transport,
		.workers = o->workers,
		.backlog = o->backlog,
		.body_size = o->size,
		.cpus = s->plan.placement == PLACEMENT_FREE ? NULL : &s->plan.server,
	};
	char error[600];
	int rc;

	progress_show("starting %s on %s", target_kind_name(t.kind), transport_name(transport));
	rc = target_start(&t, target, error, sizeof(error));
	progress_clear();
	if (rc < 0)
		session_say("%s", error);
	return rc;
}

static int attach(const struct ascent *ascent, struct target *target)
{
	const struct options *o = ascent->session->options;
	char error[600];
	int rc = target_attach(o->address, o->workers ? o->workers : 1, o->server_pid, target,
			       error, sizeof(error));

	if (rc < 0)
		session_say("%s", error);
	else
		session_check_placement(ascent->session, target);
	return rc;
}

/* Files what was started or found last. Returns an enum options_exit. */
static int add(struct ascent *ascent)
{
	const struct options *o = ascent->session->options;
	const size_t index = ascent->count;
	const struct target *target = &ascent->started[index];
	struct ramp_target *ramp = &ascent->targets[index];

	ascent->count++;
	environment_add(&ascent->session->environment,
			transport_name(target->endpoints[0].transport), "%s%s%s", target->name,
			target->version[0] ? ", " : "", target->version);
	if (!session_request(o, target->script[0] ? target->script : NULL, o->address ? 0 : o->size,
			     &ascent->requests[index]))
		return OPTIONS_EXIT_USAGE;
	ramp->target = target;
	ramp->request = &ascent->requests[index];
	ramp->expect = o->expect;
	/* What a responder of ours answers is known, unless something else is asked for. */
	if (!o->address && !o->expect.check_length && !o->request.script && !o->request.query &&
	    !o->request_file) {
		ramp->expect.check_length = true;
		ramp->expect.length = o->size;
	}
	return OPTIONS_EXIT_OK;
}

static int open_all(struct ascent *ascent)
{
	const struct options *o = ascent->session->options;
	const enum transport *transports =
		o->transport_count > 0 ? o->transports : default_transports;
	const size_t count = o->address ? 1 : o->transport_count > 0 ? o->transport_count : 2;
	int status = OPTIONS_EXIT_OK;

	for (size_t i = 0; status == OPTIONS_EXIT_OK && i < count && !session_stop; i++) {
		struct target *target = &ascent->started[i];
		const int rc =
			o->address ? attach(ascent, target) : start(ascent, transports[i], target);

		if (rc == -EINVAL)
			status = OPTIONS_EXIT_USAGE;
		else
			status = rc < 0 ? OPTIONS_EXIT_FAILED : add(ascent);
	}
	return status;
}

static void progress_cb(const struct ramp_target *target, unsigned int bracket, double rate,
			void *data)
{
	(void)data;
	progress_show("%s, bracket %u: %.0f requests/s",
		      transport_name(target->target->endpoints[0].transport), bracket + 1, rate);
}

static int climb(struct ascent *ascent)
{
	struct session *s = ascent->session;
	const struct options *o = s->options;
	struct ramp_options options = {.load = o->load,
				       .slo_us = (double)o->slo_ns / 1e3,
				       .max_rate = o->max_rate,
				       .brackets = o->rounds,
				       .budget_ns = o->budget_ns,
				       .plan = &s->plan,
				       .seed = o->seed,
				       .stop = &session_stop,
				       .progress = progress_cb};
	struct report report = {.ramp = &ascent->ramp};
	char error[300];
	int status;

	options.load.threads = o->threads;
	options.load.connections = o->connections;
	options.load.keep = o->keep;
	options.load.spin = s->plan.placement == PLACEMENT_SPLIT;
	status = ramp_run(ascent->targets, ascent->count, &options, &ascent->ramp, error,
			  sizeof(error));
	progress_clear();
	if (status < 0) {
		session_say("%s", error);
		return OPTIONS_EXIT_FAILED;
	}
	status = ramp_refused(&ascent->ramp) ? OPTIONS_EXIT_REFUSED : OPTIONS_EXIT_OK;
	return session_report(s, &report, report_ramp) ? status : OPTIONS_EXIT_FAILED;
}

int command_ramp(struct session *session)
{
	struct ascent *ascent = calloc(1, sizeof(*ascent));
	int status;

	if (!ascent) {
		session_say("out of memory");
		return OPTIONS_EXIT_FAILED;
	}
	ascent->session = session;
	status = open_all(ascent);
	if (session_stop && status == OPTIONS_EXIT_OK && ascent->count == 0) {
		session_say("interrupted before anything was measured");
		status = OPTIONS_EXIT_REFUSED;
	} else if (status == OPTIONS_EXIT_OK) {
		status = climb(ascent);
	}
	for (size_t i = 0; i < ascent->count; i++) {
		request_done(&ascent->requests[i]);
		target_stop(&ascent->started[i]);
	}
	free(ascent);
	return status;
}
