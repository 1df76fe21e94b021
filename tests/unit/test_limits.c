/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the limit of open files; each case in a process of its own, for the limit's sake. */
#include "fpm/process/limits.h"

#include "fpm/conf/conf.h"
#include "fpm/process/output.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What one worker of a pool on one own unix socket has: listener, output, lifeline, pidfd. */
enum {
	PER_WORKER = 4
};

/* Exit status of a process that could not set its limits. */
enum {
	CANT_LIMIT = 3
};

/**
 * struct outcome - what limits_raise() did
 * @result:	Its result
 * @original:	Its *ret_original
 * @now:	The limit after it
 * @error:	Its text
 */
struct outcome {
	int result;
	struct rlimit original;
	struct rlimit now;
	char error[512];
};

/* Calls limits_raise() in a process with such limits. Valgrind lets nobody change the hard one. */
static struct outcome raise_from(const struct conf *conf, rlim_t soft, rlim_t hard)
{
	struct outcome outcome = {.result = -EIO};
	int pair[2], status;
	ssize_t size;
	pid_t pid;

	assert_int_equal(pipe(pair), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
		ssize_t n;

		if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
			_exit(CANT_LIMIT);
		outcome.result = limits_raise(conf, NULL, &outcome.original, outcome.error,
					      sizeof(outcome.error));
		(void)getrlimit(RLIMIT_NOFILE, &outcome.now);
		n = write(pair[1], &outcome, sizeof(outcome));
		_exit(n == sizeof(outcome) ? 0 : 2);
	}
	(void)close(pair[1]);
	size = read(pair[0], &outcome, sizeof(outcome));
	(void)close(pair[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANT_LIMIT)
		skip();
	assert_int_equal(status, 0);
	assert_int_equal(size, sizeof(outcome));
	return outcome;
}

static rlim_t own_hard_limit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	return limit.rlim_max;
}

static struct conf_listen make_listen(enum address_kind kind, bool per_slot)
{
	return (struct conf_listen){.address = {.kind = kind, .per_slot = per_slot}};
}

static void test_enough_is_left_alone(void **state)
{
	struct conf_listen listen = make_listen(ADDRESS_PATH, true);
	struct conf_pool pool = {.max_children = 4, .listen = &listen, .listen_count = 1};
	const struct conf conf = {.pools = &pool};
	const struct outcome o = raise_from(&conf, 1024, 1024);

	(void)state;
	assert_int_equal(o.result, 0);
	assert_int_equal(o.original.rlim_cur, 1024);
	assert_int_equal(o.now.rlim_cur, 1024);
	assert_int_equal(o.now.rlim_max, 1024);
}

static void test_soft_limit_is_raised(void **state)
{
	struct conf_listen listen = make_listen(ADDRESS_PATH, true);
	struct conf_pool pool = {.max_children = 100, .listen = &listen, .listen_count = 1};
	const struct conf conf = {.pools = &pool};
	const rlim_t hard = own_hard_limit();
	const struct outcome o = raise_from(&conf, 64, hard);

	(void)state;
	assert_int_equal(o.result, 0);
	/* Workers get it back as it was. */
	assert_int_equal(o.original.rlim_cur, 64);
	assert_true(o.original.rlim_max == hard);
	assert_true(o.now.rlim_max == hard);
	assert_true(o.now.rlim_cur >= 100 * PER_WORKER + OUTPUT_RELEASED_MAX);
	assert_true(o.now.rlim_cur < 100 * 3 * PER_WORKER + 400);
}

static void test_hard_limit_is_too_low(void **state)
{
	struct conf_listen listen = make_listen(ADDRESS_PATH, true);
	struct conf_pool second = {.max_children = 111, .listen = &listen, .listen_count = 1};
	struct conf_pool first = {
		.next = &second, .max_children = 222, .listen = &listen, .listen_count = 1};
	const struct conf conf = {.pools = &first};
	const struct outcome o = raise_from(&conf, 100, 500);

	(void)state;
	assert_int_equal(o.result, -EMFILE);
	assert_int_equal(o.now.rlim_cur, 100);
	assert_non_null(strstr(o.error, "333 workers"));
	assert_non_null(strstr(o.error, "500"));
	assert_non_null(strstr(o.error, "RLIMIT_NOFILE"));
	assert_null(strchr(o.error, '\n'));
}

/* What is just enough is accepted; one less is not. */
static void test_exactly_enough(void **state)
{
	struct conf_listen listen = make_listen(ADDRESS_PATH, true);
	struct conf_pool pool = {.max_children = 30, .listen = &listen, .listen_count = 1};
	const struct conf conf = {.pools = &pool};
	const rlim_t need = raise_from(&conf, 32, own_hard_limit()).now.rlim_cur;

	(void)state;
	assert_int_equal(raise_from(&conf, 32, need).result, 0);
	assert_int_equal(raise_from(&conf, need, need).now.rlim_cur, need);
	assert_int_equal(raise_from(&conf, 32, need - 1).result, -EMFILE);
}

/* A name may stand for two addresses; each slot has a socket of each line. */
static void test_listeners_count(void **state)
{
	enum {
		CHILDREN = 50
	};
	struct conf_listen lines[] = {
		make_listen(ADDRESS_PATH, true),
		make_listen(ADDRESS_PATH, true),
		make_listen(ADDRESS_INET, true),
		make_listen(ADDRESS_PATH, false),
	};
	struct conf_pool pool = {.max_children = CHILDREN, .listen = lines, .listen_count = 1};
	const struct conf conf = {.pools = &pool};
	rlim_t need[5];

	(void)state;
	for (size_t lines_used = 1; lines_used <= 4; lines_used++) {
		pool.listen_count = lines_used;
		need[lines_used] = raise_from(&conf, 32, own_hard_limit()).now.rlim_cur;
	}
	assert_int_equal(need[2] - need[1], CHILDREN);
	assert_int_equal(need[3] - need[2], 2 * CHILDREN);
	assert_int_equal(need[4] - need[3], 1);
}

static void test_pools_add_up(void **state)
{
	struct conf_listen listen = make_listen(ADDRESS_PATH, true);
	struct conf_pool second = {.max_children = 30, .listen = &listen, .listen_count = 1};
	struct conf_pool first = {.max_children = 40, .listen = &listen, .listen_count = 1};
	const struct conf conf = {.pools = &first};
	const rlim_t one = raise_from(&conf, 32, own_hard_limit()).now.rlim_cur;

	(void)state;
	first.next = &second;
	assert_true(raise_from(&conf, 32, own_hard_limit()).now.rlim_cur >= one + 30 * PER_WORKER);
}

/* What a next manager needs: 8 a pool, 5 a slot, the sockets, and 68. */
static void test_stored(void **state)
{
	static const struct {
		unsigned int children;
		enum address_kind kind;
		bool per_slot;
		unsigned long need;
	} cases[] = {
		{1, ADDRESS_PATH, false, 68 + 8 + 5 + 1},  {4, ADDRESS_PATH, true, 68 + 8 + 20 + 4},
		{4, ADDRESS_PATH, false, 68 + 8 + 20 + 1}, {4, ADDRESS_INET, true, 68 + 8 + 20 + 8},
		{4, ADDRESS_PIPE, true, 68 + 8 + 20 + 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_listen listen = make_listen(cases[i].kind, cases[i].per_slot);
		struct conf_pool second = {.max_children = 2, .listen = &listen, .listen_count = 1};
		struct conf_pool first = {
			.max_children = cases[i].children, .listen = &listen, .listen_count = 1};
		const struct conf conf = {.pools = &first};

		assert_int_equal(limits_stored(&conf), cases[i].need);
		first.next = &second;
		assert_true(limits_stored(&conf) >= cases[i].need + 8 + 2 * 5 + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough_is_left_alone),
		cmocka_unit_test(test_soft_limit_is_raised),
		cmocka_unit_test(test_hard_limit_is_too_low),
		cmocka_unit_test(test_exactly_enough),
		cmocka_unit_test(test_listeners_count),
		cmocka_unit_test(test_pools_add_up),
		cmocka_unit_test(test_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
