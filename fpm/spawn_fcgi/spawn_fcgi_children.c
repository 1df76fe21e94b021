/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts spawn-fcgi's programs and looks whether they stay. */
#include "fpm/spawn_fcgi/spawn_fcgi_internal.h"

#include "fpm/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As long as the original looks at its first child; each child has it from its own start. */
#define LOOK_MS	   100
#define SHELL	   "/bin/sh"
#define EXEC_BLANK "exec "

/**
 * struct child - one that was started
 * @pid:	Its pid
 * @code:	errno of an exec that failed, 0 otherwise
 * @until_ms:	When it is good
 */
struct child {
	pid_t pid;
	int code;
	uint64_t until_ms;
};

/* What a child says that could not become the program. The kernel takes it as a whole. */
struct failure {
	unsigned int index;
	int code;
};

/**
 * struct launch - what all of them are started with
 * @socket:	Listening socket
 * @null:	/dev/null
 * @failures:	Pipe of struct failure
 * @argv:	Program and arguments
 * @uid:	Who they become, (uid_t)-1 = nobody else
 */
struct launch {
	int socket;
	int null;
	int failures[2];
	char *const *argv;
	uid_t uid;
};

int spawn_fcgi_arguments(const struct spawn_fcgi_options *options, char ***ret_argv)
{
	static char shell[] = SHELL, flag[] = "-c";
	size_t count = 0;
	char **argv;

	while (options->argv && options->argv[count])
		count++;
	argv = calloc((options->argv ? count : 3) + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	if (options->argv) {
		memcpy((void *)argv, (const void *)options->argv, count * sizeof(*argv));
	} else {
		argv[0] = shell;
		argv[1] = flag;
		if (asprintf(&argv[2], EXEC_BLANK "%s", options->command) == -1) {
			free((void *)argv);
			return -ENOMEM;
		}
	}
	*ret_argv = argv;
	return 0;
}

int spawn_fcgi_become(int socket, char *const argv[])
{
	int code;

	if (dup2(socket, STDIN_FILENO) == -1)
		return spawn_fcgi_error("dup2 failed: %s", strerror(errno));
	(void)execv(argv[0], argv);
	code = errno;
	(void)spawn_fcgi_error("exec failed: %s: %s", argv[0], strerror(code));
	return code;
}

/* What the child does: it never returns. Only calls that are safe after a fork. */
__attribute__((noreturn)) static void run_child(const struct launch *launch, unsigned int index)
{
	struct failure failure = {.index = index};
	const uid_t uid = launch->uid;

	(void)setsid();
	if ((uid == (uid_t)-1 || setresuid(uid, uid, uid) == 0) &&
	    dup2(launch->socket, STDIN_FILENO) != -1 && dup2(launch->null, STDOUT_FILENO) != -1 &&
	    dup2(launch->null, STDERR_FILENO) != -1 &&
	    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		(void)execv(launch->argv[0], launch->argv);
	failure.code = errno;
	(void)!write(launch->failures[1], &failure, sizeof(failure));
	_exit(failure.code);
}

/* Return: 0 or negative errno; @ret_started is set in any case */
static int start_all(const struct launch *launch, struct child *children, unsigned int count,
		     unsigned int *ret_started)
{
	for (*ret_started = 0; *ret_started < count; ++*ret_started) {
		struct child *child = &children[*ret_started];

		child->pid = fork();
		if (child->pid == 0)
			run_child(launch, *ret_started);
		if (child->pid == -1)
			return -errno;
		child->until_ms = clock_ms() + LOOK_MS;
	}
	return 0;
}

/* The stream ends when each of them has become the program, or has failed to. */
static void read_failures(int fd, struct child *children, unsigned int count)
{
	struct failure failure;

	while (read(fd, &failure, sizeof(failure)) == (ssize_t)sizeof(failure)) {
		if (failure.index < count)
			children[failure.index].code = failure.code;
	}
}

/* Return: true with @ret_status set if the child has ended by the time it has to have stayed */
static bool has_ended(const struct child *child, int *ret_status)
{
	int fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};
	int left;

	while (fd != -1 && (left = (int)(child->until_ms - clock_ms())) > 0 &&
	       poll(&end, 1, left) == -1 && errno == EINTR)
		;
	if (fd != -1)
		(void)close(fd);
	return waitpid(child->pid, ret_status, WNOHANG) == child->pid;
}

/* Return: 0 if the child lives, otherwise what the exit status becomes */
static int look_at(const struct child *child, const char *program, bool *ret_lives)
{
	int ended;

	*ret_lives = false;
	if (child->code != 0)
		(void)spawn_fcgi_error("exec failed: %s: %s", program, strerror(child->code));
	if (!has_ended(child, &ended)) {
		*ret_lives = true;
		(void)printf("spawn-fcgi: child spawned successfully: PID: %d\n", child->pid);
		(void)fflush(stdout);
		return 0;
	}
	if (WIFEXITED(ended)) {
		(void)spawn_fcgi_error("child exited with: %d", WEXITSTATUS(ended));
		return WEXITSTATUS(ended);
	}
	(void)spawn_fcgi_error("child signaled: %d", WTERMSIG(ended));
	return 1;
}

/* All are started before the first is looked at, so that many take no longer than one. */
int spawn_fcgi_children_start(int socket, int null, char *const argv[], uid_t uid,
			      unsigned int count, pid_t *ret_pids, unsigned int *ret_living)
{
	struct child *children = calloc(count > 0 ? count : 1, sizeof(*children));
	struct launch launch = {socket, null, {-1, -1}, argv, uid};
	unsigned int started = 0, living = 0;
	int status = 0, result = children ? 0 : -ENOMEM;

	if (result == 0 && pipe2(launch.failures, O_CLOEXEC) == -1)
		result = -errno;
	if (result == 0) {
		result = start_all(&launch, children, count, &started);
		(void)close(launch.failures[1]);
		read_failures(launch.failures[0], children, started);
		(void)close(launch.failures[0]);
	}
	for (unsigned int i = 0; i < started; i++) {
		bool lives;
		int code = look_at(&children[i], argv[0], &lives);

		if (code != 0)
			status = code;
		if (lives)
			ret_pids[living++] = children[i].pid;
	}
	free(children);
	if (result < 0)
		status = spawn_fcgi_error("fork failed: %s", strerror(-result));
	*ret_living = living;
	return status;
}
