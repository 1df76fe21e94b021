/* SPDX-License-Identifier: BSD-2-Clause */
/* Rounds against null responders: order, counts, ends, deaths; ceilings; ping-pong; self-test. */

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/compare/floor.h"
#include "bench/compare/rounds.h"
#include "bench/compare/selftest.h"

#define CELLS	 3
#define REQUESTS 60
#define ORDER	 64

/* @order: cells as they came up; @act_round, @act: what the callback does, and in which round */
struct play {
	struct target targets[2];
	struct request request;
	struct cell cells[CELLS];
	struct rounds rounds;
	struct rounds_options options;
	size_t order[ORDER];
	size_t ordered;
	unsigned int act_round;
	void (*act)(struct play *play);
};

static volatile sig_atomic_t stop;

static void progress_cb(const struct rounds_progress *progress, void *data)
{
	struct play *play = data;

	if (progress->phase != ROUNDS_MEASURE)
		return;
	if (play->ordered < ORDER)
		play->order[play->ordered++] = (size_t)(progress->cell - play->cells);
	if (progress->round == play->act_round && play->act != NULL && progress->position == 1) {
		play->act(play);
		play->act = NULL;
	}
}

static void start_null(struct play *play, size_t index, enum transport transport)
{
	const struct target_options options = {
		.kind = TARGET_NULL, .transport = transport, .workers = 1, .body_size = 100};
	char error[300] = "";

	if (target_start(&options, &play->targets[index], error, sizeof(error)) < 0)
		fail_msg("%s", error);
}

/* Unix kept, the same as a control, TCP kept. */
static int set_up(void **state)
{
	const struct request_options request = {.script = "/test.php"};
	struct play *play = calloc(1, sizeof(*play));

	assert_non_null(play);
	stop = 0;
	start_null(play, 0, TRANSPORT_UNIX);
	start_null(play, 1, TRANSPORT_TCP);
	assert_int_equal(request_make(&request, &play->request), 0);
	for (size_t i = 0; i < CELLS; i++) {
		struct cell *cell = &play->cells[i];

		cell->transport = i == 2 ? TRANSPORT_TCP : TRANSPORT_UNIX;
		cell->keep = true;
		cell->connections = 1;
		cell->body_size = 100;
		cell->target = &play->targets[i == 2];
		cell->request = &play->request;
		cell->expect = (struct response_expect){.check_length = true, .length = 100};
		cell->control = i == 1;
		assert_int_equal(cell_init(cell), 0);
	}
	play->options = (struct rounds_options){.rounds = 3,
						.rounds_max = 3,
						.slice_requests = REQUESTS,
						.warm_up_ns = 50000000,
						.seed = 11,
						.stop = &stop,
						.progress = progress_cb,
						.data = play};
	*state = play;
	return 0;
}

static int tear_down(void **state)
{
	struct play *play = *state;

	for (size_t i = 0; i < CELLS; i++)
		cell_done(&play->cells[i]);
	request_done(&play->request);
	target_stop(&play->targets[0]);
	target_stop(&play->targets[1]);
	free(play);
	return 0;
}

static void run(struct play *play)
{
	char error[300] = "";

	play->ordered = 0;
	if (rounds_run(play->cells, CELLS, &play->options, &play->rounds, error, sizeof(error)) < 0)
		fail_msg("%s", error);
}

static void test_counts(void **state)
{
	struct play *play = *state;

	run(play);
	assert_int_equal(play->rounds.done, 3);
	assert_false(play->rounds.partial);
	assert_int_equal(play->rounds.slices, 3 * CELLS);
	for (size_t i = 0; i < CELLS; i++) {
		const struct cell *cell = &play->cells[i];

		assert_int_equal(cell_rounds(cell), 3);
		assert_int_equal(cell->total->answered, 3 * REQUESTS);
		assert_int_equal(cell->total->service.count, 3 * REQUESTS);
		assert_int_equal(failures_total(&cell->total->failures), 0);
		assert_true(cell_median(cell, CELL_P50) > 0);
		assert_true(cell_median(cell, CELL_SERVER_CPU) > 0);
		assert_true(cell_median(cell, CELL_CLIENT_CPU) > 0);
		assert_true(cell->pss_kib > 0);
		assert_false(cell->dead);
	}
	assert_int_equal(play->cells[0].queue_limit, 511);
	/* Three rounds have no interval, so no precision. */
	assert_int_equal(play->rounds.end, ROUNDS_MAXIMUM);
	assert_string_equal(play->rounds.not_reached,
			    "No more rounds: not every comparison has an interval");
}

static void test_order(void **state)
{
	struct play *play = *state;
	size_t first[ORDER];
	bool differs = false;

	run(play);
	assert_int_equal(play->ordered, 3 * CELLS);
	for (size_t round = 0; round < 3; round++) {
		unsigned int seen = 0;

		for (size_t i = 0; i < CELLS; i++)
			seen |= 1U << play->order[round * CELLS + i];
		assert_int_equal(seen, 7);
	}
	memcpy(first, play->order, sizeof(first));
	run(play);
	assert_memory_equal(first, play->order, 3 * CELLS * sizeof(*first));
	for (play->options.seed = 12; play->options.seed < 16 && !differs; play->options.seed++) {
		run(play);
		differs = memcmp(first, play->order, 3 * CELLS * sizeof(*first)) != 0;
	}
	assert_true(differs);
}

/* Quick answers make longer slices, as far as half of the budget goes. */
static void test_slices_are_lengthened(void **state)
{
	struct play *play = *state;

	play->options.slice_requests = 5;
	/* How fast it is has to be known, also where the machine is busy. */
	play->options.warm_up_ns = UINT64_C(3000000000);
	play->options.slice_least_ns = UINT64_C(50000000);
	run(play);
	assert_int_equal(play->rounds.options.slice_least_ns, 50000000);
	for (size_t i = 0; i < CELLS; i++) {
		/* The same number in each round, so that rounds can be compared. */
		assert_true(play->cells[i].total->answered > UINT64_C(3) * 5);
		assert_int_equal(play->cells[i].total->answered % 3, 0);
	}
	play->options.budget_ns = UINT64_C(1200000000);
	play->options.slice_least_ns = UINT64_C(500000000);
	run(play);
	assert_in_range(play->rounds.options.slice_least_ns, 1, 1200000000 / 2 / 3 / CELLS);
}

/* More rounds only while the precision is not reached, which is easy here. */
static void test_precise_enough(void **state)
{
	struct play *play = *state;

	play->options.rounds = 6;
	play->options.rounds_max = 9;
	play->options.precision = 1000;
	run(play);
	assert_int_equal(play->rounds.done, 6);
	assert_int_equal(play->rounds.end, ROUNDS_PRECISE);
	assert_string_equal(play->rounds.not_reached, "");
	play->options.precision = 1e-9;
	run(play);
	assert_int_equal(play->rounds.done, 9);
	assert_int_equal(play->rounds.end, ROUNDS_MAXIMUM);
	assert_non_null(
		strstr(play->rounds.not_reached, "No more rounds after 9 rounds: the widest"));
}

static void spoil_first(struct play *play)
{
	/* A slice of the round before, as if somebody else had been there. */
	play->cells[2].rounds[play->act_round - 2].dirty = true;
}

/* How many slices of a cell are dirty in ordinary rounds; the machine may have added some. */
static unsigned int count_dirty(const struct cell *cell)
{
	unsigned int count = 0;

	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++)
		count += cell->rounds[i].dirty && !cell->rounds[i].again;
	return count;
}

/* What was dirty comes once more, with what it is compared with, and nothing is lost. */
static void test_dirty_again(void **state)
{
	struct play *play = *state;
	unsigned int owed = 0, most = 0;

	play->options.retry_dirty = true;
	play->act_round = 2;
	play->act = spoil_first;
	run(play);
	for (size_t i = 0; i < CELLS; i++) {
		const unsigned int dirty = count_dirty(&play->cells[i]);

		owed += dirty;
		most = dirty > most ? dirty : most;
	}
	assert_true(count_dirty(&play->cells[2]) >= 1);
	assert_int_equal(play->rounds.done, 3);
	assert_int_equal(play->rounds.extra, most);
	assert_int_equal(play->rounds.retried, owed);
	/* The unix cell is compared with the dirty one, so it came along. */
	assert_int_equal(cell_rounds(&play->cells[2]), 3 + most);
	assert_int_equal(cell_rounds(&play->cells[0]), 3 + most);
	assert_true(play->cells[2].rounds[0].done && play->cells[2].rounds[3].again);
	assert_int_equal(play->cells[2].total->answered, (3 + most) * REQUESTS);
	/* Nobody asks for it, nothing is measured once more. */
	play->options.retry_dirty = false;
	play->act = spoil_first;
	run(play);
	assert_int_equal(play->rounds.extra, 0);
}

static void stop_now(struct play *play)
{
	(void)play;
	stop = 1;
}

static void test_interrupted(void **state)
{
	struct play *play = *state;

	play->act_round = 2;
	play->act = stop_now;
	run(play);
	assert_int_equal(play->rounds.end, ROUNDS_INTERRUPTED);
	assert_int_equal(play->rounds.done, 1);
	assert_true(play->rounds.partial);
	assert_int_equal(play->ordered, CELLS + 2);
	assert_string_equal(play->rounds.not_reached,
			    "Interrupted after 1 of 3 rounds; an interval "
			    "needs 6, so there is none");
	for (size_t i = 0; i < CELLS; i++)
		assert_true(play->cells[i].total->answered >= REQUESTS);
}

static void test_budget(void **state)
{
	struct play *play = *state;

	play->options.budget_ns = 1;
	run(play);
	assert_int_equal(play->rounds.end, ROUNDS_BUDGET);
	assert_int_equal(play->rounds.done, 0);
	assert_string_equal(
		play->rounds.not_reached,
		"The time budget of 0 s ended after 0 of 3 rounds; an interval needs 6, "
		"so there is none");
}

static void kill_first(struct play *play)
{
	assert_int_equal(kill(play->targets[0].pid, SIGKILL), 0);
}

static void test_target_dies(void **state)
{
	struct play *play = *state;

	play->options.rounds = 4;
	play->options.rounds_max = 4;
	play->options.load.timeout_ns = 200000000;
	play->options.slice_ns = 500000000;
	play->act_round = 2;
	play->act = kill_first;
	run(play);
	assert_true(play->cells[0].dead);
	assert_true(play->cells[1].dead);
	assert_false(play->cells[2].dead);
	assert_non_null(strstr(play->cells[0].note, "null responder ended in round "));
	assert_int_equal(play->rounds.done, 4);
	assert_int_equal(cell_rounds(&play->cells[2]), 4);
	assert_int_equal(play->cells[2].total->answered, 4 * REQUESTS);
	assert_true(cell_rounds(&play->cells[0]) < 4);
	/* Whichever came first told for both. */
	assert_false(failures_total(&play->cells[0].total->failures) > 0 &&
		     failures_total(&play->cells[1].total->failures) > 0);
}

/* Nobody is at the address: each request is a failure, and the cell is given up. */
static void test_nobody_there(void **state)
{
	struct play *play = *state;
	struct endpoint *nowhere;
	struct target target = {.name = "nobody"};
	char error[300] = "";
	size_t count;

	assert_int_equal(
		endpoint_parse("/tmp/there/is/no.sock", 1, &nowhere, &count, error, sizeof(error)),
		0);
	target.endpoints = nowhere;
	target.endpoint_count = count;
	play->cells[0].target = &target;
	play->cells[1].target = &target;
	play->options.rounds = 4;
	play->options.rounds_max = 4;
	run(play);
	assert_true(play->cells[0].dead);
	assert_non_null(strstr(play->cells[0].note, "no answer in 3 rounds up to round 3"));
	assert_int_equal(play->cells[0].total->answered, 0);
	assert_int_equal(play->cells[0].total->failures.count[FAILURE_NO_PATH], 3 * REQUESTS);
	assert_true(isnan(play->cells[0].rounds[0].server_cpu_us));
	assert_int_equal(play->cells[2].total->answered, 4 * REQUESTS);
	/* And if there is nothing else, that is the end. */
	play->cells[2].target = &target;
	for (size_t i = 0; i < CELLS; i++)
		play->cells[i].dead = false;
	run(play);
	assert_int_equal(play->rounds.end, ROUNDS_DEAD);
	assert_int_equal(play->rounds.done, 3);
	free(nowhere);
}

static void test_ceilings(void **state)
{
	struct play *play = *state;
	struct placement_plan plan;
	struct ceiling_options options = {.requests = 200, .plan = &plan};
	char error[300] = "";

	assert_int_equal(placement_plan(PLACEMENT_FREE, 1, &plan), 0);
	if (ceilings_measure(play->cells, CELLS, &options, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	for (size_t i = 0; i < CELLS; i++)
		assert_true(play->cells[i].ceiling > 0);
	/* The same responder, the same load: it is measured once. */
	assert_true(play->cells[0].ceiling == play->cells[1].ceiling);
	assert_true(play->cells[0].ceiling != play->cells[2].ceiling);
	/* On one CPU there is nothing to say. */
	play->cells[0].ceiling = 0;
	plan.placement = PLACEMENT_SAME;
	assert_int_equal(ceilings_measure(play->cells, CELLS, &options, error, sizeof(error)), 0);
	assert_true(play->cells[0].ceiling == 0);
}

static void test_floor(void **state)
{
	static struct floor_result result;
	/* More than a pipe holds. */
	struct floor_options options = {
		.rounds = 6, .slice_ns = 1000000, .request_bytes = 100, .answer_bytes = 200000};
	char error[300] = "";

	(void)state;
	assert_int_equal(floor_run(&options, &result, error, sizeof(error)), 0);
	assert_int_equal(result.rounds, 6);
	for (size_t i = 0; i < FLOOR_KINDS; i++) {
		assert_true(result.line[i].samples[5].trips > 0);
		assert_true(result.line[i].rtt_us.median > 0);
		assert_true(result.line[i].rtt_us.coverage > 0.95);
		assert_true(result.line[i].client_cpu_us.median > 0);
		assert_true(result.line[i].server_cpu_us.median > 0);
	}
	assert_true(floor_rtt_us(&result, TRANSPORT_TCP, false) ==
		    result.line[FLOOR_TCP_NEW].rtt_us.median);
	assert_true(isnan(floor_rtt_us(NULL, TRANSPORT_TCP, false)));
	options.stop = &stop;
	stop = 1;
	assert_int_equal(floor_run(&options, &result, error, sizeof(error)), 0);
	assert_int_equal(result.rounds, 0);
	assert_true(isnan(floor_rtt_us(&result, TRANSPORT_UNIX, true)));
	stop = 0;
	options.answer_bytes = (size_t)1 << 30;
	assert_int_equal(floor_run(&options, &result, error, sizeof(error)), -EMSGSIZE);
	assert_non_null(strstr(error, "ping-pong over pipe: "));
}

/* The other side's end is an error, not a hang. */
static void test_echo_dies(void **state)
{
	const struct floor_options options = {.rounds = 1};

	(void)state;
	for (unsigned int kind = 0; kind < FLOOR_KINDS; kind++) {
		struct floor_echo echo;
		struct floor_sample sample;

		assert_int_equal(floor_echo_start((enum floor_kind)kind, &options, &echo), 0);
		assert_int_equal(floor_echo_slice(&echo, 1000000, &sample), 0);
		assert_int_equal(kill(echo.pid, SIGKILL), 0);
		assert_true(floor_echo_slice(&echo, UINT64_C(60000000000), &sample) < 0);
		floor_echo_stop(&echo);
		floor_echo_stop(&echo);
	}
}

static void test_selftest(void **state)
{
	static struct selftest selftest;
	const struct selftest_options options = {.rounds = 6, .stop = &stop};
	char error[300] = "";

	(void)state;
	if (selftest_run(&options, &selftest, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_true(selftest.count >= 12);
	for (size_t i = 0; i < selftest.count; i++) {
		/* This one depends on what else the machine does. */
		if (strncmp(selftest.checks[i].name, "the same twice", 14) == 0)
			continue;
		if (selftest.checks[i].grade == SELFTEST_FAIL)
			fail_msg("%s: %s", selftest.checks[i].name, selftest.checks[i].text);
	}
	stop = 1;
	assert_int_equal(selftest_run(&options, &selftest, error, sizeof(error)), -EINTR);
	stop = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slices_are_lengthened, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_precise_enough, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dirty_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_budget, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_target_dies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nobody_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ceilings, set_up, tear_down),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_echo_dies),
		cmocka_unit_test(test_selftest),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
