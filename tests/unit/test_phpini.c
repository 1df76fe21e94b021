/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the folder with PHP settings that berth writes for a pool. */
#include "fpm/process/phpini.h"

#include "fpm/conf/conf.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char plain_name[] = "memory_limit", plain_value[] = "64M";
static char admin_name[] = "open_basedir", admin_value[] = "/srv:/tmp";
static char flag_name[] = "display_errors", flag_value[] = "0";

static struct conf_php settings[] = {
	{.name = plain_name, .value = plain_value},
	{.name = admin_name, .value = admin_value, .admin = true},
	{.name = flag_name, .value = flag_value, .admin = true},
};

static struct conf_pool make_pool(struct conf_php *php, size_t count)
{
	return (struct conf_pool){
		.php = php, .php_count = count, .identity = {.uid = (uid_t)-1, .gid = (gid_t)-1}};
}

/* The path of the only file in @dir, to be freed. */
static char *only_file(const char *dir)
{
	DIR *d = opendir(dir);
	char *path = NULL;

	assert_non_null(d);
	for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		assert_null(path);
		assert_int_not_equal(asprintf(&path, "%s/%s", dir, e->d_name), -1);
	}
	(void)closedir(d);
	/* PHP reads no other files of such a folder. */
	assert_true(path && strstr(path, ".ini"));
	return path;
}

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(in);
	assert_true(getdelim(&text, &size, '\0', in) > 0);
	(void)fclose(in);
	return text;
}

/* Writes, reads and removes; what was written is to be freed. */
static char *write_and_read(const struct conf_pool *pool)
{
	char error[256] = "";
	char *dir = NULL, *path, *text;

	assert_int_equal(phpini_write(pool, &dir, error, sizeof(error)), 0);
	assert_non_null(dir);
	path = only_file(dir);
	text = read_file(path);
	free(path);
	phpini_remove(dir);
	return text;
}

static void test_nothing_to_write(void **state)
{
	const struct conf_pool pool = make_pool(NULL, 0);
	char unset[] = "unset";
	char *dir = unset;
	char error[64];

	(void)state;
	assert_int_equal(phpini_write(&pool, &dir, error, sizeof(error)), 0);
	assert_null(dir);
	phpini_remove(NULL);
}

static void test_modes_and_removal(void **state)
{
	const struct conf_pool pool = make_pool(settings, COUNT(settings));
	const mode_t mask = umask(0);
	char error[256] = "";
	char *dir = NULL, *path, *copy;
	struct stat st;

	(void)state;
	for (mode_t m = 0; m <= 0777; m += 0777) {
		(void)umask(m);
		assert_int_equal(phpini_write(&pool, &dir, error, sizeof(error)), 0);
		path = only_file(dir);
		/* Values may be passwords; the group is the pool's, which has to read them. */
		assert_int_equal(stat(dir, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0750);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
		copy = strdup(dir);
		assert_non_null(copy);
		phpini_remove(dir);
		assert_int_equal(access(copy, F_OK), -1);
		assert_int_equal(errno, ENOENT);
		free(copy);
		free(path);
	}
	(void)umask(mask);
}

static void test_group_of_the_pool(void **state)
{
	struct conf_pool pool = make_pool(settings, COUNT(settings));
	char error[256] = "";
	char *dir = NULL, *path;
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	pool.identity.uid = 12345;
	pool.identity.gid = 23456;
	assert_int_equal(phpini_write(&pool, &dir, error, sizeof(error)), 0);
	path = only_file(dir);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_gid, 23456);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_gid, 23456);
	/* It must not be the pool's to change. */
	assert_int_equal(st.st_uid, 0);
	free(path);
	phpini_remove(dir);
}

static void test_everything_stands_first(void **state)
{
	static const char expected[] = "memory_limit = \"64M\"\n"
				       "open_basedir = \"/srv:/tmp\"\n"
				       "display_errors = \"0\"\n";
	const struct conf_pool pool = make_pool(settings, COUNT(settings));
	char *text = write_and_read(&pool);

	(void)state;
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	free(text);
}

static void test_no_section_without_admin(void **state)
{
	const struct conf_pool pool = make_pool(settings, 1);
	char *text = write_and_read(&pool);

	(void)state;
	assert_string_equal(text, "memory_limit = \"64M\"\n");
	free(text);
}

static void test_a_section_for_each_folder(void **state)
{
	static const char body[] = "]\nopen_basedir = \"/srv:/tmp\"\ndisplay_errors = \"0\"\n";
	const struct conf_pool pool = make_pool(settings, COUNT(settings));
	char *text = write_and_read(&pool);
	DIR *root = opendir("/");
	unsigned int names = 0;

	(void)state;
	assert_non_null(root);
	for (const struct dirent *e = readdir(root); e; e = readdir(root)) {
		char head[300];
		const char *end;

		(void)snprintf(head, sizeof(head), "[PATH=/%s]\n", e->d_name);
		end = strstr(text, head);
		end = end ? strchr(end, ']') : NULL;
		if (!end || strncmp(end, body, strlen(body)) != 0)
			fail_msg("no section for /%s, or a wrong one", e->d_name);
		names++;
	}
	assert_true(names > 3);
	(void)closedir(root);
	/* A section must not let a plain setting become fixed. */
	assert_null(strstr(strstr(text, "[PATH"), "memory_limit"));
	free(text);
}

static void test_values_are_quoted(void **state)
{
	static const struct {
		const char *value;
		const char *line;
	} cases[] = {
		{"", "x = \"\"\n"},
		{"a b ; c", "x = \"a b ; c\"\n"},
		{"a=b&c|d!e~f(g)", "x = \"a=b&c|d!e~f(g)\"\n"},
		{"say \"hi\"", "x = \"say \\\"hi\\\"\"\n"},
		{"C:\\x\\", "x = \"C:\\\\x\\\\\"\n"},
		{"cost $5 'x' %n", "x = \"cost $5 'x' %n\"\n"},
		{"[PATH=/]", "x = \"[PATH=/]\"\n"},
	};
	char name[] = "x";

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char value[64];
		struct conf_php php = {.name = name, .value = value};
		const struct conf_pool pool = make_pool(&php, 1);
		char *text;

		(void)snprintf(value, sizeof(value), "%s", cases[i].value);
		text = write_and_read(&pool);
		assert_string_equal(text, cases[i].line);
		free(text);
	}
}

/* A folder that could not be filled must not stay behind. */
static void test_failure_leaves_nothing(void **state)
{
	const struct conf_pool pool = make_pool(settings, COUNT(settings));
	struct rlimit old, none;
	char error[256] = "";
	char unset[] = "unset";
	char *dir = unset, *start, *end;
	int result;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	result = phpini_write(&pool, &dir, error, sizeof(error));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_true(result < 0);
	assert_ptr_equal(dir, unset);
	assert_null(strchr(error, '\n'));
	start = strchr(error, '/');
	assert_non_null(start);
	end = strchr(start, ':');
	assert_non_null(end);
	*end = '\0';
	assert_non_null(strstr(start, "berth"));
	assert_int_equal(access(start, F_OK), -1);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_write),
		cmocka_unit_test(test_modes_and_removal),
		cmocka_unit_test(test_group_of_the_pool),
		cmocka_unit_test(test_everything_stands_first),
		cmocka_unit_test(test_no_section_without_admin),
		cmocka_unit_test(test_a_section_for_each_folder),
		cmocka_unit_test(test_values_are_quoted),
		cmocka_unit_test(test_failure_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
