/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the pid file: who gets it, what it replaces, who removes it. */
#include "fpm/manager/pid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char folder[64];
static char path[80];
static char error[256];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/berth test.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/a pid", folder);
	return 0;
}

/* Fails if anything else is left in the folder. */
static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static void put(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static const char *content(void)
{
	static char text[128];
	FILE *file = fopen(path, "r");
	size_t n;

	if (!file)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	(void)fclose(file);
	return text;
}

static struct pid_file *must_have(void)
{
	struct pid_file *file = NULL;

	assert_int_equal(pid_file_new(path, &file, error, sizeof(error)), 0);
	return file;
}

static void refused(int code, const char *says)
{
	struct pid_file *file = NULL;

	assert_int_equal(pid_file_new(path, &file, error, sizeof(error)), code);
	assert_null(file);
	assert_non_null(strstr(error, says));
}

static void test_life(void **state)
{
	char own[32];
	struct pid_file *file;
	struct stat st;

	(void)state;
	(void)snprintf(own, sizeof(own), "%d\n", getpid());
	file = must_have();
	assert_string_equal(content(), own);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(st.st_nlink, 1);
	own[strlen(own) - 1] = '\0';
	refused(-EBUSY, own);
	pid_file_free(file);
	assert_null(content());
	pid_file_free(must_have());
	pid_file_free(NULL);
}

static void test_found(void **state)
{
	static const struct {
		const char *text;
		bool replaced;
	} cases[] = {
		{"", true},	     {"1", true},
		{"1\n", true},	     {"4194304\n", true},
		{"0\n", false},	     {"-1\n", false},
		{"x\n", false},	     {"12 \n", false},
		{"12\n13\n", false}, {"1\n\n", false},
		{"\n", false},	     {"00000000000000000000000000000000000000001\n", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		put(cases[i].text);
		if (cases[i].replaced) {
			pid_file_free(must_have());
			assert_null(content());
		} else {
			refused(-EEXIST, "is there and no pid file");
			assert_string_equal(content(), cases[i].text);
		}
	}
}

static void test_odd_places(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	refused(-EEXIST, "no pid file");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(-EEXIST, "no pid file");
	assert_int_equal(unlink(path), 0);
	/* Whoever may write to the folder must not choose what is replaced elsewhere. */
	assert_int_equal(symlink("/dev/null", path), 0);
	refused(-ELOOP, "symbolic links");
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/no such/pid", folder);
	refused(-ENOENT, "No such file");
}

static void test_not_ours(void **state)
{
	struct pid_file *file = must_have(), *other;

	(void)state;
	/* Removed by somebody: the next one may have it, and keeps it. */
	assert_int_equal(unlink(path), 0);
	other = must_have();
	pid_file_free(file);
	assert_non_null(content());
	pid_file_free(other);
	assert_null(content());
}

/* The lock is the process's: it ends with it, and the file can be had. */
static void test_killed(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct pid_file *file;

		_exit(pid_file_new(path, &file, error, sizeof(error)) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(strtol(content(), NULL, 10), pid);
	pid_file_free(must_have());
}

/* Called in place of flock(); at the call that is chosen something happens first. */
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static int calls_left;
static struct pid_file *faster;

int __wrap_flock(int fd, int operation)
{
	if (calls_left > 0 && --calls_left == 0) {
		(void)unlink(path);
		faster = must_have();
	}
	return __real_flock(fd, operation);
}

/* Between the look at a stale file and its lock somebody else has replaced it. */
static void test_overtaken(void **state)
{
	(void)state;
	put("1\n");
	/* The first is for the new file, the second for the one that is there. */
	calls_left = 2;
	refused(-EBUSY, "berth runs already");
	assert_int_equal(calls_left, 0);
	pid_file_free(faster);
	assert_null(content());
}

/* Many at once over a stale file: at any time one has it. */
static void test_crowd(void **state)
{
	enum {
		PROCESSES = 4,
		ROUNDS = 200
	};
	char held[96];

	(void)state;
	(void)snprintf(held, sizeof(held), "%s/held", folder);
	put("1\n");
	for (int i = 0; i < PROCESSES; i++) {
		if (fork() != 0)
			continue;
		for (int round = 0; round < ROUNDS; round++) {
			struct pid_file *file;
			int fd;

			if (pid_file_new(path, &file, error, sizeof(error)) < 0)
				continue;
			/* This must not be there while we have the pid file. */
			fd = open(held, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			if (fd == -1 || close(fd) == -1 || unlink(held) == -1)
				_exit(1);
			pid_file_free(file);
		}
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_null(content());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overtaken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
