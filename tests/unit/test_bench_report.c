/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports: 80 columns, JSON that is what its page says, CSV, and what can't be written. */

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bench/compare/diff.h"
#include "bench/compare/ramp.h"
#include "bench/compare/report.h"
#include "compare_fixture.h"

/* What a full report is made of. */
struct full {
	struct compare_fixture *fixture;
	struct verdicts verdicts;
	struct environment environment;
	struct placement_plan plan;
	struct floor_result floor;
	struct requirement requirements[2];
	struct report report;
};

static void make_floor(struct floor_result *floor)
{
	floor->rounds = 6;
	floor->request_bytes = 650;
	floor->answer_bytes = 164;
	for (size_t kind = 0; kind < FLOOR_KINDS; kind++) {
		struct floor_line *line = &floor->line[kind];

		for (size_t i = 0; i < 6; i++)
			line->samples[i] =
				(struct floor_sample){.trips = 1000 + i,
						      .rtt_us = (double)(10 * (kind + 1)),
						      .client_cpu_us = 5,
						      .server_cpu_us = 4};
		line->rtt_us = (struct statistics_interval){.median = (double)(10 * (kind + 1)),
							    .low = 9,
							    .high = 51,
							    .coverage = 0.97};
	}
}

static struct full *make_full(void)
{
	struct full *full = calloc(1, sizeof(*full));
	struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
	struct cell *cells;
	char error[200];

	assert_non_null(full);
	assert_non_null(endpoint);
	full->fixture = fixture_make(15, 2.05, 0.003);
	cells = full->fixture->cells;
	(void)strcpy(endpoint->text, "/tmp/berth-bench/php-1.sock");
	full->fixture->target.endpoints = endpoint;
	full->fixture->target.endpoint_count = 1;
	/* All that a report may have to tell. */
	failures_add(&cells[0].total->failures, FAILURE_EAGAIN, 520000000, 3000);
	failures_add(&cells[0].total->failures, FAILURE_EAGAIN, 14200000000, 3000);
	failures_add(&cells[2].total->failures, FAILURE_CONNECT_TIMEOUT, 1000000000, 3000000000);
	for (int i = 0; i < 500; i++) {
		histogram_add(&cells[5].total->service, 44000000);
		histogram_add(&cells[5].total->response, 44100000);
		histogram_add(&cells[5].total->connect, 9000);
		histogram_add(&cells[5].total->send_lag, 1000);
		histogram_add(&cells[2].total->close_lag, 2000);
	}
	cells[0].ceiling = 30000;
	cells[5].ceiling = 1000000;
	for (size_t i = 0; i < 15; i++)
		cells[2].rounds[i].server_cpu_us = NAN;
	(void)strcpy(full->fixture->rounds.not_reached, "The time budget of 110 s ended");
	assert_int_equal(verdicts_make(&full->fixture->rounds, 0, &full->verdicts), 0);
	environment_add(&full->environment, "kernel", "Linux 6.18 %s",
			"of a long long name, which fills "
			"more than one line of a table that has eighty columns and no more");
	environment_add(&full->environment, "somaxconn", "4096");
	environment_add(&full->environment, "governor", "unknown");
	environment_add(&full->environment, "loopback_mtu", "65536");
	assert_int_equal(placement_plan(PLACEMENT_SAME, 1, &full->plan), 0);
	make_floor(&full->floor);
	assert_int_equal(requirement_parse("p99<5ms", &full->requirements[0], error, sizeof(error)),
			 0);
	assert_int_equal(
		requirement_parse("failures=0", &full->requirements[1], error, sizeof(error)), 0);
	full->report = (struct report){.command = "berth-bench compare --json=out.json",
				       .environment = &full->environment,
				       .placement = &full->plan,
				       .rounds = &full->fixture->rounds,
				       .verdicts = &full->verdicts,
				       .floor = &full->floor,
				       .requirements = full->requirements,
				       .requirement_count = 2};
	return full;
}

static void free_full(struct full *full)
{
	free(full->fixture->target.endpoints);
	verdicts_done(&full->verdicts);
	fixture_free(full->fixture);
	free(full);
}

typedef int (*report_fn)(FILE *out, const struct report *report);

static char *write_report(report_fn write, const struct report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(write(out, report), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_narrow(const char *text)
{
	while (*text != '\0') {
		const size_t length = strcspn(text, "\n");

		if (length > REPORT_WIDTH)
			fail_msg("%zu columns: %.*s", length, (int)length, text);
		assert_true(length == 0 || text[length - 1] != ' ');
		text += length + (text[length] == '\n');
	}
}

static void assert_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (at == NULL || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no such line: %s", line);
}

static void test_table(void **state)
{
	struct full *full = make_full();
	char *text = write_report(report_table, &full->report);

	(void)state;
	assert_narrow(text);
	assert_line(text, "berth-bench compare --json=out.json");
	assert_line(text, "  somaxconn       4096                  loopback_mtu    65536");
	assert_line(text,
		    "  unix new c=1 100 B against itself: 1.003x [0.997, 1.003], noise 0.30 %");
	assert_line(
		text,
		"Median over rounds        answers/s       p50       p99      CPU  failed xfloor");
	assert_line(
		text,
		"  unix new c=1 100 B         16,835   59.4 us  64.8 us*  20.0 us       2   1.49");
	assert_line(
		text,
		"  tcp new c=1 100 B           8,212    122 us   133 us*        -       1   2.44");
	assert_line(text,
		    "  unix  eagain                      2   0.01 %       520 ms       14.2 s");
	assert_line(text,
		    "  tcp   connect_timeout             1   0.01 %       1.00 s       1.00 s");
	assert_line(text, "- unix is 2.050x [2.050, 2.050] faster than tcp (new connections, c=1,");
	assert_line(text, "- The time budget of 110 s ended.");
	assert_line(text, "  MISSED  unix new c=1 100 B: 2 (required: failures=0)");
	assert_null(strstr(text, "governor"));
	/* Controls are in the control's section alone. */
	assert_non_null(strstr(text, "tcp kept c=1 100 B (php-cgi (berth)): 10 % of the answers"));
	free(text);
	free_full(full);
}

static void test_table_of_a_run(void **state)
{
	struct full *full = make_full();
	struct load_options load = {.arrivals = LOAD_POISSON, .rate = 12345, .requests = 300};
	struct report report = {.rounds = &full->fixture->rounds};
	char *text;

	(void)state;
	report_wrap_run(&full->fixture->cells[5], &load, 7, &full->fixture->rounds);
	text = write_report(report_table, &report);
	assert_narrow(text);
	assert_line(text, "  measured        open loop, 12,345/s, Poisson, seed 7");
	assert_line(
		text,
		"  response        44.1 ms    44.1 ms    44.1 ms    44.1 ms    44.1 ms    44.1 ms");
	assert_line(text, "No request failed.");
	assert_non_null(strstr(text, "Open loop:"));
	free(text);
	load.arrivals = LOAD_CLOSED;
	report_wrap_run(&full->fixture->cells[5], &load, 7, &full->fixture->rounds);
	text = write_report(report_table, &report);
	assert_narrow(text);
	assert_non_null(strstr(text, "Closed loop:"));
	free(text);
	free_full(full);
}

static void test_nothing_was_measured(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	struct verdicts verdicts;
	struct report report = {.rounds = &fixture->rounds, .verdicts = &verdicts};
	char *text;

	(void)state;
	assert_int_equal(verdicts_make(&fixture->rounds, 0, &verdicts), 0);
	text = write_report(report_table, &report);
	assert_narrow(text);
	assert_line(
		text,
		"  unix new c=1 100 B              -         -         -        -       0      -");
	assert_null(strstr(text, "nan"));
	free(text);
	text = write_report(report_json, &report);
	json_decref(json_loads(text, 0, NULL));
	assert_null(strstr(text, "nan"));
	free(text);
	verdicts_done(&verdicts);
	fixture_free(fixture);
}

static void test_floor(void **state)
{
	struct full *full = make_full();
	const struct report report = {.floor = &full->floor};
	char *text = write_report(report_floor, &report);

	(void)state;
	assert_narrow(text);
	assert_line(text,
		    "tcp kept       30.00 [9.0, 51.0]            0.00       0.00         1.50");
	free(text);
	text = write_report(report_csv, &report);
	assert_line(text, "\"unix new\",6,1005,40,5,4");
	free(text);
	free_full(full);
}

static void test_csv(void **state)
{
	struct full *full = make_full();
	char *text;
	size_t lines = 0;
	size_t commas = 0;

	(void)state;
	(void)strcpy(full->fixture->target.name, "a \"b\", c");
	text = write_report(report_csv, &full->report);
	for (const char *at = text; *at != '\0'; at++) {
		lines += *at == '\n';
		commas += *at == ',';
	}
	assert_int_equal(lines, 1 + 15 * FIXTURE_CELLS);
	/* 23 columns; the name of the target has another one. */
	assert_int_equal(commas, 22 + 15 * FIXTURE_CELLS * 23);
	assert_non_null(strstr(
		text, "\"unix new c=1 100 B\",\"a \"\"b\"\", c\",unix,0,1,100,0,1,0,0,0,0,"));
	assert_null(strstr(text, "nan"));
	free(text);
	free_full(full);
}

/* Files that take nothing. */
static void test_full_disk(void **state)
{
	static const report_fn reports[] = {report_table, report_json, report_csv, report_floor};
	struct full *full = make_full();

	(void)state;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		FILE *out = fopen("/dev/full", "we");

		assert_non_null(out);
		assert_true(reports[i](out, &full->report) < 0);
		(void)fclose(out);
		/* The last byte alone fails as well. */
		out = fopen("/dev/full", "we");
		assert_non_null(out);
		(void)setvbuf(out, NULL, _IOFBF, 1 << 22);
		assert_int_equal(reports[i](out, &full->report), -ENOSPC);
		(void)fclose(out);
	}
	free_full(full);
}

static char *read_page(void)
{
	char *text = calloc(1, 65536);
	FILE *page = fopen(BENCH_JSON_PAGE, "re");

	assert_non_null(page);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, page) > 0);
	(void)fclose(page);
	return text;
}

static void assert_documented(const char *page, const char *key)
{
	char quoted[80];

	(void)snprintf(quoted, sizeof(quoted), "`%s`", key);
	if (strstr(page, quoted) == NULL)
		fail_msg("the page does not have %s", quoted);
}

/* Each key of a document, but for the names of facts, is on the page. */
static void check_keys(const char *page, json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_array(value)) {
		json_array_foreach(value, i, item) check_keys(page, item);
		return;
	}
	json_object_foreach(value, key, item)
	{
		assert_documented(page, key);
		if (strcmp(key, "environment") != 0)
			check_keys(page, item);
	}
}

static bool has_key(json_t *value, const char *wanted)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_array(value)) {
		json_array_foreach(value, i, item)
		{
			if (has_key(item, wanted))
				return true;
		}
		return false;
	}
	json_object_foreach(value, key, item)
	{
		if (strcmp(key, wanted) == 0 || has_key(item, wanted))
			return true;
	}
	return false;
}

/* Each key in the first column of the page's tables is in the document. */
static void check_page(const char *page, json_t *root)
{
	const char *line = page;
	unsigned int keys = 0;

	while ((line = strstr(line, "\n| `")) != NULL) {
		const char *end = strchr(line + 2, '|');

		for (const char *at = strchr(line, '`'); at != NULL && at < end;) {
			char key[40] = "";
			const char *last = strchr(at + 1, '`');

			(void)snprintf(key, sizeof(key), "%.*s", (int)(last - at - 1), at + 1);
			if (!has_key(root, key))
				fail_msg("the document does not have %s", key);
			keys++;
			at = strchr(last + 1, '`');
		}
		line = end;
	}
	assert_true(keys > 80);
}

/* Two runs with a cell and with facts of their own. */
static void make_diff(struct diff *diff)
{
	static struct saved_cell cells[2];
	static struct saved saved[2];

	for (int i = 0; i < 2; i++) {
		cells[i] = (struct saved_cell){
			.name = "x", .target = "t", .p50_us = {1, 2}, .count = 2, .noise = 0.01};
		saved[i] = (struct saved){.path = "f", .cells = &cells[i], .cell_count = 1};
		(void)snprintf(saved[i].facts[0].name, sizeof(saved[i].facts[0].name), "fact %d",
			       i);
		saved[i].fact_count = 1;
	}
	assert_int_equal(diff_make(&saved[0], &saved[1], 0, diff), 0);
}

/* A target with a bracket and a step. */
static void make_ramp(const struct target *target, struct ramp *ramp)
{
	static struct ramp_target targets[2];

	for (int i = 0; i < 2; i++)
		targets[i] = (struct ramp_target){
			.target = target, .brackets = {{.low = 1, .high = 2}}, .bracket_count = 1};
	ramp->targets = targets;
	ramp->target_count = 2;
	ramp->step_count = 1;
}

static void test_json_is_as_documented(void **state)
{
	static struct diff diff;
	static struct ramp ramp;
	struct full *full = make_full();
	char *page = read_page();
	char *text;
	json_t *root;

	(void)state;
	make_diff(&diff);
	full->report.diff = &diff;
	make_ramp(full->fixture->cells[0].target, &ramp);
	full->report.ramp = &ramp;
	text = write_report(report_json, &full->report);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	check_keys(page, root);
	check_page(page, root);
	assert_int_equal(json_integer_value(json_object_get(root, "schema_version")),
			 REPORT_SCHEMA_VERSION);
	json_decref(root);
	diff_done(&diff);
	free(page);
	free(text);
	free_full(full);
}

/* A histogram can be put together again from its pairs. */
static void test_json_histogram(void **state)
{
	struct full *full = make_full();
	const struct histogram *times = &full->fixture->cells[5].total->service;
	char *text = write_report(report_json, &full->report);
	json_t *root = json_loads(text, 0, NULL);
	json_t *cell = json_array_get(json_object_get(root, "cells"), 5);
	json_t *found = json_object_get(
		json_object_get(json_object_get(cell, "total"), "histograms"), "service");
	uint64_t count = 0;
	json_t *pair;
	size_t i;

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(found, "count")), times->count);
	assert_int_equal(json_integer_value(json_object_get(found, "max_ns")), times->max);
	assert_int_equal(json_integer_value(json_object_get(found, "sum_ns")), times->sum);
	json_array_foreach(json_object_get(found, "buckets"), i, pair)
	{
		const uint64_t low = (uint64_t)json_integer_value(json_array_get(pair, 0));
		const uint64_t values = (uint64_t)json_integer_value(json_array_get(pair, 1));
		size_t bucket = 0;

		while (histogram_bucket_low(bucket) != low)
			bucket++;
		assert_int_equal(times->buckets[bucket], values);
		count += values;
	}
	assert_int_equal(count, times->count);
	json_decref(root);
	free(text);
	free_full(full);
}

/* What is no UTF-8 can't be in JSON, and must not make the document fail. */
static void test_json_odd_bytes(void **state)
{
	struct full *full = make_full();
	char *text;
	json_t *root;

	(void)state;
	full->report.command = "berth-bench run /tmp/\xff\xfe.sock";
	(void)strcpy(full->fixture->cells[0].note, "\xc3");
	text = write_report(report_json, &full->report);
	root = json_loads(text, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(root, "command")),
			    "berth-bench run /tmp/?"
			    "?.sock");
	assert_int_equal(json_array_size(json_object_get(root, "cells")), FIXTURE_CELLS);
	json_decref(root);
	free(text);
	free_full(full);
}

static void test_selftest(void **state)
{
	static struct selftest selftest = {.count = 2, .warnings = 1};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	selftest.checks[0] = (struct selftest_check){SELFTEST_OK, "clock", "fine"};
	selftest.checks[1] = (struct selftest_check){SELFTEST_WARN, "tcp / unix", "2.84"};
	assert_int_equal(report_selftest(out, &selftest), 0);
	(void)fclose(out);
	assert_string_equal(text, "ok    clock: fine\nWARN  tcp / unix: 2.84\n"
				  "2 checks, 1 warnings, 0 failures\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_of_a_run),
		cmocka_unit_test(test_nothing_was_measured),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_json_is_as_documented),
		cmocka_unit_test(test_json_histogram),
		cmocka_unit_test(test_json_odd_bytes),
		cmocka_unit_test(test_selftest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
