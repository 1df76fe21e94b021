/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's accept(): its own listeners and its lifeline. */

#include "accept.h"

#include "abi.h"
#include "connection.h"
#include "libc.h"
#include "score.h"
#include "template.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
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
} self = {.epoll = -1, .lifeline = -1};

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
	self.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (self.epoll == -1 || watch(self.lifeline, EPOLLIN) == -1)
		return -1;
	for (size_t i = 0; i < self.listener_count; i++)
		if (watch(self.listeners[i], EPOLLIN | EPOLLEXCLUSIVE) == -1)
			return -1;
	return 0;
}

int accept_next(struct sockaddr *addr, socklen_t *len, int flags)
{
	socklen_t room = len ? *len : 0;

	connection_closed();
	score_idle();
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
		if (fd != -1) {
			connection_begin(fd);
			score_busy();
		}
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
	errno = saved_errno;
}
