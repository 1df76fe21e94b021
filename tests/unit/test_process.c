/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the watch over processes: children, grandchildren, and those that others reap. */
#include "fpm/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	DEADLINE_SECONDS = 60,
	SKIPPED = 77
};

static struct ev_loop *loop;
static struct process_end seen;
static unsigned int ends, known_ends;

static int setup(void **state)
{
	(void)state;
	loop = ev_default_loop(EVFLAG_AUTO);
	if (!loop)
		return -1;
	process_init(loop);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ev_loop_destroy(loop);
	return 0;
}

static int start(void **state)
{
	(void)state;
	ends = 0;
	seen = (struct process_end){0};
	(void)alarm(DEADLINE_SECONDS);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	(void)alarm(0);
	return 0;
}

static void ended_cb(struct process *process, const struct process_end *end)
{
	assert_int_equal(process->pid, 0);
	seen = *end;
	ends++;
	known_ends += end->known;
}

static int open_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_int_not_equal(fd, -1);
	return fd;
}

static void watch(struct process *process, pid_t pid)
{
	process_watch(process, loop, pid, open_pidfd(pid), ended_cb);
}

static void wait_for_ends(unsigned int count)
{
	while (ends < count)
		(void)ev_run(loop, EVRUN_ONCE);
}

/* A child that ends when *@ret_go is closed, with an exit status or by a signal. */
static pid_t fork_child(int status, int signal, int *ret_go)
{
	int pair[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)close(pair[1]);
		(void)!read(pair[0], &c, 1);
		if (signal)
			(void)raise(signal);
		_exit(status);
	}
	(void)close(pair[0]);
	*ret_go = pair[1];
	return pid;
}

static void test_exit_status(void **state)
{
	static const int statuses[] = {0, 1, 127, 255};

	(void)state;
	for (size_t i = 0; i < COUNT(statuses); i++) {
		struct process process = {0};
		int go;
		pid_t pid = fork_child(statuses[i], 0, &go);

		watch(&process, pid);
		(void)close(go);
		wait_for_ends((unsigned int)i + 1);
		assert_int_equal(seen.pid, pid);
		assert_true(seen.known);
		assert_true(WIFEXITED(seen.status));
		assert_int_equal(WEXITSTATUS(seen.status), statuses[i]);
	}
}

static void test_signal(void **state)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGUSR1};

	(void)state;
	for (size_t i = 0; i < COUNT(signals); i++) {
		struct process process = {0};
		int go;
		pid_t pid = fork_child(0, 0, &go);

		watch(&process, pid);
		assert_int_equal(process_signal(&process, signals[i]), 0);
		wait_for_ends((unsigned int)i + 1);
		(void)close(go);
		assert_true(seen.known);
		assert_true(WIFSIGNALED(seen.status));
		assert_int_equal(WTERMSIG(seen.status), signals[i]);
		assert_int_equal(process_signal(&process, signals[i]), -ESRCH);
	}
}

/* It had ended, though nobody waited for it, before it was watched. */
static void test_watched_too_late(void **state)
{
	struct process process = {0};
	struct pollfd p = {.events = POLLIN};
	int go;
	pid_t pid = fork_child(3, 0, &go);

	(void)state;
	p.fd = open_pidfd(pid);
	(void)close(go);
	assert_int_equal(poll(&p, 1, -1), 1);
	process_watch(&process, loop, pid, p.fd, ended_cb);
	wait_for_ends(1);
	assert_true(seen.known);
	assert_int_equal(WEXITSTATUS(seen.status), 3);
}

static void test_many_at_once(void **state)
{
	enum {
		MANY = 50
	};
	struct process processes[MANY] = {0};
	int go[MANY];
	pid_t other;
	int other_go;

	(void)state;
	for (int i = 0; i < MANY; i++)
		watch(&processes[i], fork_child(i, 0, &go[i]));
	/* One that nobody watches is reaped too, and told to nobody. */
	other = fork_child(9, 0, &other_go);
	(void)close(other_go);
	for (int i = 0; i < MANY; i++)
		(void)close(go[i]);
	wait_for_ends(MANY);
	while (kill(other, 0) == 0)
		(void)ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(ends, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(processes[i].pid, 0);
}

/**
 * struct family - a parent that is our child, and its child
 * @parent:	Watched by nobody
 * @child:	Its child
 * @to_parent:	A byte makes it reap @child, the end makes it leave
 * @from_parent: It writes the status that it reaped
 */
struct family {
	pid_t parent;
	pid_t child;
	int to_parent;
	int from_parent;
};

static __attribute__((noreturn)) void be_parent(int in, int out, int status)
{
	pid_t child = fork();
	int seen_status = 0;
	char c;

	if (child == 0) {
		for (;;)
			(void)pause();
	}
	if (write(out, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	if (read(in, &c, 1) == 1) {
		if (waitpid(child, &seen_status, 0) != child ||
		    write(out, &seen_status, sizeof(seen_status)) == -1)
			_exit(2);
		(void)!read(in, &c, 1);
	}
	_exit(status);
}

static struct family make_family(void)
{
	struct family f;
	int down[2], up[2];

	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	f.parent = fork();
	assert_int_not_equal(f.parent, -1);
	if (f.parent == 0) {
		(void)close(down[1]);
		(void)close(up[0]);
		be_parent(down[0], up[1], 0);
	}
	(void)close(down[0]);
	(void)close(up[1]);
	f.to_parent = down[1];
	f.from_parent = up[0];
	assert_int_equal(read(f.from_parent, &f.child, sizeof(f.child)), sizeof(f.child));
	return f;
}

static void end_family(const struct family *f)
{
	(void)close(f->to_parent);
	(void)close(f->from_parent);
	while (kill(f->parent, 0) == 0)
		(void)ev_run(loop, EVRUN_NOWAIT);
}

/* Its parent ends first; as the subreaper we become its parent. */
static void test_grandchild(void **state)
{
	const struct family f = make_family();
	struct process process = {0};

	(void)state;
	watch(&process, f.child);
	end_family(&f);
	assert_int_equal(ends, 0);
	assert_int_equal(process_signal(&process, SIGTERM), 0);
	wait_for_ends(1);
	assert_int_equal(seen.pid, f.child);
	assert_true(seen.known);
	assert_int_equal(WTERMSIG(seen.status), SIGTERM);
}

static void test_parent_tells(void **state)
{
	const struct family f = make_family();
	struct process process = {0};
	int status;

	(void)state;
	watch(&process, f.child);
	assert_int_equal(process_signal(&process, SIGKILL), 0);
	assert_int_equal(write(f.to_parent, "r", 1), 1);
	assert_int_equal(read(f.from_parent, &status, sizeof(status)), sizeof(status));
	assert_false(process_reaped(f.parent, status));
	assert_int_equal(ends, 0);
	assert_true(process_reaped(f.child, status));
	assert_int_equal(ends, 1);
	assert_int_equal(seen.pid, f.child);
	assert_true(seen.known);
	assert_int_equal(seen.status, SIGKILL);
	/* Told once, whatever arrives later. */
	assert_false(process_reaped(f.child, status));
	end_family(&f);
	assert_int_equal(ends, 1);
}

/* The word comes after the pidfd was seen, as happens on a busy machine. */
static void test_parent_tells_late(void **state)
{
	const struct family f = make_family();
	struct process process = {0};
	int status;

	(void)state;
	watch(&process, f.child);
	assert_int_equal(process_signal(&process, SIGKILL), 0);
	while (!ev_is_active(&process.grace))
		(void)ev_run(loop, EVRUN_ONCE);
	assert_int_equal(ends, 0);
	/* Such a word may need some time. */
	assert_true(ev_timer_remaining(loop, &process.grace) > 0.05);
	assert_int_equal(write(f.to_parent, "r", 1), 1);
	assert_int_equal(read(f.from_parent, &status, sizeof(status)), sizeof(status));
	assert_true(process_reaped(f.child, status));
	assert_int_equal(ends, 1);
	assert_true(seen.known);
	end_family(&f);
	assert_int_equal(ends, 1);
}

static void test_nobody_tells(void **state)
{
	const struct family f = make_family();
	struct process process = {0};

	(void)state;
	watch(&process, f.child);
	assert_int_equal(process_signal(&process, SIGKILL), 0);
	wait_for_ends(1);
	assert_int_equal(seen.pid, f.child);
	assert_false(seen.known);
	assert_false(process_reaped(f.child, 0));
	end_family(&f);
	/* When its parent left we reaped it, and that is no second end. */
	assert_int_equal(ends, 1);
}

static void test_forgotten(void **state)
{
	struct process process = {0};
	int go, pidfd;
	pid_t pid = fork_child(0, 0, &go);

	(void)state;
	watch(&process, pid);
	pidfd = process.pidfd;
	process_forget(&process);
	assert_int_equal(process.pid, 0);
	assert_int_equal(fcntl(pidfd, F_GETFD), -1);
	(void)close(go);
	while (kill(pid, 0) == 0)
		(void)ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(ends, 0);
	assert_false(process_reaped(pid, 0));
	assert_int_equal(process_signal(&process, SIGTERM), -ESRCH);
	process_forget(&process);
	process_forget(&(struct process){0});
}

static void forget_while_others_are_watched(size_t victim)
{
	struct process processes[3] = {0};
	int go[3];

	ends = known_ends = 0;
	for (size_t i = 0; i < 3; i++)
		watch(&processes[i], fork_child(0, 0, &go[i]));
	process_forget(&processes[victim]);
	for (size_t i = 0; i < 3; i++)
		(void)close(go[i]);
	wait_for_ends(2);
	assert_int_equal(ends, 2);
	assert_int_equal(known_ends, 2);
}

static void test_one_of_several_is_forgotten(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		forget_while_others_are_watched(i);
}

static void free_cb(struct process *process, const struct process_end *end)
{
	(void)end;
	ends++;
	free(process);
}

static void again_cb(struct process *process, const struct process_end *end)
{
	int *go = process->data;

	(void)end;
	ends++;
	if (ends < 3) {
		pid_t pid = fork_child(0, 0, go);

		process_watch(process, loop, pid, open_pidfd(pid), again_cb);
		(void)close(*go);
	}
}

static void test_callback_frees_or_reuses(void **state)
{
	struct process *allocated = calloc(1, sizeof(*allocated));
	struct process reused = {0};
	int go;
	pid_t pid = fork_child(0, 0, &go);

	(void)state;
	assert_non_null(allocated);
	process_watch(allocated, loop, pid, open_pidfd(pid), free_cb);
	(void)close(go);
	wait_for_ends(1);
	ends = 0;
	reused.data = &go;
	pid = fork_child(0, 0, &go);
	process_watch(&reused, loop, pid, open_pidfd(pid), again_cb);
	(void)close(go);
	wait_for_ends(3);
	assert_int_equal(reused.pid, 0);
}

static void test_describe(void **state)
{
	static const struct {
		struct process_end end;
		const char *text;
	} cases[] = {
		{{.known = false}, "unknown status"},
		{{.known = true, .status = 0}, "exit status 0"},
		{{.known = true, .status = 255 << 8}, "exit status 255"},
		{{.known = true, .status = SIGKILL}, "signal 9 (Killed)"},
		{{.known = true, .status = SIGSEGV | 0x80},
		 "signal 11 (Segmentation fault), core dumped"},
		{{.known = true, .status = 40}, "signal 40 (unknown)"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[80], small[6];

		assert_ptr_equal(process_end_describe(&cases[i].end, text, sizeof(text)), text);
		assert_string_equal(text, cases[i].text);
		(void)process_end_describe(&cases[i].end, small, sizeof(small));
		assert_int_equal(strlen(small), sizeof(small) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_exit_status, start, stop),
		cmocka_unit_test_setup_teardown(test_signal, start, stop),
		cmocka_unit_test_setup_teardown(test_watched_too_late, start, stop),
		cmocka_unit_test_setup_teardown(test_many_at_once, start, stop),
		cmocka_unit_test_setup_teardown(test_grandchild, start, stop),
		cmocka_unit_test_setup_teardown(test_parent_tells, start, stop),
		cmocka_unit_test_setup_teardown(test_parent_tells_late, start, stop),
		cmocka_unit_test_setup_teardown(test_nobody_tells, start, stop),
		cmocka_unit_test_setup_teardown(test_forgotten, start, stop),
		cmocka_unit_test_setup_teardown(test_one_of_several_is_forgotten, start, stop),
		cmocka_unit_test_setup_teardown(test_callback_frees_or_reuses, start, stop),
		cmocka_unit_test(test_describe),
	};

	/* Linux has it since 5.3, valgrind 3.19 does not know it. */
	if (syscall(SYS_pidfd_open, getpid(), 0) == -1 && errno == ENOSYS)
		return SKIPPED;
	return cmocka_run_group_tests(tests, setup, teardown);
}
