/* SPDX-License-Identifier: BSD-2-Clause */
/* How many clients wait in a listener's accept queue. */

#include "fpm/listener/queue.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a listening TCP socket the kernel gives its queue's length in place of unacked segments. */
static int tcp_depth(int listener)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size) == -1)
		return -errno;
	return (int)info.tcpi_unacked;
}

static int read_answer(int fd)
{
	_Alignas(struct nlmsghdr) char buffer[4096];
	ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
	struct nlmsghdr *header = (struct nlmsghdr *)buffer;
	struct unix_diag_msg *message = NLMSG_DATA(header);
	struct rtattr *attribute = (struct rtattr *)(message + 1);
	size_t left;

	if (n == -1)
		return -errno;
	if (!NLMSG_OK(header, (size_t)n) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    header->nlmsg_len < NLMSG_LENGTH(sizeof(*message)))
		return -ENOENT;
	left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == UNIX_DIAG_RQLEN &&
		    RTA_PAYLOAD(attribute) >= sizeof(struct unix_diag_rqlen))
			return (int)((const struct unix_diag_rqlen *)RTA_DATA(attribute))
				->udiag_rqueue;
	return -ENOENT;
}

static int unix_depth(int listener)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} ask = {.header = {.nlmsg_len = sizeof(ask),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST},
		 .request = {.sdiag_family = AF_UNIX,
			     .udiag_states = UINT32_MAX,
			     .udiag_show = UDIAG_SHOW_RQLEN,
			     .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
	struct stat st;
	int fd, depth;

	if (fstat(listener, &st) == -1)
		return -errno;
	ask.request.udiag_ino = (uint32_t)st.st_ino;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd == -1)
		return -errno;
	depth = send(fd, &ask, sizeof(ask), 0) == -1 ? -errno : read_answer(fd);
	(void)close(fd);
	return depth;
}

int queue_depth(int listener)
{
	int family;
	socklen_t size = sizeof(family);

	if (getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &family, &size) == -1)
		return -errno;
	return family == AF_UNIX ? unix_depth(listener) : tcp_depth(listener);
}
