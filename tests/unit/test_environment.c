/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the environment that a pool's processes get. */
#include "fpm/process/environment.h"

#include "fpm/conf/conf.h"
#include "fpm/worker/abi.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char **own_environ;

static int setup(void **state)
{
	static char *nothing[] = {NULL};

	(void)state;
	own_environ = environ;
	environ = nothing;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)clearenv();
	environ = own_environ;
	return 0;
}

static const char *get(char *const environment[], const char *name)
{
	const size_t len = strlen(name);
	const char *found = NULL;

	for (size_t i = 0; environment[i]; i++) {
		if (strncmp(environment[i], name, len) != 0 || environment[i][len] != '=')
			continue;
		/* Twice would leave it to the program which one counts. */
		assert_null(found);
		found = environment[i] + len + 1;
	}
	return found;
}

static void check(char *const environment[], const char *name, const char *expected)
{
	const char *value = get(environment, name);

	if (!expected && value)
		fail_msg("%s is there: %s", name, value);
	if (expected && !value)
		fail_msg("%s is missing", name);
	if (expected)
		assert_string_equal(value, expected);
}

static size_t count(char *const environment[])
{
	size_t n = 0;

	while (environment[n])
		n++;
	return n;
}

static struct conf_pool make_pool(enum conf_spawn spawn)
{
	return (struct conf_pool){.spawn = spawn,
				  .clear_env = true,
				  .identity = {.uid = (uid_t)-1, .gid = (gid_t)-1}};
}

static void test_cleared_template(void **state)
{
	const struct conf_pool pool = make_pool(CONF_SPAWN_TEMPLATE);
	const struct passwd *user = getpwuid(geteuid());
	char marker[64];
	char **e;

	(void)state;
	assert_int_equal(setenv("SECRET", "x", 1), 0);
	assert_int_equal(setenv("PATH", "/x", 1), 0);
	assert_int_equal(setenv("LD_PRELOAD", "/x.so", 1), 0);
	assert_int_equal(setenv("PHP_FCGI_CHILDREN", "2", 1), 0);
	e = environment_new(&pool, NULL);
	assert_non_null(e);
	(void)snprintf(marker, sizeof(marker), "%u -1 1", ABI_VERSION);
	check(e, "USER", user ? user->pw_name : NULL);
	check(e, "HOME", user ? user->pw_dir : NULL);
	check(e, "PHP_FCGI_MAX_REQUESTS", "0");
	check(e, ABI_ENV, marker);
	check(e, "LD_PRELOAD", ABI_PRELOAD);
	assert_int_equal(count(e), user ? 5 : 3);
	environment_free(e);
}

static void test_cleared_exec(void **state)
{
	const struct conf_pool pool = make_pool(CONF_SPAWN_EXEC);
	char **e;

	(void)state;
	assert_int_equal(setenv("SECRET", "x", 1), 0);
	e = environment_new(&pool, "/ini");
	assert_non_null(e);
	check(e, "PHP_FCGI_MAX_REQUESTS", "0");
	check(e, ABI_ENV_SCAN_DIR, ":/ini");
	check(e, ABI_ENV, NULL);
	check(e, "LD_PRELOAD", NULL);
	check(e, "SECRET", NULL);
	environment_free(e);
}

static void test_inherited(void **state)
{
	static const char *const left_out[] = {
		"PHP_FCGI_CHILDREN", "FCGI_WEB_SERVER_ADDRS",
		"NOTIFY_SOCKET",     "WATCHDOG_USEC",
		"JOURNAL_STREAM",    "FDSTORE",
		"WATCHDOG_PID",	     "LISTEN_FDS",
		"LISTEN_PID",	     "LISTEN_FDNAMES",
		"MAINPID",	     ABI_ENV,
	};
	struct conf_pool pool = make_pool(CONF_SPAWN_EXEC);
	char **e;

	(void)state;
	pool.clear_env = false;
	pool.identity.uid = 4123456789U;
	for (size_t i = 0; i < COUNT(left_out); i++)
		assert_int_equal(setenv(left_out[i], "2", 1), 0);
	assert_int_equal(setenv("SECRET", "a=b c", 1), 0);
	assert_int_equal(setenv("EMPTY", "", 1), 0);
	assert_int_equal(setenv("LISTEN_FDS_OTHER", "y", 1), 0);
	assert_int_equal(setenv("PHP_FCGI_MAX_REQUESTS", "7", 1), 0);
	assert_int_equal(setenv("USER", "manager", 1), 0);
	assert_int_equal(setenv("HOME", "/manager", 1), 0);
	e = environment_new(&pool, NULL);
	assert_non_null(e);
	for (size_t i = 0; i < COUNT(left_out); i++)
		check(e, left_out[i], NULL);
	check(e, "SECRET", "a=b c");
	check(e, "EMPTY", "");
	check(e, "LISTEN_FDS_OTHER", "y");
	/* The manager's own would end each worker after 7 requests. */
	check(e, "PHP_FCGI_MAX_REQUESTS", "0");
	/* The pool's user is in no database, and is not the manager's. */
	check(e, "USER", NULL);
	check(e, "HOME", NULL);
	assert_int_equal(count(e), 4);
	environment_free(e);
}

/* Somebody may start us with an environment that is no list of settings. */
static void test_inherited_rubbish(void **state)
{
	static char rubbish[] = "NOVALUE", empty[] = "", nameless[] = "=x", good[] = "A=1",
		    twice[] = "A=2";
	static char *list[] = {rubbish, empty, nameless, good, twice, NULL};
	struct conf_pool pool = make_pool(CONF_SPAWN_EXEC);
	char **e;

	(void)state;
	pool.clear_env = false;
	environ = list;
	e = environment_new(&pool, NULL);
	assert_non_null(e);
	check(e, "NOVALUE", NULL);
	assert_non_null(get(e, "A"));
	for (size_t i = 0; e[i]; i++)
		assert_non_null(strchr(e[i], '='));
	environment_free(e);
	environ = NULL;
	e = environment_new(&pool, NULL);
	assert_non_null(e);
	check(e, "PHP_FCGI_MAX_REQUESTS", "0");
	environment_free(e);
}

static void test_many_variables(void **state)
{
	enum {
		MANY = 300
	};
	struct conf_pool pool = make_pool(CONF_SPAWN_TEMPLATE);
	char **e;

	(void)state;
	pool.clear_env = false;
	for (int i = 0; i < MANY; i++) {
		char name[16], value[16];

		(void)snprintf(name, sizeof(name), "V%d", i);
		(void)snprintf(value, sizeof(value), "%d", i * 3);
		assert_int_equal(setenv(name, value, 1), 0);
	}
	e = environment_new(&pool, NULL);
	assert_non_null(e);
	check(e, "V0", "0");
	check(e, "V299", "897");
	assert_in_range(count(e), MANY + 3, MANY + 5);
	environment_free(e);
}

static void test_own_settings_win(void **state)
{
	char names[][24] = {"USER", "PHP_FCGI_MAX_REQUESTS", "SECRET", "PHP_FCGI_CHILDREN"};
	char values[][24] = {"me", "9", "pool's", "3"};
	struct conf_env env[COUNT(names)];
	struct conf_pool pool = make_pool(CONF_SPAWN_EXEC);

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		env[i] = (struct conf_env){.name = names[i], .value = values[i]};
	pool.env = env;
	pool.env_count = COUNT(env);
	assert_int_equal(setenv("SECRET", "manager's", 1), 0);
	for (int clear = 0; clear < 2; clear++) {
		char **e;

		pool.clear_env = clear;
		e = environment_new(&pool, NULL);
		assert_non_null(e);
		for (size_t i = 0; i < COUNT(names); i++)
			check(e, names[i], values[i]);
		environment_free(e);
	}
}

static void test_scan_dir(void **state)
{
	static const struct {
		const char *own;
		const char *ini_dir;
		const char *expected;
		int keep;
	} cases[] = {
		{NULL, NULL, NULL, -1},
		{NULL, "/ini", ":/ini", -1},
		{"/own", NULL, "/own", 4},
		{"/own", "/ini", "/own:/ini", 4},
		{"/a:/b:", "/ini", "/a:/b::/ini", 6},
		/* Empty means no folder at all, so ours stands alone. */
		{"", NULL, "", 0},
		{"", "/ini", "/ini", 0},
	};
	char name[] = ABI_ENV_SCAN_DIR;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct conf_pool pool = make_pool(CONF_SPAWN_TEMPLATE);
		struct conf_env env = {.name = name};
		char value[32], marker[64];
		char **e;

		if (cases[i].own) {
			(void)snprintf(value, sizeof(value), "%s", cases[i].own);
			env.value = value;
			pool.env = &env;
			pool.env_count = 1;
		}
		e = environment_new(&pool, cases[i].ini_dir);
		assert_non_null(e);
		(void)snprintf(marker, sizeof(marker), "%u %d 1", ABI_VERSION, cases[i].keep);
		check(e, ABI_ENV_SCAN_DIR, cases[i].expected);
		check(e, ABI_ENV, marker);
		environment_free(e);
	}
}

static void test_preload_of_the_manager(void **state)
{
	static const struct {
		const char *own;
		const char *expected;
	} cases[] = {
		{"/a.so", "/a.so:" ABI_PRELOAD},
		{"/a.so:/b.so", "/a.so:/b.so:" ABI_PRELOAD},
		{"", ABI_PRELOAD},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct conf_pool pool = make_pool(CONF_SPAWN_TEMPLATE);
		char **e;

		pool.clear_env = false;
		assert_int_equal(setenv("LD_PRELOAD", cases[i].own, 1), 0);
		e = environment_new(&pool, NULL);
		assert_non_null(e);
		check(e, "LD_PRELOAD", cases[i].expected);
		environment_free(e);
		pool.spawn = CONF_SPAWN_EXEC;
		e = environment_new(&pool, NULL);
		assert_non_null(e);
		check(e, "LD_PRELOAD", cases[i].own);
		environment_free(e);
	}
	environment_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cleared_template, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cleared_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inherited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inherited_rubbish, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_variables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_settings_win, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_dir, setup, teardown),
		cmocka_unit_test_setup_teardown(test_preload_of_the_manager, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
