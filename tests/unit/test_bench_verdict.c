/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells, pairs, and the sentences that are made of them. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/compare/units.h"
#include "bench/compare/verdict.h"
#include "bench/compare/verdict_internal.h"
#include "compare_fixture.h"

static void test_units(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} times[] = {
		{0, "0 ns"},	      {999, "999 ns"},	     {1000, "1.00 us"},
		{43940, "43.9 us"},   {999400, "999 us"},    {999600, "1.00 ms"},
		{7311000, "7.31 ms"}, {43992000, "44.0 ms"}, {2.05e9, "2.05 s"},
		{9.996e3, "10.0 us"}, {99.96e3, "100 us"},   {7200e9, "7200 s"},
	};
	char text[UNITS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(units_time(text, sizeof(text), times[i].ns), times[i].text);
	assert_string_equal(units_time(text, sizeof(text), NAN), "-");
	assert_string_equal(units_count(text, sizeof(text), 0), "0");
	assert_string_equal(units_count(text, sizeof(text), 999.6), "1,000");
	assert_string_equal(units_count(text, sizeof(text), 1234567), "1,234,567");
	assert_string_equal(units_count(text, sizeof(text), INFINITY), "-");
	assert_string_equal(units_share(text, sizeof(text), 0), "0 %");
	assert_string_equal(units_share(text, sizeof(text), 0.0007), "0.07 %");
	assert_string_equal(units_share(text, sizeof(text), 0.034), "3.4 %");
	assert_string_equal(units_share(text, sizeof(text), 0.12), "12 %");
	assert_string_equal(units_factor(text, sizeof(text), 2.054), "2.05");
	assert_string_equal(units_factor(text, sizeof(text), 1004), "1,004");
}

static void test_cell_figures(void **state)
{
	struct compare_fixture *fixture = fixture_make(3, 2, 0);
	struct cell *cell = &fixture->cells[0];

	(void)state;
	assert_string_equal(cell->name, "unix new c=1 100 B");
	assert_int_equal(cell_rounds(cell), 3);
	assert_int_equal(cell->total->answered, 900);
	assert_float_equal(cell_median(cell, CELL_P50), 54 * 1.05, 0.1);
	assert_float_equal(cell_median(cell, CELL_SERVER_CPU), 20, 1e-9);
	assert_float_equal(cell_median(cell, CELL_CLIENT_CPU), 10, 1e-9);
	assert_float_equal(cell_median(cell, CELL_BOTH_CPU), 30, 1e-9);
	assert_float_equal(cell_median(cell, CELL_SWITCHES), 1, 1e-9);
	/* 300 answers have 30 beyond p90 and 3 beyond p99. */
	assert_false(isnan(cell_median(cell, CELL_P90)));
	assert_true(isnan(cell_median(cell, CELL_P99)));
	fixture_slice(cell, 3, 50000, 1000);
	assert_false(isnan(cell->rounds[3].p99_us));
	assert_true(isnan(cell->rounds[3].p999_us));
	fixture_slice(cell, 4, 50000, 2);
	assert_true(isnan(cell->rounds[4].p50_us));
	assert_true(isnan(cell_figure(&cell->rounds[5], CELL_RATE)));
	fixture_free(fixture);
}

/* CPU of a server that nobody knows is not 0; what was not recorded counts for the server alone. */
static void test_cell_cpu(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	struct cell *cell = &fixture->cells[0];
	static struct load_result result;
	struct usage used = {.cpu_ns = 200000, .processes = 1};

	(void)state;
	result.answered = 50;
	result.elapsed_ns = 1000000;
	result.client_cpu_ns = 500000;
	cell_take(cell, 0, &result, &used, 2, 50);
	assert_float_equal(cell->rounds[0].server_cpu_us, 2, 1e-9);
	assert_float_equal(cell->rounds[0].client_cpu_us, 10, 1e-9);
	assert_float_equal(cell->rounds[0].client_share, 0.25, 1e-9);
	assert_float_equal(cell->rounds[0].rate, 50000, 1e-6);
	used.processes = 0;
	cell_take(cell, 1, &result, &used, 1, 0);
	assert_true(isnan(cell->rounds[1].server_cpu_us));
	assert_true(isnan(cell->rounds[1].switches));
	fixture_free(fixture);
}

static void test_client_bound(void **state)
{
	struct compare_fixture *fixture = fixture_make(6, 2, 0);
	struct cell *cell = &fixture->cells[0];
	const double rate = cell_median(cell, CELL_RATE);

	(void)state;
	assert_false(cell_client_bound(cell));
	cell->ceiling = rate * 1.99;
	assert_true(cell_client_bound(cell));
	cell->ceiling = rate * 2.01;
	assert_false(cell_client_bound(cell));
	fixture_free(fixture);
}

static void assert_pair(const struct pair *pair, enum pair_kind kind, size_t a, size_t b,
			size_t control)
{
	assert_int_equal(pair->kind, kind);
	assert_int_equal(pair->a, a);
	assert_int_equal(pair->b, b);
	assert_int_equal(pair->control, control);
}

static void test_pairs(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	const struct rounds *rounds = &fixture->rounds;

	(void)state;
	assert_int_equal(rounds->pair_count, 6);
	assert_pair(&rounds->pairs[0], PAIR_CONTROL, 1, 0, SIZE_MAX);
	assert_pair(&rounds->pairs[1], PAIR_CONTROL, 4, 3, SIZE_MAX);
	assert_pair(&rounds->pairs[2], PAIR_TRANSPORT, 2, 0, 0);
	assert_pair(&rounds->pairs[3], PAIR_TRANSPORT, 5, 3, 1);
	/* The control of what the pair's second cell is. */
	assert_pair(&rounds->pairs[4], PAIR_KEEP, 3, 0, 0);
	assert_pair(&rounds->pairs[5], PAIR_KEEP, 5, 2, 0);
	fixture_free(fixture);
}

static void test_pairs_of_targets(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	struct target other = fixture->target;
	struct pair pairs[PAIRS_MAX];

	(void)state;
	(void)strcpy(other.name, "php-fpm");
	/* unix new of one, unix new of the other one, tcp new of the other one. */
	fixture->cells[1].control = false;
	fixture->cells[1].target = &other;
	fixture->cells[2].target = &other;
	assert_int_equal(pairs_make(fixture->cells, 3, pairs), 2);
	assert_pair(&pairs[0], PAIR_TARGET, 1, 0, SIZE_MAX);
	assert_pair(&pairs[1], PAIR_TRANSPORT, 2, 1, SIZE_MAX);
	/* Other work is never compared. */
	fixture->cells[1].body_size = 9000;
	fixture->cells[2].connections = 4;
	assert_int_equal(pairs_make(fixture->cells, 3, pairs), 0);
	fixture_free(fixture);
}

static void assert_sentence(const struct compare_fixture *fixture, size_t pair,
			    enum statistics_verdict wanted, const char *sentence)
{
	struct verdicts verdicts;

	assert_int_equal(verdicts_make(&fixture->rounds, 0, &verdicts), 0);
	assert_string_equal(verdicts.list[pair].sentence, sentence);
	assert_int_equal(verdicts.list[pair].verdict, wanted);
	verdicts_done(&verdicts);
}

static void test_sentences(void **state)
{
	struct compare_fixture *fixture = fixture_make(15, 2.05, 0.003);

	(void)state;
	assert_sentence(fixture, 0, VERDICT_UNKNOWN,
			"unix new c=1 100 B against itself: 1.003x [0.997, 1.003], noise 0.30 %");
	assert_sentence(fixture, 2, VERDICT_SLOWER,
			"unix is 2.050x [2.050, 2.050] faster than tcp (new connections, c=1, 100 "
			"bytes)");
	assert_sentence(fixture, 4, VERDICT_FASTER,
			"a kept connection is 1.500x [1.500, 1.500] faster than a new one for each "
			"request (unix, c=1, 100 bytes)");
	fixture_free(fixture);

	fixture = fixture_make(15, 1.01, 0.003);
	assert_sentence(
		fixture, 2, VERDICT_SAME,
		"no difference above 3.0 % between tcp and unix: 0.990x [0.990, 0.990] (new "
		"connections, c=1, 100 bytes)");
	fixture_free(fixture);

	fixture = fixture_make(15, 1.08, 0.12);
	assert_sentence(fixture, 2, VERDICT_UNKNOWN,
			"cannot tell tcp from unix: 0.926x [0.926, 0.926], while the noise is 12 % "
			"(new connections, c=1, 100 bytes)");
	fixture_free(fixture);

	fixture = fixture_make(5, 2.05, 0.003);
	assert_sentence(fixture, 0, VERDICT_UNKNOWN,
			"unix new c=1 100 B against itself: no interval (5 rounds)");
	assert_sentence(fixture, 2, VERDICT_UNKNOWN,
			"cannot tell tcp from unix: 5 rounds have both, 6 are needed (new "
			"connections, c=1, 100 bytes)");
	fixture_free(fixture);
}

/* With several targets each sentence says which one it is about. */
static void test_sentences_of_targets(void **state)
{
	struct compare_fixture *fixture = fixture_make(15, 2.05, 0.003);
	struct target other = fixture->target;

	(void)state;
	(void)strcpy(other.name, "php-fpm");
	fixture->cells[3].target = &other;
	fixture->cells[4].target = &other;
	fixture->cells[5].target = &other;
	fixture->rounds.pair_count =
		pairs_make(fixture->cells, FIXTURE_CELLS, fixture->rounds.pairs);
	assert_sentence(fixture, 1, VERDICT_UNKNOWN,
			"unix kept c=1 100 B, php-fpm against itself: 1.003x [0.997, 1.003], noise "
			"0.30 %");
	assert_sentence(fixture, 3, VERDICT_SLOWER,
			"unix is 2.050x [2.050, 2.050] faster than tcp (kept connections, c=1, 100 "
			"bytes, php-fpm)");
	fixture_free(fixture);
}

/* Turned round, an interval's ends change places. */
static void test_interval_of_a_slower_one(void **state)
{
	struct compare_fixture *fixture = fixture_make(15, 2, 0.003);

	(void)state;
	for (unsigned int i = 0; i < 15; i++)
		fixture->cells[2].rounds[i].p50_us =
			fixture->cells[0].rounds[i].p50_us * (2 + 0.02 * (i % 3));
	assert_sentence(
		fixture, 2, VERDICT_SLOWER,
		"unix is 2.02x [2.00, 2.04] faster than tcp (new connections, c=1, 100 bytes)");
	fixture_free(fixture);
}

static void test_no_answer(void **state)
{
	struct compare_fixture *fixture = fixture_make(15, 2.05, 0.003);

	(void)state;
	memset(fixture->cells[2].rounds, 0, sizeof(fixture->cells[2].rounds));
	memset(fixture->cells[2].total, 0, sizeof(*fixture->cells[2].total));
	assert_sentence(fixture, 2, VERDICT_UNKNOWN,
			"cannot tell tcp from unix: no answer came from tcp (new connections, c=1, "
			"100 bytes)");
	fixture_free(fixture);
}

static bool has(const struct verdicts *verdicts, bool summary, const char *part)
{
	const size_t count = summary ? verdicts->summary_count : verdicts->note_count;

	for (size_t i = 0; i < count; i++) {
		if (strstr(summary ? verdicts->summary[i] : verdicts->notes[i], part) != NULL)
			return true;
	}
	return false;
}

static void test_summary(void **state)
{
	struct compare_fixture *fixture = fixture_make(15, 2, 0.003);
	struct verdicts verdicts;

	(void)state;
	failures_add(&fixture->cells[0].total->failures, FAILURE_EAGAIN, 1, 1);
	fixture->cells[2].steady = false;
	fixture->rounds.dirty = 3;
	assert_int_equal(verdicts_make(&fixture->rounds, 0, &verdicts), 0);
	assert_false(verdicts.refused);
	assert_true(verdicts.control_holds);
	assert_true(has(
		&verdicts, true,
		"With a new connection for each request: unix rather than tcp. It saves 59.4 us "
		"a request: 0.30 % of a page that takes 20 ms."));
	assert_true(has(&verdicts, true, "With kept connections: unix rather than tcp."));
	assert_true(has(&verdicts, true, "Keeping connections saves 19.8 us a request (unix)."));
	assert_true(has(&verdicts, true, "1 request failed over unix"));
	assert_true(has(&verdicts, false, "No steady state was reached in the warm-up: tcp new"));
	assert_true(has(&verdicts, false, "busy with something else in 3 of 90 slices"));
	assert_false(has(&verdicts, false, "drifted"));
	verdicts_done(&verdicts);
	fixture_free(fixture);
}

/* Sizes that were decided stand in the list above; the summary is not to deny it. */
static void test_undecided_in_one_size_only(void **state)
{
	struct compare_fixture *fixture = fixture_make(15, 1, 0.003);
	struct verdict list[PAIRS_MAX] = {{0}};
	struct verdicts verdicts = {.list = list};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		fixture->cells[i].keep = true;
		fixture->cells[i].body_size = 9000;
	}
	fixture->rounds.pair_count =
		pairs_make(fixture->cells, FIXTURE_CELLS, fixture->rounds.pairs);
	for (size_t i = 0; i < fixture->rounds.pair_count; i++)
		list[i].verdict = VERDICT_UNKNOWN;
	verdict_sum_up(&fixture->rounds, &verdicts);
	assert_true(has(&verdicts, true, "can't be told apart by this measurement."));
	verdicts.summary_count = 0;
	for (size_t i = 0; i < fixture->rounds.pair_count; i++) {
		if (fixture->cells[fixture->rounds.pairs[i].a].body_size == 9000)
			list[i].verdict = VERDICT_SAME;
	}
	verdict_sum_up(&fixture->rounds, &verdicts);
	assert_true(has(&verdicts, true,
			"can't be told apart by this measurement with the least work; others are "
			"decided above."));
	fixture_free(fixture);
}

static void test_drift_is_said(void **state)
{
	struct compare_fixture *fixture = fixture_make(15, 2, 0.003);
	struct verdicts verdicts;

	(void)state;
	for (unsigned int i = 0; i < 15; i++)
		fixture->cells[2].rounds[i].p50_us = 100 + i;
	assert_int_equal(verdicts_make(&fixture->rounds, 0, &verdicts), 0);
	assert_true(has(&verdicts, false, "Times drifted from round to round: tcp new c=1 100 B."));
	verdicts_done(&verdicts);
	fixture_free(fixture);
}

static void test_refusal(void **state)
{
	struct compare_fixture *fixture = fixture_make(5, 2, 0.003);
	struct verdicts verdicts;

	(void)state;
	assert_int_equal(verdicts_make(&fixture->rounds, 0, &verdicts), 0);
	assert_true(verdicts.refused);
	assert_false(verdicts.control_holds);
	assert_true(has(&verdicts, true, "No verdict: there are too few rounds."));
	verdicts_done(&verdicts);
	fixture_free(fixture);

	/* Noise that nothing gets out of, not even kept connections. */
	fixture = fixture_make(15, 1.05, 0.6);
	assert_int_equal(verdicts_make(&fixture->rounds, 0, &verdicts), 0);
	assert_true(verdicts.refused);
	assert_true(verdicts.control_holds);
	verdicts_done(&verdicts);
	fixture_free(fixture);
}

/* A control that is always off, if only by a little, does not hold. */
static void test_control_excludes_one(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	struct verdicts verdicts;

	(void)state;
	for (unsigned int round = 0; round < 15; round++) {
		for (size_t i = 0; i < FIXTURE_CELLS; i++)
			fixture_slice(&fixture->cells[i], round, i == 1 ? 51000 : 50000, 300);
	}
	fixture->rounds.done = 15;
	assert_int_equal(verdicts_make(&fixture->rounds, 0, &verdicts), 0);
	assert_false(verdicts.control_holds);
	assert_non_null(strstr(verdicts.list[0].sentence, "it does not contain 1"));
	verdicts_done(&verdicts);
	fixture_free(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_cell_figures),
		cmocka_unit_test(test_cell_cpu),
		cmocka_unit_test(test_client_bound),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_pairs_of_targets),
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_interval_of_a_slower_one),
		cmocka_unit_test(test_sentences_of_targets),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_undecided_in_one_size_only),
		cmocka_unit_test(test_drift_is_said),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_control_excludes_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
