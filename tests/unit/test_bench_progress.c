/* SPDX-License-Identifier: BSD-2-Clause */
/* The live line of berth-bench, on a terminal and elsewhere. */

#include "bench/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The time, as far as this program can see. */
static time_t second;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){.tv_sec = second};
	return 0;
}

/* The other end of a terminal that is standard error; @ret_saved is what that was. */
static int open_terminal(unsigned short columns, int *ret_saved)
{
	const struct winsize size = {.ws_row = 24, .ws_col = columns};
	const int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	int slave;

	assert_int_not_equal(master, -1);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_not_equal(slave, -1);
	assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
	*ret_saved = dup(STDERR_FILENO);
	assert_int_equal(dup2(slave, STDERR_FILENO), STDERR_FILENO);
	(void)close(slave);
	return master;
}

static void close_terminal(int master, int saved)
{
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(saved);
	(void)close(master);
}

/* What has come since the last time. */
static const char *take(int fd)
{
	static char text[1024];
	const ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_terminal(void **state)
{
	int saved;
	const int master = open_terminal(20, &saved);

	(void)state;
	(void)setenv("TERM", "xterm", 1);
	second = 100;
	progress_show("%d of %d", 1, 5);
	assert_string_equal(take(master), PROGRESS_ERASE "1 of 5");
	/* Too early. */
	progress_show("%d of %d", 2, 5);
	assert_string_equal(take(master), "");
	second = 101;
	progress_show("0123456789012345678901234567890");
	assert_string_equal(take(master), PROGRESS_ERASE "0123456789012345678");
	progress_clear();
	assert_string_equal(take(master), PROGRESS_ERASE);
	/* Nothing is left to be erased; and what comes next comes at once. */
	progress_clear();
	assert_string_equal(take(master), "");
	progress_show("next");
	assert_string_equal(take(master), PROGRESS_ERASE "next");
	progress_clear();
	(void)take(master);
	(void)setenv("TERM", "dumb", 1);
	progress_show("nothing");
	assert_string_equal(take(master), "");
	close_terminal(master, saved);
}

static void test_elsewhere(void **state)
{
	int saved = dup(STDERR_FILENO);
	int ends[2];

	(void)state;
	(void)setenv("TERM", "xterm", 1);
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	second = 200;
	progress_show("nothing");
	progress_clear();
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_string_equal(take(ends[0]), "");
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)close(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
