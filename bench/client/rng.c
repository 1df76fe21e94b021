/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers that a printed seed makes again: xorshift64*. */

#include "rng.h"

#include <math.h>

struct rng rng_seed(uint64_t seed)
{
	struct rng rng = {.state = seed ^ UINT64_C(0x9e3779b97f4a7c15)};

	/* Zero is the one state that it never leaves. */
	if (rng.state == 0)
		rng.state = 1;
	/* Seeds that differ in a bit or two give sequences that begin alike. */
	for (int i = 0; i < 8; i++)
		(void)rng_next(&rng);
	return rng;
}

uint64_t rng_next(struct rng *rng)
{
	rng->state ^= rng->state >> 12;
	rng->state ^= rng->state << 25;
	rng->state ^= rng->state >> 27;
	return rng->state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t rng_below(struct rng *rng, uint64_t limit)
{
	/* Numbers above the last whole multiple of the limit would favour small results. */
	const uint64_t above = UINT64_MAX - UINT64_MAX % limit;
	uint64_t number;

	do
		number = rng_next(rng);
	while (number >= above);
	return number % limit;
}

double rng_exponential(struct rng *rng, double mean)
{
	/* 53 bits, moved by half a step so that log() never sees 0. */
	const double share = ((double)(rng_next(rng) >> 11) + 0.5) / 9007199254740992.;

	return -mean * log(share);
}
