/* SPDX-License-Identifier: BSD-2-Clause */
/* Intervals, ratios, tests and verdicts against values known from tables. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/compare/statistics.h"

#define CLOSE(seen, wanted, within) assert_true(fabs((seen) - (wanted)) <= (within))

static void test_median(void **state)
{
	const double odd[] = {9, 1, 5};
	const double even[] = {4, 1, 3, 2};

	(void)state;
	CLOSE(statistics_median(odd, 3), 5, 0);
	CLOSE(statistics_median(even, 4), 2.5, 0);
	CLOSE(statistics_median(even, 1), 4, 0);
}

/* The ranks and coverages of the binomial distribution's table. */
static void test_interval_ranks(void **state)
{
	static const struct {
		size_t count;
		double low;
		double high;
		double coverage;
	} rows[] = {
		{6, 1, 6, 0.969},   {9, 2, 8, 0.961},	{12, 3, 10, 0.961},  {15, 4, 12, 0.965},
		{20, 6, 15, 0.959}, {25, 8, 18, 0.957}, {31, 10, 22, 0.971},
	};
	double values[31];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct statistics_interval interval;

		/* Downwards, so that the order given does not help. */
		for (size_t j = 0; j < rows[i].count; j++)
			values[j] = (double)(rows[i].count - j);
		interval = statistics_median_interval(values, rows[i].count);
		CLOSE(interval.low, rows[i].low, 0);
		CLOSE(interval.high, rows[i].high, 0);
		CLOSE(interval.coverage, rows[i].coverage, 0.0005);
		CLOSE(interval.median, ((double)rows[i].count + 1) / 2, 0);
	}
}

static void test_interval_too_few(void **state)
{
	const double values[] = {3, 1, 2, 5, 4};

	(void)state;
	for (size_t count = 1; count <= 5; count++) {
		const struct statistics_interval interval =
			statistics_median_interval(values, count);

		CLOSE(interval.coverage, 0, 0);
		CLOSE(interval.low, count == 1 ? 3 : 1, 0);
		CLOSE(interval.high, count >= 4 ? 5 : 3, 0);
	}
}

/* Values of a lopsided distribution with the median @median. */
static double skewed(struct rng *rng, double median)
{
	return median * exp(rng_exponential(rng, 1) - log(2));
}

static void test_interval_covers(void **state)
{
	const double median = 37;
	const size_t counts[] = {6, 15, 31};

	(void)state;
	for (size_t c = 0; c < 3; c++) {
		struct rng rng = rng_seed(c + 1);
		unsigned int covered = 0;

		for (int run = 0; run < 4000; run++) {
			struct statistics_interval interval;
			double values[31];

			for (size_t i = 0; i < counts[c]; i++)
				values[i] = skewed(&rng, median);
			interval = statistics_median_interval(values, counts[c]);
			covered += interval.low <= median && median <= interval.high;
		}
		assert_in_range(covered, 3720, 3960); /* 93 % to 99 % */
	}
}

/* What both cells of a round share cancels out, however large it is. */
static void test_ratio_is_paired(void **state)
{
	struct rng rng = rng_seed(5);
	struct statistics_interval paired;
	struct statistics_interval bootstrap;
	double a[15];
	double b[15];

	(void)state;
	for (size_t i = 0; i < 15; i++) {
		const double drift = skewed(&rng, 1) * (double)(i + 1);

		a[i] = 2 * drift * (1 + 0.001 * (double)(i % 3));
		b[i] = drift;
	}
	paired = statistics_ratio(a, b, 15);
	CLOSE(paired.median, 2.002, 0.0001);
	assert_true(paired.low >= 2 - 1e-9 && paired.high <= 2.004 + 1e-9);
	bootstrap = statistics_ratio_bootstrap(a, b, 15, &rng);
	CLOSE(bootstrap.median, paired.median, 1e-9);
	assert_true(bootstrap.low >= paired.low - 1e-9 && bootstrap.high <= paired.high + 1e-9);
}

static void test_bootstrap_covers(void **state)
{
	struct rng rng = rng_seed(8);
	unsigned int covered = 0;

	(void)state;
	for (int run = 0; run < 60; run++) {
		struct statistics_interval interval;
		double a[15];
		double b[15];

		for (size_t i = 0; i < 15; i++) {
			a[i] = skewed(&rng, 3);
			b[i] = 1;
		}
		interval = statistics_ratio_bootstrap(a, b, 15, &rng);
		assert_true(interval.low <= interval.median && interval.median <= interval.high);
		covered += interval.low <= 3 && 3 <= interval.high;
	}
	assert_in_range(covered, 51, 60);
}

static void test_bootstrap_repeats(void **state)
{
	const double a[] = {1, 2, 3, 4, 5, 6, 7};
	const double b[] = {1, 1, 1, 1, 1, 1, 1};
	struct rng one = rng_seed(3);
	struct rng two = rng_seed(3);
	const struct statistics_interval first = statistics_ratio_bootstrap(a, b, 7, &one);
	const struct statistics_interval second = statistics_ratio_bootstrap(a, b, 7, &two);

	(void)state;
	CLOSE(first.low, second.low, 0);
	CLOSE(first.high, second.high, 0);
	CLOSE(first.coverage, 0.95, 0);
}

static void test_trend(void **state)
{
	const double rising[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	const double flat[] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
	const double wild[] = {5, 1, 9, 2, 8, 3, 7, 4, 6, 5};
	/* S = 9 - 1 = 8, variance 16.667: z = 7 / 4.082, p = 0.0864 */
	const double nearly[] = {1, 2, 3, 5, 4};

	(void)state;
	/* S = 45, variance 125: z = 44 / 11.18 = 3.935 */
	CLOSE(statistics_trend(rising, 10), 8.3e-5, 1e-6);
	CLOSE(statistics_trend(flat, 10), 1, 0);
	assert_true(statistics_trend(wild, 10) > 0.5);
	CLOSE(statistics_trend(nearly, 5), 0.0864, 0.0005);
	CLOSE(statistics_trend(rising, 3), 1, 0);
}

static void test_shift(void **state)
{
	const double a[] = {20, 22, 24, 26, 28, 30};
	const double b[] = {10, 11, 12, 13, 14, 15};
	double p;

	(void)state;
	CLOSE(statistics_shift(a, 6, b, 6, &p), 2, 0.001);
	/* U = 36 of 36, variance 39: z = 17.5 / 6.245 = 2.802 */
	CLOSE(p, 0.00507, 0.00005);
	CLOSE(statistics_shift(a, 6, a, 6, &p), 1, 1e-9);
	CLOSE(p, 1, 0);
	CLOSE(statistics_shift(b, 1, a, 1, &p), 0.5, 1e-9);
	assert_true(p > 0.3);
}

/* For 6 and 6 values the 6th smallest of 36 differences: 5 is the table's critical value of U. */
static void test_shift_interval_exact(void **state)
{
	const double three[] = {1, 2, 3};
	double a[6], ones[6];
	struct statistics_interval interval;

	(void)state;
	for (int i = 0; i < 6; i++) {
		a[i] = exp(i);
		ones[i] = exp(10.0 * i);
	}
	interval = statistics_shift_interval(a, 6, ones, 6);
	/* Differences i - 10 j: 6 smallest are -50 ... -45. */
	CLOSE(log(interval.low), -45, 1e-9);
	CLOSE(log(interval.high), 0, 1e-9);
	CLOSE(interval.coverage, 1 - 2 * 19.0 / 924, 1e-9);
	interval = statistics_shift_interval(three, 3, three, 3);
	CLOSE(interval.coverage, 0, 0);
	CLOSE(interval.low, 1.0 / 3, 1e-9);
	CLOSE(interval.high, 3, 1e-9);
}

static void test_shift_interval_covers(void **state)
{
	struct rng rng = rng_seed(3);
	unsigned int covered = 0;

	(void)state;
	for (int run = 0; run < 1000; run++) {
		struct statistics_interval interval;
		double a[15], b[31];

		for (size_t i = 0; i < 15; i++)
			a[i] = skewed(&rng, 3);
		for (size_t i = 0; i < 31; i++)
			b[i] = skewed(&rng, 2);
		interval = statistics_shift_interval(a, 15, b, 31);
		covered += interval.low <= 1.5 && 1.5 <= interval.high;
	}
	assert_in_range(covered, 930, 975);
}

static void test_shift_equal_values(void **state)
{
	const double ones[] = {1, 1, 1, 1};
	double p = 0;

	(void)state;
	CLOSE(statistics_shift(ones, 4, ones, 4, &p), 1, 0);
	CLOSE(p, 1, 0);
}

static void test_judge(void **state)
{
	static const struct {
		double low;
		double high;
		double control_low;
		double control_high;
		enum statistics_verdict wanted;
	} rows[] = {
		{2.03, 2.06, 0.997, 1.003, VERDICT_FASTER},
		{0.48, 0.50, 0.997, 1.003, VERDICT_SLOWER},
		{0.99, 1.01, 0.997, 1.003, VERDICT_SAME},
		/* A difference that is sure, but does not matter. */
		{1.008, 1.012, 0.999, 1.001, VERDICT_SAME},
		/* Within the difference that does not matter, but the noise is not. */
		{0.99, 1.01, 0.88, 1.10, VERDICT_UNKNOWN},
		/* The interval holds 1. */
		{0.90, 1.20, 0.99, 1.01, VERDICT_UNKNOWN},
		/* It does not, but the control got as far. */
		{1.05, 1.20, 0.99, 1.06, VERDICT_UNKNOWN},
		{1.07, 1.20, 0.99, 1.06, VERDICT_FASTER},
		/* Downwards the control's distance counts as well: 1 / 0.9 = 1.11. */
		{1.07, 1.20, 0.90, 1.01, VERDICT_UNKNOWN},
		{0.85, 0.92, 0.99, 1.06, VERDICT_SLOWER},
		{0.85, 0.95, 0.99, 1.06, VERDICT_UNKNOWN},
		/* A control that excludes 1 is noise like any other. */
		{1.05, 1.20, 1.04, 1.06, VERDICT_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct statistics_interval ratio = {
			.low = rows[i].low, .high = rows[i].high, .coverage = 0.96};
		const struct statistics_interval control = {
			.low = rows[i].control_low, .high = rows[i].control_high, .coverage = 0.96};

		assert_int_equal(statistics_judge(&ratio, &control, 0.03), rows[i].wanted);
	}
}

static void test_judge_needs_intervals(void **state)
{
	const struct statistics_interval good = {.low = 2, .high = 3, .coverage = 0.96};
	const struct statistics_interval control = {.low = 1, .high = 1, .coverage = 0.96};
	struct statistics_interval none = good;

	(void)state;
	none.coverage = 0;
	assert_int_equal(statistics_judge(&good, &control, 0.03), VERDICT_FASTER);
	assert_int_equal(statistics_judge(&none, &control, 0.03), VERDICT_UNKNOWN);
	assert_int_equal(statistics_judge(&good, &none, 0.03), VERDICT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),
		cmocka_unit_test(test_interval_ranks),
		cmocka_unit_test(test_interval_too_few),
		cmocka_unit_test(test_interval_covers),
		cmocka_unit_test(test_ratio_is_paired),
		cmocka_unit_test(test_bootstrap_covers),
		cmocka_unit_test(test_bootstrap_repeats),
		cmocka_unit_test(test_trend),
		cmocka_unit_test(test_shift),
		cmocka_unit_test(test_shift_interval_exact),
		cmocka_unit_test(test_shift_interval_covers),
		cmocka_unit_test(test_shift_equal_values),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_judge_needs_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
