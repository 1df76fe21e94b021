/* SPDX-License-Identifier: BSD-2-Clause */
/* The listening socket of spawn-fcgi. */
#include "fpm/spawn_fcgi/spawn_fcgi_internal.h"

#include "fpm/listener/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MODE_DEFAULT 0660

/* Numbers only: a name would have to be looked up, and may stand for several addresses. */
static int find_inet(const struct spawn_fcgi_options *options, struct address_socket *address)
{
	const char *text = options->address ? options->address : "0.0.0.0";
	struct sockaddr_in *in = (struct sockaddr_in *)&address->addr.storage;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address->addr.storage;

	/* The second form is the one with less than four numbers. */
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1 || inet_aton(text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((in_port_t)options->port);
		address->len = sizeof(*in);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((in_port_t)options->port);
		address->len = sizeof(*in6);
		return 0;
	}
	return spawn_fcgi_error("'%s' is not a valid IP address", text);
}

/* Return: 0, or the exit status after a message */
static int find_address(const struct spawn_fcgi_options *options,
			struct address_socket *ret_address)
{
	struct address_socket address = {.pipe = false};
	/* Listeners lock the folder that the path names. */
	const char *folder = options->path && !strchr(options->path, '/') ? "./" : "";
	struct sockaddr_un *un = &address.addr.un;
	int status = 0;

	if (!options->path) {
		status = find_inet(options, &address);
	} else if (options->path[0] == '\0') {
		status = spawn_fcgi_error("the path of the unix socket is empty");
	} else if (strlen(options->path) + strlen(folder) >= sizeof(un->sun_path)) {
		status = spawn_fcgi_error("the path of the unix socket is too long: %zu bytes, "
					  "accepted are %zu",
					  strlen(options->path),
					  sizeof(un->sun_path) - 1 - strlen(folder));
	} else {
		un->sun_family = AF_UNIX;
		(void)snprintf(un->sun_path, sizeof(un->sun_path), "%s%s", folder, options->path);
		address.len = sizeof(*un);
	}
	if (status == 0)
		*ret_address = address;
	return status;
}

int spawn_fcgi_socket_check(const struct spawn_fcgi_options *options)
{
	struct address_socket address;

	return find_address(options, &address);
}

mode_t spawn_fcgi_socket_mode(const struct spawn_fcgi_options *options)
{
	mode_t mask;

	if (options->mode != (mode_t)-1)
		return options->mode;
	mask = umask(0);
	(void)umask(mask);
	return MODE_DEFAULT & ~mask;
}

/* A folder with a wrong name is not to be made, as a web server would not look there. */
static bool has_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)] = "";
	struct stat st;

	if (!slash || slash == path)
		return true;
	memcpy(folder, path, (size_t)(slash - path));
	return stat(folder, &st) == 0;
}

int spawn_fcgi_socket_open(const struct spawn_fcgi_options *options,
			   const struct spawn_fcgi_ids *ids)
{
	const struct listener_options how = {
		.backlog = options->backlog,
		.mode = spawn_fcgi_socket_mode(options),
		.uid = ids->socket_uid,
		.gid = ids->socket_gid,
		.dual_stack = true,
	};
	struct listener listener;
	struct address_socket address;
	char error[512];
	int result;

	if (find_address(options, &address) != 0)
		return -1;
	if (options->path && !has_folder(options->path)) {
		(void)spawn_fcgi_error("bind failed: %s: %s", options->path, strerror(errno));
		return -1;
	}
	result = listener_open(&address, &how, &listener, error, sizeof(error));
	if (result < 0) {
		(void)spawn_fcgi_error("%s: %s",
				       result == -EADDRINUSE
					       ? "socket is already in use, can't spawn"
					       : "bind failed",
				       error);
		return -1;
	}
	return listener.fd;
}
