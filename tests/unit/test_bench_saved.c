/* SPDX-License-Identifier: BSD-2-Clause */
/* Saved runs: what is read, what is refused, and what two of them tell. */

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

#include "bench/compare/diff.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROUNDS	     15
#define MIDDLE	     7 /* of the rounds, from 0 */

static char path[2][64];

static int make_paths(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		int fd;

		(void)strcpy(path[i], "/tmp/test_bench_saved.XXXXXX");
		fd = mkstemp(path[i]);
		assert_true(fd != -1);
		(void)close(fd);
	}
	return 0;
}

static int remove_paths(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		(void)unlink(path[i]);
	return 0;
}

static void write_text(const char *file, const char *text)
{
	FILE *out = fopen(file, "we");

	assert_non_null(out);
	(void)fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
		{"", "it is no JSON: line 1"},
		{"{\"schema\":", "it is no JSON: line 1"},
		{"[]", "\"schema\" is missing"},
		{"{\"a\":1}", "\"schema\" is missing"},
		{"{\"schema\":\"other\"}", "\"schema\" is \"other\"; accepted is \"berth-bench\""},
		{"{\"schema\":\"berth-bench\"}", "\"schema_version\" is missing"},
		{"{\"schema\":\"berth-bench\",\"schema_version\":99}",
		 "\"schema_version\" is 99; accepted is 1"},
		{"{\"schema\":\"berth-bench\",\"schema_version\":1,\"floor\":{}}",
		 "\"cells\" is missing"},
		{"{\"schema\":\"berth-bench\",\"schema_version\":1,\"cells\":[7]}",
		 "\"cells[0].name\" is missing"},
		{"{\"schema\":\"berth-bench\",\"schema_version\":1,"
		 "\"cells\":[{\"name\":\"x\",\"target\":\"t\"}]}",
		 "\"cells[0].rounds\" is missing"},
		{"{\"schema\":\"berth-bench\",\"schema_version\":1,"
		 "\"cells\":[{\"name\":\"x\",\"target\":\"t\",\"rounds\":[{}]}]}",
		 "\"cells[0].rounds[0].p50_us\" is missing"},
	};
	static struct saved saved;
	char error[400];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		write_text(path[0], rows[i].text);
		assert_int_equal(saved_read(path[0], &saved, error, sizeof(error)), -EINVAL);
		if (!strstr(error, rows[i].says) || !strstr(error, path[0]))
			fail_msg("row %zu says \"%s\", not \"%s\"", i, error, rows[i].says);
	}
	assert_int_equal(saved_read("/there/is/no.json", &saved, error, sizeof(error)), -ENOENT);
}

/*
 * A run with a cell and its control. Times of its rounds are around @us, one by one farther from
 * that by 0.1 %.
 */
static void write_run(const char *file, double us, double noise, const char *placement,
		      const char *kernel)
{
	FILE *out = fopen(file, "we");

	assert_non_null(out);
	(void)fprintf(out,
		      "{\"schema\":\"berth-bench\",\"schema_version\":1,\"command\":\"c\","
		      "\"program_version\":\"1\",\"placement\":{\"mode\":\"%s\"},"
		      "\"environment\":{\"kernel\":\"%s\",\"seed\":\"5\"},"
		      "\"options\":{\"seed\":\"5\",\"threads\":1,\"nodelay\":false},\"cells\":[",
		      placement, kernel);
	for (int cell = 0; cell < 2; cell++) {
		(void)fprintf(out,
			      "%s{\"name\":\"unix kept c=1 100 B\",\"target\":\"php\","
			      "\"control\":%s,\"keep\":true,\"connections\":1,\"rounds\":[",
			      cell > 0 ? "," : "", cell > 0 ? "true" : "false");
		for (int i = 0; i < ROUNDS; i++)
			(void)fprintf(out, "%s{\"p50_us\":%.6f}", i > 0 ? "," : "",
				      us * (1 + 0.001 * (i - MIDDLE)));
		(void)fputs("]}", out);
	}
	(void)fprintf(out,
		      "],\"comparisons\":[{\"kind\":\"control\",\"a\":1,\"b\":0,\"noise\":%.4f}]}",
		      noise);
	assert_int_equal(fclose(out), 0);
}

static void read_both(struct saved *saved)
{
	char error[400] = "";

	for (int i = 0; i < 2; i++) {
		if (saved_read(path[i], &saved[i], error, sizeof(error)) < 0)
			fail_msg("%s", error);
	}
}

static void test_verdicts(void **state)
{
	static const struct {
		double first, second, noise[2];
		enum statistics_verdict verdict;
		const char *says;
	} rows[] = {
		{100, 50, {0.01, 0.01}, VERDICT_FASTER, "the second run is 2.000x ["},
		{50, 100, {0.01, 0.01}, VERDICT_SLOWER, "the first run is 2.000x ["},
		{100, 100, {0.01, 0.01}, VERDICT_SAME, "no difference above 3.0 %"},
		/* Finer than the noise of either run is nothing. */
		{100, 80, {0.01, 0.40}, VERDICT_UNKNOWN, "while the noise is 40 %"},
		{100, 80, {0.40, 0.01}, VERDICT_UNKNOWN, "while the noise is 40 %"},
		{100, 80, {0.01, 0.01}, VERDICT_FASTER, "the second run is 1.250x ["},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		static struct saved saved[2];
		static struct diff diff;

		write_run(path[0], rows[i].first, rows[i].noise[0], "same", "6.1");
		write_run(path[1], rows[i].second, rows[i].noise[1], "same", "6.1");
		read_both(saved);
		assert_int_equal(diff_make(&saved[0], &saved[1], 0, &diff), 0);
		/* The control is no cell to be compared. */
		assert_int_equal(diff.cell_count, 1);
		assert_int_equal(diff.fact_count, 0);
		assert_int_equal(diff.cells[0].a->count, ROUNDS);
		if (diff.cells[0].verdict != rows[i].verdict ||
		    !strstr(diff.cells[0].sentence, rows[i].says))
			fail_msg("row %zu says \"%s\"", i, diff.cells[0].sentence);
		assert_int_equal(diff.refused, rows[i].verdict == VERDICT_UNKNOWN);
		diff_done(&diff);
		saved_done(&saved[0]);
		saved_done(&saved[1]);
	}
}

static void test_differences(void **state)
{
	static struct saved saved[2];
	static struct diff diff;

	(void)state;
	write_run(path[0], 100, 0.01, "same", "6.1");
	write_run(path[1], 50, 0.01, "split", "6.12");
	read_both(saved);
	assert_int_equal(diff_make(&saved[0], &saved[1], 0, &diff), 0);
	assert_int_equal(diff.fact_count, 2);
	assert_string_equal(diff.facts[0].name, "placement");
	assert_string_equal(diff.facts[1].name, "kernel");
	assert_string_equal(diff.facts[1].a, "6.1");
	assert_string_equal(diff.facts[1].b, "6.12");
	/* However clear the figures are. */
	assert_int_equal(diff.cells[0].verdict, VERDICT_FASTER);
	assert_true(diff.refused);
	assert_non_null(strstr(diff.refusal, "placements differ (same, split)"));
	diff_done(&diff);
	/* Without the same cells there is nothing to compare. */
	(void)strcpy(saved[1].cells[0].name, "tcp kept c=1 100 B");
	assert_int_equal(diff_make(&saved[0], &saved[1], 0, &diff), 0);
	assert_int_equal(diff.cell_count, 0);
	assert_int_equal(diff.only_a, 1);
	assert_int_equal(diff.only_b, 1);
	assert_true(diff.refused);
	diff_done(&diff);
	saved_done(&saved[0]);
	saved_done(&saved[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, make_paths, remove_paths),
		cmocka_unit_test_setup_teardown(test_verdicts, make_paths, remove_paths),
		cmocka_unit_test_setup_teardown(test_differences, make_paths, remove_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
