/* SPDX-License-Identifier: BSD-2-Clause */
/* When requests are due in an open loop, whatever becomes of those before. */
#include "schedule.h"

/* Later than any run lasts; a rate next to nothing must not overflow the integer. */
#define NEVER_NS 4e18

static void set_next(struct schedule *schedule, double next)
{
	/* The sum stays in floating point, so that fractions of a nanosecond do not get lost. */
	schedule->next = next < NEVER_NS ? next : NEVER_NS;
	schedule->next_ns = (uint64_t)schedule->next;
}

void schedule_start(struct schedule *schedule, bool poisson, double rate, uint64_t seed,
		    unsigned int thread, unsigned int threads)
{
	schedule->gap = 1e9 * threads / rate;
	schedule->poisson = poisson;
	/* Far apart: sequences of seeds next to each other belong to other runs. */
	schedule->rng = rng_seed(seed + thread * UINT64_C(0x632be59bd9b4e019));
	if (poisson)
		set_next(schedule, rng_exponential(&schedule->rng, schedule->gap));
	else
		set_next(schedule, 1e9 * thread / rate);
}

void schedule_advance(struct schedule *schedule)
{
	const double gap =
		schedule->poisson ? rng_exponential(&schedule->rng, schedule->gap) : schedule->gap;

	set_next(schedule, schedule->next + gap);
}
