/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's accept(): its own listeners, its lifeline, its entry of the scoreboard. */

#include "accept.h"

#include "abi.h"
#include "libc.h"
#include "template.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * One epoll set, made after the fork, watches the listeners and the lifeline. Listeners are
 * level-triggered: with maxevents = 1 the kernel puts the one it returned at the end of its
 * ready list, so several listeners take turns. EPOLLEXCLUSIVE wakes one worker a connection when
 * a pool shares a listener. They are non-blocking, as a sibling may be faster; the connection
 * itself is blocking, which is what programs expect.
 *
 * The lifeline's end of file says that the worker is to leave, or that the manager is gone. It
 * is looked at only here, between two connections, so whatever runs is finished first.
 */
static struct {
	int epoll;
	int lifeline;
	int listeners[ABI_LISTENERS_MAX];
	size_t listener_count;
	volatile struct abi_score *score;
	struct abi_score fallback;
} self = {.epoll = -1, .lifeline = -1};

static int complain(const char *what)
{
	char line[160] = "berth: worker can't start: ";
	const char *reason = strerrordesc_np(errno);
	const char *const parts[] = {what, ": ", reason ? reason : "unknown error", "\n"};
	size_t len = strlen(line);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i]);

		if (len + n > sizeof(line))
			break;
		memcpy(line + len, parts[i], n);
		len += n;
	}
	if (write(STDERR_FILENO, line, len) == -1)
		return -1;
	return -1;
}

static int redirect(int output)
{
	int null;

	if (dup2(output, STDOUT_FILENO) == -1 || dup2(output, STDERR_FILENO) == -1)
		return complain("output");
	(void)close(output);
	/*
	 * The template's socket looks like a listener, which made the program choose FastCGI.
	 * That is decided; programs that scripts start must not find it.
	 */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null == -1 || dup2(null, STDIN_FILENO) == -1)
		return complain("/dev/null");
	(void)close(null);
	return 0;
}

static void map_score(const struct template_worker *worker)
{
	size_t size = (size_t)worker->message.scores * sizeof(struct abi_score);
	int fd = worker->fds[ABI_SPAWN_FD_SCOREBOARD];
	void *board = MAP_FAILED;

	/* Without it the worker works all the same; the manager just knows less. */
	self.score = &self.fallback;
	if (worker->message.score < worker->message.scores)
		board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (board != MAP_FAILED)
		self.score = (struct abi_score *)board + worker->message.score;
	self.score->pid = getpid();
	self.score->served = 0;
	self.score->state = ABI_STATE_IDLE;
}

static int watch(int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(self.epoll, EPOLL_CTL_ADD, fd, &event);
}

int accept_init(const struct template_worker *worker)
{
	self.lifeline = worker->fds[ABI_SPAWN_FD_LIFELINE];
	self.listener_count = worker->message.listeners;
	for (size_t i = 0; i < self.listener_count; i++)
		self.listeners[i] = worker->fds[ABI_SPAWN_FD_LISTENER + i];
	/* A group of its own lets the manager reach, and spare, what scripts start. */
	(void)setpgid(0, 0);
	if (redirect(worker->fds[ABI_SPAWN_FD_OUTPUT]) == -1)
		return -1;
	map_score(worker);
	self.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (self.epoll == -1 || watch(self.lifeline, EPOLLIN) == -1)
		return complain("epoll");
	for (size_t i = 0; i < self.listener_count; i++)
		if (watch(self.listeners[i], EPOLLIN | EPOLLEXCLUSIVE) == -1)
			return complain("listener");
	return 0;
}

int accept_next(struct sockaddr *addr, socklen_t *len, int flags)
{
	socklen_t room = len ? *len : 0;

	if (self.score->state == ABI_STATE_BUSY)
		self.score->served++;
	self.score->state = ABI_STATE_IDLE;
	for (;;) {
		struct epoll_event event;
		int n = epoll_wait(self.epoll, &event, 1, -1);
		int fd;

		if (n == -1)
			return -1;
		if (n == 0)
			continue;
		if (event.data.fd == self.lifeline) {
			errno = EINVAL;
			return -1;
		}
		if (len)
			*len = room;
		fd = libc_calls()->accept4(event.data.fd, addr, len, flags | SOCK_CLOEXEC);
		if (fd == -1 && (errno == EAGAIN || errno == ECONNABORTED))
			continue;
		if (fd != -1)
			self.score->state = ABI_STATE_BUSY;
		return fd;
	}
}

void accept_abandon(void)
{
	int saved_errno = errno;

	/* The set is shared with the worker: closing this copy leaves its entries alone. */
	(void)close(self.epoll);
	(void)close(self.lifeline);
	for (size_t i = 0; i < self.listener_count; i++)
		(void)close(self.listeners[i]);
	self.score = &self.fallback;
	errno = saved_errno;
}
