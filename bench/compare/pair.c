/* SPDX-License-Identifier: BSD-2-Clause */
/* Which cells are compared with which. */

#include "pair.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool same_target(const struct cell *a, const struct cell *b)
{
	return strcmp(a->target->name, b->target->name) == 0;
}

static bool same_way(const struct cell *a, const struct cell *b)
{
	return a->transport == b->transport && a->quickack == b->quickack;
}

/* Cells that do the same work: only these are ever compared. */
static bool same_work(const struct cell *a, const struct cell *b)
{
	return a->connections == b->connections && a->body_size == b->body_size;
}

static size_t add_pair(struct pair *pairs, size_t used, enum pair_kind kind, size_t a, size_t b)
{
	if (used == PAIRS_MAX)
		return used;
	pairs[used] = (struct pair){.kind = kind, .a = a, .b = b, .control = SIZE_MAX};
	return used + 1;
}

/* What a control repeats: SIZE_MAX if it repeats nothing. */
static size_t find_repeated(const struct cell *cells, size_t count, size_t control)
{
	const struct cell *cell = &cells[control];

	for (size_t i = 0; i < count; i++) {
		if (!cells[i].control && same_work(cell, &cells[i]) &&
		    cell->keep == cells[i].keep && same_way(cell, &cells[i]) &&
		    same_target(cell, &cells[i]))
			return i;
	}
	return SIZE_MAX;
}

/*
 * A cell is compared with what came before it and does the same work: with its target's other
 * transports, and with the same transport of the first target that has it. Two targets that have no
 * transport in common are compared as they are.
 */
static size_t add_comparisons(const struct cell *cells, size_t cell, struct pair *pairs,
			      size_t used)
{
	const struct cell *me = &cells[cell];
	size_t other = SIZE_MAX;
	bool first = true;

	for (size_t i = 0; i < cell; i++) {
		if (cells[i].control || cells[i].keep != me->keep || !same_work(&cells[i], me))
			continue;
		if (same_target(&cells[i], me)) {
			used = add_pair(pairs, used, PAIR_TRANSPORT, cell, i);
			first = false;
		} else if (other == SIZE_MAX ||
			   (same_way(&cells[i], me) && !same_way(&cells[other], me))) {
			other = i;
		}
	}
	if (other != SIZE_MAX && (first || same_way(&cells[other], me)))
		used = add_pair(pairs, used, PAIR_TARGET, cell, other);
	return used;
}

static size_t add_keep(const struct cell *cells, size_t count, size_t cell, struct pair *pairs,
		       size_t used)
{
	const struct cell *me = &cells[cell];

	if (!me->keep)
		return used;
	for (size_t i = 0; i < count; i++) {
		if (!cells[i].control && !cells[i].keep && same_work(&cells[i], me) &&
		    same_way(&cells[i], me) && same_target(&cells[i], me))
			return add_pair(pairs, used, PAIR_KEEP, cell, i);
	}
	return used;
}

/* The control that is most like the pair: its noise is the pair's as far as we know. */
static size_t choose_control(const struct cell *cells, const struct pair *pairs, size_t controls,
			     const struct pair *pair)
{
	const struct cell *me = &cells[pair->b];
	size_t best = SIZE_MAX;
	int best_score = -1;

	for (size_t i = 0; i < controls; i++) {
		const struct cell *control = &cells[pairs[i].b];
		const int score = 8 * (control->keep == me->keep) +
				  4 * (control->connections == me->connections) +
				  2 * (control->body_size == me->body_size) +
				  same_target(control, me);

		if (score > best_score) {
			best_score = score;
			best = i;
		}
	}
	return best;
}

size_t pairs_make(const struct cell *cells, size_t count, struct pair *ret_pairs)
{
	size_t controls = 0;
	size_t used;

	for (size_t i = 0; i < count; i++) {
		const size_t repeated =
			cells[i].control ? find_repeated(cells, count, i) : SIZE_MAX;

		if (repeated != SIZE_MAX)
			controls = add_pair(ret_pairs, controls, PAIR_CONTROL, i, repeated);
	}
	used = controls;
	for (size_t i = 0; i < count; i++) {
		if (!cells[i].control)
			used = add_comparisons(cells, i, ret_pairs, used);
	}
	for (size_t i = 0; i < count; i++) {
		if (!cells[i].control)
			used = add_keep(cells, count, i, ret_pairs, used);
	}
	for (size_t i = controls; i < used; i++)
		ret_pairs[i].control = choose_control(cells, ret_pairs, controls, &ret_pairs[i]);
	return used;
}

/* The rounds in which both cells have a figure; returns how many. */
static size_t collect(const struct cell *cells, const struct pair *pair, enum cell_figure figure,
		      double *a, double *b)
{
	size_t count = 0;

	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++) {
		const double x = cell_figure(&cells[pair->a].rounds[i], figure);
		const double y = cell_figure(&cells[pair->b].rounds[i], figure);

		/* Also false for NAN. */
		if (!(x > 0 && y > 0))
			continue;
		a[count] = x;
		b[count] = y;
		count++;
	}
	return count;
}

static const struct statistics_interval unknown = {
	.median = NAN, .low = NAN, .high = NAN, .coverage = 0};

void pair_ratio(const struct cell *cells, const struct pair *pair, struct rng *rng,
		struct pair_ratio *ret_ratio)
{
	double a[CELL_ROUNDS_MAX];
	double b[CELL_ROUNDS_MAX];
	size_t count;

	*ret_ratio = (struct pair_ratio){
		.latency = unknown, .rate = unknown, .cpu = unknown, .bootstrap = unknown};
	count = collect(cells, pair, CELL_RATE, a, b);
	if (count > 0)
		ret_ratio->rate = statistics_ratio(a, b, count);
	/* Of times and costs less is better, so these are turned round. */
	count = collect(cells, pair, CELL_BOTH_CPU, a, b);
	if (count > 0)
		ret_ratio->cpu = statistics_ratio(b, a, count);
	count = collect(cells, pair, CELL_P50, a, b);
	ret_ratio->rounds = count;
	if (count == 0)
		return;
	ret_ratio->latency = statistics_ratio(b, a, count);
	if (rng != NULL)
		ret_ratio->bootstrap = statistics_ratio_bootstrap(b, a, count, rng);
}
