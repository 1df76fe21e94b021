/* SPDX-License-Identifier: BSD-2-Clause */
/* What a ramp found out, in sentences. */

#include "ramp_say.h"

#include "bench/compare/units.h"
#include "bench/compare/verdict_internal.h"

#include <math.h>
#include <stdio.h>

static const char *name_of(const struct ramp_target *target)
{
	return transport_name(target->target->endpoints[0].transport);
}

static const char *reason_text(enum ramp_reason reason)
{
	static const char *const texts[] = {
		[RAMP_PASS] = "nothing failed",
		[RAMP_BEHIND] = "less than 98 % was achieved",
		[RAMP_LATE] = "p99 was too high",
		[RAMP_FAILURES] = "more than 0.1 % failed",
		[RAMP_GROWING] = "ever more requests were in flight",
		[RAMP_CLIENT] = "the client was the bottleneck",
	};

	return texts[reason];
}

/* All brackets that are whole. */
static void say_knee(const struct ramp_target *target, double knee, char *buffer, size_t size)
{
	enum ramp_reason why = RAMP_PASS;
	double least = INFINITY;
	double most = 0;
	unsigned int count = 0;
	char text[3][UNITS_TEXT_MAX];

	for (unsigned int i = 0; i < target->bracket_count; i++) {
		const struct ramp_bracket *bracket = &target->brackets[i];

		if (!ramp_bracket_whole(bracket))
			continue;
		count++;
		why = bracket->why;
		least = fmin(least, bracket->sustained);
		most = fmax(most, bracket->failed);
	}
	(void)snprintf(
		buffer, size,
		"%s sustains %s requests/s (%u bracket%s: %s pass%s, %s fail): above that %s.",
		name_of(target), units_count(text[0], sizeof(text[0]), knee), count,
		count == 1 ? "" : "s, the ends of all",
		units_count(text[1], sizeof(text[1]), least), count == 1 ? "" : " always",
		units_count(text[2], sizeof(text[2]), most), reason_text(why));
}

/* Without a whole one the last bracket that was begun tells what could be found. */
static void say_target(const struct ramp_target *target, char *buffer, size_t size)
{
	const struct ramp_bracket *last =
		target->bracket_count > 0 ? &target->brackets[target->bracket_count - 1] : NULL;
	char low[UNITS_TEXT_MAX];
	char high[UNITS_TEXT_MAX];

	if (last == NULL || (last->low == 0 && isinf(last->high))) {
		(void)snprintf(buffer, size, "%s: bound not found: the time was over before.",
			       name_of(target));
		return;
	}
	(void)units_count(low, sizeof(low), last->sustained);
	(void)units_count(high, sizeof(high), last->failed);
	if (isinf(last->high))
		(void)snprintf(buffer, size, "%s: bound not found: %s requests/s pass, and %s.",
			       name_of(target), low,
			       last->done ? "--max-rate allows no more" : "the time was over");
	else if (last->low == 0)
		(void)snprintf(buffer, size, "%s: no rate has passed: at %s requests/s %s.",
			       name_of(target), high, reason_text(last->why));
	else
		(void)snprintf(buffer, size,
			       "%s: bound not found: %s requests/s pass, and at %s %s%s.",
			       name_of(target), low, high, reason_text(last->why),
			       last->why == RAMP_CLIENT ? ", so the responder may do more"
							: "; then the time was over");
}

static void say_one(const struct ramp_target *target, char *buffer, size_t size)
{
	const double knee = ramp_knee(target);

	if (isnan(knee))
		say_target(target, buffer, size);
	else
		say_knee(target, knee, buffer, size);
}

/* Rates are known to 3 %, so this is the noise at the least. */
static void say_ratio(const struct ramp_target *a, const struct ramp_target *b, char *buffer,
		      size_t size)
{
	const struct statistics_interval grain = {1, 1 / RAMP_GRAIN, RAMP_GRAIN, 1};
	const struct statistics_interval ratio = ramp_ratio(a, b);
	const enum statistics_verdict verdict = statistics_judge(&ratio, &grain, RAMP_GRAIN - 1);
	char text[80];

	if (isnan(ratio.median)) {
		(void)snprintf(buffer, size,
			       "%s and %s can't be compared: no bracket of both is "
			       "whole.",
			       name_of(a), name_of(b));
		return;
	}
	if (ratio.coverage == 0) {
		(void)snprintf(
			buffer, size,
			"%s sustains %.2f times as much as %s, but there are too few brackets "
			"for an interval: 6 are needed.",
			name_of(a), ratio.median, name_of(b));
		return;
	}
	verdict_interval_text(&ratio, text, sizeof(text));
	if (verdict == VERDICT_UNKNOWN)
		(void)snprintf(buffer, size, "Cannot tell %s from %s: %s.", name_of(a), name_of(b),
			       text);
	else
		(void)snprintf(buffer, size, "%s sustains %s as much as %s%s.", name_of(a), text,
			       name_of(b),
			       verdict == VERDICT_SAME ? ": no difference above 3 %" : "");
}

static bool say_shortness(const struct ramp *ramp, char *buffer, size_t size)
{
	if (ramp->step_ns >= RAMP_STEP_NS)
		return false;
	(void)snprintf(buffer, size,
		       "Steps took %.2g s, as the budget allowed no more; 5 s and 1,000 requests "
		       "would tell more, above all of p99.",
		       (double)ramp->step_ns / 1e9);
	return true;
}

static bool say_end(const struct ramp *ramp, char *buffer, size_t size)
{
	if (ramp->interrupted)
		(void)snprintf(buffer, size, "Interrupted: this is what was found until then.");
	else if (ramp->over_budget)
		(void)snprintf(buffer, size,
			       "The time budget of %.0f s ended before all %u brackets were whole.",
			       (double)ramp->options.budget_ns / 1e9, ramp->options.brackets);
	return ramp->interrupted || ramp->over_budget;
}

bool ramp_say(const struct ramp *ramp, size_t number, char *buffer, size_t size)
{
	const size_t targets = ramp->target_count;

	if (number < targets)
		say_one(&ramp->targets[number], buffer, size);
	else if (number < 2 * targets - 1)
		say_ratio(&ramp->targets[number - targets + 1], &ramp->targets[0], buffer, size);
	else if (number == 2 * targets - 1)
		return say_shortness(ramp, buffer, size) || say_end(ramp, buffer, size);
	else
		return number == 2 * targets && ramp->step_ns < RAMP_STEP_NS &&
		       say_end(ramp, buffer, size);
	return true;
}

bool ramp_refused(const struct ramp *ramp)
{
	for (size_t i = 0; i < ramp->target_count; i++) {
		if (!isnan(ramp_knee(&ramp->targets[i])))
			return false;
	}
	return true;
}
