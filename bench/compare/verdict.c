/* SPDX-License-Identifier: BSD-2-Clause */
/* What may be said of each pair, in a sentence. */

#include "verdict_internal.h"

#include "bench/client/rng.h"
#include "bench/compare/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verdict_of_target(const struct rounds *rounds, const struct cell *cell, char *buffer,
			      size_t size)
{
	buffer[0] = '\0';
	for (size_t i = 0; i < rounds->cell_count; i++) {
		if (strcmp(rounds->cells[i].target->name, cell->target->name) != 0) {
			(void)snprintf(buffer, size, ", %s", cell->target->name);
			break;
		}
	}
	return buffer;
}

/* What a pair differs in, as the sentence names both sides. */
static const char *side(const struct pair *pair, const struct cell *cell)
{
	switch (pair->kind) {
	case PAIR_TARGET:
		return cell->target->name;
	case PAIR_KEEP:
		return cell->keep ? "a kept connection" : "a new one for each request";
	default:
		return cell_transport_name(cell);
	}
}

/* What both have in common. */
static void common(const struct rounds *rounds, const struct pair *pair, char *buffer, size_t size)
{
	const struct cell *cell = &rounds->cells[pair->a];
	char bytes[UNITS_TEXT_MAX];
	char what[96] = "";
	char target[80] = "";

	(void)units_count(bytes, sizeof(bytes), (double)cell->body_size);
	if (pair->kind == PAIR_KEEP)
		(void)snprintf(what, sizeof(what), "%s", cell_transport_name(cell));
	else if (pair->kind == PAIR_TARGET)
		(void)snprintf(what, sizeof(what), "%s, %s connections",
			       transport_name(cell->transport), cell->keep ? "kept" : "new");
	else
		(void)snprintf(what, sizeof(what), "%s connections", cell->keep ? "kept" : "new");
	if (pair->kind != PAIR_TARGET)
		(void)verdict_of_target(rounds, cell, target, sizeof(target));
	(void)snprintf(buffer, size, "%s, c=%u, %s bytes%s", what, cell->connections, bytes,
		       target);
}

void verdict_interval_text(const struct statistics_interval *interval, char *buffer, size_t size)
{
	int digits = interval->high >= 99.95 ? 0 : interval->high >= 9.995 ? 1 : 2;

	/* Intervals of a few thousandths need the digits that tell their ends apart. */
	if (digits == 2 && interval->high / interval->low < 1.01)
		digits = 3;
	(void)snprintf(buffer, size, "%.*fx [%.*f, %.*f]", digits, interval->median, digits,
		       interval->low, digits, interval->high);
}

static struct statistics_interval inverse(const struct statistics_interval *interval)
{
	return (struct statistics_interval){.median = 1 / interval->median,
					    .low = 1 / interval->high,
					    .high = 1 / interval->low,
					    .coverage = interval->coverage};
}

static void say_control(const struct rounds *rounds, const struct pair *pair,
			struct verdict *verdict)
{
	const struct statistics_interval *ratio = &verdict->ratio.latency;
	char interval[80];
	char noise[UNITS_TEXT_MAX];
	char target[80];

	(void)verdict_of_target(rounds, &rounds->cells[pair->b], target, sizeof(target));
	if (ratio->coverage == 0) {
		(void)snprintf(verdict->sentence, sizeof(verdict->sentence),
			       "%s%s against itself: no interval (%zu rounds)",
			       rounds->cells[pair->b].name, target, verdict->ratio.rounds);
		return;
	}
	verdict_interval_text(ratio, interval, sizeof(interval));
	(void)snprintf(verdict->sentence, sizeof(verdict->sentence),
		       "%s%s against itself: %s, noise %s%s", rounds->cells[pair->b].name, target,
		       interval, units_share(noise, sizeof(noise), verdict->noise),
		       ratio->low <= 1 && ratio->high >= 1 ? "" : "; it does not contain 1");
}

/* "cannot tell", and what was in the way. */
static void say_unknown(const struct rounds *rounds, const struct pair *pair,
			struct verdict *verdict)
{
	const struct cell *a = &rounds->cells[pair->a];
	const struct cell *b = &rounds->cells[pair->b];
	const struct statistics_interval *ratio = &verdict->ratio.latency;
	char *text = verdict->sentence;
	const size_t size = sizeof(verdict->sentence);
	char interval[80];
	char noise[UNITS_TEXT_MAX];
	char work[200];

	common(rounds, pair, work, sizeof(work));
	if (a->total->answered == 0 || b->total->answered == 0)
		(void)snprintf(text, size, "cannot tell %s from %s: no answer came from %s (%s)",
			       side(pair, a), side(pair, b),
			       side(pair, a->total->answered == 0 ? a : b), work);
	else if (ratio->coverage == 0)
		(void)snprintf(text, size,
			       "cannot tell %s from %s: %zu rounds have both, %d are needed (%s)",
			       side(pair, a), side(pair, b), verdict->ratio.rounds, ROUNDS_LEAST,
			       work);
	else if (isnan(verdict->noise))
		(void)snprintf(
			text, size,
			"cannot tell %s from %s: there is no control that tells the noise (%s)",
			side(pair, a), side(pair, b), work);
	else {
		verdict_interval_text(ratio, interval, sizeof(interval));
		(void)snprintf(text, size, "cannot tell %s from %s: %s, while the noise is %s (%s)",
			       side(pair, a), side(pair, b), interval,
			       units_share(noise, sizeof(noise), verdict->noise), work);
	}
}

static void say_known(const struct rounds *rounds, const struct pair *pair, double delta,
		      struct verdict *verdict)
{
	const bool swap = verdict->verdict == VERDICT_SLOWER;
	const struct cell *fast = &rounds->cells[swap ? pair->b : pair->a];
	const struct cell *slow = &rounds->cells[swap ? pair->a : pair->b];
	const struct statistics_interval ratio =
		swap ? inverse(&verdict->ratio.latency) : verdict->ratio.latency;
	char interval[80];
	char share[UNITS_TEXT_MAX];
	char work[200];

	common(rounds, pair, work, sizeof(work));
	verdict_interval_text(&ratio, interval, sizeof(interval));
	if (verdict->verdict == VERDICT_SAME)
		(void)snprintf(verdict->sentence, sizeof(verdict->sentence),
			       "no difference above %s between %s and %s: %s (%s)",
			       units_share(share, sizeof(share), delta), side(pair, fast),
			       side(pair, slow), interval, work);
	else
		(void)snprintf(verdict->sentence, sizeof(verdict->sentence),
			       "%s is %s faster than %s (%s)", side(pair, fast), interval,
			       side(pair, slow), work);
}

static void judge(const struct rounds *rounds, size_t index, double delta, struct verdict *list)
{
	const struct pair *pair = &rounds->pairs[index];
	struct verdict *verdict = &list[index];
	struct rng rng = rng_seed(rounds->options.seed + index);

	*verdict = (struct verdict){.pair = index, .noise = NAN, .verdict = VERDICT_UNKNOWN};
	pair_ratio(rounds->cells, pair, &rng, &verdict->ratio);
	if (pair->kind == PAIR_CONTROL) {
		if (verdict->ratio.latency.coverage > 0)
			verdict->noise = statistics_noise(&verdict->ratio.latency);
		say_control(rounds, pair, verdict);
		return;
	}
	if (pair->control != SIZE_MAX) {
		/* Controls come first in the list, so this one is judged already. */
		const struct verdict *control = &list[pair->control];

		verdict->noise = control->noise;
		verdict->verdict =
			statistics_judge(&verdict->ratio.latency, &control->ratio.latency, delta);
	}
	if (verdict->verdict == VERDICT_UNKNOWN)
		say_unknown(rounds, pair, verdict);
	else
		say_known(rounds, pair, delta, verdict);
}

static bool controls_hold(const struct rounds *rounds, const struct verdict *list)
{
	bool any = false;

	for (size_t i = 0; i < rounds->pair_count; i++) {
		const struct statistics_interval *ratio = &list[i].ratio.latency;

		if (rounds->pairs[i].kind != PAIR_CONTROL)
			continue;
		if (!(ratio->coverage > 0 && ratio->low <= 1 && ratio->high >= 1))
			return false;
		any = true;
	}
	return any;
}

/* Refused is what nothing at all can be said of. */
static void decide_refusal(const struct rounds *rounds, struct verdicts *verdicts)
{
	size_t asked = 0;
	size_t unknown = 0;

	for (size_t i = 0; i < rounds->pair_count; i++) {
		if (rounds->pairs[i].kind == PAIR_CONTROL)
			continue;
		asked++;
		unknown += verdicts->list[i].verdict == VERDICT_UNKNOWN;
	}
	if (rounds->done < ROUNDS_LEAST)
		(void)snprintf(verdicts->refusal, sizeof(verdicts->refusal), "%s",
			       rounds->not_reached[0] != '\0' ? rounds->not_reached
							      : "there are too few rounds");
	else if (asked > 0 && unknown == asked)
		(void)snprintf(verdicts->refusal, sizeof(verdicts->refusal),
			       "the measurement carries none of the comparisons");
	verdicts->refused = verdicts->refusal[0] != '\0';
}

int verdicts_make(const struct rounds *rounds, double delta, struct verdicts *ret_verdicts)
{
	struct verdicts verdicts = {.count = rounds->pair_count,
				    .delta = delta > 0 ? delta : VERDICT_DELTA};

	verdicts.list = calloc(rounds->pair_count + 1, sizeof(*verdicts.list));
	if (verdicts.list == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < rounds->pair_count; i++)
		judge(rounds, i, verdicts.delta, verdicts.list);
	verdicts.control_holds = controls_hold(rounds, verdicts.list);
	decide_refusal(rounds, &verdicts);
	verdict_take_notes(rounds, &verdicts);
	verdict_sum_up(rounds, &verdicts);
	*ret_verdicts = verdicts;
	return 0;
}

void verdicts_done(struct verdicts *verdicts)
{
	free(verdicts->list);
	verdicts->list = NULL;
	verdicts->count = 0;
}
