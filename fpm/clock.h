/* SPDX-License-Identifier: BSD-2-Clause */
/* The monotonic clock in milliseconds. */
#ifndef FPM_CLOCK_H
#define FPM_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

#endif
