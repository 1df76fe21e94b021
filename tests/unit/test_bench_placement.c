/* SPDX-License-Identifier: BSD-2-Clause */
/* Where client and server run, and what the environment says. */

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/server/environment.h"
#include "bench/server/placement.h"

static cpu_set_t allowed;

static int remember_cpus(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof(allowed), &allowed);
}

static int last_cpu(const cpu_set_t *set)
{
	int cpu = CPU_SETSIZE - 1;

	while (!CPU_ISSET(cpu, set))
		cpu--;
	return cpu;
}

static void test_same(void **state)
{
	struct placement_plan plan;

	(void)state;
	assert_int_equal(placement_plan(PLACEMENT_SAME, 4, &plan), 0);
	assert_int_equal(CPU_COUNT(&plan.client), 1);
	assert_true(CPU_EQUAL(&plan.client, &plan.server));
	assert_int_equal(strncmp(plan.text, "same: client and server on CPU ", 31), 0);
}

static void test_no_placement(void **state)
{
	struct placement_plan plan;

	(void)state;
	assert_int_equal(placement_plan(PLACEMENT_FREE, 4, &plan), 0);
	assert_true(CPU_EQUAL(&plan.client, &allowed));
	assert_true(CPU_EQUAL(&plan.server, &allowed));
	assert_true(placement_holds(&plan, getpid()));
}

static void test_split(void **state)
{
	struct placement_plan plan;
	unsigned int cpus = (unsigned int)CPU_COUNT(&allowed);
	cpu_set_t both;

	(void)state;
	if (cpus < 2)
		skip();
	for (unsigned int threads = 0; threads <= cpus + 1; threads++) {
		unsigned int client = threads == 0 ? 1 : threads < cpus ? threads : cpus - 1;

		assert_int_equal(placement_plan(PLACEMENT_SPLIT, threads, &plan), 0);
		assert_int_equal(plan.placement, PLACEMENT_SPLIT);
		assert_int_equal(CPU_COUNT(&plan.client), client);
		CPU_AND(&both, &plan.client, &plan.server);
		assert_int_equal(CPU_COUNT(&both), 0);
		CPU_OR(&both, &plan.client, &plan.server);
		assert_true(CPU_EQUAL(&both, &allowed));
		assert_true(CPU_ISSET(last_cpu(&allowed), &plan.client));
	}
	assert_int_equal(placement_plan(PLACEMENT_DEFAULT, 1, &plan), 0);
	assert_int_equal(plan.placement, PLACEMENT_SPLIT);
}

static void test_one_cpu(void **state)
{
	struct placement_plan plan;
	cpu_set_t one;

	(void)state;
	CPU_ZERO(&one);
	CPU_SET(last_cpu(&allowed), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(placement_plan(PLACEMENT_SPLIT, 1, &plan), -EINVAL);
	assert_int_equal(placement_plan(PLACEMENT_DEFAULT, 1, &plan), 0);
	assert_int_equal(plan.placement, PLACEMENT_SAME);
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

/* A thread or a child in another place is seen, also below the process that is asked for. */
static void test_holds(void **state)
{
	struct placement_plan plan;
	char byte;
	int ready[2];
	pid_t pid;

	(void)state;
	assert_int_equal(placement_plan(PLACEMENT_SAME, 1, &plan), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)sched_setaffinity(0, sizeof(plan.server), &plan.server);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_true(placement_holds(&plan, pid));
	if (CPU_COUNT(&allowed) > 1) {
		assert_false(placement_holds(&plan, getpid()));
		assert_int_equal(sched_setaffinity(0, sizeof(plan.server), &plan.server), 0);
		assert_true(placement_holds(&plan, getpid()));
		assert_int_equal(sched_setaffinity(pid, sizeof(allowed), &allowed), 0);
		assert_false(placement_holds(&plan, getpid()));
		assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		enum placement placement;
	} rows[] = {
		{"same", PLACEMENT_SAME},
		{"split", PLACEMENT_SPLIT},
		{"free", PLACEMENT_FREE},
	};
	enum placement placement = PLACEMENT_DEFAULT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(placement_parse(rows[i].text, &placement));
		assert_int_equal(placement, rows[i].placement);
	}
	assert_false(placement_parse("default", &placement));
	assert_false(placement_parse("", &placement));
	assert_int_equal(placement, PLACEMENT_FREE);
}

static void test_environment(void **state)
{
	static const char *const wanted[] = {
		"kernel",      "cpu",	       "cpus",	       "virtualisation",
		"mitigations", "clocksource",  "governor",     "idle_driver",
		"somaxconn",   "tcp_tw_reuse", "loopback_mtu", "load_average",
	};
	struct environment environment;

	(void)state;
	environment_read(&environment);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		size_t at = 0;

		while (at < environment.count && strcmp(environment.fact[at].name, wanted[i]) != 0)
			at++;
		if (at == environment.count)
			fail_msg("%s is missing", wanted[i]);
	}
	for (size_t i = 0; i < environment.count; i++) {
		assert_true(environment.fact[i].value[0] != '\0');
		assert_null(strpbrk(environment.fact[i].value, "\n\t"));
	}
}

static void test_environment_full(void **state)
{
	struct environment environment = {0};

	(void)state;
	for (int i = 0; i < ENVIRONMENT_MAX + 2; i++)
		environment_add(&environment, "seed", "%d", i);
	assert_int_equal(environment.count, ENVIRONMENT_MAX);
	assert_string_equal(environment.fact[3].name, "seed");
	assert_string_equal(environment.fact[3].value, "3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),	    cmocka_unit_test(test_no_placement),
		cmocka_unit_test(test_split),	    cmocka_unit_test(test_one_cpu),
		cmocka_unit_test(test_holds),	    cmocka_unit_test(test_parse),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_environment_full),
	};

	return cmocka_run_group_tests(tests, remember_cpus, NULL);
}
