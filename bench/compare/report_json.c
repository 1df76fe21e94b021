/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for programs. docs/berth-bench-json.md describes every key. */

#include "report_json.h"

#include "report_internal.h"

#include <errno.h>
#include <math.h>

static const char *const ends[] = {
	[ROUNDS_PRECISE] = "precise", [ROUNDS_MAXIMUM] = "maximum",
	[ROUNDS_BUDGET] = "budget",   [ROUNDS_INTERRUPTED] = "interrupted",
	[ROUNDS_DEAD] = "dead",
};

static const char *const arrivals[] = {
	[LOAD_CLOSED] = "closed", [LOAD_POISSON] = "poisson", [LOAD_CONSTANT] = "constant"};

static const char *const placements[] = {[PLACEMENT_DEFAULT] = "default",
					 [PLACEMENT_SAME] = "same",
					 [PLACEMENT_SPLIT] = "split",
					 [PLACEMENT_FREE] = "free"};

json_t *report_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *report_json_integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *report_json_text(const char *text)
{
	json_t *string = json_string(text);
	char plain[512];
	size_t i = 0;

	if (string != NULL || text == NULL)
		return string != NULL ? string : json_null();
	for (; i < sizeof(plain) - 1 && text[i] != '\0'; i++)
		plain[i] = (text[i] & 0x80) == 0 ? text[i] : '?';
	plain[i] = '\0';
	return json_string(plain);
}

json_t *report_json_interval(const struct statistics_interval *interval)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "median", report_json_number(interval->median),
			 "low", report_json_number(interval->low), "high",
			 report_json_number(interval->high), "coverage",
			 report_json_number(interval->coverage));
}

static json_t *make_environment(const struct environment *environment)
{
	json_t *facts = json_object();

	for (size_t i = 0; i < environment->count; i++)
		(void)json_object_set_new(facts, environment->fact[i].name,
					  report_json_text(environment->fact[i].value));
	return facts;
}

static json_t *make_options(const struct rounds_options *options)
{
	char seed[24];

	/* A string, as many readers of JSON keep 53 bits of a number. */
	(void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)options->seed);
	return json_pack(
		"{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:i, s:s, s:o, s:b, s:b, s:o, s:b, s:i}",
		"seed", seed, "rounds", (int)options->rounds, "rounds_max",
		(int)options->rounds_max, "precision", report_json_number(options->precision),
		"budget_s", report_json_number((double)options->budget_ns / 1e9), "slice_requests",
		report_json_integer(options->slice_requests), "slice_s",
		report_json_number((double)options->slice_ns / 1e9), "slice_least_s",
		report_json_number((double)options->slice_least_ns / 1e9), "threads",
		(int)(options->load.threads > 0 ? options->load.threads : 1), "arrivals",
		arrivals[options->load.arrivals], "rate", report_json_number(options->load.rate),
		"nodelay", (int)options->load.nodelay, "quickack", (int)options->load.quickack,
		"timeout_s", report_json_number((double)options->load.timeout_ns / 1e9),
		"retry_dirty", (int)options->retry_dirty, "restart_every",
		(int)options->restart_every);
}

static json_t *make_run(const struct rounds *rounds)
{
	return json_pack("{s:i, s:b, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:o}", "rounds_done",
			 (int)rounds->done, "partial", (int)rounds->partial, "end",
			 ends[rounds->end], "half_width", report_json_number(rounds->half_width),
			 "elapsed_s", report_json_number((double)rounds->elapsed_ns / 1e9),
			 "slices", (int)rounds->slices, "dirty_slices", (int)rounds->dirty,
			 "extra_rounds", (int)rounds->extra, "retried_slices", (int)rounds->retried,
			 "restarts", (int)rounds->restarts, "not_reached",
			 report_json_text(rounds->not_reached));
}

static json_t *make_floor_line(const struct floor_result *floor, enum floor_kind kind)
{
	const struct floor_line *line = &floor->line[kind];
	json_t *samples = json_array();

	for (unsigned int i = 0; i < floor->rounds; i++) {
		const struct floor_sample *sample = &line->samples[i];

		(void)json_array_append_new(
			samples,
			json_pack("{s:o, s:o, s:o, s:o}", "trips",
				  report_json_integer(sample->trips), "rtt_us",
				  report_json_number(sample->rtt_us), "client_cpu_us",
				  report_json_number(sample->client_cpu_us), "server_cpu_us",
				  report_json_number(sample->server_cpu_us)));
	}
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", floor_kind_name(kind), "rtt_us",
			 report_json_interval(&line->rtt_us), "client_cpu_us",
			 report_json_interval(&line->client_cpu_us), "server_cpu_us",
			 report_json_interval(&line->server_cpu_us), "samples", samples);
}

static json_t *make_floor(const struct floor_result *floor)
{
	json_t *kinds = json_array();

	for (unsigned int i = 0; i < FLOOR_KINDS; i++)
		(void)json_array_append_new(kinds, make_floor_line(floor, (enum floor_kind)i));
	return json_pack("{s:o, s:o, s:i, s:o}", "request_bytes",
			 report_json_integer(floor->request_bytes), "answer_bytes",
			 report_json_integer(floor->answer_bytes), "rounds", (int)floor->rounds,
			 "kinds", kinds);
}

static json_t *make_requirements(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->requirement_count; i++) {
		for (size_t j = 0; j < report->rounds->cell_count; j++) {
			const struct cell *cell = &report->rounds->cells[j];
			char seen[200];
			bool holds;

			if (cell->control)
				continue;
			holds = requirement_holds(&report->requirements[i], cell, seen,
						  sizeof(seen));
			(void)json_array_append_new(list,
						    json_pack("{s:s, s:I, s:b, s:o}", "text",
							      report->requirements[i].text, "cell",
							      (json_int_t)j, "holds", (int)holds,
							      "seen", report_json_text(seen)));
		}
	}
	return list;
}

static void add_measured(json_t *root, const struct report *report)
{
	const struct rounds *rounds = report->rounds;

	(void)json_object_set_new(root, "options", make_options(&rounds->options));
	(void)json_object_set_new(root, "run", make_run(rounds));
	(void)json_object_set_new(root, "cells", report_json_cells(rounds));
	if (report->verdicts != NULL) {
		(void)json_object_set_new(root, "comparisons",
					  report_json_comparisons(rounds, report->verdicts));
		(void)json_object_set_new(root, "verdicts", report_json_verdicts(report->verdicts));
	}
	(void)json_object_set_new(root, "requirements", make_requirements(report));
}

int report_json(FILE *out, const struct report *report)
{
	json_t *root = json_pack("{s:s, s:i, s:s, s:o}", "schema", "berth-bench", "schema_version",
				 REPORT_SCHEMA_VERSION, "program_version", BERTH_VERSION, "command",
				 report_json_text(report->command));
	int status = 0;

	if (root == NULL)
		return -ENOMEM;
	if (report->environment != NULL)
		(void)json_object_set_new(root, "environment",
					  make_environment(report->environment));
	if (report->placement != NULL)
		(void)json_object_set_new(root, "placement",
					  json_pack("{s:s, s:s}", "mode",
						    placements[report->placement->placement],
						    "text", report->placement->text));
	if (report->rounds != NULL)
		add_measured(root, report);
	if (report->ramp != NULL)
		(void)json_object_set_new(root, "ramp", report_json_ramp(report->ramp));
	if (report->diff != NULL)
		(void)json_object_set_new(root, "diff", report_json_diff(report->diff));
	if (report->floor != NULL)
		(void)json_object_set_new(root, "floor", make_floor(report->floor));
	errno = 0;
	if (json_dumpf(root, out, JSON_COMPACT | JSON_REAL_PRECISION(10)) == -1)
		status = errno != 0 ? -errno : -EIO;
	json_decref(root);
	if (status == 0) {
		(void)fputc('\n', out);
		status = report_finish(out);
	}
	return status;
}
