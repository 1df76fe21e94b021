/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes into the background, and lets whoever started us know what came of it. */

#include "fpm/manager/daemonize.h"

#include "fpm/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 *	started --fork--> leader of a new session --fork--> in the background
 *	   |                 \-- ends at once                   |
 *	   |<---- a pipe: its pid; later READY, or ENDED --------/
 *
 * The process in the background is no leader of its session, so no terminal that it opens becomes
 * its own. The end of the pipe without a word says that it was killed.
 */
enum news_kind {
	NEWS_PID = 1,
	NEWS_READY,
	NEWS_ENDED,
};

struct news {
	enum news_kind kind;
	int value;
};

/* The end of the pipe that the process in the background has until it has told its last. */
static int news_fd = -1;
static bool in_background;

static void tell(enum news_kind kind, int value)
{
	const struct news news = {.kind = kind, .value = value};

	/* So small a message is taken as a whole or not at all; nobody may be there to take it. */
	if (write(news_fd, &news, sizeof(news)) == -1)
		return;
}

static void stop_telling(void)
{
	(void)close(news_fd);
	news_fd = -1;
}

static void redirect(int target, int flags)
{
	int fd = open("/dev/null", flags | O_CLOEXEC);

	if (fd == -1)
		return;
	(void)dup2(fd, target);
	(void)close(fd);
}

static const int stop_signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};

/* Goes on in a grandchild; the child in between ends. */
static void leave(int fd, const sigset_t *mask)
{
	pid_t pid;

	(void)setsid();
	pid = fork();
	if (pid != 0)
		_exit(pid == -1 ? COMMAND_EXIT_SYSTEM : COMMAND_EXIT_OK);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	in_background = true;
	news_fd = fd;
	redirect(STDIN_FILENO, O_RDONLY);
	redirect(STDOUT_FILENO, O_WRONLY);
	tell(NEWS_PID, getpid());
}

static void pass_on(int signals, pid_t daemon)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) == sizeof(info))
		(void)kill(daemon, SIGTERM);
}

/* Return: the exit status that the start has */
static int wait_for_news(int fd, int signals)
{
	struct pollfd watched[2] = {{.fd = fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	struct news news;
	pid_t daemon = 0;

	for (;;) {
		if (poll(watched, 2, -1) == -1 && errno != EINTR)
			return COMMAND_EXIT_SYSTEM;
		if (watched[1].revents != 0)
			pass_on(signals, daemon);
		if (watched[0].revents == 0)
			continue;
		if (read(fd, &news, sizeof(news)) != sizeof(news)) {
			(void)fputs("berth: was killed before it was ready\n", stderr);
			return COMMAND_EXIT_SYSTEM;
		}
		if (news.kind == NEWS_READY)
			return COMMAND_EXIT_OK;
		if (news.kind == NEWS_ENDED)
			break;
		/* From now on there is somebody to pass signals on to. */
		daemon = news.value;
		watched[1].fd = signals;
	}
	if (news.value != COMMAND_EXIT_OK)
		return news.value;
	(void)fputs("berth: was stopped before it was ready\n", stderr);
	return COMMAND_EXIT_SYSTEM;
}

/* Return: as daemonize() */
static bool part(const int fds[2], int signals, const sigset_t *mask, int *ret_status)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)close(fds[0]);
		(void)close(signals);
		leave(fds[1], mask);
		return false;
	}
	*ret_status = COMMAND_EXIT_SYSTEM;
	if (pid == -1) {
		(void)fprintf(stderr, "berth: can't fork: %s\n", strerror(errno));
		(void)close(fds[1]);
	} else {
		(void)close(fds[1]);
		(void)waitpid(pid, NULL, 0);
		*ret_status = wait_for_news(fds[0], signals);
	}
	(void)close(fds[0]);
	(void)close(signals);
	return true;
}

bool daemonize(int *ret_status)
{
	sigset_t stops, mask;
	int fds[2], signals;

	*ret_status = COMMAND_EXIT_SYSTEM;
	(void)sigemptyset(&stops);
	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(stop_signals[0]); i++)
		(void)sigaddset(&stops, stop_signals[i]);
	if (pipe2(fds, O_CLOEXEC) == -1)
		goto fail;
	signals = signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals == -1) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		goto fail;
	}
	(void)sigprocmask(SIG_BLOCK, &stops, &mask);
	return part(fds, signals, &mask, ret_status);
fail:
	(void)fprintf(stderr, "berth: daemonize: %s\n", strerror(errno));
	return true;
}

void daemonize_adopt(void)
{
	in_background = true;
}

void daemonize_ready(void)
{
	if (news_fd == -1)
		return;
	tell(NEWS_READY, 0);
	stop_telling();
}

void daemonize_log(int fd)
{
	if (in_background && news_fd == -1 && fd != STDERR_FILENO)
		(void)dup2(fd, STDERR_FILENO);
}

void daemonize_ended(int status)
{
	if (news_fd == -1)
		return;
	tell(NEWS_ENDED, status);
	stop_telling();
}
