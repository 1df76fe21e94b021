/* SPDX-License-Identifier: BSD-2-Clause */
/* When requests are due in an open loop, whatever becomes of those before. */
#ifndef BENCH_CLIENT_SCHEDULE_H
#define BENCH_CLIENT_SCHEDULE_H

#include "bench/client/rng.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * struct schedule - arrivals of one thread
 * @next_ns:	The next one, since the start of the run
 * The rest is for schedule.c alone.
 */
struct schedule {
	uint64_t next_ns;
	double next;
	double gap;
	bool poisson;
	struct rng rng;
};

/**
 * schedule_start() - the first arrival
 * @schedule:	Set up
 * @poisson:	Exponential gaps; otherwise equal ones
 * @rate:	Arrivals a second of all threads together, more than 0
 * @seed:	The same seed gives the same arrivals
 * @thread:	Which thread, from 0
 * @threads:	How many there are. Each has a share of the rate: Poisson processes add up to one,
 *		and equal gaps are shifted so that they interleave
 */
void schedule_start(struct schedule *schedule, bool poisson, double rate, uint64_t seed,
		    unsigned int thread, unsigned int threads);

/**
 * schedule_advance() - go on to the next arrival
 * @schedule:	Schedule
 */
void schedule_advance(struct schedule *schedule);

#endif
