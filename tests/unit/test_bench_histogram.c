/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/histogram.c: borders of the buckets, error of quantiles, merging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/client/histogram.h"
#include "bench/client/rng.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct histogram *new_histogram(void)
{
	struct histogram *histogram = test_calloc(1, sizeof(*histogram));

	assert_non_null(histogram);
	return histogram;
}

static void empty_is_zero(void **state)
{
	struct histogram *histogram = new_histogram();

	(void)state;
	assert_int_equal(histogram_quantile(histogram, 0.5), 0);
	assert_true(histogram_mean(histogram) == 0);
	test_free(histogram);
}

/* Each bucket starts where the one before it ends, and the last one holds the greatest value. */
static void buckets_have_no_gaps(void **state)
{
	struct histogram *histogram = new_histogram();

	(void)state;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		const uint64_t low = histogram_bucket_low(i);

		if (i > 0)
			histogram_add(histogram, low - 1);
		histogram_add(histogram, low);
	}
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		assert_int_equal(histogram->buckets[i], i + 1 < HISTOGRAM_BUCKETS ? 2 : 1);
	histogram_add(histogram, HISTOGRAM_MAX);
	assert_int_equal(histogram->buckets[HISTOGRAM_BUCKETS - 1], 2);
	test_free(histogram);
}

static void values_are_close(void **state)
{
	static const uint64_t values[] = {
		0,    1,     511,    1023,	 1024,	     1025,	    2047,
		2048, 10007, 999999, 1000000007, 3599999999, 3600000000000, HISTOGRAM_MAX - 1,
	};
	struct histogram *histogram = new_histogram();

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		uint64_t seen;

		/* Neighbours on both sides, so that neither min nor max puts it right. */
		*histogram = (struct histogram){.count = 0};
		histogram_add(histogram, values[i] > 2 ? values[i] / 2 : 0);
		histogram_add(histogram, values[i]);
		histogram_add(histogram, values[i] * 2);
		seen = histogram_quantile(histogram, 0.5);
		assert_in_range(seen, values[i] - values[i] / 1000, values[i] + values[i] / 1000);
	}
	test_free(histogram);
}

static void too_long_is_the_maximum(void **state)
{
	struct histogram *histogram = new_histogram();

	(void)state;
	histogram_add(histogram, UINT64_MAX);
	assert_int_equal(histogram->max, HISTOGRAM_MAX);
	assert_int_equal(histogram_quantile(histogram, 1), HISTOGRAM_MAX);
	test_free(histogram);
}

static void quantiles_of_1_to_100(void **state)
{
	static const struct {
		double share;
		uint64_t value;
	} cases[] = {
		{0, 1},	   {0.001, 1}, {0.01, 1},    {0.011, 2}, {0.07, 7}, {0.5, 50},
		{0.9, 90}, {0.99, 99}, {0.999, 100}, {1, 100},	 {2, 100},
	};
	struct histogram *histogram = new_histogram();

	(void)state;
	for (uint64_t value = 100; value > 0; value--)
		histogram_add(histogram, value);
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(histogram_quantile(histogram, cases[i].share), cases[i].value);
	assert_true(histogram_mean(histogram) == 50.5);
	assert_int_equal(histogram->min, 1);
	assert_int_equal(histogram->max, 100);
	test_free(histogram);
}

static int compare(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a;
	const uint64_t other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* Against sorted values: the same rank, off by less than 0.1 %. */
static void quantiles_of_random_values(void **state)
{
	static uint64_t values[20000];
	struct histogram *halves[2] = {new_histogram(), new_histogram()};
	struct rng rng = rng_seed(7);

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		values[i] = (uint64_t)rng_exponential(&rng, 250000);
		histogram_add(halves[i % 2], values[i]);
	}
	histogram_merge(halves[0], halves[1]);
	assert_int_equal(halves[0]->count, COUNT(values));
	qsort(values, COUNT(values), sizeof(values[0]), compare);
	assert_int_equal(halves[0]->min, values[0]);
	assert_int_equal(halves[0]->max, values[COUNT(values) - 1]);
	for (int permille = 1; permille <= 1000; permille++) {
		const uint64_t exact = values[COUNT(values) / 1000 * (size_t)permille - 1];
		const uint64_t seen = histogram_quantile(halves[0], permille / 1000.);

		assert_in_range(seen, exact - exact / 1000, exact + exact / 1000);
	}
	test_free(halves[0]);
	test_free(halves[1]);
}

static void merging_an_empty_one_changes_nothing(void **state)
{
	struct histogram *histogram = new_histogram();
	struct histogram *empty = new_histogram();

	(void)state;
	histogram_add(histogram, 5);
	histogram_merge(histogram, empty);
	assert_int_equal(histogram->min, 5);
	assert_int_equal(histogram->count, 1);
	histogram_merge(empty, histogram);
	assert_int_equal(empty->min, 5);
	assert_int_equal(empty->max, 5);
	assert_int_equal(empty->sum, 5);
	test_free(histogram);
	test_free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_is_zero),
		cmocka_unit_test(buckets_have_no_gaps),
		cmocka_unit_test(values_are_close),
		cmocka_unit_test(too_long_is_the_maximum),
		cmocka_unit_test(quantiles_of_1_to_100),
		cmocka_unit_test(quantiles_of_random_values),
		cmocka_unit_test(merging_an_empty_one_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
