/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a program so that nothing of it outlives us, whatever ends us. */

#include "guard.h"

#include "guard_internal.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A guard that needs longer than this after it was told to stop is itself ended. */
#define STOP_MS (GUARD_GRACE_MS + 10000)

/*
 * Theory of operation
 *
 * Between us and the program stands a process of ours, the guard. It holds one end of a pipe whose
 * other end only we have, so it learns of our end even if we are killed. As a subreaper it becomes
 * the parent of whatever the program leaves behind, in whatever session or process group that is,
 * and so can end all of it. A signal to our process group, such as that of Ctrl-C, reaches neither:
 * we decide when a server ends.
 *
 * The guard keeps the end of what the program prints and tells it at last, so no file grows.
 */

static void close_pair(const int pair[2])
{
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static ssize_t read_whole(int fd, void *buffer, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buffer, size);
	while (n == -1 && errno == EINTR);
	return n;
}

/* Signals stay blocked in the guard: a handler of ours must not run there. */
static pid_t fork_guard(const struct guard_options *options, int control, int report)
{
	sigset_t all, before;
	pid_t pid;
	int saved;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		guard_main(options, control, report);
	saved = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return pid;
}

int guard_start(const struct guard_options *options, struct guard *ret_guard)
{
	struct guard_started started = {.error = ECHILD};
	int control[2], report[2], error;
	struct guard guard;

	if (pipe2(control, O_CLOEXEC) == -1)
		return -errno;
	if (pipe2(report, O_CLOEXEC) == -1) {
		error = errno;
		close_pair(control);
		return -error;
	}
	guard.pid = fork_guard(options, control[0], report[1]);
	if (guard.pid == -1) {
		error = errno;
		close_pair(control);
		close_pair(report);
		return -error;
	}
	(void)close(control[0]);
	(void)close(report[1]);
	guard.control = control[1];
	guard.program_fd = -1;
	guard.report = report[0];
	if (read_whole(guard.report, &started, sizeof(started)) != sizeof(started) ||
	    started.error) {
		guard_stop(&guard, NULL, 0);
		return -started.error;
	}
	guard.program = started.program;
	guard.program_fd = pidfd_open(started.program, 0);
	*ret_guard = guard;
	return 0;
}

bool guard_wait(const struct guard *guard, int timeout_ms)
{
	/* The guard says nothing more before the program has ended. */
	struct pollfd report = {.fd = guard->report, .events = POLLIN};

	return poll(&report, 1, timeout_ms) == 1;
}

bool guard_alive(const struct guard *guard)
{
	return guard->pid > 0 && !guard_wait(guard, 0);
}

/* Takes what the guard says until it ends, or takes too long. */
static void read_tail(const struct guard *guard, char *ret_tail, size_t size)
{
	size_t have = 0;
	ssize_t n = 0;

	if (!guard_wait(guard, STOP_MS))
		(void)kill(guard->pid, SIGKILL);
	while (ret_tail && have < size - 1 &&
	       (n = read_whole(guard->report, ret_tail + have, size - 1 - have)) > 0)
		have += (size_t)n;
	if (ret_tail)
		ret_tail[have] = '\0';
}

/*
 * Somebody has killed the guard. The program was told so by the kernel, unless it has changed its
 * user since it was started; and nobody takes care of what it left behind any more.
 */
static void do_without(const struct guard *guard)
{
	pid_t pids[TREE_MAX];
	size_t count = 0;

	/* Its pid may be another process's by now. */
	if (guard->program_fd != -1 && pidfd_send_signal(guard->program_fd, 0, NULL, 0) == 0)
		count = tree_list(guard->program, pids, TREE_MAX);
	for (size_t i = 0; i < count; i++)
		(void)kill(pids[i], SIGKILL);
}

void guard_stop(struct guard *guard, char *ret_tail, size_t size)
{
	int status = 0;

	if (guard->pid <= 0)
		return;
	(void)close(guard->control);
	read_tail(guard, ret_tail, size);
	(void)close(guard->report);
	/* Something else in this process may have waited for it; then it is taken to be well. */
	while (waitpid(guard->pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (WIFSIGNALED(status))
		do_without(guard);
	if (guard->program_fd != -1)
		(void)close(guard->program_fd);
	memset(guard, 0, sizeof(*guard));
}
