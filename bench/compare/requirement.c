/* SPDX-License-Identifier: BSD-2-Clause */
/* Thresholds: --require 'p99<5ms'. */

#include "requirement.h"

#include "bench/compare/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS	   " \t"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz_0123456789."

static const struct {
	const char *text;
	enum requirement_operator operator;
} operators[] = {
	/* The longer ones first, as the shorter ones are their beginnings. */
	{"<=", REQUIREMENT_AT_MOST}, {">=", REQUIREMENT_AT_LEAST}, {"==", REQUIREMENT_EQUAL},
	{"<", REQUIREMENT_LESS},     {">", REQUIREMENT_MORE},	   {"=", REQUIREMENT_EQUAL},
};

static const struct {
	const char *name;
	enum requirement_figure figure;
} figures[] = {
	{"mean", REQUIREMENT_MEAN},	    {"max", REQUIREMENT_MAX}, {"rate", REQUIREMENT_RATE},
	{"failures", REQUIREMENT_FAILURES}, {"cpu", REQUIREMENT_CPU},
};

static int refuse(const char *text, const char *why, char *error, size_t size)
{
	(void)snprintf(error, size, "\"%.60s\": %s", text, why);
	return -EINVAL;
}

/* "p99.9": sets the share, false if it is none between 0 and 1. */
static bool parse_quantile(const char *name, double *ret_share)
{
	char *end;
	double percent;

	if (name[0] != 'p' || name[1] < '0' || name[1] > '9')
		return false;
	percent = strtod(name + 1, &end);
	if (*end != '\0' || !(percent > 0 && percent < 100))
		return false;
	*ret_share = percent / 100;
	return true;
}

static bool parse_name(const char *name, struct requirement *requirement)
{
	if (parse_quantile(name, &requirement->share)) {
		requirement->figure = REQUIREMENT_QUANTILE;
		return true;
	}
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (strcmp(name, figures[i].name) == 0) {
			requirement->figure = figures[i].figure;
			return true;
		}
	}
	for (unsigned int i = FAILURE_NONE + 1; i < FAILURE_CLASSES; i++) {
		if (strcmp(name, failure_name((enum failure)i)) == 0) {
			requirement->figure = REQUIREMENT_FAILURES;
			requirement->failure = (enum failure)i;
			return true;
		}
	}
	return false;
}

static const char *parse_operator(const char *at, enum requirement_operator *ret_operator)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		const size_t length = strlen(operators[i].text);

		if (strncmp(at, operators[i].text, length) == 0) {
			*ret_operator = operators[i].operator;
			return at + length;
		}
	}
	return NULL;
}

/* Brings the value to nanoseconds, a rate, a number or a share; says what is wrong with the unit. */
static const char *parse_unit(const char *unit, struct requirement *requirement)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

	switch (requirement->figure) {
	case REQUIREMENT_RATE:
		return *unit == '\0' || strcmp(unit, "/s") == 0
			       ? NULL
			       : "a rate is a number of answers a second, without a unit or with "
				 "/s";
	case REQUIREMENT_FAILURES:
		requirement->percent = strcmp(unit, "%") == 0;
		if (requirement->percent)
			requirement->value /= 100;
		return *unit == '\0' || requirement->percent
			       ? NULL
			       : "failures are a number, or a share with %";
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			requirement->value *= units[i].ns;
			return NULL;
		}
	}
	return "a time needs one of the units ns, us, ms, s";
}

/* The value and its unit, with blanks between and behind them. */
static const char *parse_value(const char *at, struct requirement *requirement)
{
	char unit[8] = "";
	size_t length;
	char *end;

	at += strspn(at, BLANKS);
	if (*at < '0' || *at > '9')
		return "behind the operator a number is needed, as in p99<5ms";
	requirement->value = strtod(at, &end);
	end += strspn(end, BLANKS);
	length = strcspn(end, BLANKS);
	if (length >= sizeof(unit) || end[length + strspn(end + length, BLANKS)] != '\0' ||
	    !isfinite(requirement->value))
		return "there is more than a number and a unit behind the operator";
	memcpy(unit, end, length);
	return parse_unit(unit, requirement);
}

int requirement_parse(const char *text, struct requirement *ret_requirement, char *error,
		      size_t size)
{
	struct requirement requirement = {.failure = FAILURE_NONE};
	const char *at = text + strspn(text, BLANKS);
	const size_t length = strspn(at, NAME_CHARS);
	const char *wrong;
	char name[32] = "";

	if (strlen(text) >= sizeof(requirement.text))
		return refuse(text, "too long for a requirement", error, size);
	(void)snprintf(requirement.text, sizeof(requirement.text), "%s", text);
	if (length < sizeof(name))
		memcpy(name, at, length);
	if (!parse_name(name, &requirement))
		return refuse(text,
			      "begin with p50, p99, p99.9 (any percentile), mean, max, rate, cpu, "
			      "failures, or a class of failures such as eagain or starved",
			      error, size);
	at += length;
	at = parse_operator(at + strspn(at, BLANKS), &requirement.operator);
	if (at == NULL)
		return refuse(text, "behind the figure one of < <= > >= = is needed", error, size);
	wrong = parse_value(at, &requirement);
	if (wrong != NULL)
		return refuse(text, wrong, error, size);
	*ret_requirement = requirement;
	return 0;
}

static double see_failures(const struct requirement *requirement, const struct cell *cell)
{
	const struct failures *failures = &cell->total->failures;
	const uint64_t all = failures_total(failures);
	const uint64_t count =
		requirement->failure == FAILURE_NONE ? all : failures->count[requirement->failure];

	if (!requirement->percent)
		return (double)count;
	if (all + cell->total->answered == 0)
		return NAN;
	return (double)count / (double)(all + cell->total->answered);
}

/* The figure in the requirement's unit, NAN if it is not known. */
static double see(const struct requirement *requirement, const struct cell *cell)
{
	const struct histogram *times = cell_times(cell);

	switch (requirement->figure) {
	case REQUIREMENT_QUANTILE:
		return times->count > 0 ? (double)histogram_quantile(times, requirement->share)
					: NAN;
	case REQUIREMENT_MEAN:
		return times->count > 0 ? histogram_mean(times) : NAN;
	case REQUIREMENT_MAX:
		return times->count > 0 ? (double)times->max : NAN;
	case REQUIREMENT_RATE:
		return cell_median(cell, CELL_RATE);
	case REQUIREMENT_FAILURES:
		return see_failures(requirement, cell);
	case REQUIREMENT_CPU:
		return cell_median(cell, CELL_SERVER_CPU) * 1e3;
	}
	return NAN;
}

static bool compare(double seen, enum requirement_operator operator, double value)
{
	switch (operator) {
	case REQUIREMENT_LESS:
		return seen < value;
	case REQUIREMENT_AT_MOST:
		return seen <= value;
	case REQUIREMENT_MORE:
		return seen > value;
	case REQUIREMENT_AT_LEAST:
		return seen >= value;
	case REQUIREMENT_EQUAL:
		return seen == value;
	}
	return false;
}

static void format_value(const struct requirement *requirement, double value, char *buffer,
			 size_t size)
{
	switch (requirement->figure) {
	case REQUIREMENT_RATE:
		(void)units_count(buffer, size, value);
		return;
	case REQUIREMENT_FAILURES:
		if (requirement->percent)
			(void)units_share(buffer, size, value);
		else
			(void)units_count(buffer, size, value);
		return;
	default:
		(void)units_time(buffer, size, value);
	}
}

bool requirement_holds(const struct requirement *requirement, const struct cell *cell, char *seen,
		       size_t size)
{
	const double value = see(requirement, cell);
	char text[UNITS_TEXT_MAX];

	if (isnan(value)) {
		(void)snprintf(seen, size, "%s: not known (required: %s)", cell->name,
			       requirement->text);
		return false;
	}
	format_value(requirement, value, text, sizeof(text));
	(void)snprintf(seen, size, "%s: %s (required: %s)", cell->name, text, requirement->text);
	return compare(value, requirement->operator, requirement->value);
}
