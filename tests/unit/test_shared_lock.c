/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits for a lock that processes share, and who for something else. */

#include "fpm/process/shared_lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fpm/process/proc_stat.h"

enum wait_for {
	SHARED_LOCK,
	SHARED_LOCK_UNTIL,
	PRIVATE_FLAG,
	PRIVATE_MEMORY,
	A_SIGNAL,
	NOTHING
};

static void __attribute__((noreturn)) wait_for_ever(enum wait_for what)
{
	int flags = what == PRIVATE_MEMORY ? MAP_PRIVATE : MAP_SHARED;
	uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	int operation =
		what == SHARED_LOCK_UNTIL ? FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME : FUTEX_WAIT;

	if (what == PRIVATE_FLAG)
		operation |= FUTEX_PRIVATE_FLAG;
	for (;;) {
		if (what == A_SIGNAL)
			(void)pause();
		else if (what != NOTHING)
			(void)syscall(SYS_futex, word, operation, 0, NULL, NULL,
				      FUTEX_BITSET_MATCH_ANY);
	}
}

/* Starts a process and waits until it does what it is to do. */
static pid_t start(enum wait_for what)
{
	struct proc_stat stat = {.state = '?'};
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0)
		wait_for_ever(what);
	while (what != NOTHING && stat.state != 'S')
		assert_int_equal(proc_stat_read(pid, &stat), 0);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_waits(void **state)
{
	static const int expected[] = {
		[SHARED_LOCK] = 1,    [SHARED_LOCK_UNTIL] = 1, [PRIVATE_FLAG] = 0,
		[PRIVATE_MEMORY] = 0, [A_SIGNAL] = 0,	       [NOTHING] = 0,
	};

	(void)state;
	for (int what = 0; what <= NOTHING; what++) {
		pid_t pid = start((enum wait_for)what);

		assert_int_equal(shared_lock_waits(pid), expected[what]);
		end(pid);
	}
}

static void test_nobody(void **state)
{
	pid_t pid = start(A_SIGNAL);

	(void)state;
	end(pid);
	assert_int_equal(shared_lock_waits(pid), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_nobody),
	};

	/* A kernel can be built without it. */
	if (access("/proc/self/syscall", R_OK) == -1)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
