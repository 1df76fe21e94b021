/* SPDX-License-Identifier: BSD-2-Clause */
/* The 40 ms stall is found in made times, and nothing else is taken for it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/compare/stall.h"
#include "compare_fixture.h"

#define TCP_KEPT  5
#define UNIX_KEPT 3
#define TCP_NEW	  2

#define MS UINT64_C(1000000)

/* Answers that all take a time between two, evenly; their first byte comes after @first. */
static void add(struct cell *cell, unsigned int count, uint64_t low, uint64_t high, uint64_t first)
{
	for (unsigned int i = 0; i < count; i++) {
		histogram_add(&cell->total->service, low + (high - low) * i / count);
		histogram_add(&cell->total->first_byte, first);
	}
	cell->total->answered += count;
}

static struct stall find(const struct compare_fixture *fixture, size_t cell)
{
	struct stall stall;

	stall_find(fixture->cells, FIXTURE_CELLS, cell, &stall);
	return stall;
}

static void test_all_stalled(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	struct stall stall;
	char text[600];

	(void)state;
	add(&fixture->cells[TCP_KEPT], 41, 43 * MS, 45 * MS, MS / 20);
	add(&fixture->cells[UNIX_KEPT], 300, MS / 30, MS / 20, MS / 40);
	stall = find(fixture, TCP_KEPT);
	assert_true(stall.found);
	assert_float_equal(stall.share, 1, 0.001);
	assert_float_equal(stall.typical_us, 44000, 100);
	stall_text(&fixture->cells[TCP_KEPT], &stall, text, sizeof(text));
	assert_non_null(strstr(text, "tcp kept c=1 100 B (php-cgi (berth)): 100 %"));
	if (strstr(text, "44.0 ms") == NULL)
		fail_msg("%s", text);
	assert_non_null(strstr(text, "TCP_NODELAY"));
	assert_non_null(strstr(text, "delayed acknowledgement"));
	/* The end of it is there, too. */
	assert_non_null(strstr(text, "--quickack"));
	fixture_free(fixture);
}

static void test_some_stalled(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);
	struct stall stall;

	(void)state;
	add(&fixture->cells[TCP_KEPT], 900, MS / 20, MS / 10, MS / 40);
	add(&fixture->cells[TCP_KEPT], 100, 40 * MS, 44 * MS, MS / 40);
	stall = find(fixture, TCP_KEPT);
	assert_true(stall.found);
	assert_float_equal(stall.share, 0.1, 0.001);
	fixture_free(fixture);
}

/* A few slow answers are nothing to speak of. */
static void test_rare(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);

	(void)state;
	add(&fixture->cells[TCP_KEPT], 1000, MS / 20, MS / 10, MS / 40);
	add(&fixture->cells[TCP_KEPT], 15, 40 * MS, 44 * MS, MS / 40);
	assert_false(find(fixture, TCP_KEPT).found);
	fixture_free(fixture);
}

/* A script that takes 42 ms takes them before its first byte. */
static void test_slow_script(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);

	(void)state;
	add(&fixture->cells[TCP_KEPT], 100, 42 * MS, 43 * MS, 42 * MS);
	assert_false(find(fixture, TCP_KEPT).found);
	fixture_free(fixture);
}

/* One that writes early and then works for 42 ms is as slow on a unix socket. */
static void test_slow_script_that_writes_early(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);

	(void)state;
	add(&fixture->cells[TCP_KEPT], 100, 42 * MS, 43 * MS, MS);
	assert_true(find(fixture, TCP_KEPT).found);
	add(&fixture->cells[UNIX_KEPT], 100, 42 * MS, 43 * MS, MS);
	assert_false(find(fixture, TCP_KEPT).found);
	fixture_free(fixture);
}

/* Times that are spread from 20 to 80 ms have no heap. */
static void test_spread(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);

	(void)state;
	add(&fixture->cells[TCP_KEPT], 1000, 20 * MS, 80 * MS, MS);
	assert_false(find(fixture, TCP_KEPT).found);
	fixture_free(fixture);
}

/* Neither unix sockets nor connections that are closed after the answer can stall. */
static void test_elsewhere(void **state)
{
	struct compare_fixture *fixture = fixture_make(0, 2, 0);

	(void)state;
	add(&fixture->cells[UNIX_KEPT], 100, 43 * MS, 45 * MS, MS / 20);
	assert_false(find(fixture, UNIX_KEPT).found);
	add(&fixture->cells[TCP_NEW], 100, 43 * MS, 45 * MS, MS / 20);
	assert_false(find(fixture, TCP_NEW).found);
	assert_false(find(fixture, TCP_KEPT).found);
	fixture_free(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_stalled),
		cmocka_unit_test(test_some_stalled),
		cmocka_unit_test(test_rare),
		cmocka_unit_test(test_slow_script),
		cmocka_unit_test(test_slow_script_that_writes_early),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
