/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of two saved runs. */

#include "report_internal.h"

#include "bench/compare/diff.h"
#include "bench/compare/units.h"

#include <math.h>
#include <string.h>

#define NAME_WIDTH 23

static void write_run(FILE *out, const char *name, const struct saved *saved)
{
	char text[700];

	(void)snprintf(text, sizeof(text), "%s%s%s", saved->path,
		       saved->command[0] != '\0' ? ": " : "", saved->command);
	report_wrap(out, name, "          ", text);
}

static void write_facts(FILE *out, const struct diff *diff)
{
	if (diff->fact_count == 0) {
		(void)fputs("\nMachine, responder and options are the same in both.\n", out);
		return;
	}
	(void)fputs("\nThe runs differ in\n", out);
	for (size_t i = 0; i < diff->fact_count; i++) {
		const struct diff_fact *fact = &diff->facts[i];
		char first[64];
		char text[sizeof(((struct saved_fact *)NULL)->value) * 2 + 32];

		(void)snprintf(first, sizeof(first), "  %-15s ", fact->name);
		(void)snprintf(text, sizeof(text), "%s | %s", fact->a, fact->b);
		report_wrap(out, first, "                  ", text);
	}
}

static void write_alone(FILE *out, const char *which, const struct saved *of,
			const struct saved *in, size_t count)
{
	char first[64];

	(void)snprintf(first, sizeof(first), "  only in the %s run: ", which);
	for (size_t i = 0; count > 0 && i < of->cell_count; i++) {
		if (!of->cells[i].control && diff_partner(&of->cells[i], of, in) == NULL)
			report_wrap(out, first, "    ", of->cells[i].name);
	}
}

static void write_line(FILE *out, const struct diff_cell *cell)
{
	char text[5][UNITS_TEXT_MAX];
	char interval[40] = "no interval";

	if (cell->ratio.coverage > 0)
		(void)snprintf(interval, sizeof(interval), "[%.3f, %.3f]", cell->ratio.low,
			       cell->ratio.high);
	if (isnan(cell->ratio.median))
		(void)snprintf(text[2], sizeof(text[2]), "-");
	else
		(void)snprintf(text[2], sizeof(text[2]), "%.3f", cell->ratio.median);
	(void)fprintf(out, "  %-*s %9s %9s %7s %-18s %6s\n", NAME_WIDTH, cell->a->name,
		      units_time(text[0], sizeof(text[0]), cell->a_us * 1e3),
		      units_time(text[1], sizeof(text[1]), cell->b_us * 1e3), text[2], interval,
		      units_share(text[4], sizeof(text[4]), cell->noise));
}

int report_diff(FILE *out, const struct report *report)
{
	const struct diff *diff = report->diff;

	write_run(out, "first     ", diff->a);
	write_run(out, "second    ", diff->b);
	write_facts(out, diff);
	(void)fprintf(out, "\n%-*s %9s %9s %7s %-18s %6s\n", NAME_WIDTH + 2, "Median of the rounds",
		      "first", "second", "faster", "[95 %]", "noise");
	for (size_t i = 0; i < diff->cell_count; i++)
		write_line(out, &diff->cells[i]);
	write_alone(out, "first", diff->a, diff->b, diff->only_a);
	write_alone(out, "second", diff->b, diff->a, diff->only_b);
	(void)fputs("faster: how many times as fast the second run is (Hodges-Lehmann).\n"
		    "noise: how far one thing measured twice differed, in the worse one of both "
		    "runs.\n\nSo\n",
		    out);
	if (diff->refused) {
		char text[sizeof(diff->refusal) + 16];

		(void)snprintf(text, sizeof(text), "No verdict: %s.", diff->refusal);
		report_wrap(out, "- ", "  ", text);
	}
	for (size_t i = 0; !diff->refused && i < diff->cell_count; i++)
		report_wrap(out, "- ", "  ", diff->cells[i].sentence);
	return report_finish(out);
}
