/* SPDX-License-Identifier: BSD-2-Clause */
/* Two saved runs against each other. */

#include "diff.h"

#include "bench/compare/units.h"
#include "bench/compare/verdict_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Theory of operation
 *
 * Rounds of two runs have nothing in common, so they are not paired: what counts is how the medians
 * of all rounds of the one lie to those of the other. The interval of that only covers what differs
 * from round to round. What differs from run to run is not in it, but each run has measured one thing
 * twice: no verdict is finer than what the worse one of them made of that.
 */

static bool has_one_target(const struct saved *saved)
{
	for (size_t i = 1; i < saved->cell_count; i++) {
		if (strcmp(saved->cells[i].target, saved->cells[0].target) != 0)
			return false;
	}
	return true;
}

const struct saved_cell *diff_partner(const struct saved_cell *cell, const struct saved *of,
				      const struct saved *in)
{
	const bool any = has_one_target(of) && has_one_target(in);

	for (size_t i = 0; !cell->control && i < in->cell_count; i++) {
		const struct saved_cell *other = &in->cells[i];

		if (!other->control && strcmp(other->name, cell->name) == 0 &&
		    (any || strcmp(other->target, cell->target) == 0))
			return other;
	}
	return NULL;
}

static size_t count_alone(const struct saved *of, const struct saved *in)
{
	size_t count = 0;

	for (size_t i = 0; i < of->cell_count; i++)
		count += !of->cells[i].control && diff_partner(&of->cells[i], of, in) == NULL;
	return count;
}

static void add_fact(struct diff *diff, const char *name, const char *a, const char *b)
{
	if (a != NULL && b != NULL && strcmp(a, b) == 0)
		return;
	diff->facts[diff->fact_count++] = (struct diff_fact){
		.name = name, .a = a != NULL ? a : "-", .b = b != NULL ? b : "-"};
}

static void compare_facts(struct diff *diff)
{
	for (size_t i = 0; i < diff->a->fact_count; i++) {
		const struct saved_fact *fact = &diff->a->facts[i];

		add_fact(diff, fact->name, fact->value, saved_fact(diff->b, fact->name));
	}
	for (size_t i = 0; i < diff->b->fact_count; i++) {
		const struct saved_fact *fact = &diff->b->facts[i];

		if (saved_fact(diff->a, fact->name) == NULL)
			add_fact(diff, fact->name, NULL, fact->value);
	}
	if (has_one_target(diff->a) && has_one_target(diff->b))
		add_fact(diff, "target", diff->a->cells[0].target, diff->b->cells[0].target);
}

static void say_unknown(struct diff_cell *cell, const char *interval)
{
	char noise[UNITS_TEXT_MAX];

	if (cell->ratio.coverage == 0)
		(void)snprintf(cell->sentence, sizeof(cell->sentence),
			       "%s: cannot tell: %zu rounds and %zu rounds are too few",
			       cell->b->name, cell->a->count, cell->b->count);
	else if (isnan(cell->noise))
		(void)snprintf(cell->sentence, sizeof(cell->sentence),
			       "%s: cannot tell: %s, but the noise of %s is not known",
			       cell->b->name, interval,
			       isnan(cell->a->noise) ? "the first run" : "the second run");
	else
		(void)snprintf(cell->sentence, sizeof(cell->sentence),
			       "%s: cannot tell: %s, while the noise is %s", cell->b->name,
			       interval, units_share(noise, sizeof(noise), cell->noise));
}

static void say(struct diff_cell *cell, double delta)
{
	char interval[80] = "";
	char share[UNITS_TEXT_MAX];
	struct statistics_interval ratio = cell->ratio;

	if (cell->verdict == VERDICT_SLOWER)
		ratio = (struct statistics_interval){1 / cell->ratio.median, 1 / cell->ratio.high,
						     1 / cell->ratio.low, cell->ratio.coverage};
	if (ratio.coverage > 0)
		verdict_interval_text(&ratio, interval, sizeof(interval));
	if (cell->verdict == VERDICT_UNKNOWN)
		say_unknown(cell, interval);
	else if (cell->verdict == VERDICT_SAME)
		(void)snprintf(cell->sentence, sizeof(cell->sentence),
			       "%s: no difference above %s: %s", cell->b->name,
			       units_share(share, sizeof(share), delta), interval);
	else
		(void)snprintf(cell->sentence, sizeof(cell->sentence),
			       "%s: the %s run is %s faster", cell->b->name,
			       cell->verdict == VERDICT_FASTER ? "second" : "first", interval);
}

static void compare_cell(struct diff_cell *cell, double delta)
{
	const struct saved_cell *a = cell->a;
	const struct saved_cell *b = cell->b;
	struct statistics_interval noise = {.median = 1};

	cell->a_us = a->count > 0 ? statistics_median(a->p50_us, a->count) : NAN;
	cell->b_us = b->count > 0 ? statistics_median(b->p50_us, b->count) : NAN;
	cell->ratio = (struct statistics_interval){NAN, NAN, NAN, 0};
	cell->p = 1;
	cell->noise = isnan(a->noise) || isnan(b->noise) ? NAN : fmax(a->noise, b->noise);
	if (a->count > 0 && b->count > 0) {
		cell->ratio = statistics_shift_interval(a->p50_us, a->count, b->p50_us, b->count);
		(void)statistics_shift(a->p50_us, a->count, b->p50_us, b->count, &cell->p);
	}
	if (!isnan(cell->noise))
		noise = (struct statistics_interval){1, 1 / (1 + cell->noise), 1 + cell->noise, 1};
	cell->verdict = statistics_judge(&cell->ratio, &noise, delta);
	say(cell, delta);
}

static void decide_refusal(struct diff *diff)
{
	size_t unknown = 0;

	for (size_t i = 0; i < diff->cell_count; i++)
		unknown += diff->cells[i].verdict == VERDICT_UNKNOWN;
	if (diff->cell_count == 0)
		(void)snprintf(diff->refusal, sizeof(diff->refusal),
			       "the runs have no cell in common");
	else if (strcmp(diff->a->placement, diff->b->placement) != 0)
		(void)snprintf(diff->refusal, sizeof(diff->refusal),
			       "placements differ (%s, %s), and figures of different placements "
			       "can't be compared",
			       diff->a->placement, diff->b->placement);
	else if (unknown == diff->cell_count)
		(void)snprintf(diff->refusal, sizeof(diff->refusal),
			       "the runs carry none of the comparisons");
	diff->refused = diff->refusal[0] != '\0';
}

int diff_make(const struct saved *a, const struct saved *b, double delta, struct diff *ret_diff)
{
	struct diff *diff = ret_diff;

	*diff = (struct diff){.a = a, .b = b, .delta = delta > 0 ? delta : VERDICT_DELTA};
	diff->cells = calloc(a->cell_count, sizeof(*diff->cells));
	if (diff->cells == NULL)
		return -ENOMEM;
	compare_facts(diff);
	for (size_t i = 0; i < a->cell_count; i++) {
		const struct saved_cell *partner = diff_partner(&a->cells[i], a, b);

		if (partner == NULL)
			continue;
		diff->cells[diff->cell_count] = (struct diff_cell){.a = &a->cells[i], .b = partner};
		compare_cell(&diff->cells[diff->cell_count++], diff->delta);
	}
	diff->only_a = count_alone(a, b);
	diff->only_b = count_alone(b, a);
	decide_refusal(diff);
	return 0;
}

void diff_done(struct diff *diff)
{
	free(diff->cells);
	diff->cells = NULL;
	diff->cell_count = 0;
}
