/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for people: 80 columns. */

#include "report_internal.h"

#include "bench/compare/units.h"

#include <math.h>
#include <string.h>

/* "tcp kept c=64 1000000 B" */
#define NAME_WIDTH 23

static const char *arrivals_text(const struct load_options *load, char *buffer, size_t size)
{
	char rate[UNITS_TEXT_MAX];

	if (load->arrivals == LOAD_CLOSED)
		(void)snprintf(buffer, size, "closed loop");
	else
		(void)snprintf(buffer, size, "open loop, %s/s, %s",
			       units_count(rate, sizeof(rate), load->rate),
			       load->arrivals == LOAD_POISSON ? "Poisson" : "constant");
	return buffer;
}

static const char *slice_text(const struct rounds_options *options, char *buffer, size_t size)
{
	const unsigned long long requests = options->slice_requests;
	const double least_s = (double)options->slice_least_ns / 1e9;
	const double most_s = (double)options->slice_ns / 1e9;

	if (least_s > 0)
		(void)snprintf(buffer, size, "%llu requests and %.2g s, %.3g s at most,", requests,
			       least_s, most_s);
	else
		(void)snprintf(buffer, size, "%llu requests or %.3g s", requests, most_s);
	return buffer;
}

/* What an interval covers is the variation of what was repeated. */
static void write_levels(FILE *out, const struct rounds *rounds)
{
	char text[160];

	if (rounds->restarts > 0)
		(void)snprintf(text, sizeof(text),
			       "requests, slices, server starts (%u of each, one every %u rounds)",
			       rounds->restarts + 1, rounds->options.restart_every);
	else
		(void)snprintf(text, sizeof(text), "requests, slices; each server started once");
	report_wrap(out, "  repeated        ", "                  ", text);
}

static void write_plan(FILE *out, const struct rounds *rounds)
{
	const struct rounds_options *options = &rounds->options;
	char arrivals[80];
	char slice[80];
	char text[240];

	(void)arrivals_text(&options->load, arrivals, sizeof(arrivals));
	if (rounds->pair_count == 0 && rounds->cell_count == 1)
		(void)snprintf(text, sizeof(text), "%s, seed %llu", arrivals,
			       (unsigned long long)options->seed);
	else
		(void)snprintf(text, sizeof(text),
			       "%u rounds of %zu cells in random order, seed %llu; %s a cell and "
			       "round; %s; "
			       "%.1f s in all",
			       rounds->done, rounds->cell_count, (unsigned long long)options->seed,
			       slice_text(options, slice, sizeof(slice)), arrivals,
			       (double)rounds->elapsed_ns / 1e9);
	report_wrap(out, "  measured        ", "                  ", text);
	if (rounds->pair_count > 0)
		write_levels(out, rounds);
}

static void write_controls(FILE *out, const struct report *report)
{
	bool any = false;

	if (report->verdicts == NULL)
		return;
	for (size_t i = 0; i < report->verdicts->count; i++) {
		if (report->rounds->pairs[i].kind != PAIR_CONTROL)
			continue;
		if (!any)
			(void)fputs("\nControl: how much two equal things differ\n", out);
		any = true;
		report_wrap(out, "  ", "    ", report->verdicts->list[i].sentence);
	}
	if (!any)
		(void)fputs("\nThere is no control, so nobody knows the noise.\n", out);
}

/* p99 of the rounds, or of all answers together if a round has too few of them. */
static void format_p99(const struct cell *cell, char *buffer, size_t size)
{
	const struct histogram *times = cell_times(cell);
	const double rounds_us = cell_median(cell, CELL_P99);

	if (!isnan(rounds_us)) {
		(void)units_time(buffer, size - 1, rounds_us * 1e3);
	} else {
		(void)units_time(buffer, size - 1,
				 times->count > 0 ? (double)histogram_quantile(times, 0.99) : NAN);
		if (times->count > 0)
			(void)snprintf(buffer + strlen(buffer), 2, "*");
	}
}

static void write_cell(FILE *out, const struct report *report, const struct cell *cell)
{
	const double floor_us = floor_rtt_us(report->floor, cell->transport, cell->keep);
	const double p50_us = cell_median(cell, CELL_P50);
	char text[6][UNITS_TEXT_MAX];

	format_p99(cell, text[2], sizeof(text[2]));
	(void)fprintf(
		out, "  %-*s %9s %9s %9s %8s %7s %6s\n", NAME_WIDTH, cell->name,
		units_count(text[0], sizeof(text[0]), cell_median(cell, CELL_RATE)),
		units_time(text[1], sizeof(text[1]), p50_us * 1e3), text[2],
		units_time(text[3], sizeof(text[3]), cell_median(cell, CELL_SERVER_CPU) * 1e3),
		units_count(text[4], sizeof(text[4]),
			    (double)failures_total(&cell->total->failures)),
		units_factor(text[5], sizeof(text[5]), p50_us / floor_us));
}

static bool is_first_of_target(const struct rounds *rounds, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (strcmp(rounds->cells[i].target->name, rounds->cells[index].target->name) == 0)
			return false;
	}
	return true;
}

typedef void (*cell_line_fn)(FILE *out, const struct report *report, const struct cell *cell);

/* A line for each cell, those of a target together. */
static void write_cells(FILE *out, const struct report *report, cell_line_fn line, bool versions)
{
	const struct rounds *rounds = report->rounds;

	for (size_t i = 0; i < rounds->cell_count; i++) {
		const struct target *target = rounds->cells[i].target;
		char title[300];

		if (!is_first_of_target(rounds, i))
			continue;
		(void)snprintf(title, sizeof(title), "%s%s%s", target->name,
			       versions && target->version[0] != '\0' ? ": " : "",
			       versions ? target->version : "");
		report_wrap(out, " ", "   ", title);
		for (size_t j = i; j < rounds->cell_count; j++) {
			const struct cell *cell = &rounds->cells[j];

			if (!cell->control && strcmp(cell->target->name, target->name) == 0)
				line(out, report, cell);
		}
	}
}

static void write_results(FILE *out, const struct report *report)
{
	bool pooled = false;
	bool quickack = false;

	(void)fprintf(out, "\n%-*s %9s %9s %9s %8s %7s %6s\n", NAME_WIDTH + 2, "Median over rounds",
		      "answers/s", "p50", "p99", "CPU", "failed", "xfloor");
	write_cells(out, report, write_cell, true);
	for (size_t i = 0; i < report->rounds->cell_count; i++) {
		pooled |= isnan(cell_median(&report->rounds->cells[i], CELL_P99));
		quickack |= report->rounds->cells[i].quickack;
	}
	(void)fputs("CPU: the server's time a request.", out);
	if (pooled)
		(void)fputs(" *: of all rounds together.", out);
	if (quickack)
		(void)fputs("\n+qa: TCP_QUICKACK on the client's side.", out);
	if (report->floor != NULL)
		(void)fputs("\nfloor: p50 as a multiple of a bare ping-pong of the same size.",
			    out);
	(void)fputs("\n", out);
}

static void write_server_line(FILE *out, const struct report *report, const struct cell *cell)
{
	unsigned int deepest = 0;
	char text[5][UNITS_TEXT_MAX];
	char limit[16] = "-";

	(void)report;
	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++) {
		if (cell->rounds[i].queue_deepest > deepest)
			deepest = cell->rounds[i].queue_deepest;
	}
	if (cell->queue_limit > 0)
		(void)snprintf(limit, sizeof(limit), "%u", cell->queue_limit);
	(void)fprintf(
		out, "  %-*s %8s %8s %8s %6s %5u/%-5s %7s\n", NAME_WIDTH, cell->name,
		units_time(text[0], sizeof(text[0]), cell_median(cell, CELL_CLIENT_CPU) * 1e3),
		units_time(text[1], sizeof(text[1]), cell_median(cell, CELL_BOTH_CPU) * 1e3),
		units_factor(text[2], sizeof(text[2]), cell_median(cell, CELL_SWITCHES)),
		units_factor(text[3], sizeof(text[3]), cell_median(cell, CELL_QUEUE_MEAN)), deepest,
		limit,
		cell->pss_kib > 0
			? units_factor(text[4], sizeof(text[4]), (double)cell->pss_kib / 1024)
			: "-");
}

static void write_server(FILE *out, const struct report *report)
{
	(void)fprintf(out, "\n%-*s %8s %8s %8s %6s %11s %7s\n", NAME_WIDTH + 2, "A request",
		      "CPU here", "CPU both", "switches", "queue", "most/limit", "PSS MiB");
	write_cells(out, report, write_server_line, false);
}

static void write_sentences(FILE *out, const struct report *report)
{
	const struct verdicts *verdicts = report->verdicts;
	bool any = false;

	for (size_t i = 0; i < verdicts->count; i++) {
		if (report->rounds->pairs[i].kind == PAIR_CONTROL)
			continue;
		if (!any)
			(void)fputs("\nCompared by the median time, [95 % interval]\n", out);
		any = true;
		report_wrap(out, "- ", "  ", verdicts->list[i].sentence);
	}
	if (verdicts->note_count > 0)
		(void)fputs("\nNotes\n", out);
	for (size_t i = 0; i < verdicts->note_count; i++)
		report_wrap(out, "- ", "  ", verdicts->notes[i]);
	if (verdicts->summary_count > 0)
		(void)fputs("\nSo\n", out);
	for (size_t i = 0; i < verdicts->summary_count; i++)
		report_wrap(out, "- ", "  ", verdicts->summary[i]);
}

static void write_requirements(FILE *out, const struct report *report)
{
	if (report->requirement_count > 0)
		(void)fputs("\nRequired\n", out);
	for (size_t i = 0; i < report->requirement_count; i++) {
		for (size_t j = 0; j < report->rounds->cell_count; j++) {
			const struct cell *cell = &report->rounds->cells[j];
			char seen[200];
			bool holds;

			if (cell->control)
				continue;
			holds = requirement_holds(&report->requirements[i], cell, seen,
						  sizeof(seen));
			report_wrap(out, holds ? "  met     " : "  MISSED  ", "          ", seen);
		}
	}
}

int report_table(FILE *out, const struct report *report)
{
	const struct rounds *rounds = report->rounds;

	report_head(out, report);
	write_plan(out, rounds);
	if (rounds->pair_count > 0)
		write_controls(out, report);
	write_results(out, report);
	write_server(out, report);
	if (report->verdicts == NULL && rounds->cell_count == 1)
		report_times(out, report);
	report_failures(out, rounds);
	if (report->verdicts != NULL)
		write_sentences(out, report);
	else if (rounds->not_reached[0] != '\0')
		report_wrap(out, "\n", "", rounds->not_reached);
	write_requirements(out, report);
	return report_finish(out);
}

void report_wrap_run(struct cell *cell, const struct load_options *load, uint64_t seed,
		     struct rounds *ret_rounds)
{
	memset(ret_rounds, 0, sizeof(*ret_rounds));
	ret_rounds->cells = cell;
	ret_rounds->cell_count = 1;
	ret_rounds->options.load = *load;
	ret_rounds->options.seed = seed;
	ret_rounds->options.slice_requests = load->requests;
	ret_rounds->options.slice_ns = load->duration_ns;
	ret_rounds->done = 1;
	ret_rounds->slices = 1;
	ret_rounds->half_width = NAN;
	ret_rounds->elapsed_ns = cell->total->elapsed_ns;
	if (cell->total->interrupted) {
		ret_rounds->end = ROUNDS_INTERRUPTED;
		(void)snprintf(ret_rounds->not_reached, sizeof(ret_rounds->not_reached),
			       "Interrupted: this is what was measured until then.");
	}
}
