/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the processes behind a listening socket in /proc. */
#include "fpm/listener/holder.h"

#include "fpm/process/proc_stat.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * The kernel's tables name each bound socket's inode; a process that holds the socket has a link
 * "socket:[INODE]" in its fd folder. The first step works for everybody, the second only for
 * processes that we may look at: an ordinary user sees none of root's. TCP's tables also tell the
 * uid that made the socket, which is the next best answer.
 */

#define SOCKETS_MAX	 32 /* sockets on one address: more than one only with SO_REUSEPORT */
#define LINKS_MAX	 (1UL << 20) /* descriptors looked at, about a second's work */
#define LINE_BYTES_MAX	 512	     /* a line of the kernel's tables has at most about 200 */
#define TCP_STATE_LISTEN 0x0aU	     /* as written in /proc/net/tcp */
#define UNIX_STATE_IDLE	 0x01U	     /* not a connection, as written in /proc/net/unix */

struct sockets {
	unsigned long inodes[SOCKETS_MAX];
	size_t count;
	unsigned long uid;
	bool uid_known;
};

struct holders {
	unsigned int count;
	pid_t first;
	unsigned long long first_start;
	bool self;
};

/* The field of a line of blank-separated fields, or the line's end. */
static const char *field(const char *line, unsigned int index)
{
	line += strspn(line, " ");
	for (; index > 0; index--) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line;
}

static void add_inode(struct sockets *sockets, const char *text)
{
	unsigned long inode = strtoul(text, NULL, 10);

	if (inode != 0 && sockets->count < SOCKETS_MAX)
		sockets->inodes[sockets->count++] = inode;
}

typedef void (*line_fn)(struct sockets *sockets, const char *line, const void *wanted);

static void each_line(const char *path, line_fn fn, struct sockets *sockets, const void *wanted)
{
	char line[LINE_BYTES_MAX];
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		fn(sockets, line, wanted);
	}
	(void)fclose(file);
}

/* Connections carry the listener's name, too, so the state decides. The name may have blanks. */
static void match_unix(struct sockets *sockets, const char *line, const void *wanted)
{
	const char *name = wanted;

	if (strtoul(field(line, 5), NULL, 16) == UNIX_STATE_IDLE &&
	    strcmp(field(line, 7), name) == 0)
		add_inode(sockets, field(line, 6));
}

/* IPv4 addresses are kept in their IPv4-mapped form: one way to compare them all. */
struct endpoint {
	struct in6_addr addr;
	unsigned long port;
};

static struct in6_addr map_ipv4(const void *ipv4)
{
	struct in6_addr addr = {.s6_addr[10] = 0xff, .s6_addr[11] = 0xff};

	memcpy(&addr.s6_addr[12], ipv4, sizeof(struct in_addr));
	return addr;
}

static bool is_mapped_any(const struct in6_addr *addr)
{
	const uint32_t any = htonl(INADDR_ANY);

	return IN6_IS_ADDR_V4MAPPED(addr) && memcmp(&addr->s6_addr[12], &any, sizeof(any)) == 0;
}

static bool is_any(const struct in6_addr *addr)
{
	return IN6_IS_ADDR_UNSPECIFIED(addr) || is_mapped_any(addr);
}

/* The table shows words of the address as numbers of this machine's byte order. */
static bool read_endpoint(const char *text, struct endpoint *ret_endpoint)
{
	size_t digits = strcspn(text, ":");
	uint32_t words[4];
	struct endpoint endpoint;

	if ((digits != 8 && digits != 32) || text[digits] != ':')
		return false;
	for (size_t i = 0; i < digits / 8; i++) {
		char word[9] = "";

		memcpy(word, text + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (digits == 8)
		endpoint.addr = map_ipv4(words);
	else
		memcpy(&endpoint.addr, words, sizeof(endpoint.addr));
	endpoint.port = strtoul(text + digits + 1, NULL, 16);
	*ret_endpoint = endpoint;
	return true;
}

/* Our own IPv6 sockets are for IPv6 only, so "::" of ours is in nobody's way on IPv4. */
static bool conflicts(const struct endpoint *ours, const struct endpoint *theirs)
{
	bool same_family =
		!IN6_IS_ADDR_V4MAPPED(&ours->addr) == !IN6_IS_ADDR_V4MAPPED(&theirs->addr);

	if (ours->port != theirs->port)
		return false;
	return IN6_ARE_ADDR_EQUAL(&ours->addr, &theirs->addr) ||
	       IN6_IS_ADDR_UNSPECIFIED(&theirs->addr) ||
	       (same_family && (is_any(&ours->addr) || is_any(&theirs->addr)));
}

static void match_tcp(struct sockets *sockets, const char *line, const void *wanted)
{
	struct endpoint theirs;

	if (strtoul(field(line, 3), NULL, 16) != TCP_STATE_LISTEN ||
	    !read_endpoint(field(line, 1), &theirs) || !conflicts(wanted, &theirs))
		return;
	sockets->uid = strtoul(field(line, 7), NULL, 10);
	sockets->uid_known = true;
	add_inode(sockets, field(line, 9));
}

static void find_sockets(const struct address_socket *address, struct sockets *sockets)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address->addr.storage;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->addr.storage;
	struct endpoint ours;
	char name[ADDRESS_TEXT_MAX];

	switch (address->addr.sa.sa_family) {
	case AF_UNIX:
		each_line("/proc/net/unix", match_unix, sockets,
			  address_format(address, name, sizeof(name)));
		break;
	case AF_INET:
		ours = (struct endpoint){.addr = map_ipv4(&in->sin_addr),
					 .port = ntohs(in->sin_port)};
		each_line("/proc/net/tcp", match_tcp, sockets, &ours);
		/* A "::" listener may be one for both families, but it is the second guess. */
		if (sockets->count == 0)
			each_line("/proc/net/tcp6", match_tcp, sockets, &ours);
		break;
	case AF_INET6:
		ours = (struct endpoint){.addr = in6->sin6_addr, .port = ntohs(in6->sin6_port)};
		each_line("/proc/net/tcp6", match_tcp, sockets, &ours);
		break;
	default:
		break;
	}
}

static bool is_wanted(const struct sockets *sockets, const char *link)
{
	static const char prefix[] = "socket:[";
	unsigned long inode;

	if (strncmp(link, prefix, strlen(prefix)) != 0)
		return false;
	inode = strtoul(link + strlen(prefix), NULL, 10);
	for (size_t i = 0; i < sockets->count; i++) {
		if (sockets->inodes[i] == inode)
			return true;
	}
	return false;
}

static bool holds(const char *pid, const struct sockets *sockets, unsigned long *links)
{
	char path[64];
	char link[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	if (dir == NULL)
		return false;
	while (!found && *links < LINKS_MAX && (entry = readdir(dir)) != NULL) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		(*links)++;
		if (length == -1)
			continue;
		link[length] = '\0';
		found = is_wanted(sockets, link);
	}
	(void)closedir(dir);
	return found;
}

/* The oldest comes first: workers inherit from it, and their pids may have wrapped around. */
static void note_holder(struct holders *holders, pid_t pid)
{
	struct proc_stat stat = {.start_ticks = ULLONG_MAX};

	(void)proc_stat_read(pid, &stat);
	if (holders->count++ > 0 && stat.start_ticks >= holders->first_start)
		return;
	holders->first = pid;
	holders->first_start = stat.start_ticks;
}

static void find_holders(const struct sockets *sockets, struct holders *holders)
{
	unsigned long links = 0;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (proc == NULL)
		return;
	while ((entry = readdir(proc)) != NULL) {
		pid_t pid;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !holds(entry->d_name, sockets, &links))
			continue;
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid == getpid())
			holders->self = true;
		note_holder(holders, pid);
	}
	(void)closedir(proc);
}

/* A process may call itself anything, and this goes into a log. */
static void read_name(pid_t pid, char *name, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	(void)snprintf(name, size, "a process");
	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return;
	length = read(fd, name, size - 1);
	(void)close(fd);
	if (length < 1) {
		(void)snprintf(name, size, "a process");
		return;
	}
	name[length] = '\0';
	name[strcspn(name, "\n")] = '\0';
	for (char *p = name; *p != '\0'; p++) {
		if (!isprint((unsigned char)*p))
			*p = '?';
	}
}

static void describe(const struct holders *holders, char *buffer, size_t size)
{
	pid_t pid = holders->self ? getpid() : holders->first;
	char name[64];

	if (holders->self)
		(void)snprintf(name, sizeof(name), "this process");
	else
		read_name(holders->first, name, sizeof(name));
	if (holders->count == 1)
		(void)snprintf(buffer, size, "%s (pid %ld)", name, (long)pid);
	else
		(void)snprintf(buffer, size, "%u processes, %s is %s (pid %ld)", holders->count,
			       holders->self ? "one" : "the first", name, (long)pid);
}

const char *holder_describe(const struct address_socket *address, char *buffer, size_t size)
{
	struct sockets sockets = {.count = 0};
	struct holders holders = {.count = 0};

	find_sockets(address, &sockets);
	if (sockets.count > 0)
		find_holders(&sockets, &holders);
	if (holders.count > 0)
		describe(&holders, buffer, size);
	else if (sockets.uid_known)
		(void)snprintf(buffer, size, "a process of uid %lu", sockets.uid);
	else
		(void)snprintf(buffer, size, "another process");
	return buffer;
}
