/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/failure.c: names that differ, texts that fit, counters that add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/client/failure.h"

#define TEXT_MAX 60

static void every_class_has_a_name_and_a_text(void **state)
{
	(void)state;
	for (enum failure i = FAILURE_NONE; i < FAILURE_CLASSES; i++) {
		const char *name = failure_name(i);

		assert_int_equal(name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")], '\0');
		assert_in_range(strlen(name), 1, 20);
		assert_in_range(strlen(failure_text(i)), 1, TEXT_MAX);
		for (enum failure other = FAILURE_NONE; other < i; other++)
			assert_string_not_equal(name, failure_name(other));
	}
	assert_string_equal(failure_name(FAILURE_TIMEOUT_SILENT), "timeout_silent");
	assert_string_equal(failure_name(FAILURE_CLASSES), "unknown");
}

static void counts_and_times(void **state)
{
	static struct failures failures;

	(void)state;
	failures_add(&failures, FAILURE_EAGAIN, 500, 10);
	failures_add(&failures, FAILURE_EAGAIN, 300, 20);
	failures_add(&failures, FAILURE_EAGAIN, 900, 30);
	failures_add(&failures, FAILURE_REFUSED, 0, 40);
	assert_int_equal(failures.count[FAILURE_EAGAIN], 3);
	assert_int_equal(failures.first_ns[FAILURE_EAGAIN], 300);
	assert_int_equal(failures.last_ns[FAILURE_EAGAIN], 900);
	assert_int_equal(failures.count[FAILURE_REFUSED], 1);
	assert_int_equal(failures.first_ns[FAILURE_REFUSED], 0);
	assert_int_equal(failures_total(&failures), 4);
	assert_int_equal(failures.times.count, 4);
	assert_int_equal(failures.times.sum, 100);
}

static void merging(void **state)
{
	static struct failures into;
	static struct failures from;
	static const struct failures empty;

	(void)state;
	failures_add(&into, FAILURE_EAGAIN, 500, 10);
	failures_add(&from, FAILURE_EAGAIN, 400, 10);
	failures_add(&from, FAILURE_STATUS, 700, 10);
	failures_merge(&into, &from);
	failures_merge(&into, &empty);
	assert_int_equal(into.count[FAILURE_EAGAIN], 2);
	assert_int_equal(into.first_ns[FAILURE_EAGAIN], 400);
	assert_int_equal(into.last_ns[FAILURE_EAGAIN], 500);
	assert_int_equal(into.first_ns[FAILURE_STATUS], 700);
	assert_int_equal(into.last_ns[FAILURE_STATUS], 700);
	assert_int_equal(failures_total(&into), 3);
	assert_int_equal(into.times.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_class_has_a_name_and_a_text),
		cmocka_unit_test(counts_and_times),
		cmocka_unit_test(merging),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
