/* SPDX-License-Identifier: BSD-2-Clause */
/* Forks and executes a program. */

#include "fpm/process/spawn.h"

#include "fpm/process/attributes.h"
#include "fpm/conf/identity.h"
#include "fpm/process/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* From here to the exec only async-signal-safe calls are allowed. */

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) == -1)
		return;
}

static __attribute__((noreturn)) void give_up(const char *what, const char *detail)
{
	const char *reason = strerrordesc_np(errno);

	say("berth: ");
	say(what);
	say(detail ? " " : "");
	say(detail ? detail : "");
	say(": ");
	say(reason ? reason : "unknown error");
	say("\n");
	_exit(127);
}

static void reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &action, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void place_descriptors(const struct spawn_request *request)
{
	int high[SPAWN_FDS_MAX];

	/* First out of the way, lest one lands on another that is still to be moved. */
	for (size_t i = 0; i < request->fd_count; i++) {
		high[i] = fcntl(request->fds[i], F_DUPFD_CLOEXEC, SPAWN_FDS_MAX);
		if (high[i] == -1)
			_exit(127);
	}
	for (size_t i = 0; i < request->fd_count; i++)
		if (dup2(high[i], (int)i) == -1)
			_exit(127);
	/* Whoever started us may have left descriptors open that are not close-on-exec. */
	(void)close_range((unsigned int)request->fd_count, ~0U, CLOSE_RANGE_CLOEXEC);
}

static void become(const struct identity *identity)
{
	if (identity->uid == (uid_t)-1)
		return;
	if (setgroups(identity->groups_count, identity->groups) == -1)
		give_up("setgroups", NULL);
	if (setresgid(identity->gid, identity->gid, identity->gid) == -1)
		give_up("setgid", NULL);
	if (setresuid(identity->uid, identity->uid, identity->uid) == -1)
		give_up("setuid", NULL);
}

/* The name of the key that failed, and of the cgroup as its path is what was wrong. */
static void set_attributes(const struct spawn_request *request)
{
	const struct attributes *attributes = request->attributes;
	const char *failed;

	if (setrlimit(RLIMIT_NOFILE, &request->nofile) == -1)
		give_up("RLIMIT_NOFILE", NULL);
	if (!attributes)
		return;
	failed = attributes_apply(attributes);
	if (failed && attributes->cgroup && strcmp(failed, "cgroup") == 0)
		give_up("cannot enter cgroup", attributes->cgroup);
	if (failed)
		give_up("cannot set", failed);
}

static __attribute__((noreturn)) void child(const struct spawn_request *request, pid_t parent)
{
	/* Out of the way of the numbers that are given to the program. */
	int channel =
		request->jail ? fcntl(request->jail_channel, F_DUPFD_CLOEXEC, SPAWN_FDS_MAX) : -1;

	reset_signals();
	place_descriptors(request);
	/* A terminal's Ctrl-C is for the manager alone. */
	(void)setsid();
	set_attributes(request);
	if (request->jail && jail_prepare(request->jail, channel) == -1)
		give_up("cannot prepare chroot to", request->jail->root);
	become(request->identity);
	if (!request->jail && request->chdir && chdir(request->chdir) == -1)
		give_up("cannot change to", request->chdir);
	/* A change of uid clears it, so it comes after; and the parent may be gone by now. */
	if (request->end_with_us && prctl(PR_SET_PDEATHSIG, (long)SIGTERM, 0L, 0L, 0L) == 0 &&
	    getppid() != parent)
		_exit(0);
	(void)execve(request->path, request->argv, request->envp);
	give_up("cannot execute", request->path);
}

int spawn_program(const struct spawn_request *request, pid_t *ret_pid, int *ret_pidfd)
{
	sigset_t all, old;
	pid_t parent = getpid();
	pid_t pid;
	int pidfd, error;

	/* Our own handlers must not run in the child before their dispositions are reset. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	error = errno;
	if (pid == 0)
		child(request, parent);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid == -1)
		return -error;
	/* Children are reaped by the event loop only, so the pid can't be another's yet. */
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd == -1) {
		error = errno;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return -error;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}
