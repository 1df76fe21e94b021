/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of 80 columns, and whether they were written. */

#include "report_internal.h"

#include <errno.h>
#include <string.h>

/* Facts that fit into half a line stand in pairs. */
#define FACT_NAME  15
#define FACT_VALUE 22

/* A number is not parted from its unit. */
static bool may_break(const char *space)
{
	static const char *const units[] = {"%", "us", "ms", "ns", "s", "B", "bytes"};
	size_t length;

	if (*space != ' ')
		return false;
	length = strcspn(space + 1, " ,.;:)]");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i]) == length && memcmp(space + 1, units[i], length) == 0)
			return false;
	}
	return true;
}

void report_wrap(FILE *out, const char *first, const char *rest, const char *text)
{
	const char *prefix = first;

	text += strspn(text, " ");
	do {
		const size_t room = REPORT_WIDTH - strlen(prefix);
		size_t length = strlen(text);

		if (length > room) {
			length = room;
			while (length > 0 && !may_break(text + length))
				length--;
			if (length == 0)
				length = strcspn(text, " ");
		}
		(void)fprintf(out, "%s%.*s\n", prefix, (int)length, text);
		text += length;
		text += strspn(text, " ");
		prefix = rest;
	} while (*text != '\0');
}

int report_finish(FILE *out)
{
	/* An earlier write may have failed with an errno that is gone by now. */
	const bool failed = ferror(out) != 0;

	errno = 0;
	if (fflush(out) == EOF)
		return errno != 0 ? -errno : -EIO;
	return failed || ferror(out) != 0 ? -EIO : 0;
}

static void write_fact(FILE *out, const char *name, const char *value)
{
	char first[32];
	char rest[32];

	(void)snprintf(first, sizeof(first), "  %-*.28s ", FACT_NAME, name);
	(void)snprintf(rest, sizeof(rest), "  %-*s ", FACT_NAME, "");
	report_wrap(out, first, rest, value);
}

static bool is_short(const struct environment *environment, size_t fact)
{
	return fact < environment->count && strlen(environment->fact[fact].value) <= FACT_VALUE;
}

static bool is_known(const struct environment *environment, size_t fact)
{
	return strcmp(environment->fact[fact].value, "unknown") != 0;
}

static void write_environment(FILE *out, const struct environment *environment)
{
	size_t waiting = environment->count;

	for (size_t i = 0; i < environment->count; i++) {
		if (!is_known(environment, i) || !is_short(environment, i))
			continue;
		if (waiting == environment->count) {
			waiting = i;
			continue;
		}
		(void)fprintf(out, "  %-*s %-*s%-*s %s\n", FACT_NAME,
			      environment->fact[waiting].name, FACT_VALUE,
			      environment->fact[waiting].value, FACT_NAME,
			      environment->fact[i].name, environment->fact[i].value);
		waiting = environment->count;
	}
	if (waiting < environment->count)
		write_fact(out, environment->fact[waiting].name, environment->fact[waiting].value);
	for (size_t i = 0; i < environment->count; i++) {
		if (is_known(environment, i) && !is_short(environment, i))
			write_fact(out, environment->fact[i].name, environment->fact[i].value);
	}
}

void report_head(FILE *out, const struct report *report)
{
	if (report->command != NULL)
		report_wrap(out, "", "    ", report->command);
	if (report->environment != NULL)
		write_environment(out, report->environment);
	if (report->placement != NULL)
		write_fact(out, "placement", report->placement->text);
}
