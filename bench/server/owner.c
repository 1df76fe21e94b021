/* SPDX-License-Identifier: BSD-2-Clause */
/* Which process answers at an endpoint. */

#include "owner.h"

#include "fpm/process/proc_stat.h"
#include "sock_diag.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most processes that are looked at with the same listener. */
#define HOLDERS_MAX 512

/* Deeper than this no tree of servers is. */
#define DEPTH_MAX 16

/* A file that an owner has open. */
struct held {
	mode_t type;
	ino_t inode;
	dev_t device; /* of a pipe; sockets have numbers of their own */
};

/* The listener of an endpoint, while all are listed. */
struct search {
	const struct endpoint *endpoint;
	enum sock_diag_match match;
	ino_t inode;
};

static void take_listener(const struct sock_diag_listener *listener, void *data)
{
	struct search *search = data;
	enum sock_diag_match match = sock_diag_match(listener, search->endpoint);

	if (match <= search->match)
		return;
	search->match = match;
	search->inode = listener->inode;
}

static bool find_listener(const struct endpoint *endpoint, struct held *ret_held)
{
	static const int inet[] = {AF_INET, AF_INET6};
	struct search search = {.endpoint = endpoint};
	int fd = sock_diag_open();

	if (fd < 0)
		return false;
	if (endpoint->transport == TRANSPORT_UNIX)
		(void)sock_diag_list(fd, AF_UNIX, 0, take_listener, &search);
	for (size_t i = 0; endpoint->transport == TRANSPORT_TCP && i < 2; i++)
		(void)sock_diag_list(fd, inet[i], 0, take_listener, &search);
	(void)close(fd);
	*ret_held = (struct held){.type = S_IFSOCK, .inode = search.inode};
	return search.inode != 0;
}

static bool find_pipe(const struct endpoint *endpoint, struct held *ret_held)
{
	char path[128];
	struct stat file;

	(void)snprintf(path, sizeof(path), "%s.in", endpoint->path);
	if (stat(path, &file) == -1 || !S_ISFIFO(file.st_mode))
		return false;
	*ret_held = (struct held){.type = S_IFIFO, .inode = file.st_ino, .device = file.st_dev};
	return true;
}

static bool holds(pid_t pid, const struct held *held)
{
	char path[32];
	struct stat file;
	bool found = false;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	folder = opendir(path);
	if (!folder)
		return false;
	for (const struct dirent *entry; !found && (entry = readdir(folder));)
		found = fstatat(dirfd(folder), entry->d_name, &file, 0) == 0 &&
			(file.st_mode & S_IFMT) == held->type && file.st_ino == held->inode &&
			(held->type == S_IFSOCK || file.st_dev == held->device);
	(void)closedir(folder);
	return found;
}

/* Whoever starts servers for others, and we ourselves, are not the server. */
static size_t find_holders(const struct held *held, pid_t *ret_pids, size_t max)
{
	DIR *processes = opendir("/proc");
	size_t count = 0;

	if (!processes)
		return 0;
	for (const struct dirent *entry; count < max && (entry = readdir(processes));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 1 && pid != getpid() && holds(pid, held))
			ret_pids[count++] = pid;
	}
	(void)closedir(processes);
	return count;
}

static bool is_among(pid_t pid, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* The last one of its ancestors that is among them, or it itself. */
static pid_t topmost(pid_t pid, const pid_t *pids, size_t count)
{
	struct proc_stat stat;
	pid_t top = pid;

	for (int depth = 0; depth < DEPTH_MAX && pid > 1 && proc_stat_read(pid, &stat) == 0;
	     depth++) {
		pid = stat.parent;
		if (is_among(pid, pids, count))
			top = pid;
	}
	return top;
}

/* Of several trees the one that was there first: what it started may have left it. */
static pid_t oldest_root(const pid_t *pids, size_t count)
{
	unsigned long long oldest = 0;
	struct proc_stat stat;
	pid_t root = 0;

	for (size_t i = 0; i < count; i++) {
		pid_t pid = topmost(pids[i], pids, count);

		if (proc_stat_read(pid, &stat) < 0 || (root && stat.start_ticks >= oldest))
			continue;
		oldest = stat.start_ticks;
		root = pid;
	}
	return root;
}

/* It may have gone since then, and left its socket to others. */
static pid_t who_listens(const struct address_socket *address)
{
	struct ucred owner = {0};
	socklen_t size = sizeof(owner);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return 0;
	if (connect(fd, &address->addr.sa, address->len) == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size) == -1)
		owner.pid = 0;
	(void)close(fd);
	if (owner.pid <= 1 || owner.pid == getpid() || (kill(owner.pid, 0) == -1 && errno == ESRCH))
		return 0;
	return owner.pid;
}

pid_t owner_find(const struct endpoint *endpoint)
{
	pid_t pids[HOLDERS_MAX], root = 0;
	struct held held;
	bool known = endpoint->transport == TRANSPORT_PIPE ? find_pipe(endpoint, &held)
							   : find_listener(endpoint, &held);

	if (known)
		root = oldest_root(pids, find_holders(&held, pids, HOLDERS_MAX));
	if (root == 0 && endpoint->transport == TRANSPORT_UNIX)
		root = who_listens(&endpoint->socket);
	return root;
}
