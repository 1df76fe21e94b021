/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets: what all families share, and warnings. */
#include "fpm/listener/listener.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fpm/listener/activation.h"
#include "fpm/listener/holder.h"
#include "fpm/listener/listener_internal.h"

#define WARNING_BYTES_MAX 512

typedef void (*warn_fn)(void *data, const char *text);

int listener_fail(int code, char *error, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error, size, format, args);
	va_end(args);
	return code;
}

int listener_fail_in_use(const struct address_socket *address, char *error, size_t size)
{
	char text[ADDRESS_TEXT_MAX];
	char holder[128];

	return listener_fail(-EADDRINUSE, error, size, "%s is in use by %s",
			     address_format(address, text, sizeof(text)),
			     holder_describe(address, holder, sizeof(holder)));
}

int listener_socket(struct listener *listener, const struct listener_options *options, char *error,
		    size_t size)
{
	int type = SOCK_STREAM | SOCK_CLOEXEC | (options->nonblocking ? SOCK_NONBLOCK : 0);
	char text[ADDRESS_TEXT_MAX];
	int code;

	listener->fd = socket(listener->address.addr.sa.sa_family, type, 0);
	if (listener->fd != -1)
		return 0;
	code = errno;
	return listener_fail(-code, error, size, "can't make a socket for %s: %s",
			     address_format(&listener->address, text, sizeof(text)),
			     strerror(code));
}

int listener_open(const struct address_socket *address, const struct listener_options *options,
		  struct listener *ret_listener, char *error, size_t size)
{
	struct listener listener = {.fd = -1, .address = *address};
	int rc;

	if (address->pipe)
		rc = listener_pipe_open(&listener, options, error, size);
	else if (address->addr.sa.sa_family != AF_UNIX)
		rc = listener_inet_open(&listener, options, error, size);
	else if (address->addr.un.sun_path[0] == '\0')
		rc = listener_abstract_open(&listener, options, error, size);
	else
		rc = listener_path_open(&listener, options, error, size);
	if (rc < 0) {
		if (listener.fd != -1)
			(void)close(listener.fd);
		return rc;
	}
	*ret_listener = listener;
	return 0;
}

struct listener listener_share(struct listener *lender)
{
	struct listener listener = *lender;

	listener.lender = lender;
	return listener;
}

int listener_take_over(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size)
{
	if (!listener->lender)
		return 0;
	/* The roles change: whose it was looks on until its workers are gone. */
	listener->lender->lender = listener;
	listener->lender = NULL;
	if (listener->passed)
		return 0;
	if (!listener->address.pipe && listen(listener->fd, options->backlog) == -1)
		return listener_fail(-errno, error, size, "can't change the backlog: %s",
				     strerror(errno));
	if (listener->ino != 0)
		return listener_path_adjust(listener, options, error, size);
	return 0;
}

void listener_close(struct listener *listener)
{
	if (listener->fd == -1)
		return;
	if (listener->lender) {
		listener->fd = -1;
		return;
	}
	if (listener->ino != 0)
		listener_path_remove(listener);
	if (!listener->passed || !activation_release(listener->fd))
		(void)close(listener->fd);
	listener->fd = -1;
}

int listener_backlog_limit(void)
{
	FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
	char line[32];
	long limit = 0;

	if (file == NULL)
		return INT_MAX;
	if (fgets(line, sizeof(line), file) != NULL)
		limit = strtol(line, NULL, 10);
	(void)fclose(file);
	return limit > 0 && limit < INT_MAX ? (int)limit : INT_MAX;
}

static bool is_wildcard(const struct address_socket *address)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address->addr.storage;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->addr.storage;

	switch (address->addr.sa.sa_family) {
	case AF_INET:
		return in->sin_addr.s_addr == htonl(INADDR_ANY);
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
	default:
		return false;
	}
}

/* An access control list says more than the mode does, so nothing can be told from the mode. */
static bool has_acl(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* Tells whom the mode of a folder shuts out although the socket's mode admits them. */
static void warn_folder(const char *folder, const char *socket, gid_t gid, mode_t mode,
			warn_fn warn, void *data)
{
	char text[WARNING_BYTES_MAX];
	char who[32] = "";
	struct stat st;
	mode_t group_bit;

	if (stat(folder, &st) == -1)
		return;
	group_bit = st.st_gid == gid ? S_IXGRP : S_IXOTH;
	if ((mode & S_IWGRP) && !(st.st_mode & group_bit))
		(void)snprintf(who, sizeof(who), "group %lu", (unsigned long)gid);
	else if ((mode & S_IWOTH) && !(st.st_mode & S_IXOTH))
		(void)snprintf(who, sizeof(who), "other users");
	if (who[0] == '\0' || has_acl(folder))
		return;
	(void)snprintf(text, sizeof(text),
		       "folder %s (mode %04o, uid %lu, gid %lu) shuts out %s: they can't reach %s "
		       "although its mode admits them",
		       folder, (unsigned int)(st.st_mode & 07777), (unsigned long)st.st_uid,
		       (unsigned long)st.st_gid, who, socket);
	warn(data, text);
}

/* Looks at each folder from the root down, with symbolic links resolved. */
static void warn_folders(const char *socket, const struct listener_options *options, warn_fn warn,
			 void *data)
{
	char name[LISTENER_PATH_BYTES];
	gid_t gid = options->gid;
	struct stat st;
	char *path;

	if (lstat(socket, &st) == -1)
		return;
	if (gid == (gid_t)-1)
		gid = st.st_gid;
	path = realpath(listener_folder_name(socket, name), NULL);
	if (path == NULL)
		return;
	warn_folder("/", socket, gid, options->mode, warn, data);
	for (size_t end = 1; path[end] != '\0';) {
		char saved;

		end += strcspn(path + end, "/");
		saved = path[end];
		path[end] = '\0';
		warn_folder(path, socket, gid, options->mode, warn, data);
		path[end] = saved;
		if (saved != '\0')
			end++;
	}
	free(path);
}

void listener_warnings(const struct listener *listener, const struct listener_options *options,
		       void (*warn)(void *data, const char *text), void *data)
{
	char address[ADDRESS_TEXT_MAX];
	const struct address_socket actual = listener_actual_address(listener);
	char text[WARNING_BYTES_MAX];

	if (is_wildcard(&actual)) {
		(void)snprintf(text, sizeof(text),
			       "%s: every host that reaches this machine can run code through it: "
			       "FastCGI knows no passwords",
			       address_format(&actual, address, sizeof(address)));
		warn(data, text);
	}
	if (listener->ino != 0)
		warn_folders(listener->address.addr.un.sun_path, options, warn, data);
}
