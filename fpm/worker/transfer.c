/* SPDX-License-Identifier: BSD-2-Clause */
/* The message that carries connections from one process to another. */

#include "transfer.h"

#include "abi.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * TRANSFER_BATCH)];
};

int transfer_send(int out, const struct transfer *transfer, const void *bytes, size_t size,
		  const int fds[], int wait_ms)
{
	union control control = {0};
	struct transfer copy = *transfer;
	/* sendmsg() takes pointers to what it does not change. */
	struct iovec iov[2] = {{.iov_base = &copy, .iov_len = sizeof(copy)}, {.iov_len = size}};
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(copy.count * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	memcpy(&iov[1].iov_base, &bytes, sizeof(bytes));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(copy.count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, copy.count * sizeof(int));
	for (;;) {
		struct pollfd p = {.fd = out, .events = POLLOUT};

		if (sendmsg(out, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) != -1)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || wait_ms == 0 || poll(&p, 1, wait_ms) == 0)
			return -1;
	}
}

static uint32_t take_fds(struct msghdr *msg, int fds[TRANSFER_BATCH])
{
	uint32_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	}
	return count;
}

static bool is_whole(const struct transfer *transfer, const struct msghdr *msg, uint32_t fds,
		     size_t bytes)
{
	if (transfer->abi != ABI_VERSION || (msg->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    transfer->count != fds)
		return false;
	for (uint32_t i = 0; i < fds; i++) {
		if (transfer->entries[i].pending > bytes)
			return false;
		bytes -= transfer->entries[i].pending;
	}
	return bytes == 0;
}

uint32_t transfer_receive(int in, struct transfer *ret_transfer, void *bytes, size_t size,
			  int ret_fds[TRANSFER_BATCH])
{
	union control control;
	struct iovec iov[2] = {{.iov_base = ret_transfer, .iov_len = sizeof(*ret_transfer)},
			       {.iov_base = bytes, .iov_len = size}};
	struct msghdr msg = {.msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(in, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	uint32_t count;

	if (n <= 0)
		return 0;
	count = take_fds(&msg, ret_fds);
	if (n >= (ssize_t)sizeof(*ret_transfer) &&
	    is_whole(ret_transfer, &msg, count, (size_t)n - sizeof(*ret_transfer)))
		return count;
	while (count > 0)
		(void)close(ret_fds[--count]);
	return 0;
}
