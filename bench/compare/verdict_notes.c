/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reader has to know of a comparison's figures. */

#include "verdict_internal.h"

#include "bench/compare/stall.h"
#include "bench/compare/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A drift as unlikely as this is said; several cells are looked at, so 5 % would be too often. */
#define DRIFT_P 0.01

/* Share of its CPU that the client should leave idle if it has one of its own. */
#define CLIENT_SHARE 0.8

/* Send lag as a share of the median time above which an open loop's times are in doubt. */
#define LAG_SHARE 0.1

static void __attribute__((format(printf, 2, 3)))
note(struct verdicts *verdicts, const char *format, ...)
{
	va_list args;

	if (verdicts->note_count == VERDICT_NOTES_MAX)
		return;
	va_start(args, format);
	(void)vsnprintf(verdicts->notes[verdicts->note_count++], VERDICT_NOTE_MAX, format, args);
	va_end(args);
}

static void note_stalls(const struct rounds *rounds, struct verdicts *verdicts)
{
	for (size_t i = 0; i < rounds->cell_count; i++) {
		struct stall stall;
		char text[VERDICT_NOTE_MAX];

		stall_find(rounds->cells, rounds->cell_count, i, &stall);
		if (!stall.found || rounds->cells[i].control)
			continue;
		stall_text(&rounds->cells[i], &stall, text, sizeof(text));
		note(verdicts, "%s", text);
	}
}

/* Names of cells that have something in common, as far as they fit. */
struct names {
	char text[400];
	size_t count;
};

static void names_add(struct names *names, const struct rounds *rounds, const struct cell *cell)
{
	const size_t used = strlen(names->text);
	char target[80];

	names->count++;
	(void)verdict_of_target(rounds, cell, target, sizeof(target));
	if (used + strlen(cell->name) + strlen(target) + 8 < sizeof(names->text))
		(void)snprintf(names->text + used, sizeof(names->text) - used, "%s%s%s",
			       used > 0 ? "; " : "", cell->name, target);
	else if (used + 6 < sizeof(names->text) && names->text[used - 1] != '.')
		(void)snprintf(names->text + used, sizeof(names->text) - used, "; ...");
}

static void note_client(const struct rounds *rounds, struct verdicts *verdicts)
{
	const bool own_cpu =
		rounds->options.plan != NULL && rounds->options.plan->placement == PLACEMENT_SPLIT;
	struct names bound = {.count = 0};
	struct names busy = {.count = 0};

	for (size_t i = 0; i < rounds->cell_count; i++) {
		const struct cell *cell = &rounds->cells[i];

		if (cell->control)
			continue;
		if (cell_client_bound(cell))
			names_add(&bound, rounds, cell);
		else if (own_cpu && cell_median(cell, CELL_CLIENT_SHARE) > CLIENT_SHARE)
			names_add(&busy, rounds, cell);
	}
	if (bound.count > 0)
		note(verdicts,
		     "The client was the bottleneck, as it reached more than half of its rate "
		     "against "
		     "a responder that answers at once, so the server can do more: %s.",
		     bound.text);
	if (busy.count > 0)
		note(verdicts,
		     "The client used more than 80 %% of its CPU and may have been the bottleneck: "
		     "%s.",
		     busy.text);
}

static void note_lag(const struct rounds *rounds, struct verdicts *verdicts)
{
	for (size_t i = 0; i < rounds->cell_count; i++) {
		const struct load_result *total = rounds->cells[i].total;
		const double lag = (double)histogram_quantile(&total->send_lag, 0.99);
		char text[UNITS_TEXT_MAX];

		if (total->send_lag.count > 0 &&
		    lag > LAG_SHARE * (double)histogram_quantile(&total->service, 0.5))
			note(verdicts,
			     "%s: the client sent late: p99 of the send lag is %s, more than 10 %% "
			     "of "
			     "the median service time.",
			     rounds->cells[i].name, units_time(text, sizeof(text), lag));
		if (total->failures.count[FAILURE_DROPPED] > 0)
			note(verdicts, "%s: overloaded: arrivals were dropped.",
			     rounds->cells[i].name);
	}
}

static double trend_of(const struct cell *cell)
{
	double values[CELL_ROUNDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++) {
		const double value = cell_figure(&cell->rounds[i], CELL_P50);

		if (!isnan(value))
			values[count++] = value;
	}
	return statistics_trend(values, count);
}

static void note_steadiness(const struct rounds *rounds, struct verdicts *verdicts)
{
	struct names unsteady = {.count = 0};
	struct names drifting = {.count = 0};

	for (size_t i = 0; i < rounds->cell_count; i++) {
		const struct cell *cell = &rounds->cells[i];

		if (cell->control || cell->total->answered == 0)
			continue;
		if (!cell->steady)
			names_add(&unsteady, rounds, cell);
		if (trend_of(cell) < DRIFT_P)
			names_add(&drifting, rounds, cell);
	}
	if (unsteady.count > 0)
		note(verdicts, "No steady state was reached in the warm-up: %s.", unsteady.text);
	if (drifting.count > 0)
		note(verdicts, "Times drifted from round to round: %s.", drifting.text);
}

static void note_deaths(const struct rounds *rounds, struct verdicts *verdicts)
{
	char target[80];

	for (size_t i = 0; i < rounds->cell_count; i++) {
		if (rounds->cells[i].note[0] != '\0')
			note(verdicts, "%s%s: %s.", rounds->cells[i].name,
			     verdict_of_target(rounds, &rounds->cells[i], target, sizeof(target)),
			     rounds->cells[i].note);
	}
}

static void note_dirt(const struct rounds *rounds, struct verdicts *verdicts)
{
	char again[120] = "";

	if (rounds->options.retry_dirty)
		(void)snprintf(again, sizeof(again),
			       "; %u of these were measured once more, in %u extra rounds, and "
			       "count with the others",
			       rounds->retried, rounds->extra);
	if (rounds->dirty > 0)
		note(verdicts, "The machine was busy with something else in %u of %u slices%s.",
		     rounds->dirty, rounds->slices, again);
	else if (rounds->options.retry_dirty)
		note(verdicts, "The machine was never busy with something else: nothing had to be "
			       "measured once more.");
}

void verdict_take_notes(const struct rounds *rounds, struct verdicts *verdicts)
{
	if (rounds->not_reached[0] != '\0')
		note(verdicts, "%s.", rounds->not_reached);
	note_deaths(rounds, verdicts);
	note_stalls(rounds, verdicts);
	note_client(rounds, verdicts);
	note_lag(rounds, verdicts);
	note_steadiness(rounds, verdicts);
	note_dirt(rounds, verdicts);
}
