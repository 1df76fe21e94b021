/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer: which socket type, and does it matter. */

#include "verdict_internal.h"

#include "bench/compare/stall.h"
#include "bench/compare/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The work of a usual page, to which what is saved is compared. */
#define PAGE_NS 20e6

static void __attribute__((format(printf, 2, 3)))
say(struct verdicts *verdicts, const char *format, ...)
{
	va_list args;

	if (verdicts->summary_count == VERDICT_SUMMARY_MAX)
		return;
	va_start(args, format);
	(void)vsnprintf(verdicts->summary[verdicts->summary_count++], VERDICT_SENTENCE_MAX, format,
			args);
	va_end(args);
}

/* The least work: there the transport weighs most, and it is in every comparison. */
static const struct cell *least_work(const struct rounds *rounds)
{
	const struct cell *least = &rounds->cells[0];

	for (size_t i = 1; i < rounds->cell_count; i++) {
		const struct cell *cell = &rounds->cells[i];

		if (cell->connections < least->connections ||
		    (cell->connections == least->connections && cell->body_size < least->body_size))
			least = cell;
	}
	return least;
}

static bool is_candidate(const struct cell *cell, const struct cell *like, bool keep)
{
	return !cell->control && cell->keep == keep && cell->connections == like->connections &&
	       cell->body_size == like->body_size &&
	       strcmp(cell->target->name, like->target->name) == 0 && cell->total->answered > 0;
}

static size_t fastest(const struct rounds *rounds, const struct cell *like, bool keep)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < rounds->cell_count; i++) {
		const struct cell *cell = &rounds->cells[i];

		if (!is_candidate(cell, like, keep) || isnan(cell_median(cell, CELL_P50)))
			continue;
		if (best == SIZE_MAX ||
		    cell_median(cell, CELL_P50) < cell_median(&rounds->cells[best], CELL_P50))
			best = i;
	}
	return best;
}

/* Another pair of the same transports, in another size or with more connections, was decided. */
static bool is_decided_elsewhere(const struct rounds *rounds, const struct verdicts *verdicts,
				 size_t index)
{
	const struct pair *pair = &rounds->pairs[index];
	const struct cell *a = &rounds->cells[pair->a];
	const struct cell *b = &rounds->cells[pair->b];

	for (size_t i = 0; i < rounds->pair_count; i++) {
		const struct cell *c = &rounds->cells[rounds->pairs[i].a];
		const struct cell *d = &rounds->cells[rounds->pairs[i].b];

		if (rounds->pairs[i].kind == PAIR_TRANSPORT && c->keep == a->keep &&
		    c->transport == a->transport && c->quickack == a->quickack &&
		    d->transport == b->transport && d->quickack == b->quickack &&
		    verdicts->list[i].verdict != VERDICT_UNKNOWN)
			return true;
	}
	return false;
}

static void say_pair(const struct rounds *rounds, struct verdicts *verdicts, size_t index,
		     const char *mode)
{
	const struct verdict *verdict = &verdicts->list[index];
	const struct pair *pair = &rounds->pairs[index];
	const bool swap = verdict->verdict == VERDICT_SLOWER;
	const struct cell *fast = &rounds->cells[swap ? pair->b : pair->a];
	const struct cell *slow = &rounds->cells[swap ? pair->a : pair->b];
	const double saved = fabs(cell_median(slow, CELL_P50) - cell_median(fast, CELL_P50)) * 1e3;
	char time[UNITS_TEXT_MAX];
	char share[UNITS_TEXT_MAX];

	if (verdict->verdict == VERDICT_UNKNOWN) {
		say(verdicts, "%s: %s and %s can't be told apart by this measurement%s.", mode,
		    cell_transport_name(fast), cell_transport_name(slow),
		    is_decided_elsewhere(rounds, verdicts, index)
			    ? " with the least work; others are decided above"
			    : "");
	} else if (verdict->verdict == VERDICT_SAME) {
		say(verdicts, "%s: it does not matter whether %s or %s.", mode,
		    cell_transport_name(fast), cell_transport_name(slow));
	} else if (saved < PAGE_NS) {
		say(verdicts,
		    "%s: %s rather than %s. It saves %s a request: %s of a page that takes 20 ms.",
		    mode, cell_transport_name(fast), cell_transport_name(slow),
		    units_time(time, sizeof(time), saved),
		    units_share(share, sizeof(share), saved / PAGE_NS));
	} else {
		say(verdicts, "%s: %s rather than %s. It saves %s a request.", mode,
		    cell_transport_name(fast), cell_transport_name(slow),
		    units_time(time, sizeof(time), saved));
	}
}

/* Nobody can choose a pipe, but it tells what is left to gain. */
static void say_pipe(const struct rounds *rounds, struct verdicts *verdicts, size_t index)
{
	const struct pair *pair = &rounds->pairs[index];
	const struct cell *pipe = &rounds->cells[pair->a];
	const struct cell *other = &rounds->cells[pair->b];
	char time[UNITS_TEXT_MAX];

	if (verdicts->list[index].verdict == VERDICT_FASTER && other->transport == TRANSPORT_UNIX)
		say(verdicts,
		    "A pipe, which no web server can use, would save another %s a request: so much "
		    "is left of what a kept unix socket costs.",
		    units_time(time, sizeof(time),
			       (cell_median(other, CELL_P50) - cell_median(pipe, CELL_P50)) * 1e3));
}

static void sum_up_mode(const struct rounds *rounds, struct verdicts *verdicts,
			const struct cell *like, bool keep)
{
	const char *mode =
		keep ? "With kept connections" : "With a new connection for each request";

	for (size_t i = 0; i < rounds->pair_count; i++) {
		const struct pair *pair = &rounds->pairs[i];

		if (pair->kind != PAIR_TRANSPORT ||
		    !is_candidate(&rounds->cells[pair->a], like, keep) ||
		    !is_candidate(&rounds->cells[pair->b], like, keep))
			continue;
		if (rounds->cells[pair->a].transport == TRANSPORT_PIPE)
			say_pipe(rounds, verdicts, i);
		else if (rounds->cells[pair->b].transport != TRANSPORT_PIPE)
			say_pair(rounds, verdicts, i, mode);
	}
}

/* Keeping connections is worth more than any choice of a transport; it is said with its price. */
static void sum_up_keeping(const struct rounds *rounds, struct verdicts *verdicts,
			   const struct cell *like)
{
	const size_t kept = fastest(rounds, like, true);
	const size_t once = fastest(rounds, like, false);
	char time[UNITS_TEXT_MAX];

	for (size_t i = 0; i < rounds->pair_count; i++) {
		const struct pair *pair = &rounds->pairs[i];

		if (pair->kind != PAIR_KEEP || kept == SIZE_MAX || once == SIZE_MAX ||
		    !is_candidate(&rounds->cells[pair->a], like, true) || pair->b != once ||
		    verdicts->list[i].verdict != VERDICT_FASTER)
			continue;
		say(verdicts, "Keeping connections saves %s a request (%s).",
		    units_time(time, sizeof(time),
			       (cell_median(&rounds->cells[pair->b], CELL_P50) -
				cell_median(&rounds->cells[pair->a], CELL_P50)) *
				       1e3),
		    cell_transport_name(&rounds->cells[pair->a]));
	}
}

static void sum_up_trouble(const struct rounds *rounds, struct verdicts *verdicts)
{
	bool stalled = false;
	uint64_t failed[TRANSPORTS] = {0};
	char count[UNITS_TEXT_MAX];

	for (size_t i = 0; i < rounds->cell_count; i++) {
		struct stall stall;

		stall_find(rounds->cells, rounds->cell_count, i, &stall);
		stalled |= stall.found;
		failed[rounds->cells[i].transport] +=
			failures_total(&rounds->cells[i].total->failures);
	}
	if (stalled)
		say(verdicts,
		    "Kept TCP connections stall for 40 ms here, which matters more than all "
		    "of the above: see the notes.");
	for (size_t i = 0; i < TRANSPORTS; i++) {
		if (failed[i] > 0)
			say(verdicts, "%s request%s failed over %s: see the table of failures.",
			    units_count(count, sizeof(count), (double)failed[i]),
			    failed[i] == 1 ? "" : "s", transport_name((enum transport)i));
	}
}

void verdict_sum_up(const struct rounds *rounds, struct verdicts *verdicts)
{
	const struct cell *like = least_work(rounds);

	if (verdicts->refused) {
		say(verdicts, "No verdict: %s.", verdicts->refusal);
	} else {
		sum_up_mode(rounds, verdicts, like, false);
		sum_up_mode(rounds, verdicts, like, true);
		sum_up_keeping(rounds, verdicts, like);
	}
	sum_up_trouble(rounds, verdicts);
}
