/* SPDX-License-Identifier: BSD-2-Clause */
/* How much load a responder sustains: a ladder of rates, then bisection. */

#include "ramp_internal.h"

#include "bench/client/rng.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Theory of operation
 *
 * A bracket is a rate that passes and a higher one that fails. A ladder finds it: from half of what
 * one request at a time allows it climbs by 1.3 until a step fails, or descends until one passes.
 * Bisection closes it to 3 %. Each further bracket begins at the last one's lower end, so that it
 * takes fewer steps. The brackets of all targets take turns, in a random order, so that what changes
 * on the machine changes for all of them.
 *
 * What does not fail at the highest rate has no bracket: its bound was not found, and none is made
 * up.
 */

#define LADDER		 1.3
#define DEFAULT_MAX_RATE 100000
#define DEFAULT_BRACKETS 6

/* Rates below this part of one request at a time are not tried: whatever fails there always does. */
#define LEAST_SHARE 0.01

/* Steps that a first bracket and a further one take, for the length of a step. */
#define STEPS_FIRST    14
#define STEPS_FURTHER  7
#define STEP_WANTED_NS UINT64_C(800000000)
#define STEP_LEAST_NS  UINT64_C(200000000)

const char *ramp_reason_name(enum ramp_reason reason)
{
	static const char *const names[] = {"pass",	"behind",  "p99",
					    "failures", "growing", "client"};

	static_assert(sizeof(names) / sizeof(names[0]) == RAMP_REASONS, "a name each");
	return names[reason];
}

static bool is_stopped(const struct ramp_runner *runner)
{
	const volatile sig_atomic_t *stop = runner->ramp->options.stop;

	return stop != NULL && *stop != 0;
}

/* May another step begin? */
static bool has_time(struct ramp_runner *runner)
{
	struct ramp *ramp = runner->ramp;
	const uint64_t budget_ns = ramp->options.budget_ns;

	if (is_stopped(runner)) {
		ramp->interrupted = true;
		return false;
	}
	if (ramp->step_count == RAMP_STEPS_MAX ||
	    (budget_ns > 0 && ramp_now_ns() - runner->start_ns + ramp->step_ns > budget_ns)) {
		ramp->over_budget = true;
		return false;
	}
	return true;
}

/* Fewer brackets rather than steps that say nothing. */
static void plan_steps(struct ramp_runner *runner)
{
	struct ramp *ramp = runner->ramp;
	struct ramp_options *options = &ramp->options;
	const bool asked = options->brackets > 0;
	const uint64_t spent_ns = ramp_now_ns() - runner->start_ns;
	const uint64_t left_ns = options->budget_ns > spent_ns ? options->budget_ns - spent_ns : 0;
	unsigned int brackets = asked ? options->brackets : DEFAULT_BRACKETS;

	ramp->step_ns = RAMP_STEP_NS;
	for (; options->budget_ns > 0; brackets--) {
		const uint64_t steps = ramp->target_count *
				       (STEPS_FIRST - STEPS_FURTHER + STEPS_FURTHER * brackets);

		/* A fifth is left to what comes after the last arrival of each step. */
		ramp->step_ns = left_ns / 5 * 4 / (steps > 0 ? steps : 1);
		if (asked || brackets == 1 || ramp->step_ns >= STEP_WANTED_NS)
			break;
	}
	options->brackets = brackets;
	if (ramp->step_ns > RAMP_STEP_NS)
		ramp->step_ns = RAMP_STEP_NS;
	if (ramp->step_ns < STEP_LEAST_NS)
		ramp->step_ns = STEP_LEAST_NS;
}

/* The next rate of a bracket; sets @done when there is none. */
static double next_rate(const struct ramp *ramp, const struct ramp_target *target,
			struct ramp_bracket *bracket, double start)
{
	const double most = ramp->options.max_rate;
	const double least = LEAST_SHARE * 1e6 / target->unloaded_us;

	if (bracket->low == 0 && isinf(bracket->high))
		return fmin(start, most);
	if (isinf(bracket->high)) {
		bracket->done = bracket->low >= most;
		return fmin(bracket->low * LADDER, most);
	}
	if (bracket->low == 0) {
		bracket->done = bracket->high <= least;
		return bracket->high / LADDER;
	}
	bracket->done = bracket->high / bracket->low <= RAMP_GRAIN;
	return sqrt(bracket->low * bracket->high);
}

/* Where a bracket of a target begins. */
static double first_rate(const struct ramp_target *target, unsigned int bracket)
{
	for (unsigned int i = bracket; i-- > 0;) {
		if (target->brackets[i].low > 0)
			return target->brackets[i].low;
	}
	return 0.5e6 / target->unloaded_us;
}

static void run_bracket(struct ramp_runner *runner, size_t index, unsigned int number)
{
	struct ramp *ramp = runner->ramp;
	struct ramp_target *target = &ramp->targets[index];
	struct ramp_bracket *bracket = &target->brackets[number];
	const double start = first_rate(target, number);

	*bracket = (struct ramp_bracket){.high = INFINITY};
	target->bracket_count = number + 1;
	for (;;) {
		const double rate = next_rate(ramp, target, bracket, start);
		const struct ramp_step *step;

		if (bracket->done || !has_time(runner))
			break;
		if (ramp->options.progress != NULL)
			ramp->options.progress(target, number, rate, ramp->options.data);
		step = ramp_step(runner, index, number, rate);
		if (step == NULL)
			break;
		if (step->reason == RAMP_PASS) {
			bracket->low = rate;
			bracket->sustained = step->offered;
		} else {
			bracket->high = rate;
			bracket->failed = step->offered;
			bracket->why = step->reason;
		}
	}
}

/* Steps are planned for a long ladder; what a short one leaves is for further brackets. */
static bool has_spare_time(const struct ramp_runner *runner)
{
	const struct ramp *ramp = runner->ramp;
	const uint64_t needed_ns = ramp->target_count * STEPS_FURTHER * ramp->step_ns / 4 * 5;

	return !is_stopped(runner) &&
	       ramp_now_ns() - runner->start_ns + needed_ns < ramp->options.budget_ns;
}

static void run_brackets(struct ramp_runner *runner, unsigned int most)
{
	struct ramp *ramp = runner->ramp;
	struct rng rng = rng_seed(ramp->options.seed);
	size_t order[RAMP_TARGETS_MAX];

	for (unsigned int number = 0; number < most; number++) {
		if (number >= ramp->options.brackets) {
			if (!has_spare_time(runner))
				break;
			ramp->options.brackets++;
		}
		for (size_t i = 0; i < ramp->target_count; i++) {
			const size_t j = rng_below(&rng, i + 1);

			order[i] = order[j];
			order[j] = i;
		}
		for (size_t i = 0; i < ramp->target_count && has_time(runner); i++)
			run_bracket(runner, order[i], number);
	}
}

/* Where the client was the limit, that is all that was found. */
bool ramp_bracket_whole(const struct ramp_bracket *bracket)
{
	return bracket->done && bracket->low > 0 && !isinf(bracket->high) &&
	       bracket->why != RAMP_CLIENT;
}

double ramp_knee(const struct ramp_target *target)
{
	double lows[RAMP_BRACKETS_MAX];
	size_t count = 0;

	for (unsigned int i = 0; i < target->bracket_count; i++) {
		if (ramp_bracket_whole(&target->brackets[i]))
			lows[count++] = target->brackets[i].sustained;
	}
	return count > 0 ? statistics_median(lows, count) : NAN;
}

struct statistics_interval ramp_ratio(const struct ramp_target *a, const struct ramp_target *b)
{
	double x[RAMP_BRACKETS_MAX];
	double y[RAMP_BRACKETS_MAX];
	size_t count = 0;

	for (unsigned int i = 0; i < a->bracket_count && i < b->bracket_count; i++) {
		if (!ramp_bracket_whole(&a->brackets[i]) || !ramp_bracket_whole(&b->brackets[i]))
			continue;
		x[count] = a->brackets[i].sustained;
		y[count++] = b->brackets[i].sustained;
	}
	if (count == 0)
		return (struct statistics_interval){NAN, NAN, NAN, 0};
	return statistics_ratio(x, y, count);
}

int ramp_run(struct ramp_target *targets, size_t count, const struct ramp_options *options,
	     struct ramp *ret_ramp, char *error, size_t size)
{
	struct ramp_runner runner = {
		.ramp = ret_ramp, .start_ns = ramp_now_ns(), .error = error, .size = size};
	int status = 0;

	memset(ret_ramp, 0, sizeof(*ret_ramp));
	ret_ramp->options = *options;
	ret_ramp->targets = targets;
	ret_ramp->target_count = count;
	if (!(options->max_rate > 0))
		ret_ramp->options.max_rate = DEFAULT_MAX_RATE;
	if (options->load.arrivals == LOAD_CLOSED)
		ret_ramp->options.load.arrivals = LOAD_POISSON;
	runner.result = calloc(1, sizeof(*runner.result));
	if (runner.result == NULL) {
		(void)snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; status == 0 && i < count; i++)
		status = ramp_unloaded(&runner, i);
	if (status == 0) {
		plan_steps(&runner);
		run_brackets(&runner, options->brackets > 0 ? options->brackets : DEFAULT_BRACKETS);
		ret_ramp->elapsed_ns = ramp_now_ns() - runner.start_ns;
	}
	free(runner.result);
	return status;
}
