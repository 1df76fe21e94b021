/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the policy that says when something that ended is started again. */
#include "fpm/pool/respawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_healthy(void **state)
{
	static const struct {
		uint64_t served;
		uint64_t lived_ms;
		bool healthy;
	} cases[] = {
		{0, 0, false},
		{0, 1, false},
		{0, RESPAWN_HEALTHY_MS - 1, false},
		{0, RESPAWN_HEALTHY_MS, true},
		{0, UINT64_MAX, true},
		{1, 0, true},
		{UINT64_MAX, 0, true},
		{1, RESPAWN_HEALTHY_MS, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(respawn_healthy(cases[i].served, cases[i].lived_ms),
				 cases[i].healthy);
}

static void test_after_healthy_end(void **state)
{
	static const struct {
		uint64_t started_ms;
		uint64_t now_ms;
		uint64_t delay_ms;
	} cases[] = {
		{0, 5, 0},
		{1000, 1000, 100},
		{1000, 1001, 99},
		{1000, 1050, 50},
		{1000, 1099, 1},
		{1000, 1100, 0},
		{1000, 1101, 0},
		{1000, 90000000, 0},
		{UINT64_C(1) << 40, (UINT64_C(1) << 40) + 30, 70},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (int half = 0; half <= 2; half++) {
			struct respawn memory = {.started_ms = cases[i].started_ms};

			assert_int_equal(
				respawn_delay_ms(&memory, true, cases[i].now_ms, half / 2.),
				cases[i].delay_ms);
		}
	}
}

/* A worker that serves one request and ends, as fast as it can. */
static void test_ten_starts_a_second(void **state)
{
	enum {
		SECONDS = 5,
		STARTS_MAX = 10 * SECONDS + 1
	};
	struct respawn memory = {0};
	uint64_t now = 7;
	unsigned int starts = 0;

	(void)state;
	while (now < 7 + SECONDS * 1000) {
		uint64_t delay;

		memory.started_ms = now;
		starts++;
		delay = respawn_delay_ms(&memory, true, now + 1, 1);
		assert_int_equal(now + 1 + delay, memory.started_ms + RESPAWN_INTERVAL_MS);
		now += 1 + delay;
	}
	assert_in_range(starts, STARTS_MAX - 2, STARTS_MAX);
}

static const uint64_t full_delays[] = {100,  200,   400,   800,	  1600,	 3200,
				       6400, 12800, 25600, 30000, 30000, 30000};

static void test_back_off_doubles_to_its_cap(void **state)
{
	struct respawn memory = {0};

	(void)state;
	assert_int_equal(full_delays[0], RESPAWN_BACKOFF_MIN_MS);
	for (size_t i = 0; i < COUNT(full_delays); i++)
		assert_int_equal(respawn_delay_ms(&memory, false, 1, 0), full_delays[i]);
	/* Never given up, however often it fails. */
	for (unsigned int i = 0; i < 100000; i++)
		assert_int_equal(respawn_delay_ms(&memory, false, 1, 0), RESPAWN_BACKOFF_MAX_MS);
}

static void test_jitter_takes_a_quarter_off_at_most(void **state)
{
	(void)state;
	for (unsigned int step = 0; step <= 100; step++) {
		const double random = step / 100.;
		struct respawn memory = {0};

		for (size_t i = 0; i < COUNT(full_delays); i++) {
			const uint64_t full = full_delays[i];
			const uint64_t delay = respawn_delay_ms(&memory, false, 1, random);
			const uint64_t expected = full - full * step / 400;

			assert_in_range(delay, full - full / 4, full);
			/* One millisecond is lost to rounding. */
			assert_in_range(delay, expected - 1, expected + 1);
		}
	}
}

/* The time of the last start has no say after an unhealthy end. */
static void test_back_off_ignores_the_start(void **state)
{
	struct respawn memory = {.started_ms = 1000};

	(void)state;
	assert_int_equal(respawn_delay_ms(&memory, false, 500000, 0), RESPAWN_BACKOFF_MIN_MS);
	assert_int_equal(memory.started_ms, 1000);
}

static void test_healthy_end_forgets_failures(void **state)
{
	struct respawn memory = {0};

	(void)state;
	for (unsigned int i = 0; i < 20; i++)
		(void)respawn_delay_ms(&memory, false, 1, 0);
	assert_int_equal(respawn_delay_ms(&memory, true, 1, 0), 0);
	assert_int_equal(memory.failures, 0);
	assert_int_equal(respawn_delay_ms(&memory, false, 1, 0), RESPAWN_BACKOFF_MIN_MS);
	assert_int_equal(respawn_delay_ms(&memory, false, 1, 0), 2 * RESPAWN_BACKOFF_MIN_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),
		cmocka_unit_test(test_after_healthy_end),
		cmocka_unit_test(test_ten_starts_a_second),
		cmocka_unit_test(test_back_off_doubles_to_its_cap),
		cmocka_unit_test(test_jitter_takes_a_quarter_off_at_most),
		cmocka_unit_test(test_back_off_ignores_the_start),
		cmocka_unit_test(test_healthy_end_forgets_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
