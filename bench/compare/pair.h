/* SPDX-License-Identifier: BSD-2-Clause */
/* Which cells are compared with which. */
#ifndef BENCH_COMPARE_PAIR_H
#define BENCH_COMPARE_PAIR_H

#include "bench/compare/cell.h"
#include "bench/compare/statistics.h"

#include <stddef.h>

#define PAIRS_MAX 256

enum pair_kind {
	PAIR_CONTROL = 0, /* a cell with itself: the noise */
	PAIR_TRANSPORT,	  /* transports of one target */
	PAIR_TARGET,	  /* targets on one transport */
	PAIR_KEEP,	  /* kept connections with new ones */
};

/**
 * struct pair - "how many times as fast is a as b"
 * @kind:	What they differ in
 * @a:		Index of a cell
 * @b:		Index of the cell that it is compared with
 * @control:	Index of the pair that tells its noise, SIZE_MAX if there is none
 */
struct pair {
	enum pair_kind kind;
	size_t a;
	size_t b;
	size_t control;
};

/**
 * struct pair_ratio - speed of a over speed of b; more than 1: a is faster
 * @rounds:	Rounds in which both were measured
 * @latency:	Median time of b over that of a
 * @rate:	Rate of a over that of b
 * @cpu:	CPU time of client and server a request: b over a
 * @bootstrap:	As @latency, by the bootstrap
 */
struct pair_ratio {
	size_t rounds;
	struct statistics_interval latency;
	struct statistics_interval rate;
	struct statistics_interval cpu;
	struct statistics_interval bootstrap;
};

/**
 * pairs_make() - the comparisons that cells suggest
 * @cells:	Cells
 * @count:	Entries
 * @ret_pairs:	Filled, PAIRS_MAX entries
 *
 * Controls come first. Only cells of one concurrency and body size are compared: a target's
 * transports with one another, other targets with the first one on the same transport, kept
 * connections with new ones of the same target and transport.
 *
 * Return: number of pairs; what exceeds PAIRS_MAX is left out
 */
size_t pairs_make(const struct cell *cells, size_t count, struct pair *ret_pairs);

/**
 * pair_ratio() - the ratio of a pair as far as it is known
 * @cells:	Cells
 * @pair:	Pair
 * @rng:	For the bootstrap; NULL leaves it out
 * @ret_ratio:	Set; a @coverage of 0 means that there is no interval
 */
void pair_ratio(const struct cell *cells, const struct pair *pair, struct rng *rng,
		struct pair_ratio *ret_ratio);

#endif
