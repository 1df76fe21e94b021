/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers that a printed seed makes again. */
#ifndef BENCH_CLIENT_RNG_H
#define BENCH_CLIENT_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/**
 * rng_seed() - start a sequence
 * @seed:	Any number
 *
 * Return: generator
 */
struct rng rng_seed(uint64_t seed);

/**
 * rng_next() - the next number
 * @rng:	Generator
 *
 * Return: 0..UINT64_MAX
 */
uint64_t rng_next(struct rng *rng);

/**
 * rng_below() - a number of a range, each equally likely
 * @rng:	Generator
 * @limit:	1 or more
 *
 * Return: 0..limit-1
 */
uint64_t rng_below(struct rng *rng, uint64_t limit);

/**
 * rng_exponential() - the gap to the next arrival of a Poisson process
 * @rng:	Generator
 * @mean:	Mean gap
 *
 * Return: gap, more than 0
 */
double rng_exponential(struct rng *rng, double mean);

#endif
