/* SPDX-License-Identifier: BSD-2-Clause */
/* Policy: how long to wait before something that ended is started again. No clock, no I/O. */
#ifndef FPM_RESPAWN_H
#define FPM_RESPAWN_H

#include <stdbool.h>
#include <stdint.h>

/* A process that lived that long was healthy, whatever ended it. */
#define RESPAWN_HEALTHY_MS     10000
/* Least time from one start to the next: ten a second. */
#define RESPAWN_INTERVAL_MS    100
/* Back-off: first and longest wait. */
#define RESPAWN_BACKOFF_MIN_MS 100
#define RESPAWN_BACKOFF_MAX_MS 30000

/**
 * struct respawn - memory of one slot; all zero at first
 * @failures:	Unhealthy ends in a row
 * @started_ms:	Last start, milliseconds of a monotonic clock; 0 = never
 */
struct respawn {
	unsigned int failures;
	uint64_t started_ms;
};

/**
 * respawn_healthy() - does an end count as healthy
 * @served:	Requests that the process answered
 * @lived_ms:	How long it lived
 *
 * Its status says nothing: a worker that served well may end with any, and one that can't
 * start may end with 0.
 *
 * Return: true if it served something or lived long enough
 */
bool respawn_healthy(uint64_t served, uint64_t lived_ms);

/**
 * respawn_delay_ms() - note an end and tell how long to wait
 * @respawn:	Memory
 * @healthy:	From respawn_healthy()
 * @now_ms:	The time
 * @random:	0..1, for the jitter
 *
 * After a healthy end: none, but for RESPAWN_INTERVAL_MS from start to start. After another one:
 * RESPAWN_BACKOFF_MIN_MS, doubled each time up to RESPAWN_BACKOFF_MAX_MS, with a jitter that
 * takes up to a quarter off, so that slots which fail together do not return together.
 *
 * Return: milliseconds, 0 = at once
 */
uint64_t respawn_delay_ms(struct respawn *respawn, bool healthy, uint64_t now_ms, double random);

#endif
