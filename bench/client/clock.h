/* SPDX-License-Identifier: BSD-2-Clause */
/* The one clock of all measurements. */
#ifndef BENCH_CLIENT_CLOCK_H
#define BENCH_CLIENT_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND_NS UINT64_C(1000000000)

/**
 * clock_read_ns() - read a clock of this process
 * @clock:	CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID ...
 *
 * Return: nanoseconds
 */
static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec ts = {.tv_sec = 0};

	(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * CLOCK_SECOND_NS + (uint64_t)ts.tv_nsec;
}

/**
 * clock_now_ns() - the time of all measurements: CLOCK_MONOTONIC
 *
 * Return: nanoseconds
 */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
