/* SPDX-License-Identifier: BSD-2-Clause */
/* The process that stands between us and a program of ours. */

#include "guard_internal.h"

#include "folder.h"
#include "fpm/clock.h"
#include "guard.h"
#include "proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the guard has its descriptors, so that it can close all others. */
enum guard_fd {
	GUARD_CONTROL = 3,
	GUARD_REPORT,
	GUARD_FIRST_FREE,
};

/* The end of what was printed; @size goes on counting, the place in @text is modulo its size. */
struct tail {
	char text[GUARD_TAIL_MAX];
	size_t size;
};

struct state {
	pid_t program; /* 0 when it has been waited for */
	int signals;
	int output;
	struct tail tail;
};

/*
 * Our copies of others' descriptors go: who waits for the end of a pipe of theirs must not wait for
 * us. That is also true of standard output and another guard's control pipe.
 */
static void arrange_descriptors(int control, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high_control = fcntl(control, F_DUPFD_CLOEXEC, GUARD_FIRST_FREE);
	int high_report = fcntl(report, F_DUPFD_CLOEXEC, GUARD_FIRST_FREE);

	for (int fd = 0; fd < GUARD_CONTROL; fd++)
		(void)dup2(null, fd);
	(void)dup3(high_control, GUARD_CONTROL, O_CLOEXEC);
	(void)dup3(high_report, GUARD_REPORT, O_CLOEXEC);
	(void)close_range(GUARD_FIRST_FREE, ~0U, 0);
}

/* Whether it arrives or not, there is nothing else that could be done. */
static void tell(int fd, const void *data, size_t size)
{
	ssize_t n = write(fd, data, size);

	(void)n;
}

static noreturn void run_program(const struct guard_options *options, int output, int failed)
{
	sigset_t none;
	int error;

	/* If the guard itself is killed, the program at least is asked to end. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)setpgid(0, 0);
	for (int signal = 1; signal < SIGRTMIN; signal++)
		(void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)dup2(output, STDOUT_FILENO);
	(void)dup2(output, STDERR_FILENO);
	if (!options->cpus || sched_setaffinity(0, sizeof(*options->cpus), options->cpus) == 0)
		(void)execve(options->argv[0], options->argv, options->envp);
	error = errno;
	tell(failed, &error, sizeof(error));
	_exit(127);
}

/* Return: 0, or why it does not run */
static int start_program(const struct guard_options *options, struct state *state)
{
	int output[2], failed[2], error = 0;

	if (pipe2(output, O_CLOEXEC) == -1 || pipe2(failed, O_CLOEXEC) == -1)
		return errno;
	state->program = fork();
	if (state->program == 0)
		run_program(options, output[1], failed[1]);
	if (state->program == -1) {
		state->program = 0;
		return errno;
	}
	(void)close(output[1]);
	(void)close(failed[1]);
	state->output = output[0];
	(void)fcntl(state->output, F_SETFL, O_NONBLOCK);
	if (read(failed[0], &error, sizeof(error)) != sizeof(error))
		error = 0;
	(void)close(failed[0]);
	return error;
}

static void take_output(struct state *state)
{
	char text[512];
	ssize_t n;

	while (state->output != -1 && (n = read(state->output, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			state->tail.text[state->tail.size++ % GUARD_TAIL_MAX] = text[i];
	if (state->output == -1 || (n == -1 && errno == EAGAIN))
		return;
	(void)close(state->output);
	state->output = -1;
}

static void report_tail(const struct tail *tail)
{
	size_t start = tail->size > GUARD_TAIL_MAX ? tail->size - GUARD_TAIL_MAX : 0;
	char text[GUARD_TAIL_MAX];
	size_t size = 0;

	for (size_t i = start; i < tail->size; i++)
		text[size++] = tail->text[i % GUARD_TAIL_MAX];
	tell(GUARD_REPORT, text, size);
}

/* Also of those that the program left behind. */
static void reap(struct state *state)
{
	struct signalfd_siginfo info;
	ssize_t n = read(state->signals, &info, sizeof(info));
	pid_t pid;

	/* Many signals may be one, so it is the children that are asked. */
	(void)n;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		if (pid == state->program)
			state->program = 0;
}

/* Until the program ends, @control is at its end (unless -1), or the time is over. */
static void attend(struct state *state, int control, int timeout_ms)
{
	uint64_t end = clock_ms() + (uint64_t)timeout_ms;

	while (state->program) {
		struct pollfd fds[] = {
			{.fd = control, .events = POLLIN},
			{.fd = state->signals, .events = POLLIN},
			{.fd = state->output, .events = POLLIN},
		};
		uint64_t now = clock_ms();

		if (control == -1 && now >= end)
			return;
		(void)poll(fds, sizeof(fds) / sizeof(fds[0]),
			   control == -1 ? (int)(end - now) : -1);
		if (fds[2].revents)
			take_output(state);
		if (fds[1].revents)
			reap(state);
		if (fds[0].revents)
			return;
	}
}

/* Those whose parent has gone have become our children, and their children will. */
static void kill_all(pid_t group)
{
	char text[8192], *end;

	do {
		(void)proc_file_read(AT_FDCWD, "/proc/thread-self/children", text, sizeof(text));
		for (const char *at = text;; at = end) {
			long pid = strtol(at, &end, 10);

			if (end == at || pid <= 1)
				break;
			(void)kill((pid_t)pid, SIGKILL);
		}
		/* Where the kernel keeps no such list. */
		(void)kill(-group, SIGKILL);
	} while (waitpid(-1, NULL, 0) > 0);
}

noreturn void guard_main(const struct guard_options *options, int control, int report)
{
	struct state state = {.output = -1, .signals = -1};
	struct guard_started started = {0};
	sigset_t watched;
	pid_t group;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "bench-guard");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	arrange_descriptors(control, report);
	(void)sigemptyset(&watched);
	(void)sigaddset(&watched, SIGCHLD);
	state.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	started.error = start_program(options, &state);
	started.program = group = state.program;
	tell(GUARD_REPORT, &started, sizeof(started));
	if (!started.error)
		attend(&state, GUARD_CONTROL, 0);
	if (state.program) {
		(void)kill(state.program, SIGTERM);
		attend(&state, -1, GUARD_GRACE_MS);
	}
	if (group > 0)
		kill_all(group);
	take_output(&state);
	if (options->folder)
		folder_remove(options->folder);
	if (!started.error)
		report_tail(&state.tail);
	_exit(0);
}
