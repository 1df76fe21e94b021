/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the other end of a connection has ever read anything: NETLINK_SOCK_DIAG. */
#include "peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* The kernel's answer comes within the call that asks, so this is for what can't happen. */
#define ANSWER_TIMEOUT_US 100000

#define NO_COOKIE (~0U)

struct question {
	struct nlmsghdr header;
	union {
		struct unix_diag_req on_unix;
		struct inet_diag_req_v2 inet;
	} body;
};

struct answer {
	_Alignas(struct nlmsghdr) char bytes[4096];
	size_t size;
};

/* Returns the message's payload if it is what was asked for, else NULL. */
static const void *payload(const struct answer *answer, size_t least, size_t *ret_size)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer->bytes;

	if (answer->size < sizeof(*header) || header->nlmsg_len > answer->size ||
	    header->nlmsg_len < NLMSG_LENGTH(least) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return NULL;
	*ret_size = header->nlmsg_len - NLMSG_HDRLEN;
	return answer->bytes + NLMSG_HDRLEN;
}

static bool ask(struct question *question, size_t size, struct answer *ret_answer)
{
	const struct timeval timeout = {.tv_usec = ANSWER_TIMEOUT_US};
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t bytes = -1;

	if (fd == -1)
		return false;
	question->header = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
		.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlmsg_flags = NLM_F_REQUEST,
	};
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (send(fd, question, question->header.nlmsg_len, 0) != -1)
		bytes = recv(fd, ret_answer->bytes, sizeof(ret_answer->bytes), 0);
	(void)close(fd);
	if (bytes < 0)
		return false;
	ret_answer->size = (size_t)bytes;
	return true;
}

/* Copies the first bytes of an attribute; false if there is none of that size. */
static bool find_attribute(const char *data, size_t at, size_t size, unsigned short type,
			   void *ret_value, size_t value_size)
{
	while (at + RTA_LENGTH(value_size) <= size) {
		struct rtattr attribute;

		memcpy(&attribute, data + at, sizeof(attribute));
		if (attribute.rta_len < sizeof(attribute))
			return false;
		if (attribute.rta_type == type && attribute.rta_len >= RTA_LENGTH(value_size)) {
			memcpy(ret_value, data + at + RTA_LENGTH(0), value_size);
			return true;
		}
		at += RTA_ALIGN(attribute.rta_len);
	}
	return false;
}

/* An attribute of a unix socket by its inode; false if there is none. */
static bool unix_attribute(uint32_t inode, unsigned int show, unsigned short type, void *ret_value,
			   size_t value_size)
{
	struct question question = {.body.on_unix = {
					    .sdiag_family = AF_UNIX,
					    .udiag_states = ~0U,
					    .udiag_ino = inode,
					    .udiag_show = show,
					    .udiag_cookie = {NO_COOKIE, NO_COOKIE},
				    }};
	struct answer answer;
	const char *data;
	size_t size;

	if (!ask(&question, sizeof(question.body.on_unix), &answer))
		return false;
	data = payload(&answer, sizeof(struct unix_diag_msg), &size);
	return data != NULL && find_attribute(data, NLMSG_ALIGN(sizeof(struct unix_diag_msg)), size,
					      type, ret_value, value_size);
}

/* What we sent and was not read yet is charged to us, in pieces as large as our writes. */
static enum peer_state look_unix_roughly(const struct transport_link *link)
{
	int charged = 0;

	if (ioctl(link->out, SIOCOUTQ, &charged) == -1)
		return PEER_UNKNOWN;
	return charged > 0 ? PEER_IDLE : PEER_HAS_READ;
}

static enum peer_state look_unix(const struct transport_link *link, size_t sent)
{
	struct unix_diag_rqlen unread = {.udiag_rqueue = 0};
	struct stat stat = {.st_ino = 0};
	uint32_t peer = 0;

	if (fstat(link->in, &stat) == -1 || !unix_attribute((uint32_t)stat.st_ino, UDIAG_SHOW_PEER,
							    UNIX_DIAG_PEER, &peer, sizeof(peer)))
		return look_unix_roughly(link);
	if (peer == 0)
		return PEER_IDLE;
	if (!unix_attribute(peer, UDIAG_SHOW_RQLEN, UNIX_DIAG_RQLEN, &unread, sizeof(unread)))
		return look_unix_roughly(link);
	return unread.udiag_rqueue >= sent ? PEER_IDLE : PEER_HAS_READ;
}

static bool set_end(const struct sockaddr_storage *address, __be32 to[4], __be16 *port)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	memcpy(&in, address, sizeof(in));
	memcpy(&in6, address, sizeof(in6));
	if (address->ss_family == AF_INET) {
		to[0] = in.sin_addr.s_addr;
		*port = in.sin_port;
		return true;
	}
	memcpy(to, &in6.sin6_addr, sizeof(in6.sin6_addr));
	*port = in6.sin6_port;
	return address->ss_family == AF_INET6;
}

/* What the other end has received and what of it waits to be read. */
static enum peer_state judge_tcp(const struct answer *answer)
{
	const size_t needed = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t);
	struct inet_diag_msg message;
	struct tcp_info info;
	const char *data;
	size_t size;

	data = payload(answer, sizeof(message), &size);
	if (data == NULL)
		return PEER_UNKNOWN;
	memcpy(&message, data, sizeof(message));
	if (message.idiag_inode == 0)
		return PEER_IDLE;
	if (!find_attribute(data, NLMSG_ALIGN(sizeof(message)), size, INET_DIAG_INFO, &info,
			    needed))
		return PEER_UNKNOWN;
	return message.idiag_rqueue >= info.tcpi_bytes_received ? PEER_IDLE : PEER_HAS_READ;
}

static enum peer_state look_tcp(const struct transport_link *link)
{
	struct question question = {.body.inet = {
					    .sdiag_protocol = IPPROTO_TCP,
					    .idiag_ext = 1U << (INET_DIAG_INFO - 1),
					    .idiag_states = ~0U,
					    .id.idiag_cookie = {NO_COOKIE, NO_COOKIE},
				    }};
	struct inet_diag_req_v2 *request = &question.body.inet;
	struct sockaddr_storage ours = {.ss_family = AF_UNSPEC};
	struct sockaddr_storage theirs = {.ss_family = AF_UNSPEC};
	socklen_t ours_size = sizeof(ours);
	socklen_t theirs_size = sizeof(theirs);
	struct answer answer;

	if (getsockname(link->in, (struct sockaddr *)&ours, &ours_size) == -1 ||
	    getpeername(link->in, (struct sockaddr *)&theirs, &theirs_size) == -1)
		return PEER_UNKNOWN;
	request->sdiag_family = (uint8_t)ours.ss_family;
	/* Seen from the other end, which is on this machine or is not found. */
	if (!set_end(&theirs, request->id.idiag_src, &request->id.idiag_sport) ||
	    !set_end(&ours, request->id.idiag_dst, &request->id.idiag_dport) ||
	    !ask(&question, sizeof(*request), &answer))
		return PEER_UNKNOWN;
	return judge_tcp(&answer);
}

static enum peer_state look_pipe(const struct transport_link *link, size_t sent)
{
	int unread = 0;

	if (ioctl(link->out, FIONREAD, &unread) == -1)
		return PEER_UNKNOWN;
	return (size_t)unread >= sent ? PEER_IDLE : PEER_HAS_READ;
}

enum peer_state peer_look(const struct transport_link *link, enum transport transport, size_t sent)
{
	switch (transport) {
	case TRANSPORT_TCP:
		return look_tcp(link);
	case TRANSPORT_UNIX:
		return look_unix(link, sent);
	case TRANSPORT_PIPE:
		return look_pipe(link, sent);
	case TRANSPORTS:
		break;
	}
	return PEER_UNKNOWN;
}
