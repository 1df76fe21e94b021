/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the helper that changes another process's root folder. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fpm/process/jail.h"

#define SKIPPED 77

static char folder[] = "/tmp/berth-jail.XXXXXX";

/* A process with a helper, which does as it is told: 'p' = tell where it is, end of file = leave. */
struct prisoner {
	pid_t pid;
	int channel;
	int talk;
};

static __attribute__((noreturn)) void live(const struct jail *jail, int channel, int talk)
{
	char c, path[256];

	if (jail_prepare(jail, channel) == -1)
		_exit(1);
	(void)close(channel);
	/* As a program would be. */
	if (setuid(12345) == -1)
		_exit(2);
	while (read(talk, &c, 1) == 1) {
		struct stat st;

		(void)snprintf(path, sizeof(path), "%s %s", getcwd(path + 128, 128),
			       stat("/mark", &st) == 0 ? "inside" : "outside");
		if (write(talk, path, strlen(path) + 1) == -1)
			_exit(3);
	}
	_exit(0);
}

static struct prisoner start(const struct jail *jail)
{
	int channel[2], talk[2];
	struct prisoner p;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk), 0);
	p = (struct prisoner){.pid = fork(), .channel = channel[0], .talk = talk[0]};
	assert_int_not_equal(p.pid, -1);
	if (p.pid == 0) {
		(void)close(channel[0]);
		(void)close(talk[0]);
		live(jail, channel[1], talk[1]);
	}
	(void)close(channel[1]);
	(void)close(talk[1]);
	return p;
}

static void where(const struct prisoner *p, const char *expected)
{
	char answer[256] = "";

	assert_int_equal(write(p->talk, "p", 1), 1);
	assert_true(read(p->talk, answer, sizeof(answer)) > 0);
	assert_string_equal(answer, expected);
}

static int answer(const struct prisoner *p)
{
	struct pollfd wait = {.fd = p->channel, .events = POLLIN};

	assert_int_equal(poll(&wait, 1, 10000), 1);
	return jail_answer(p->channel);
}

static void end(const struct prisoner *p)
{
	int status;

	if (p->channel != -1)
		(void)close(p->channel);
	(void)close(p->talk);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_int_equal(status, 0);
	/* The helper is our child, too, and the last one. */
	assert_true(waitpid(-1, &status, 0) > 0);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(-1, &status, 0), -1);
}

static void test_enter(void **state)
{
	const struct jail jail = {.root = folder, .chdir = "/sub"};
	struct prisoner p = start(&jail);
	char before[256], text[300];

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	(void)snprintf(text, sizeof(text), "%s outside", before);
	where(&p, text);
	assert_int_equal(jail_close(p.channel), 0);
	assert_int_equal(answer(&p), 0);
	where(&p, "/sub inside");
	end(&p);
	/* Ours is as it was. */
	assert_non_null(getcwd(text, sizeof(text)));
	assert_string_equal(text, before);
}

static void test_failures(void **state)
{
	const struct jail missing = {.root = "/nonexistent"};
	const struct jail no_folder = {.root = folder, .chdir = "/none"};
	struct prisoner p = start(&missing);

	(void)state;
	assert_int_equal(jail_close(p.channel), 0);
	assert_int_equal(answer(&p), -ENOENT);
	end(&p);
	p = start(&no_folder);
	assert_int_equal(jail_close(p.channel), 0);
	assert_int_equal(answer(&p), -ENOENT);
	end(&p);
	assert_int_equal(jail_check("/nonexistent"), -ENOENT);
	assert_int_equal(jail_check("/dev/null"), -ENOTDIR);
	assert_int_equal(jail_check(folder), 0);
}

/* Whoever holds the other end is gone: nothing is changed, and the helper leaves. */
static void test_forgotten(void **state)
{
	const struct jail jail = {.root = folder};
	struct prisoner p = start(&jail);
	char before[200], text[256];
	int status;

	(void)state;
	(void)close(p.channel);
	p.channel = -1;
	assert_true(waitpid(-1, &status, 0) != p.pid);
	assert_non_null(getcwd(before, sizeof(before)));
	(void)snprintf(text, sizeof(text), "%s outside", before);
	where(&p, text);
	(void)close(p.talk);
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	assert_int_equal(status, 0);
}

static int make_folder(void **state)
{
	char path[64];
	int result;

	(void)state;
	if (!mkdtemp(folder) || chmod(folder, 0755) == -1)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/mark", folder);
	result = mkdir(path, 0755);
	(void)snprintf(path, sizeof(path), "%s/sub", folder);
	return result == 0 ? mkdir(path, 0755) : result;
}

static int remove_folder(void **state)
{
	char path[64];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/mark", folder);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/sub", folder);
	(void)rmdir(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enter),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_forgotten),
	};

	if (geteuid() != 0) {
		(void)fprintf(stderr, "needs root to change the root folder\n");
		return SKIPPED;
	}
	/* valgrind 3.19 does not know all of the system calls; neither does it know this one. */
	if (syscall(SYS_pidfd_open, getpid(), 0) == -1 && errno == ENOSYS)
		return SKIPPED;
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
