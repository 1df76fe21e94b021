/* SPDX-License-Identifier: BSD-2-Clause */
/* A slice of a cell: load, and what server and machine did meanwhile. */

#include "rounds_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Answers at the start of a slice that are not recorded: the cell before left its traces. */
#define SKIP_LEAST 50
#define SKIP_SHARE 0.05

/* Of slow answers a slice has only a few, so it can't spare that many of them. */
#define SKIP_MOST_SHARE 0.1

/* Rounds without an answer after which a cell is given up. */
#define SILENT_ROUNDS 3

/* Longest warm-up of a cell whose target was started anew. */
#define AGAIN_NS UINT64_C(200000000)

#define QUEUE_INTERVAL_MS 10

/* Shares of a slice's time above which it is dirty. */
#define DIRTY_STEAL    0.01
#define DIRTY_PRESSURE 0.10
#define DIRTY_FOREIGN  0.10

/* In shorter slices the machine's clock ticks, 10 ms each, say nothing. */
#define FOREIGN_LEAST_NS 200e6

/* Two windows whose medians differ by less are a steady state. */
#define STEADY 0.02

uint64_t rounds_clock_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The load of a slice; duration, requests and skip are the caller's to set. */
static struct load_options make_load(const struct runner *runner, const struct cell *cell,
				     unsigned int round)
{
	const struct rounds_options *options = &runner->rounds->options;
	struct load_options load = options->load;

	load.endpoints = cell->target->endpoints;
	load.endpoint_count = cell->target->endpoint_count;
	load.request = cell->request;
	load.expect = &cell->expect;
	load.threads = runner->threads;
	load.connections = cell->connections;
	load.keep = cell->keep;
	load.quickack = options->load.quickack || cell->quickack;
	/* All cells of a round face the same arrivals. */
	load.seed = options->seed + round;
	load.stop = options->stop;
	load.progress = NULL;
	load.data = NULL;
	if (load.cpus == NULL && options->plan != NULL &&
	    options->plan->placement != PLACEMENT_FREE)
		load.cpus = &options->plan->client;
	return load;
}

static uint64_t choose_skip(const struct rounds_options *options, const struct runner_cell *cell)
{
	const double wanted = fmax(SKIP_LEAST, SKIP_SHARE * (double)cell->requests);
	const double expected = cell->speed * (double)options->slice_ns;

	return (uint64_t)fmin(wanted, SKIP_MOST_SHARE * expected);
}

/* The same load without recording is the longest warm-up that is of use. */
static int warm_up_window(struct runner *runner, const struct cell *cell, uint64_t duration_ns)
{
	struct load_options load = make_load(runner, cell, 0);

	load.requests = runner->rounds->options.slice_requests;
	load.duration_ns = duration_ns;
	load.skip = 0;
	memset(runner->result, 0, sizeof(*runner->result));
	return load_run(&load, runner->result, runner->error, sizeof(runner->error));
}

static double window_median(const struct load_result *result)
{
	const struct histogram *times =
		result->response.count > 0 ? &result->response : &result->service;

	return (double)histogram_quantile(times, 0.5);
}

static int warm_up_cell(struct runner *runner, size_t index, uint64_t limit_ns)
{
	const uint64_t start = rounds_clock_ns();
	struct cell *cell = &runner->rounds->cells[index];
	double before = 0;

	while (!rounds_stopped(runner)) {
		const uint64_t slice_ns = runner->rounds->options.slice_ns;
		const uint64_t window = limit_ns / 2 < slice_ns ? limit_ns / 2 : slice_ns;
		const int status = warm_up_window(runner, cell, window);
		double median;

		if (status < 0)
			return status;
		if (runner->result->answered == 0)
			break;
		runner->cells[index].speed = (double)runner->result->answered /
					     fmax(1, (double)runner->result->elapsed_ns);
		median = window_median(runner->result);
		cell->steady = before > 0 && fabs(median / before - 1) < STEADY;
		if (cell->steady || rounds_clock_ns() - start >= limit_ns)
			break;
		before = median;
	}
	return 0;
}

static void give_up(struct cell *cell, const char *why)
{
	cell->dead = true;
	(void)snprintf(cell->note, sizeof(cell->note), "%s", why);
}

int rounds_warm_up(struct runner *runner)
{
	struct rounds *rounds = runner->rounds;
	const uint64_t limit_ns = rounds->options.warm_up_ns / rounds->cell_count;
	size_t failed = 0;
	int status = 0;

	for (size_t i = 0; i < rounds->cell_count && !rounds_stopped(runner); i++) {
		struct cell *cell = &rounds->cells[i];
		struct queue_depth depth;
		int ret;

		rounds_tell(runner, ROUNDS_WARM_UP, 0, i, i);
		if (queue_read(cell->target->endpoints, cell->target->endpoint_count, &depth) == 0)
			cell->queue_limit = depth.limit;
		ret = warm_up_cell(runner, i, limit_ns);
		if (ret < 0) {
			status = ret;
			failed++;
			give_up(cell, runner->error);
		}
	}
	return failed == rounds->cell_count ? status : 0;
}

/* A new server has to read its script, fill its cache and grow its memory first. */
void rounds_warm_up_again(struct runner *runner)
{
	struct rounds *rounds = runner->rounds;

	for (size_t i = 0; i < rounds->cell_count && !rounds_stopped(runner); i++) {
		if (rounds->cells[i].dead)
			continue;
		rounds_tell(runner, ROUNDS_WARM_UP, 0, i, i);
		if (warm_up_window(runner, &rounds->cells[i], AGAIN_NS) < 0)
			give_up(&rounds->cells[i], runner->error);
	}
}

/*
 * Was somebody else on the CPUs? Pressure tells only where nobody of ours waits for a CPU: one
 * connection, and CPUs of their own for both sides. CPU time that is neither the client's nor the
 * server's tells always, but only over a longer time.
 */
static bool is_dirty(const struct runner *runner, const struct cell *cell, const struct usage *used,
		     double wall_ns)
{
	const struct placement_plan *plan = runner->rounds->options.plan;
	const double ours = (double)used->cpu_ns + (double)runner->result->client_cpu_ns;

	if ((double)used->steal_ns > DIRTY_STEAL * wall_ns)
		return true;
	if (plan != NULL && plan->placement == PLACEMENT_SPLIT && cell->connections == 1 &&
	    (double)used->pressure_us * 1e3 > DIRTY_PRESSURE * wall_ns)
		return true;
	return used->processes > 0 && wall_ns >= FOREIGN_LEAST_NS &&
	       (double)used->machine_ns - ours > DIRTY_FOREIGN * wall_ns;
}

/* The load counts from the slice's start, the report from the run's. */
static void shift_failures(struct failures *failures, uint64_t by_ns)
{
	for (size_t i = 0; i < FAILURE_CLASSES; i++) {
		if (failures->count[i] > 0) {
			failures->first_ns[i] += by_ns;
			failures->last_ns[i] += by_ns;
		}
	}
}

/* A dead target takes all its cells with it. */
static void note_death(struct runner *runner, size_t index, unsigned int round)
{
	struct rounds *rounds = runner->rounds;
	const struct target *target = rounds->cells[index].target;
	char why[200];

	(void)snprintf(why, sizeof(why), "%s ended in round %u; not measured any more",
		       target->name, round + 1);
	for (size_t i = 0; i < rounds->cell_count; i++) {
		if (rounds->cells[i].target == target && !rounds->cells[i].dead)
			give_up(&rounds->cells[i], why);
	}
}

static void note_silence(struct runner *runner, size_t index, unsigned int round)
{
	struct runner_cell *state = &runner->cells[index];
	char why[200];

	state->silent = runner->result->answered > 0 ? 0 : state->silent + 1;
	if (state->silent < SILENT_ROUNDS)
		return;
	(void)snprintf(why, sizeof(why),
		       "no answer in %u rounds up to round %u; not measured any more",
		       state->silent, round + 1);
	give_up(&runner->rounds->cells[index], why);
}

static void file_slice(struct runner *runner, size_t index, unsigned int round,
		       const struct usage *used, uint64_t skipped, uint64_t began_ns)
{
	struct cell *cell = &runner->rounds->cells[index];
	const uint64_t wall_ns = rounds_clock_ns() - began_ns;

	shift_failures(&runner->result->failures, began_ns - runner->start_ns);
	cell_take(cell, round, runner->result, used, runner->threads, skipped);
	cell->rounds[round].dirty = is_dirty(runner, cell, used, (double)wall_ns);
	runner->rounds->slices++;
	runner->rounds->dirty += cell->rounds[round].dirty;
	if (!target_alive(cell->target))
		note_death(runner, index, round);
	else if (!runner->result->interrupted)
		note_silence(runner, index, round);
}

/*
 * A few hundred quick answers are over in some milliseconds, in which a single interruption is worth
 * more than what is to be measured. Half of the budget is left to further rounds.
 */
void rounds_size_slices(struct runner *runner)
{
	struct rounds_options *options = &runner->rounds->options;
	const uint64_t slices = (uint64_t)options->rounds * runner->rounds->cell_count;
	const uint64_t spent_ns = rounds_clock_ns() - runner->start_ns;
	uint64_t least_ns = options->slice_least_ns;

	if (least_ns > options->slice_ns)
		least_ns = options->slice_ns;
	if (options->budget_ns > 0) {
		const uint64_t left_ns =
			options->budget_ns > spent_ns ? options->budget_ns - spent_ns : 0;

		if (least_ns > left_ns / 2 / slices)
			least_ns = left_ns / 2 / slices;
	}
	options->slice_least_ns = least_ns;
	for (size_t i = 0; i < runner->rounds->cell_count; i++) {
		struct runner_cell *cell = &runner->cells[i];

		cell->requests = (uint64_t)fmax((double)options->slice_requests,
						cell->speed * (double)least_ns);
	}
}

void rounds_slice(struct runner *runner, size_t index, unsigned int round)
{
	const struct rounds_options *options = &runner->rounds->options;
	struct cell *cell = &runner->rounds->cells[index];
	struct load_options load = make_load(runner, cell, round);
	struct queue_watch *watch = NULL;
	double queue_mean = 0;
	unsigned int queue_deepest = 0;
	struct usage before;
	struct usage after;
	struct usage used;
	uint64_t began_ns;
	int status;

	load.requests = runner->cells[index].requests;
	load.duration_ns = options->slice_ns;
	load.skip = choose_skip(options, &runner->cells[index]);
	memset(runner->result, 0, sizeof(*runner->result));
	/* One connection never queues behind another one; watching costs a little. */
	if (cell->connections > 1)
		watch = queue_watch_start(cell->target->endpoints, cell->target->endpoint_count,
					  QUEUE_INTERVAL_MS);
	began_ns = rounds_clock_ns();
	usage_read(cell->target->pid, false, &before);
	status = load_run(&load, runner->result, runner->error, sizeof(runner->error));
	usage_read(cell->target->pid, false, &after);
	queue_watch_stop(watch, &queue_mean, &queue_deepest);
	if (status < 0) {
		give_up(cell, runner->error);
		return;
	}
	usage_since(&before, &after, &used);
	file_slice(runner, index, round, &used, load.skip, began_ns);
	cell->rounds[round].queue_mean = queue_mean;
	cell->rounds[round].queue_deepest = queue_deepest;
}
