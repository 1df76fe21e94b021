/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the keys of limits and attributes: what is accepted, and who can have them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf_fixture.h"
#include "fpm/conf/conf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROOT_POOL    POOL "user = daemon\n"

static void test_defaults(void **state)
{
	struct conf *conf = read_good(POOL, &as_user);
	const struct conf_pool *const pool = conf->pools;

	(void)state;
	assert_int_equal(pool->request_terminate_timeout_ms, 0);
	assert_int_equal(pool->max_worker_memory, 0);
	assert_int_equal(pool->max_worker_memory_jitter, 0);
	assert_int_equal(pool->max_worker_lifetime_ms, 0);
	assert_int_equal(pool->max_worker_lifetime_jitter_ms, 0);
	assert_null(pool->chroot);
	assert_false(pool->dumpable);
	assert_null(pool->attributes.cgroup);
	assert_int_equal(pool->attributes.umask, (mode_t)-1);
	assert_false(pool->attributes.priority.set);
	assert_false(conf->priority.set);
	for (size_t i = 0; i < ATTRIBUTES_LIMIT_MAX; i++)
		assert_false(pool->attributes.limits[i].set);
	conf_free(conf);
}

static void test_times(void **state)
{
	struct conf *conf = read_good(POOL "request_terminate_timeout = 1d\n"
					   "pm.max_worker_lifetime = 30d\n"
					   "pm.max_worker_lifetime_jitter = 90\n",
				      &as_user);

	(void)state;
	assert_int_equal(conf->pools->request_terminate_timeout_ms, 86400000);
	assert_int_equal(conf->pools->max_worker_lifetime_ms, 2592000000U);
	assert_int_equal(conf->pools->max_worker_lifetime_jitter_ms, 90000);
	conf_free(conf);
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {
		{"0", 0},
		{"1", 1},
		{"1k", 1024},
		{"128M", 128U << 20},
		{"3G", 3ULL << 30},
		{"4611686018427387904", 1ULL << 62},
		{"4294967296G", 1ULL << 62},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		char text[256];
		struct conf *conf;

		(void)snprintf(text, sizeof(text),
			       POOL "pm.max_worker_memory = %s\nrlimit_as = %s\n", sizes[i].text,
			       sizes[i].text);
		conf = read_good(text, &as_user);
		assert_int_equal(conf->pools->max_worker_memory, sizes[i].bytes);
		assert_true(conf->pools->attributes.limits[ATTRIBUTES_AS].set);
		assert_int_equal(conf->pools->attributes.limits[ATTRIBUTES_AS].value,
				 sizes[i].bytes);
		conf_free(conf);
	}
}

static void test_attributes(void **state)
{
	struct conf *conf =
		read_good("process.priority = -3\n" ROOT_POOL "chroot = /srv/$pool\n"
			  "cgroup = /sys/fs/cgroup/$pool\numask = 0027\nprocess.priority = 19\n"
			  "process.dumpable = yes\nrlimit_files = 64\nrlimit_core = unlimited\n"
			  "rlimit_data = 0\nrlimit_nproc = 1\n",
			  &as_root);
	const struct conf_pool *const pool = conf->pools;
	const struct attributes *const attributes = &pool->attributes;

	(void)state;
	assert_true(conf->priority.set);
	assert_int_equal(conf->priority.value, -3);
	assert_int_equal(attributes->priority.value, 19);
	assert_string_equal(pool->chroot, "/srv/w");
	assert_string_equal(attributes->cgroup, "/sys/fs/cgroup/w");
	assert_int_equal(attributes->umask, 027);
	assert_true(pool->dumpable);
	assert_int_equal(attributes->limits[ATTRIBUTES_FILES].value, 64);
	assert_true(attributes->limits[ATTRIBUTES_CORE].value == RLIM_INFINITY);
	assert_int_equal(attributes->limits[ATTRIBUTES_DATA].value, 0);
	assert_true(attributes->limits[ATTRIBUTES_DATA].set);
	assert_int_equal(attributes->limits[ATTRIBUTES_NPROC].value, 1);
	conf_free(conf);
}

/* A pool has the nice value of [global] unless it has one of its own, 0 included. */
static void test_global_priority(void **state)
{
	struct conf *conf = read_good("[global]\nprocess.priority = 5\n" POOL
				      "[x]\nlisten = /run/x\npm.max_children = 1\n"
				      "process.priority = 0\n",
				      &as_user);

	(void)state;
	assert_true(conf->pools->attributes.priority.set);
	assert_int_equal(conf->pools->attributes.priority.value, 5);
	assert_true(conf->pools->next->attributes.priority.set);
	assert_int_equal(conf->pools->next->attributes.priority.value, 0);
	conf_free(conf);
}

static void test_refused(void **state)
{
#define SIZE	  "a number of bytes, such as 134217728, 131072K, 128M or 1G"
#define FROM_0	  "a time from 0 (none) to "
#define PRIORITY  "a whole number from -20 (first) to 19 (last)"
#define NOT_EMPTY "' is not accepted; accepted is "
	static const char *const lines[][3] = {
		{"request_terminate_timeout", "-1", FROM_0 "1d, such as 500ms, 30s or 5m"},
		{"request_terminate_timeout", "25h", FROM_0 "1d, such as 500ms, 30s or 5m"},
		{"pm.max_worker_lifetime", "31d", FROM_0 "30d, such as 30m, 12h or 1d"},
		{"pm.max_worker_lifetime_jitter", "5%", FROM_0 "30d, such as 30s, 5m or 1h"},
		{"pm.max_worker_memory", "unlimited", SIZE "; 0 is none"},
		{"pm.max_worker_memory", "1T", SIZE "; 0 is none"},
		{"pm.max_worker_memory", "4611686018427387905", SIZE "; 0 is none"},
		{"pm.max_worker_memory", "99999999999999999999", SIZE "; 0 is none"},
		{"pm.max_worker_memory", "4294967297G", SIZE "; 0 is none"},
		{"pm.max_worker_memory_jitter", "1.5M", SIZE "; 0 is none"},
		{"rlimit_core", "-1", SIZE ", or unlimited"},
		{"rlimit_as", "all", SIZE ", or unlimited"},
		{"rlimit_data", "5 M", SIZE ", or unlimited"},
		{"rlimit_files", "63", "a whole number from 64 to 1073741816"},
		{"rlimit_files", "unlimited", "a whole number from 64 to 1073741816"},
		{"rlimit_nproc", "0", "a whole number from 1 to 4194304"},
		{"process.priority", "20", PRIORITY},
		{"process.priority", "-21", PRIORITY},
		{"process.priority", "--1", PRIORITY},
		{"process.priority", "-", PRIORITY},
		{"process.dumpable", "maybe", "one of yes, no, on, off, true, false, 1, 0"},
		{"umask", "0800", "an octal mask from 0000 to 0777, such as 0027"},
		{"umask", "1000", "an octal mask from 0000 to 0777, such as 0027"},
		{"chroot", "srv", "an absolute path"},
		{"cgroup", "web", "an absolute path"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		char text[256], said[512];

		(void)snprintf(text, sizeof(text), POOL "%s = %s\n", lines[i][0], lines[i][1]);
		(void)snprintf(said, sizeof(said), "E f:4: %s: '%s" NOT_EMPTY "%s\n", lines[i][0],
			       lines[i][1], lines[i][2]);
		check_said(text, &as_user, said);
	}
}

static void test_executed(void **state)
{
#define EXEC	 POOL "user = daemon\nspawn = exec\n"
#define REFUSED	 ": is not accepted with spawn = exec, where "
#define HAS_IT	 "; spawn = template has it\n"
#define REPLACED "a worker can't be replaced between two requests"
	static const char *const examples[][2] = {
		{EXEC "request_terminate_timeout = 1\n",
		 "E f:6: request_terminate_timeout" REFUSED
		 "nobody tells when a request began" HAS_IT},
		{EXEC "pm.max_worker_memory = 1\n",
		 "E f:6: pm.max_worker_memory" REFUSED REPLACED HAS_IT},
		{EXEC "pm.max_worker_lifetime = 1\n",
		 "E f:6: pm.max_worker_lifetime" REFUSED REPLACED HAS_IT},
		{EXEC "process.dumpable = no\n",
		 "E f:6: process.dumpable" REFUSED
		 "the kernel makes every process that it executes dumpable" HAS_IT},
		{EXEC "chroot = /srv\n",
		 "E f:6: chroot" REFUSED
		 "the program would have to be inside, with all that it needs" HAS_IT},
		/* A file that pools share may say that they have none of these. */
		{EXEC "request_terminate_timeout = 0\npm.max_worker_memory = 0\n"
		      "pm.max_worker_lifetime = 0\nprocess.dumpable = yes\n",
		 ""},
		{EXEC "umask = 0\nrlimit_core = 0\nprocess.priority = 1\ncgroup = /x\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++)
		check_said(examples[i][0], &as_root, examples[i][1]);
}

static void test_as_user(void **state)
{
	struct conf *conf;
	char *said;

	(void)state;
	said = read_text("process.priority = -1\n" POOL "chroot = /srv\nprocess.priority = -2\n",
			 &as_user, &conf);
	assert_string_equal(said, "W f:1: process.priority: ignored: not started as root\n"
				  "W f:5: chroot: ignored: not started as root\n"
				  "W f:6: process.priority: ignored: not started as root\n");
	assert_non_null(conf);
	assert_false(conf->priority.set);
	assert_null(conf->pools->chroot);
	assert_false(conf->pools->attributes.priority.set);
	free(said);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),	cmocka_unit_test(test_times),
		cmocka_unit_test(test_sizes),		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_global_priority), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_executed),	cmocka_unit_test(test_as_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
