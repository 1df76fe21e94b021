/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages with descriptors over the control socket. */

#include "message.h"

#include "abi.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for the most descriptors, and for a credential. */
union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * ABI_SPAWN_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
};

static void close_fds(const int fds[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

/* Takes descriptors out of a control message; closes those that find no room. */
static size_t take_fds(const struct cmsghdr *c, int fds[], size_t count, size_t size)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (count < size)
			fds[count++] = fd;
		else
			(void)close(fd);
	}
	return count;
}

int message_receive(int socket, struct abi_message *ret_message, int ret_fds[], size_t size,
		    size_t *ret_count, pid_t *ret_sender)
{
	union control control;
	struct iovec iov = {.iov_base = ret_message, .iov_len = sizeof(*ret_message)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct ucred sender = {0};
	size_t count = 0;
	ssize_t n;

	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n == -1 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS)
			count = take_fds(c, ret_fds, count, size);
		else if (c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&sender, CMSG_DATA(c), sizeof(sender));
	}
	if (n != sizeof(*ret_message) || ret_message->abi != ABI_VERSION ||
	    (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		close_fds(ret_fds, count);
		errno = EPROTO;
		return -1;
	}
	*ret_count = count;
	if (ret_sender)
		*ret_sender = sender.pid;
	return 1;
}

int message_send(int socket, const struct abi_message *message, const int fds[], size_t count)
{
	union control control = {0};
	struct abi_message copy = *message;
	struct iovec iov = {.iov_base = &copy, .iov_len = sizeof(copy)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (count > 0) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	return n == -1 ? -1 : 0;
}
