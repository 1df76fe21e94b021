/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel for listening sockets and their accept queues. */

#include "sock_diag.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>

/* The kernel packs as many sockets into a message as fit. */
#define ANSWER_SIZE 32768

/* A device number as the kernel keeps it, which is not how stat() gives it. */
#define KERNEL_MINOR_BITS 20

int sock_diag_open(void)
{
	const struct timeval patience = {.tv_sec = 2};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd == -1)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static int ask(int fd, int family, unsigned int port)
{
	struct {
		struct nlmsghdr head;
		union {
			struct unix_diag_req local;
			struct inet_diag_req_v2 inet;
		} body;
	} question = {
		.head.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	};
	size_t size = family == AF_UNIX ? sizeof(question.body.local) : sizeof(question.body.inet);

	question.head.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
	if (family == AF_UNIX) {
		question.body.local.sdiag_family = AF_UNIX;
		question.body.local.udiag_states = 1U << TCP_LISTEN;
		question.body.local.udiag_show =
			UDIAG_SHOW_NAME | UDIAG_SHOW_VFS | UDIAG_SHOW_RQLEN;
	} else {
		question.body.inet.sdiag_family = (uint8_t)family;
		question.body.inet.sdiag_protocol = IPPROTO_TCP;
		question.body.inet.idiag_states = 1U << TCP_LISTEN;
		question.body.inet.id.idiag_sport = htons((uint16_t)port);
	}
	return send(fd, &question, question.head.nlmsg_len, 0) == -1 ? -errno : 0;
}

static void take_attribute(struct sock_diag_listener *listener, unsigned int type,
			   const uint8_t *data, size_t size)
{
	struct sockaddr_un *name = &listener->address.addr.un;
	struct unix_diag_rqlen lengths;
	struct unix_diag_vfs file;

	if (type == UNIX_DIAG_RQLEN && size >= sizeof(lengths)) {
		memcpy(&lengths, data, sizeof(lengths));
		listener->depth = lengths.udiag_rqueue;
		listener->limit = lengths.udiag_wqueue;
	} else if (type == UNIX_DIAG_VFS && size >= sizeof(file)) {
		memcpy(&file, data, sizeof(file));
		listener->file_device =
			makedev(file.udiag_vfs_dev >> KERNEL_MINOR_BITS,
				file.udiag_vfs_dev & ((1U << KERNEL_MINOR_BITS) - 1));
		listener->file_inode = file.udiag_vfs_ino;
	} else if (type == UNIX_DIAG_NAME && size <= sizeof(name->sun_path)) {
		memcpy(name->sun_path, data, size);
		listener->address.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
	}
}

static bool parse_unix(const uint8_t *data, size_t size, struct sock_diag_listener *ret_listener)
{
	struct unix_diag_msg message;
	struct rtattr attribute;

	if (size < sizeof(message))
		return false;
	memcpy(&message, data, sizeof(message));
	ret_listener->inode = message.udiag_ino;
	ret_listener->address.addr.un.sun_family = AF_UNIX;
	for (size_t at = NLMSG_ALIGN(sizeof(message)); at + sizeof(attribute) <= size;
	     at += RTA_ALIGN(attribute.rta_len)) {
		memcpy(&attribute, data + at, sizeof(attribute));
		if (attribute.rta_len < RTA_LENGTH(0) || attribute.rta_len > size - at)
			return false;
		take_attribute(ret_listener, attribute.rta_type, data + at + RTA_LENGTH(0),
			       attribute.rta_len - RTA_LENGTH(0));
	}
	return true;
}

static bool parse_inet(const uint8_t *data, size_t size, struct sock_diag_listener *ret_listener)
{
	struct address_socket *address = &ret_listener->address;
	struct inet_diag_msg message;

	if (size < sizeof(message))
		return false;
	memcpy(&message, data, sizeof(message));
	ret_listener->inode = message.idiag_inode;
	ret_listener->depth = message.idiag_rqueue;
	ret_listener->limit = message.idiag_wqueue;
	if (message.idiag_family == AF_INET) {
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = message.id.idiag_sport};

		memcpy(&in.sin_addr, message.id.idiag_src, sizeof(in.sin_addr));
		memcpy(&address->addr, &in, address->len = sizeof(in));
	} else {
		struct sockaddr_in6 in = {.sin6_family = AF_INET6,
					  .sin6_port = message.id.idiag_sport};

		memcpy(&in.sin6_addr, message.id.idiag_src, sizeof(in.sin6_addr));
		memcpy(&address->addr, &in, address->len = sizeof(in));
	}
	return true;
}

/* Return: 1 if the answer goes on in another message, 0 at its end, or negative errno */
static int take_answer(const uint8_t *answer, size_t size, int family, sock_diag_fn listener,
		       void *data)
{
	struct nlmsghdr head;
	int32_t code = 0;

	for (size_t at = 0; at + NLMSG_HDRLEN <= size; at += NLMSG_ALIGN(head.nlmsg_len)) {
		struct sock_diag_listener seen = {0};
		const uint8_t *body = answer + at + NLMSG_HDRLEN;
		size_t body_size;

		memcpy(&head, answer + at, sizeof(head));
		if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > size - at)
			return -EPROTO;
		body_size = head.nlmsg_len - NLMSG_HDRLEN;
		if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) {
			if (body_size >= sizeof(code))
				memcpy(&code, body, sizeof(code));
			return code;
		}
		if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
			continue;
		if (family == AF_UNIX ? parse_unix(body, body_size, &seen)
				      : parse_inet(body, body_size, &seen))
			listener(&seen, data);
	}
	return 1;
}

int sock_diag_list(int fd, int family, unsigned int port, sock_diag_fn listener, void *data)
{
	uint8_t answer[ANSWER_SIZE];
	int ret = ask(fd, family, port);

	if (ret < 0)
		return ret;
	do {
		ssize_t n = recv(fd, answer, sizeof(answer), 0);

		if (n == -1 && errno == EINTR)
			ret = 1;
		else if (n == -1)
			ret = -errno;
		else
			ret = take_answer(answer, (size_t)n, family, listener, data);
	} while (ret == 1);
	return ret;
}

static enum sock_diag_match match_unix(const struct sock_diag_listener *listener,
				       const struct address_socket *wanted)
{
	const struct sockaddr_un *name = &wanted->addr.un;
	struct stat file;

	/* A name in the file system stays in the list when its file has been replaced. */
	if (name->sun_path[0] && stat(name->sun_path, &file) == 0 &&
	    listener->file_inode == file.st_ino && listener->file_device == file.st_dev)
		return SOCK_DIAG_EXACT;
	if (!address_equal(&listener->address, wanted))
		return SOCK_DIAG_OTHER;
	return name->sun_path[0] ? SOCK_DIAG_WILDCARD : SOCK_DIAG_EXACT;
}

static bool is_wildcard(const struct sockaddr *address)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	if (address->sa_family == AF_INET) {
		memcpy(&four, address, sizeof(four));
		return four.sin_addr.s_addr == htonl(INADDR_ANY);
	}
	memcpy(&six, address, sizeof(six));
	return IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
}

/* Both families have the port at the same place. */
static uint16_t port_of(const struct address_socket *address)
{
	struct sockaddr_in in;

	memcpy(&in, &address->addr, sizeof(in));
	return in.sin_port;
}

enum sock_diag_match sock_diag_match(const struct sock_diag_listener *listener,
				     const struct endpoint *endpoint)
{
	const struct address_socket *wanted = &endpoint->socket;
	int family = listener->address.addr.sa.sa_family, wanted_family = wanted->addr.sa.sa_family;

	if (endpoint->transport == TRANSPORT_PIPE)
		return SOCK_DIAG_OTHER;
	if (family == AF_UNIX || wanted_family == AF_UNIX)
		return family == wanted_family ? match_unix(listener, wanted) : SOCK_DIAG_OTHER;
	if (address_equal(&listener->address, wanted))
		return SOCK_DIAG_EXACT;
	/* One that listens on all IPv6 addresses takes IPv4 clients too, if nobody else does. */
	if (port_of(&listener->address) == port_of(wanted) &&
	    is_wildcard(&listener->address.addr.sa) &&
	    (family == wanted_family || family == AF_INET6))
		return SOCK_DIAG_WILDCARD;
	return SOCK_DIAG_OTHER;
}
