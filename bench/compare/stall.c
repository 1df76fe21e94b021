/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the 40 ms that Nagle's algorithm and a delayed acknowledgement cost together. */

#include "stall.h"

#include "bench/compare/units.h"

#include <stdio.h>

/*
 * Theory of operation
 *
 * A responder without TCP_NODELAY that writes an answer in several pieces has its last, short piece
 * held back by Nagle's algorithm until all before it is acknowledged. Our side has nothing to send
 * on that connection, so its kernel delays the acknowledgement: by TCP_DELACK_MIN, 40 ms, up to
 * the next tick of its clock. On a connection that is closed after the answer the close sends the
 * piece, and unix sockets and pipes have neither rule. So the sign is a heap of times in a narrow
 * window above 40 ms, on kept TCP connections only.
 *
 * Slow work may also take 40 ms. It is told from a stall in three ways. Of a stalled answer the
 * first byte comes early, while slow work mostly delays that, too. Slow work spreads, so there would
 * be about as many answers in the windows below and above as in this one. And it is as slow on
 * another transport, so another cell that does the same work clears this one.
 */

#define WINDOW_LOW_NS  UINT64_C(38000000)
#define WINDOW_HIGH_NS UINT64_C(50000000)

/* The least share of answers that is worth a word. */
#define LEAST_SHARE 0.02
#define LEAST_COUNT 5

/* How many times as many answers as each neighbouring window of the same width has. */
#define ABOVE_NEIGHBOURS 4

static uint64_t count_between(const struct histogram *times, uint64_t low, uint64_t high)
{
	uint64_t count = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		const uint64_t value = histogram_bucket_low(i);

		if (value >= high)
			break;
		if (value >= low)
			count += times->buckets[i];
	}
	return count;
}

/* The median of the times in the window. */
static double typical_us(const struct histogram *times, uint64_t in_window)
{
	uint64_t seen = 0;

	for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		const uint64_t value = histogram_bucket_low(i);

		if (value < WINDOW_LOW_NS)
			continue;
		seen += times->buckets[i];
		if (2 * seen >= in_window)
			return (double)(value + histogram_bucket_low(i + 1)) / 2e3;
	}
	return 0;
}

/* Slow work delays the first byte as well. */
static bool cleared_by_first_byte(const struct histogram *first_byte, uint64_t in_window)
{
	return 2 * count_between(first_byte, WINDOW_LOW_NS, WINDOW_HIGH_NS) > in_window;
}

static double window_share(const struct histogram *times)
{
	if (times->count == 0)
		return 0;
	return (double)count_between(times, WINDOW_LOW_NS, WINDOW_HIGH_NS) / (double)times->count;
}

/* Does a cell that can't stall have the same heap while it does the same work? */
static bool cleared_by_other(const struct cell *cells, size_t count, const struct cell *cell,
			     double share)
{
	for (size_t i = 0; i < count; i++) {
		const struct cell *other = &cells[i];

		if ((other->transport == TRANSPORT_TCP && other->keep) ||
		    other->body_size != cell->body_size)
			continue;
		if (window_share(&other->total->service) > share / 2)
			return true;
	}
	return false;
}

void stall_find(const struct cell *cells, size_t count, size_t cell, struct stall *ret_stall)
{
	const uint64_t width = WINDOW_HIGH_NS - WINDOW_LOW_NS;
	const struct cell *me = &cells[cell];
	const struct histogram *times = &me->total->service;
	const uint64_t in = count_between(times, WINDOW_LOW_NS, WINDOW_HIGH_NS);
	uint64_t below;
	uint64_t above;

	*ret_stall = (struct stall){.found = false};
	if (me->transport != TRANSPORT_TCP || !me->keep || in < LEAST_COUNT)
		return;
	below = count_between(times, WINDOW_LOW_NS - width, WINDOW_LOW_NS);
	above = count_between(times, WINDOW_HIGH_NS, WINDOW_HIGH_NS + width);
	ret_stall->share = window_share(times);
	if (ret_stall->share < LEAST_SHARE || in < ABOVE_NEIGHBOURS * below ||
	    in < ABOVE_NEIGHBOURS * above)
		return;
	ret_stall->typical_us = typical_us(times, in);
	ret_stall->found = !cleared_by_first_byte(&me->total->first_byte, in) &&
			   !cleared_by_other(cells, count, me, ret_stall->share);
}

void stall_text(const struct cell *cell, const struct stall *stall, char *buffer, size_t size)
{
	char share[UNITS_TEXT_MAX];
	char typical[UNITS_TEXT_MAX];

	(void)snprintf(
		buffer, size,
		"%s (%s): %s of the answers took about %s. This is the 40 ms stall: the responder "
		"does not set TCP_NODELAY and writes its answer in several pieces, so Nagle's "
		"algorithm holds the last piece back until the delayed acknowledgement "
		"(TCP_DELACK_MIN) comes. A unix socket, TCP_NODELAY in the responder, a larger "
		"output buffer, or a new connection for each request avoid it; --quickack shows "
		"it.",
		cell->name, cell->target->name, units_share(share, sizeof(share), stall->share),
		units_time(typical, sizeof(typical), stall->typical_us * 1e3));
}
