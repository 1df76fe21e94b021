/* SPDX-License-Identifier: BSD-2-Clause */
/* The template's side of the protocol: waits for the manager and forks workers. */

#include "template.h"

#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * The template is the parent of its workers: it forks one for each ABI_SPAWN, reports the pid
 * with a pidfd that was opened before anybody could reap it, and reaps.
 *
 * Every signal that can be blocked is blocked while it waits. php-cgi's handlers of SIGTERM and
 * SIGUSR1 only set a flag that its next accept loop looks at; set in the template, that flag
 * would end each worker at birth. SIGTERM, SIGINT and SIGQUIT are read from a signalfd and mean
 * the same as ABI_SHUTDOWN. Workers get back the mask and the SIGCHLD disposition that the
 * program had.
 */
struct template
{
	int signals;
	sigset_t program_mask;
	struct sigaction program_chld;
	uint64_t epoch;
};

static void block_signals(struct template *t)
{
	struct sigaction chld = {.sa_handler = SIG_DFL};
	sigset_t all, watched;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &t->program_mask);
	/* Ignored, SIGCHLD would lose the workers' statuses. */
	(void)sigaction(SIGCHLD, &chld, &t->program_chld);
	(void)sigemptyset(&watched);
	(void)sigaddset(&watched, SIGCHLD);
	(void)sigaddset(&watched, SIGTERM);
	(void)sigaddset(&watched, SIGINT);
	(void)sigaddset(&watched, SIGQUIT);
	t->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void restore_signals(const struct template *t)
{
	(void)close(t->signals);
	(void)sigaction(SIGCHLD, &t->program_chld, NULL);
	(void)sigprocmask(SIG_SETMASK, &t->program_mask, NULL);
}

static uint32_t count_threads(void)
{
	struct stat st;

	/* One link for each thread's folder, one for "." and one for "..". */
	return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 0;
}

static uint32_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t count = 0;

	if (!dir)
		return 0;
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
		if (e->d_name[0] != '.')
			count++;
	(void)closedir(dir);
	/* Not the folder's own, nor the control socket, nor /dev/null. */
	return count > 3 ? count - 3 : 0;
}

static int announce(void)
{
	struct abi_message ready = {.abi = ABI_VERSION,
				    .type = ABI_READY,
				    .pid = getpid(),
				    .threads = count_threads(),
				    .descriptors = count_descriptors()};

	return message_send(ABI_FD_CONTROL, &ready, NULL, 0);
}

static void reap(const struct template *t)
{
	struct rusage usage;
	int status;
	pid_t pid;

	/* Children of the program itself come along here too; the manager knows its own. */
	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		struct abi_message exited = {
			.abi = ABI_VERSION,
			.type = ABI_EXITED,
			.epoch = t->epoch,
			.pid = pid,
			.status = status,
			.max_rss_kib = usage.ru_maxrss,
			.user_us = usage.ru_utime.tv_sec * 1000000L + usage.ru_utime.tv_usec,
			.system_us = usage.ru_stime.tv_sec * 1000000L + usage.ru_stime.tv_usec,
		};

		(void)message_send(ABI_FD_CONTROL, &exited, NULL, 0);
	}
}

/* Takes pending signals; returns -1 if one of them asks the template to leave. */
static int take_signals(const struct template *t)
{
	struct signalfd_siginfo info;
	int result = 0;

	while (read(t->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(t);
		else
			result = -1;
	}
	return result;
}

static void close_all(const struct template_worker *w)
{
	for (size_t i = 0; i < w->count; i++)
		(void)close(w->fds[i]);
}

/* Forks a worker; returns 1 in it and 0 in the template. */
static int spawn(struct template *t, struct template_worker *w)
{
	struct abi_message answer = {.abi = ABI_VERSION,
				     .type = ABI_SPAWNED,
				     .epoch = w->message.epoch,
				     .sequence = w->message.sequence,
				     .slot = w->message.slot};
	int pidfd = -1;
	pid_t pid;

	t->epoch = w->message.epoch;
	pid = fork();
	if (pid == 0) {
		(void)close(ABI_FD_CONTROL);
		restore_signals(t);
		return 1;
	}
	close_all(w);
	if (pid == -1)
		answer.error = errno;
	else
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	answer.pid = pid;
	(void)message_send(ABI_FD_CONTROL, &answer, &pidfd, pidfd == -1 ? 0 : 1);
	if (pidfd != -1)
		(void)close(pidfd);
	return 0;
}

/* Takes one message; returns 1 in a worker, 0 to go on, -1 to leave. */
static int take_message(struct template *t, struct template_worker *w)
{
	int n = message_receive(ABI_FD_CONTROL, &w->message, w->fds, ABI_SPAWN_FDS_MAX, &w->count,
				NULL);

	if (n <= 0)
		return n == -1 && errno == EPROTO ? 0 : -1;
	if (w->message.type == ABI_SPAWN && w->message.listeners <= ABI_LISTENERS_MAX &&
	    w->count == ABI_SPAWN_FD_LISTENER + w->message.listeners)
		return spawn(t, w);
	close_all(w);
	return w->message.type == ABI_SHUTDOWN ? -1 : 0;
}

int template_serve(struct template_worker *ret_worker)
{
	struct template t = {.signals = -1};
	struct pollfd watch[2];
	int result = -1;

	/* What the program printed and did not flush would be printed again by each worker. */
	(void)fflush(stdout);
	/* After READY the manager may change our root folder. */
	ret_worker->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (announce() == -1)
		return -1;
	block_signals(&t);
	watch[0] = (struct pollfd){.fd = ABI_FD_CONTROL, .events = POLLIN};
	watch[1] = (struct pollfd){.fd = t.signals, .events = POLLIN};
	for (;;) {
		if (poll(watch, 2, -1) == -1)
			continue;
		if (watch[1].revents && take_signals(&t) == -1)
			break;
		if (!watch[0].revents)
			continue;
		result = take_message(&t, ret_worker);
		if (result != 0)
			break;
	}
	if (result == 1)
		return 0;
	restore_signals(&t);
	return -1;
}
