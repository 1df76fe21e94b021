/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/schedule.c and load_queue.c: arrivals and those that wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/client/load_queue.h"
#include "bench/client/schedule.h"

#define SECOND_NS UINT64_C(1000000000)

static uint64_t count_until(struct schedule *schedule, uint64_t end_ns)
{
	uint64_t count = 0;

	for (; schedule->next_ns < end_ns; schedule_advance(schedule))
		count++;
	return count;
}

static void equal_gaps_interleave(void **state)
{
	struct schedule schedules[4];

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		schedule_start(&schedules[i], false, 1000, 1, i, 4);
	for (uint64_t i = 0; i < 4000; i++) {
		assert_int_equal(schedules[i % 4].next_ns, i * 1000000);
		schedule_advance(&schedules[i % 4]);
	}
}

/* A rate that is no whole number of nanoseconds does not drift. */
static void fractions_add_up(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_start(&schedule, false, 3, 1, 0, 1);
	assert_int_equal(count_until(&schedule, 1000 * SECOND_NS), 3000);
}

static void same_seed_same_arrivals(void **state)
{
	struct schedule one;
	struct schedule same;
	struct schedule other;
	unsigned int differ = 0;

	(void)state;
	schedule_start(&one, true, 1000, 42, 1, 2);
	schedule_start(&same, true, 1000, 42, 1, 2);
	schedule_start(&other, true, 1000, 42, 0, 2);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(one.next_ns, same.next_ns);
		differ += one.next_ns != other.next_ns;
		schedule_advance(&one);
		schedule_advance(&same);
		schedule_advance(&other);
	}
	assert_true(differ > 990);
}

/* 100,000 arrivals have a standard deviation of 316; gaps above the mean are 1/e of all. */
static void poisson_has_the_rate(void **state)
{
	struct schedule schedule;
	uint64_t before = 0;
	uint64_t count = 0;
	uint64_t count_long = 0;

	(void)state;
	schedule_start(&schedule, true, 2000, 5, 0, 2);
	for (; schedule.next_ns < 100 * SECOND_NS; schedule_advance(&schedule)) {
		count++;
		count_long += schedule.next_ns - before > SECOND_NS / 1000;
		before = schedule.next_ns;
	}
	assert_in_range(count, 98500, 101500);
	assert_in_range(count_long * 1000, 360 * count, 376 * count);
}

static void rare_arrivals_do_not_overflow(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_start(&schedule, false, 1e-12, 1, 0, 1);
	for (int i = 0; i < 10; i++)
		schedule_advance(&schedule);
	assert_true(schedule.next_ns > 1000000 * SECOND_NS);
}

static void queue_is_a_ring(void **state)
{
	struct load_queue queue;
	uint64_t in = 0;
	uint64_t out = 0;

	(void)state;
	assert_int_equal(load_queue_init(&queue, 5), 0);
	for (int round = 0; round < 20; round++) {
		while (load_queue_push(&queue, in))
			in++;
		assert_int_equal(queue.count, 5);
		for (int i = 0; i < 3; i++)
			assert_int_equal(load_queue_pop(&queue), out++);
	}
	load_queue_done(&queue);
	assert_int_equal(load_queue_init(&queue, 0), 0);
	assert_false(load_queue_push(&queue, 1));
	load_queue_done(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_gaps_interleave),
		cmocka_unit_test(fractions_add_up),
		cmocka_unit_test(same_seed_same_arrivals),
		cmocka_unit_test(poisson_has_the_rate),
		cmocka_unit_test(rare_arrivals_do_not_overflow),
		cmocka_unit_test(queue_is_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
