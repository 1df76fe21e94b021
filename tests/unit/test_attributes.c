/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what a process is given: each in a child, as some can't be undone. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fpm/process/attributes.h"

#define SKIPPED 77

typedef int (*child_fn)(void);

/* Return: what @child returned in a process of its own */
static int in_child(child_fn child)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static struct attributes nothing(void)
{
	return (struct attributes){.umask = (mode_t)-1};
}

static int has_limit(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur == value &&
	       limit.rlim_max == value;
}

static int apply_nothing(void)
{
	struct attributes a = nothing();
	struct rlimit before, after;
	mode_t mask = umask(0123);

	(void)mask;
	if (getrlimit(RLIMIT_NOFILE, &before) == -1 || attributes_apply(&a))
		return 1;
	if (getrlimit(RLIMIT_NOFILE, &after) == -1 || memcmp(&before, &after, sizeof(after)) != 0)
		return 2;
	return umask(0) == 0123 ? 0 : 3;
}

static int apply_all(void)
{
	struct attributes a = nothing();
	int priority = getpriority(PRIO_PROCESS, 0) < 19 ? getpriority(PRIO_PROCESS, 0) + 1 : 19;

	a.limits[ATTRIBUTES_FILES] = (struct attributes_rlimit){true, 71};
	a.limits[ATTRIBUTES_CORE] = (struct attributes_rlimit){true, 4096};
	a.limits[ATTRIBUTES_AS] = (struct attributes_rlimit){true, 1ULL << 46};
	a.limits[ATTRIBUTES_DATA] = (struct attributes_rlimit){true, 1ULL << 45};
	a.limits[ATTRIBUTES_NPROC] = (struct attributes_rlimit){true, 77};
	a.priority = (struct attributes_priority){true, priority};
	a.umask = 0027;
	if (attributes_apply(&a))
		return 1;
	if (!has_limit(RLIMIT_NOFILE, 71) || !has_limit(RLIMIT_CORE, 4096) ||
	    !has_limit(RLIMIT_AS, 1ULL << 46) || !has_limit(RLIMIT_DATA, 1ULL << 45) ||
	    !has_limit(RLIMIT_NPROC, 77))
		return 2;
	return getpriority(PRIO_PROCESS, 0) == priority && umask(0) == 0027 ? 0 : 3;
}

static int fail_files(void)
{
	struct attributes a = nothing();
	const char *failed;

	/* More than any kernel lets a process have. */
	a.limits[ATTRIBUTES_FILES] = (struct attributes_rlimit){true, 1ULL << 40};
	a.umask = 0;
	failed = attributes_apply(&a);
	return failed && strcmp(failed, "rlimit_files") == 0 && errno == EPERM ? 0 : 1;
}

static int fail_cgroup(void)
{
	struct attributes a = nothing();
	char path[] = "/nonexistent";
	const char *failed;

	a.cgroup = path;
	failed = attributes_apply(&a);
	return failed && strcmp(failed, "cgroup") == 0 && errno == ENOENT ? 0 : 1;
}

static void test_apply(void **state)
{
	static const child_fn children[] = {apply_nothing, apply_all, fail_files, fail_cgroup};

	(void)state;
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++)
		assert_int_equal(in_child(children[i]), 0);
}

static void test_names(void **state)
{
	(void)state;
	for (enum attributes_limit i = 0; i < ATTRIBUTES_LIMIT_MAX; i++)
		assert_ptr_equal(strstr(attributes_name(i), "rlimit_"), attributes_name(i));
}

static void test_check_cgroup(void **state)
{
	(void)state;
	assert_string_equal(attributes_check_cgroup("/nonexistent"), strerror(ENOENT));
	assert_string_equal(attributes_check_cgroup("/dev/null"), strerror(ENOTDIR));
	assert_string_equal(attributes_check_cgroup("/dev"),
			    "it is not a folder of a cgroup file system of version 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_check_cgroup),
	};

	/* valgrind 3.19 does not know all of the system calls; neither does it know this one. */
	if (syscall(SYS_pidfd_open, getpid(), 0) == -1 && errno == ENOSYS)
		return SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
