/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of ramp_run() share. */
#ifndef BENCH_COMPARE_RAMP_INTERNAL_H
#define BENCH_COMPARE_RAMP_INTERNAL_H

#include "bench/compare/ramp.h"

/**
 * struct ramp_runner - a run of ramp_run()
 * @ramp:	What is filled in
 * @result:	Of the present step
 * @start_ns:	When it began
 * @error:	Where complaints go
 * @size:	Bytes of @error
 */
struct ramp_runner {
	struct ramp *ramp;
	struct load_result *result;
	uint64_t start_ns;
	char *error;
	size_t size;
};

/**
 * ramp_now_ns() - CLOCK_MONOTONIC
 *
 * Return: nanoseconds
 */
uint64_t ramp_now_ns(void);

/**
 * ramp_unloaded() - one request at a time, from which the SLO and the first rate follow
 * @runner:	Run
 * @target:	Index of the target
 *
 * Return: 0 or negative errno
 */
int ramp_unloaded(struct ramp_runner *runner, size_t target);

/**
 * ramp_step() - put a rate on a target and judge what comes of it
 * @runner:	Run; there is room for another step
 * @target:	Index of the target
 * @bracket:	Which bracket, from 0
 * @rate:	Requests a second
 *
 * Return: the step, NULL without any load
 */
const struct ramp_step *ramp_step(struct ramp_runner *runner, size_t target, unsigned int bracket,
				  double rate);

#endif
