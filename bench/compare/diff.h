/* SPDX-License-Identifier: BSD-2-Clause */
/* Two saved runs against each other. */
#ifndef BENCH_COMPARE_DIFF_H
#define BENCH_COMPARE_DIFF_H

#include "bench/compare/saved.h"
#include "bench/compare/statistics.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * struct diff_cell - a cell that both runs have
 * @a:		In the first run
 * @b:		In the second run
 * @a_us:	Median of its rounds' medians in the first run, NAN without any
 * @b_us:	In the second
 * @ratio:	How many times as fast the second run is: times of the first over those of the second
 * @p:		Two-sided p-value of Mann and Whitney, 1 without values
 * @noise:	The larger one of both runs' noise, NAN if one is not known
 * @verdict:	What may be said of the second run: VERDICT_FASTER, ...
 * @sentence:	The same in words
 */
struct diff_cell {
	const struct saved_cell *a;
	const struct saved_cell *b;
	double a_us;
	double b_us;
	struct statistics_interval ratio;
	double p;
	double noise;
	enum statistics_verdict verdict;
	char sentence[320];
};

/**
 * struct diff_fact - a fact in which the runs differ
 * @name:	Name
 * @a:		Value in the first run, "-" if it has none
 * @b:		In the second
 */
struct diff_fact {
	const char *name;
	const char *a;
	const char *b;
};

/**
 * struct diff - the comparison
 * @a:		First run
 * @b:		Second run
 * @facts:	In what they differ besides what was measured
 * @fact_count:	Entries
 * @cells:	Cells of both (owned)
 * @cell_count:	Entries
 * @only_a:	Cells that only the first run has
 * @only_b:	Cells that only the second run has
 * @delta:	Difference that does not matter
 * @refused:	Nothing can be said
 * @refusal:	Why, a sentence without a full stop; empty unless @refused
 */
struct diff {
	const struct saved *a;
	const struct saved *b;
	struct diff_fact facts[2 * SAVED_FACTS_MAX];
	size_t fact_count;
	struct diff_cell *cells;
	size_t cell_count;
	size_t only_a;
	size_t only_b;
	double delta;
	bool refused;
	char refusal[200];
};

/**
 * diff_make() - compare
 * @a:		First run, stays in use
 * @b:		Second run, stays in use
 * @delta:	Difference that does not matter, 0 = VERDICT_DELTA
 * @ret_diff:	Set on success, to be released by diff_done()
 *
 * Cells of one name and one target belong together; if either run has but one target, the name is
 * enough.
 *
 * Return: 0 or -ENOMEM
 */
int diff_make(const struct saved *a, const struct saved *b, double delta, struct diff *ret_diff);

/**
 * diff_partner() - the cell of another run that a cell belongs to
 * @cell:	Cell
 * @of:		Its run
 * @in:		The other run
 *
 * Return: cell, or NULL
 */
const struct saved_cell *diff_partner(const struct saved_cell *cell, const struct saved *of,
				      const struct saved *in);

/**
 * diff_done() - release
 * @diff:	May be all zero
 */
void diff_done(struct diff *diff);

#endif
