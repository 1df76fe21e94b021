/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures cells in rounds: each round has every cell once, in an order of its own. */

#include "rounds_internal.h"

#include "bench/client/rng.h"
#include "bench/compare/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROUNDS	   15
#define DEFAULT_ROUNDS_MAX 31
#define DEFAULT_PRECISION  0.02
#define DEFAULT_REQUESTS   300
#define DEFAULT_SLICE_NS   UINT64_C(2000000000)
#define DEFAULT_WARM_UP_NS UINT64_C(10000000000)

static struct rounds_options fill_defaults(const struct rounds_options *given)
{
	struct rounds_options options = *given;

	if (options.rounds == 0)
		options.rounds = DEFAULT_ROUNDS;
	if (options.rounds > CELL_ROUNDS_MAX)
		options.rounds = CELL_ROUNDS_MAX;
	if (options.rounds_max == 0)
		options.rounds_max = DEFAULT_ROUNDS_MAX;
	if (options.rounds_max < options.rounds)
		options.rounds_max = options.rounds;
	if (options.rounds_max > CELL_ROUNDS_MAX)
		options.rounds_max = CELL_ROUNDS_MAX;
	if (options.precision <= 0)
		options.precision = DEFAULT_PRECISION;
	if (options.slice_requests == 0)
		options.slice_requests = DEFAULT_REQUESTS;
	if (options.slice_ns == 0)
		options.slice_ns = DEFAULT_SLICE_NS;
	if (options.warm_up_ns == 0)
		options.warm_up_ns = DEFAULT_WARM_UP_NS;
	if (options.budget_ns > 0 && options.warm_up_ns > options.budget_ns / 4)
		options.warm_up_ns = options.budget_ns / 4;
	return options;
}

bool rounds_stopped(const struct runner *runner)
{
	const volatile sig_atomic_t *stop = runner->rounds->options.stop;

	return stop != NULL && *stop != 0;
}

void rounds_tell(const struct runner *runner, enum rounds_phase phase, unsigned int round,
		 size_t cell, size_t position)
{
	const struct rounds *rounds = runner->rounds;
	const struct rounds_progress progress = {
		.phase = phase,
		.round = round,
		.rounds = runner->planned,
		.cell = &rounds->cells[cell],
		.position = position,
		.cells = rounds->cell_count,
		.elapsed_ns = rounds_clock_ns() - runner->start_ns,
		.budget_ns = rounds->options.budget_ns,
		.half_width = rounds->half_width,
	};

	if (rounds->options.progress != NULL)
		rounds->options.progress(&progress, rounds->options.data);
}

static bool over_budget(const struct runner *runner, uint64_t needed_ns)
{
	const uint64_t budget_ns = runner->rounds->options.budget_ns;

	return budget_ns > 0 && rounds_clock_ns() - runner->start_ns + needed_ns > budget_ns;
}

/* The worst half-width of what was asked; infinite while one of them has no interval. */
static double worst_half_width(const struct rounds *rounds)
{
	double worst = NAN;

	for (size_t i = 0; i < rounds->pair_count; i++) {
		const struct pair *pair = &rounds->pairs[i];
		struct pair_ratio ratio;
		double half;

		if (pair->kind == PAIR_CONTROL || rounds->cells[pair->a].dead ||
		    rounds->cells[pair->b].dead)
			continue;
		pair_ratio(rounds->cells, pair, NULL, &ratio);
		half = ratio.latency.coverage > 0 ? sqrt(ratio.latency.high / ratio.latency.low) - 1
						  : INFINITY;
		worst = fmax(worst, half);
	}
	return worst;
}

static bool all_dead(const struct rounds *rounds)
{
	for (size_t i = 0; i < rounds->cell_count; i++) {
		if (!rounds->cells[i].dead)
			return false;
	}
	return true;
}

static void shuffle(struct rng *rng, size_t *order, size_t count)
{
	for (size_t i = count - 1; i > 0; i--) {
		const size_t j = rng_below(rng, i + 1);
		const size_t cell = order[i];

		order[i] = order[j];
		order[j] = cell;
	}
}

/* Returns false if it was not finished. An extra round has some of the cells only. */
static bool run_round(struct runner *runner, bool extra, const size_t *order)
{
	struct rounds *rounds = runner->rounds;
	const unsigned int round = rounds->done + rounds->extra;

	for (size_t i = 0; i < rounds->cell_count; i++) {
		if (rounds->cells[order[i]].dead || (extra && !runner->cells[order[i]].again))
			continue;
		if (rounds_stopped(runner) || over_budget(runner, 0))
			return false;
		rounds->partial = true;
		rounds_tell(runner, ROUNDS_MEASURE, round + 1, order[i], i);
		rounds_slice(runner, order[i], round);
		if (extra)
			rounds_retry_file(runner, order[i], round);
	}
	if (rounds_stopped(runner))
		return false;
	rounds->partial = false;
	if (extra)
		rounds->extra++;
	else
		rounds->done++;
	return true;
}

/* After a whole round: is it enough? */
static bool is_enough(struct runner *runner, uint64_t round_ns)
{
	struct rounds *rounds = runner->rounds;
	const struct rounds_options *options = &rounds->options;
	const size_t again = rounds_retry_plan(runner);

	rounds->half_width = worst_half_width(rounds);
	if (again > 0 && !over_budget(runner, round_ns * again / rounds->cell_count))
		return false;
	if (all_dead(rounds))
		rounds->end = ROUNDS_DEAD;
	/* Without anything that is compared there is no precision to wait for. */
	else if (rounds->done >= options->rounds && !(rounds->half_width > options->precision))
		rounds->end = ROUNDS_PRECISE;
	else if (rounds->done >= options->rounds_max ||
		 rounds->done + rounds->extra >= CELL_ROUNDS_MAX)
		rounds->end = ROUNDS_MAXIMUM;
	else if (over_budget(runner, round_ns))
		rounds->end = ROUNDS_BUDGET;
	else
		return false;
	return true;
}

/* Before a round; an extra round follows upon one and needs none. */
static void restart_if_due(struct runner *runner)
{
	struct rounds *rounds = runner->rounds;
	const struct rounds_options *options = &rounds->options;

	if (options->restart == NULL || options->restart_every == 0 || rounds->done == 0 ||
	    rounds->done % options->restart_every != 0 || rounds_stopped(runner))
		return;
	options->restart(options->data);
	rounds->restarts++;
	rounds_warm_up_again(runner);
}

static void run_all(struct runner *runner, size_t *order)
{
	struct rounds *rounds = runner->rounds;
	struct rng rng = rng_seed(rounds->options.seed);
	uint64_t round_ns = 0;
	bool more = true;

	for (size_t i = 0; i < rounds->cell_count; i++)
		order[i] = i;
	while (more) {
		const bool extra = rounds_retry_plan(runner) > 0;
		const uint64_t began_ns = rounds_clock_ns();

		if (!extra)
			restart_if_due(runner);
		if (rounds->done >= runner->planned)
			runner->planned = rounds->options.rounds_max;
		shuffle(&rng, order, rounds->cell_count);
		if (run_round(runner, extra, order)) {
			/* An extra round does not tell how long a whole one takes. */
			if (!extra)
				round_ns = rounds_clock_ns() - began_ns;
			more = !is_enough(runner, round_ns);
		} else {
			rounds->end = rounds_stopped(runner) ? ROUNDS_INTERRUPTED : ROUNDS_BUDGET;
			more = false;
		}
	}
	rounds->half_width = worst_half_width(rounds);
}

static void say_too_few(const struct rounds *rounds, const char *why, char *text, size_t size)
{
	if (rounds->done < ROUNDS_LEAST)
		(void)snprintf(text, size,
			       "%s after %u of %u rounds; an interval needs %d, so there is none",
			       why, rounds->done, rounds->options.rounds, ROUNDS_LEAST);
	else if (rounds->done < rounds->options.rounds)
		(void)snprintf(text, size, "%s after %u of %u rounds", why, rounds->done,
			       rounds->options.rounds);
}

static void say_imprecise(const struct rounds *rounds, const char *why, char *text, size_t size)
{
	const double half = rounds->half_width;
	char reached[UNITS_TEXT_MAX];
	char asked[UNITS_TEXT_MAX];

	(void)units_share(asked, sizeof(asked), rounds->options.precision);
	if (isinf(half))
		(void)snprintf(text, size, "%s: not every comparison has an interval", why);
	else if (half > rounds->options.precision)
		(void)snprintf(
			text, size,
			"%s after %u rounds: the widest interval is +/- %s, asked for was +/- %s",
			why, rounds->done, units_share(reached, sizeof(reached), half), asked);
}

static void say_not_reached(struct rounds *rounds)
{
	char *text = rounds->not_reached;
	const size_t size = sizeof(rounds->not_reached);
	char why[80];

	switch (rounds->end) {
	case ROUNDS_PRECISE:
		break;
	case ROUNDS_MAXIMUM:
		say_imprecise(rounds, "No more rounds", text, size);
		break;
	case ROUNDS_BUDGET:
		(void)snprintf(why, sizeof(why), "The time budget of %.0f s ended",
			       (double)rounds->options.budget_ns / 1e9);
		say_too_few(rounds, why, text, size);
		if (text[0] == '\0')
			say_imprecise(rounds, why, text, size);
		break;
	case ROUNDS_INTERRUPTED:
		say_too_few(rounds, "Interrupted", text, size);
		if (text[0] == '\0')
			(void)snprintf(text, size, "Interrupted after %u rounds", rounds->done);
		break;
	case ROUNDS_DEAD:
		say_too_few(rounds, "No target was left", text, size);
		if (text[0] == '\0')
			(void)snprintf(text, size, "No target was left after %u rounds",
				       rounds->done);
		break;
	}
	if (rounds->done < ROUNDS_LEAST && text[0] == '\0')
		(void)snprintf(text, size, "%u rounds; an interval needs %d, so there is none",
			       rounds->done, ROUNDS_LEAST);
}

static void read_memory(struct rounds *rounds)
{
	for (size_t i = 0; i < rounds->cell_count; i++) {
		struct usage usage;

		if (rounds->cells[i].target->pid == 0)
			continue;
		usage_read(rounds->cells[i].target->pid, true, &usage);
		rounds->cells[i].pss_kib = usage.pss_kib;
	}
}

int rounds_run(struct cell *cells, size_t count, const struct rounds_options *options,
	       struct rounds *ret_rounds, char *error, size_t size)
{
	struct runner runner = {.rounds = ret_rounds, .start_ns = rounds_clock_ns()};
	size_t *order = calloc(count, sizeof(*order));
	int status = -ENOMEM;

	memset(ret_rounds, 0, sizeof(*ret_rounds));
	ret_rounds->cells = cells;
	ret_rounds->cell_count = count;
	ret_rounds->options = fill_defaults(options);
	ret_rounds->pair_count = pairs_make(cells, count, ret_rounds->pairs);
	ret_rounds->half_width = NAN;
	runner.threads = options->load.threads > 0 ? options->load.threads : 1;
	runner.planned = ret_rounds->options.rounds;
	runner.cells = calloc(count, sizeof(*runner.cells));
	runner.result = calloc(1, sizeof(*runner.result));
	if (order != NULL && runner.cells != NULL && runner.result != NULL)
		status = rounds_warm_up(&runner);
	if (status == 0) {
		rounds_size_slices(&runner);
		run_all(&runner, order);
		read_memory(ret_rounds);
		ret_rounds->elapsed_ns = rounds_clock_ns() - runner.start_ns;
		say_not_reached(ret_rounds);
	} else {
		(void)snprintf(error, size, "%s",
			       status == -ENOMEM ? "not enough memory" : runner.error);
	}
	free(runner.result);
	free(runner.cells);
	free(order);
	return status;
}
