/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench compare: transports, connections, sizes and programs against each other. */

#include "command.h"
#include "progress.h"
#include "session.h"

#include "bench/compare/floor.h"
#include "bench/compare/rounds.h"
#include "bench/compare/verdict.h"
#include "bench/server/target.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Theory of operation
 *
 * A target for each kind of program and transport runs all the time; a cell is a target with a
 * kind of connection, a concurrency and a body size. The first cell of each kind of connection
 * and concurrency is there twice: what comes out between those two is noise.
 */
#define TARGETS_MAX (TARGET_KINDS * TRANSPORTS)
#define CELLS_MAX   200

/* What is left of the budget for the report and the end. */
#define REPORT_NS UINT64_C(1000000000)

/* Shorter slices measure interruptions. */
#define SLICE_LEAST_NS UINT64_C(500000000)

static const enum target_kind default_kinds[] = {TARGET_BERTH};
static const enum transport default_transports[] = {TRANSPORT_UNIX, TRANSPORT_TCP, TRANSPORT_PIPE};
static const bool default_modes[] = {false, true};
static const unsigned int default_concurrencies[] = {1, 4};
static const size_t default_sizes[] = {100, 9000};

struct comparison {
	struct session *session;
	struct options o; /* with defaults in place of empty lists */
	struct target targets[TARGETS_MAX];
	enum target_kind kinds[TARGETS_MAX];
	enum transport transports[TARGETS_MAX];
	struct request requests[TARGETS_MAX][OPTIONS_LIST_MAX];
	size_t target_count;
	struct cell cells[CELLS_MAX];
	size_t cell_count;
	struct floor_result floor;
	struct rounds rounds;
	uint64_t started_ns;
	bool left_out; /* not everything that was asked for could be started */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void set_defaults(struct options *o)
{
	unsigned int most = 1;

#define DEFAULT_LIST(list, count, values)                        \
	if (o->count == 0) {                                     \
		memcpy(o->list, values, sizeof(values));         \
		o->count = sizeof(values) / sizeof((values)[0]); \
	}
	DEFAULT_LIST(targets, target_count, default_kinds)
	DEFAULT_LIST(transports, transport_count, default_transports)
	DEFAULT_LIST(modes, mode_count, default_modes)
	DEFAULT_LIST(concurrencies, concurrency_count, default_concurrencies)
	DEFAULT_LIST(sizes, size_count, default_sizes)
#undef DEFAULT_LIST
	for (size_t i = 0; i < o->concurrency_count; i++)
		if (o->concurrencies[i] > most)
			most = o->concurrencies[i];
	/* With fewer workers than kept connections some would starve, and pipes can't be shared. */
	if (o->workers == 0)
		o->workers = options_workers(most);
}

static bool can_pipe(enum target_kind kind)
{
	return kind == TARGET_NULL || kind == TARGET_BERTH;
}

/* What is left out is said at once, and doubted by --strict. */
static void leave_out(struct comparison *c, const char *what, const char *why)
{
	progress_clear();
	session_say("without %s: %s", what, why);
	c->left_out = true;
}

/* Starts target @index, makes its requests. */
static int start_target(struct comparison *c, size_t index, char *error, size_t error_size)
{
	const struct session *s = c->session;
	const enum target_kind kind = c->kinds[index];
	const enum transport transport = c->transports[index];
	const struct target_options t = {
		.kind = kind,
		.transport = transport,
		.workers = c->o.workers,
		.backlog = c->o.backlog,
		.body_size = c->o.sizes[0],
		.cpus = s->plan.placement == PLACEMENT_FREE ? NULL : &s->plan.server,
	};
	struct target *target = &c->targets[index];
	int rc;

	progress_show("starting %s on %s", target_kind_name(kind), transport_name(transport));
	rc = target_start(&t, target, error, error_size);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < c->o.size_count; i++) {
		if (!session_request(s->options, target->script, c->o.sizes[i],
				     &c->requests[index][i])) {
			(void)snprintf(error, error_size, "its request can't be made");
			return -ENOMEM;
		}
	}
	return 0;
}

/* What can't be started is left out: the rest can be compared all the same. */
static void start_kind(struct comparison *c, enum target_kind kind)
{
	for (size_t t = 0; t < c->o.transport_count && !session_stop; t++) {
		const enum transport transport = c->o.transports[t];
		char error[600], what[64];
		int rc;

		if (transport == TRANSPORT_PIPE && !can_pipe(kind))
			continue;
		(void)snprintf(what, sizeof(what), "%s on %s", target_kind_name(kind),
			       transport_name(transport));
		c->kinds[c->target_count] = kind;
		c->transports[c->target_count] = transport;
		rc = start_target(c, c->target_count, error, sizeof(error));
		/* What is not installed is so on every transport. */
		if (rc == -ENOENT) {
			leave_out(c, target_kind_name(kind), error);
			break;
		}
		if (rc < 0)
			leave_out(c, what, error);
		else
			c->target_count++;
	}
}

static void stop_target(struct comparison *c, size_t index)
{
	for (size_t k = 0; k < c->o.size_count; k++)
		request_done(&c->requests[index][k]);
	target_stop(&c->targets[index]);
}

static void stop_targets(struct comparison *c)
{
	for (size_t i = 0; i < c->target_count; i++)
		stop_target(c, i);
	c->target_count = 0;
}

/* Its cells stay in the report, so it keeps its name. */
static void lose_target(struct comparison *c, size_t index, const struct target *before,
			const char *why)
{
	struct target *target = &c->targets[index];

	stop_target(c, index);
	(void)snprintf(target->name, sizeof(target->name), "%s", before->name);
	(void)snprintf(target->version, sizeof(target->version), "%s", before->version);
	for (size_t i = 0; i < c->cell_count; i++) {
		if (c->cells[i].target != target)
			continue;
		c->cells[i].dead = true;
		(void)snprintf(c->cells[i].note, sizeof(c->cells[i].note),
			       "it could not be started anew: %.150s", why);
	}
}

/* One after the other, so that there is never more than is measured. */
static void restart_cb(void *data)
{
	struct comparison *c = data;
	char error[600];

	for (size_t i = 0; i < c->target_count && !session_stop; i++) {
		const struct target before = c->targets[i];

		if (!before.endpoints)
			continue;
		stop_target(c, i);
		if (start_target(c, i, error, sizeof(error)) < 0)
			lose_target(c, i, &before, error);
	}
}

static bool start_targets(struct comparison *c)
{
	for (size_t k = 0; k < c->o.target_count; k++)
		start_kind(c, c->o.targets[k]);
	if (session_stop) {
		progress_clear();
		session_say("interrupted before anything was measured");
		return false;
	}
	if (c->target_count > 0)
		return true;
	if (c->o.target_count > 1 || c->o.targets[0] != TARGET_NULL) {
		session_say("the null responder takes its place, which answers at once: these "
			    "figures are the transports' own, without PHP");
		start_kind(c, TARGET_NULL);
	}
	return c->target_count > 0 && !session_stop;
}

/* What cells of a group differ in besides the target. */
struct variant {
	bool control;
	bool quickack;
};

static bool add_cell(struct comparison *c, size_t target, bool keep, unsigned int connections,
		     size_t size, struct variant variant)
{
	struct cell *cell = &c->cells[c->cell_count];

	if (c->cell_count == CELLS_MAX) {
		session_say("more than %d cells; accepted are shorter lists", CELLS_MAX);
		return false;
	}
	*cell = (struct cell){.transport = c->targets[target].endpoints[0].transport,
			      .keep = keep,
			      .connections = connections,
			      .body_size = c->o.sizes[size],
			      .target = &c->targets[target],
			      .request = &c->requests[target][size],
			      .expect = {.check_length = true, .length = c->o.sizes[size]},
			      .quickack = variant.quickack,
			      .control = variant.control};
	if (cell_init(cell) < 0) {
		session_say("out of memory");
		return false;
	}
	c->cell_count++;
	return true;
}

/* All targets with one kind of connection, one concurrency and one size, the control first. */
static bool add_group(struct comparison *c, bool keep, unsigned int connections, size_t size)
{
	bool first = true;

	for (size_t t = 0; t < c->target_count; t++) {
		const enum transport transport = c->targets[t].endpoints[0].transport;
		const struct variant plain = {0}, control = {.control = true},
				     quickack = {.quickack = true};

		if (transport == TRANSPORT_PIPE && (!keep || connections > c->o.workers))
			continue;
		if (!add_cell(c, t, keep, connections, size, plain))
			return false;
		if (first && size == 0 && !add_cell(c, t, keep, connections, size, control))
			return false;
		if (transport == TRANSPORT_TCP && c->o.quickack_both &&
		    !add_cell(c, t, keep, connections, size, quickack))
			return false;
		first = false;
	}
	return true;
}

static bool make_cells(struct comparison *c)
{
	for (size_t s = 0; s < c->o.size_count; s++)
		for (size_t n = 0; n < c->o.concurrency_count; n++)
			for (size_t m = 0; m < c->o.mode_count; m++)
				if (!add_group(c, c->o.modes[m], c->o.concurrencies[n], s))
					return false;
	return true;
}

static void add_facts(struct comparison *c)
{
	struct environment *e = &c->session->environment;

	for (size_t i = 0; i < c->target_count; i++)
		if (i == 0 || c->kinds[i] != c->kinds[i - 1])
			environment_add(e, target_kind_name(c->kinds[i]), "%s%s%s",
					c->targets[i].name, c->targets[i].version[0] ? ", " : "",
					c->targets[i].version);
	environment_add(e, "workers", "%u", c->o.workers);
	environment_add(e, "backlog", "%u", c->o.backlog ? c->o.backlog : 511);
}

static void progress_cb(const struct rounds_progress *p, void *data)
{
	(void)data;
	if (p->phase == ROUNDS_WARM_UP)
		progress_show("warm-up: %s", p->cell->name);
	else
		progress_show("round %u of %u, %zu/%zu, %.0f of %.0f s: %s", p->round, p->rounds,
			      p->position + 1, p->cells, (double)p->elapsed_ns / 1e9,
			      (double)p->budget_ns / 1e9, p->cell->name);
}

/* The limits of machine and client; without them the comparison is possible all the same. */
static void measure_limits(struct comparison *c)
{
	const struct floor_options floor_options = {.plan = &c->session->plan,
						    .request_bytes = c->requests[0][0].size,
						    .answer_bytes = c->o.sizes[0] + 64,
						    .seed = c->o.seed,
						    .stop = &session_stop};
	const struct ceiling_options ceiling_options = {
		.load = c->o.load, .plan = &c->session->plan, .stop = &session_stop};
	char error[300];

	progress_show("the floor: ping-pong without FastCGI");
	if (floor_run(&floor_options, &c->floor, error, sizeof(error)) < 0)
		session_say("no floor: %s", error);
	progress_show("the client's own limit");
	if (ceilings_measure(c->cells, c->cell_count, &ceiling_options, error, sizeof(error)) < 0)
		session_say("the client's limit is not known: %s", error);
}

static bool measure(struct comparison *c)
{
	struct rounds_options options = {.load = c->o.load,
					 .rounds = c->o.rounds,
					 .precision = c->o.precision,
					 .slice_least_ns = SLICE_LEAST_NS,
					 .retry_dirty = c->o.retry_dirty,
					 .restart_every = c->o.restart_every,
					 .restart = restart_cb,
					 .data = c,
					 .plan = &c->session->plan,
					 .seed = c->o.seed,
					 .stop = &session_stop,
					 .progress = progress_cb};
	uint64_t spent = now_ns() - c->started_ns + REPORT_NS;
	char error[300];

	options.load.threads = c->o.threads;
	/* A budget of nothing would mean no limit. */
	options.budget_ns = c->o.budget_ns > spent ? c->o.budget_ns - spent : 1;
	if (rounds_run(c->cells, c->cell_count, &options, &c->rounds, error, sizeof(error)) == 0)
		return true;
	progress_clear();
	session_say("%s", error);
	return false;
}

/* What was not measured has not failed. */
static bool any_failed(const struct comparison *c)
{
	for (size_t i = 0; i < c->cell_count; i++)
		if (cell_rounds(&c->cells[i]) > 0 &&
		    (session_failures(c->session, &c->cells[i]) > 0 ||
		     c->cells[i].total->answered == 0))
			return true;
	return false;
}

/* What --strict does not let pass. */
static bool is_doubtful(const struct comparison *c, const struct verdicts *verdicts)
{
	return c->left_out || !verdicts->control_holds || c->rounds.not_reached[0] != '\0';
}

static int conclude(struct comparison *c)
{
	struct session *s = c->session;
	struct verdicts *verdicts = calloc(1, sizeof(*verdicts));
	struct report report = {.rounds = &c->rounds, .verdicts = verdicts};
	int status = OPTIONS_EXIT_OK;

	progress_clear();
	if (!verdicts || verdicts_make(&c->rounds, c->o.delta, verdicts) < 0) {
		session_say("out of memory");
		free(verdicts);
		return OPTIONS_EXIT_FAILED;
	}
	if (c->floor.rounds > 0)
		report.floor = &c->floor;
	if (any_failed(c) || !session_requirements(s, c->cells, c->cell_count))
		status = OPTIONS_EXIT_FAILED;
	if (verdicts->refused || (s->options->strict && is_doubtful(c, verdicts)))
		status = OPTIONS_EXIT_REFUSED;
	if (!session_report(s, &report, report_table))
		status = OPTIONS_EXIT_FAILED;
	verdicts_done(verdicts);
	free(verdicts);
	return status;
}

int command_compare(struct session *session)
{
	struct comparison *c = calloc(1, sizeof(*c));
	int status = OPTIONS_EXIT_FAILED;

	if (!c) {
		session_say("out of memory");
		return status;
	}
	c->session = session;
	c->o = *session->options;
	c->started_ns = now_ns();
	set_defaults(&c->o);
	if (start_targets(c) && make_cells(c)) {
		add_facts(c);
		measure_limits(c);
		if (measure(c))
			status = conclude(c);
	} else if (session_stop) {
		status = OPTIONS_EXIT_REFUSED;
	}
	progress_clear();
	for (size_t i = 0; i < c->cell_count; i++)
		cell_done(&c->cells[i]);
	stop_targets(c);
	free(c);
	return status;
}
