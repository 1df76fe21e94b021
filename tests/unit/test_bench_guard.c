/* SPDX-License-Identifier: BSD-2-Clause */
/* A program behind its guard: started, watched, ended with all that it started. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/server/folder.h"
#include "bench/server/guard.h"
#include "bench/server/placement.h"
#include "bench/server/ports.h"
#include "bench/server/target.h"

#define LONG_MS 20000

static char *const no_environment[] = {NULL};

/* A shell that runs a script, with a name as its $0. */
static int start(const char *script, const char *name, const cpu_set_t *cpus, const char *folder,
		 struct guard *ret_guard)
{
	char shell[] = "/bin/sh", option[] = "-c", text[512], zero[256];
	char *const argv[] = {shell, option, text, zero, NULL};
	const struct guard_options options = {
		.argv = argv,
		.envp = no_environment,
		.cpus = cpus,
		.folder = folder,
	};

	(void)snprintf(text, sizeof(text), "%s", script);
	(void)snprintf(zero, sizeof(zero), "%s", name);
	return guard_start(&options, ret_guard);
}

static void test_words(void **state)
{
	char tail[GUARD_TAIL_MAX + 1];
	struct guard guard;

	(void)state;
	assert_int_equal(start("echo one; echo two >&2; exit 3", "sh", NULL, NULL, &guard), 0);
	assert_true(guard_wait(&guard, LONG_MS));
	assert_false(guard_alive(&guard));
	guard_stop(&guard, tail, sizeof(tail));
	assert_string_equal(tail, "one\ntwo\n");
	assert_int_equal(guard.pid, 0);
	/* There is nothing to be stopped any more. */
	guard_stop(&guard, tail, sizeof(tail));
}

/* Much more than is kept, and more than a pipe holds. */
static void test_many_words(void **state)
{
	char tail[GUARD_TAIL_MAX + 1], small[8];
	const char *script = "i=0; while [ $i -lt 30000 ]; do echo $i; i=$((i + 1)); done";
	struct guard guard;

	(void)state;
	assert_int_equal(start(script, "sh", NULL, NULL, &guard), 0);
	assert_true(guard_wait(&guard, LONG_MS));
	guard_stop(&guard, tail, sizeof(tail));
	assert_int_equal(strlen(tail), GUARD_TAIL_MAX);
	assert_string_equal(tail + GUARD_TAIL_MAX - 12, "29998\n29999\n");
	assert_int_equal(start("echo 12345678", "sh", NULL, NULL, &guard), 0);
	assert_true(guard_wait(&guard, LONG_MS));
	guard_stop(&guard, small, sizeof(small));
	assert_string_equal(small, "1234567");
}

static void test_not_there(void **state)
{
	char path[] = "/nowhere/program";
	char *const argv[] = {path, NULL};
	const struct guard_options options = {.argv = argv, .envp = no_environment};
	struct guard guard;

	(void)state;
	assert_int_equal(guard_start(&options, &guard), -ENOENT);
	/* Nobody is left to be waited for. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* One that ignores SIGTERM, with a child in a session of its own that does, too. */
static void test_stubborn(void **state)
{
	const char *script =
		"trap '' TERM; exec 9>$0; setsid sh -c 'sleep 1000 & sleep 1000' & echo up >&9;"
		"while :; do sleep 1000; done";
	char folder[128], path[160], text[4] = "";
	struct guard guard;
	struct pollfd up = {.events = POLLIN};
	int fifo;

	(void)state;
	assert_int_equal(folder_make(folder, sizeof(folder)), 0);
	(void)snprintf(path, sizeof(path), "%s/up", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_not_equal(fifo, -1);
	assert_int_equal(start(script, path, NULL, folder, &guard), 0);
	up.fd = fifo;
	assert_int_equal(poll(&up, 1, LONG_MS), 1);
	assert_int_equal(read(fifo, text, 3), 3);
	assert_true(guard_alive(&guard));
	guard_stop(&guard, NULL, 0);
	/* Whoever was left would still have the pipe open, and there would be no end of it. */
	assert_int_equal(read(fifo, text, 3), 0);
	assert_int_equal(access(folder, F_OK), -1);
	(void)close(fifo);
}

static void test_cpus(void **state)
{
	struct placement_plan plan;
	struct guard guard;
	char seen[64], wanted[16];

	(void)state;
	assert_int_equal(placement_plan(PLACEMENT_SAME, 1, &plan), 0);
	assert_int_equal(
		start("grep Cpus_allowed_list /proc/self/status", "sh", &plan.server, NULL, &guard),
		0);
	assert_true(guard_wait(&guard, LONG_MS));
	guard_stop(&guard, seen, sizeof(seen));
	/* "same: client and server on CPU 1" */
	(void)snprintf(wanted, sizeof(wanted), "\t%s\n", strrchr(plan.text, ' ') + 1);
	assert_non_null(strstr(seen, wanted));
}

/* What we have open is not the program's, and signals are as they were when we were started. */
static void test_clean(void **state)
{
	/* The shell reads by itself: while it waits for another program it blocks signals. */
	const char *script =
		"while read -r line; do case $line in Sig[BI]*) echo \"$line\"; esac; done "
		"</proc/self/status; exec ls /proc/self/fd";
	char seen[256];
	struct guard guard;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(start(script, "sh", NULL, NULL, &guard), 0);
	assert_true(guard_wait(&guard, LONG_MS));
	guard_stop(&guard, seen, sizeof(seen));
	/* The last descriptor is that of the list itself. */
	assert_string_equal(seen,
			    "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n1\n2\n3\n");
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_ports(void **state)
{
	unsigned int base = 0;

	(void)state;
	assert_int_equal(ports_find(8, &base), 0);
	assert_true(base >= 20000 && base + 8 <= 32000);
	assert_int_equal(ports_find(60000, &base), -EADDRINUSE);
}

static void test_refusals(void **state)
{
	static const struct target_options rows[] = {
		{.kind = TARGET_ADDRESS, .workers = 1},
		{.kind = TARGET_KINDS, .workers = 1},
		{.kind = TARGET_NULL, .transport = TRANSPORT_UNIX, .workers = 0},
		{.kind = TARGET_FPM, .transport = TRANSPORT_PIPE, .workers = 1},
	};
	struct target target = {0};
	char error[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		error[0] = '\0';
		assert_int_equal(target_start(&rows[i], &target, error, sizeof(error)), -EINVAL);
		assert_true(error[0] != '\0');
	}
	assert_int_equal(target_attach("nonsense", 1, 0, &target, error, sizeof(error)), -EINVAL);
	/* Nobody is there: that is the measurement's to find out. */
	assert_int_equal(target_attach("/nowhere/www.sock", 1, 0, &target, error, sizeof(error)),
			 0);
	assert_int_equal(target.pid, 0);
	assert_true(target_alive(&target));
	target_stop(&target);
	target_stop(&target);
	assert_string_equal(target_kind_name(TARGET_FPM), "php-fpm");
	assert_string_equal(target_kind_name(TARGET_KINDS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	  cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_not_there), cmocka_unit_test(test_stubborn),
		cmocka_unit_test(test_cpus),	  cmocka_unit_test(test_clean),
		cmocka_unit_test(test_ports),	  cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
