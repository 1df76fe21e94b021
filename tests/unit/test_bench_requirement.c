/* SPDX-License-Identifier: BSD-2-Clause */
/* Thresholds: what is read, what is refused, and whether they hold. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/compare/requirement.h"
#include "compare_fixture.h"

static void test_accepted(void **state)
{
	static const struct {
		const char *text;
		enum requirement_figure figure;
		enum requirement_operator operator;
		double value;
		double share;
		enum failure failure;
		bool percent;
	} rows[] = {
		{"p99<5ms", REQUIREMENT_QUANTILE, REQUIREMENT_LESS, 5e6, 0.99, FAILURE_NONE, false},
		{"p50<=40us", REQUIREMENT_QUANTILE, REQUIREMENT_AT_MOST, 4e4, 0.5, FAILURE_NONE,
		 false},
		{" p99.9 < 1.5 s ", REQUIREMENT_QUANTILE, REQUIREMENT_LESS, 1.5e9, 0.999,
		 FAILURE_NONE, false},
		{"mean<800ns", REQUIREMENT_MEAN, REQUIREMENT_LESS, 800, 0, FAILURE_NONE, false},
		{"max<1s", REQUIREMENT_MAX, REQUIREMENT_LESS, 1e9, 0, FAILURE_NONE, false},
		{"rate>1000", REQUIREMENT_RATE, REQUIREMENT_MORE, 1000, 0, FAILURE_NONE, false},
		{"rate >= 1e3 /s", REQUIREMENT_RATE, REQUIREMENT_AT_LEAST, 1000, 0, FAILURE_NONE,
		 false},
		{"failures=0", REQUIREMENT_FAILURES, REQUIREMENT_EQUAL, 0, 0, FAILURE_NONE, false},
		{"failures==0", REQUIREMENT_FAILURES, REQUIREMENT_EQUAL, 0, 0, FAILURE_NONE, false},
		{"failures<0.1%", REQUIREMENT_FAILURES, REQUIREMENT_LESS, 0.001, 0, FAILURE_NONE,
		 true},
		{"eagain<5", REQUIREMENT_FAILURES, REQUIREMENT_LESS, 5, 0, FAILURE_EAGAIN, false},
		{"starved=0", REQUIREMENT_FAILURES, REQUIREMENT_EQUAL, 0, 0, FAILURE_STARVED,
		 false},
		{"cpu<50us", REQUIREMENT_CPU, REQUIREMENT_LESS, 5e4, 0, FAILURE_NONE, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct requirement requirement;
		char error[200] = "";

		assert_int_equal(
			requirement_parse(rows[i].text, &requirement, error, sizeof(error)), 0);
		assert_int_equal(requirement.figure, rows[i].figure);
		assert_int_equal(requirement.operator, rows[i].operator);
		assert_float_equal(requirement.value, rows[i].value, rows[i].value * 1e-9);
		assert_float_equal(requirement.share, rows[i].share, 1e-12);
		assert_int_equal(requirement.failure, rows[i].failure);
		assert_int_equal(requirement.percent, rows[i].percent);
		assert_string_equal(requirement.text, rows[i].text);
	}
}

static void test_refused(void **state)
{
	/* What the message has to say, in part. */
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
		{"", "begin with p50"},
		{"p99", "< <= > >= ="},
		{"p99<", "a number is needed"},
		{"p99<5", "ns, us, ms, s"},
		{"p99<5min", "ns, us, ms, s"},
		{"p99<5 ms please", "more than a number and a unit"},
		{"p99<-5ms", "a number is needed"},
		{"p99<inf", "a number is needed"},
		{"p99<1e999s", "more than a number"},
		{"p100<5ms", "begin with p50"},
		{"p0<5ms", "begin with p50"},
		{"p<5ms", "begin with p50"},
		{"P99<5ms", "begin with p50"},
		{"p99!5ms", "< <= > >= ="},
		{"rate>1000ms", "answers a second"},
		{"failures<1ms", "share with %"},
		{"eagin=0", "class of failures"},
		{"none=0", "begin with p50"},
		{"p99                                                               <5ms",
		 "too long"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct requirement requirement = {.value = 77};
		char error[300] = "";

		assert_true(requirement_parse(rows[i].text, &requirement, error, sizeof(error)) <
			    0);
		if (strstr(error, rows[i].says) == NULL)
			fail_msg("%s: %s", rows[i].text, error);
		assert_float_equal(requirement.value, 77, 0);
	}
}

static bool holds(const struct cell *cell, const char *text, char *seen, size_t size)
{
	struct requirement requirement;
	char error[200];

	assert_int_equal(requirement_parse(text, &requirement, error, sizeof(error)), 0);
	return requirement_holds(&requirement, cell, seen, size);
}

static void test_holds(void **state)
{
	struct compare_fixture *fixture = fixture_make(1, 2, 0);
	struct cell *cell = &fixture->cells[0];
	static const struct {
		const char *text;
		bool wanted;
	} rows[] = {
		{"p50<55us", true},	{"p50<53us", false},	{"p99.9>=54us", true},
		{"max<54006ns", false}, {"max<=54006ns", true}, {"mean<54.1us", true},
		{"rate>18000", true},	{"rate>19000", false},	{"failures=3", true},
		{"failures=0", false},	{"failures<1%", true},	{"failures<0.9%", false},
		{"eagain=2", true},	{"refused=1", true},	{"starved=0", true},
		{"starved>0", false},	{"cpu<=21us", true},	{"cpu<19us", false},
	};
	char seen[200];

	(void)state;
	failures_add(&cell->total->failures, FAILURE_EAGAIN, 1, 1);
	failures_add(&cell->total->failures, FAILURE_EAGAIN, 2, 1);
	failures_add(&cell->total->failures, FAILURE_REFUSED, 3, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (holds(cell, rows[i].text, seen, sizeof(seen)) != rows[i].wanted)
			fail_msg("%s: %s", rows[i].text, seen);
	}
	(void)holds(cell, "failures<1%", seen, sizeof(seen));
	assert_string_equal(seen, "unix new c=1 100 B: 0.99 % (required: failures<1%)");
	fixture_free(fixture);
}

/* What nobody knows does not hold, whichever way it is asked. */
static void test_unknown(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	const struct cell *cell = &fixture->cells[0];
	char seen[200];

	(void)state;
	assert_false(holds(cell, "p99<5s", seen, sizeof(seen)));
	assert_string_equal(seen, "unix new c=1 100 B: not known (required: p99<5s)");
	assert_false(holds(cell, "p99>=0s", seen, sizeof(seen)));
	assert_false(holds(cell, "mean<5s", seen, sizeof(seen)));
	assert_false(holds(cell, "max<5s", seen, sizeof(seen)));
	assert_false(holds(cell, "rate<5", seen, sizeof(seen)));
	assert_false(holds(cell, "cpu<5s", seen, sizeof(seen)));
	assert_false(holds(cell, "failures<5%", seen, sizeof(seen)));
	assert_true(holds(cell, "failures=0", seen, sizeof(seen)));
	fixture_free(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_holds),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
