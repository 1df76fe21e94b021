/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what options the sockets of another process have. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char usage[] =
	"usage: socket-options PID\n"
	"\n"
	"Prints a line for each socket of a process: its descriptor, inet, inet6, unix or other,\n"
	"listening or connected, and those of nonblock, cloexec and nodelay that are set.\n";

static int get_option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(fd, level, name, &value, &len) == 0 ? value : 0;
}

/* The flags of the descriptor itself; a copy of it would have its own. */
static unsigned long get_flags(const char *pid, const char *number)
{
	unsigned long flags = 0;
	char path[64], line[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/fdinfo/%.20s", pid, number);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "flags:", 6) == 0)
			flags = strtoul(line + 6, NULL, 8);
	(void)fclose(file);
	return flags;
}

static const char *family_name(int family)
{
	switch (family) {
	case AF_INET:
		return "inet";
	case AF_INET6:
		return "inet6";
	case AF_UNIX:
		return "unix";
	default:
		return "other";
	}
}

static int print_socket(int pidfd, const char *pid, const char *number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(number), 0);
	unsigned long flags = get_flags(pid, number);

	if (fd == -1)
		return -1;
	(void)printf("%s %s %s%s%s%s\n", number, family_name(get_option(fd, SOL_SOCKET, SO_DOMAIN)),
		     get_option(fd, SOL_SOCKET, SO_ACCEPTCONN) ? "listening" : "connected",
		     flags & O_NONBLOCK ? " nonblock" : "", flags & O_CLOEXEC ? " cloexec" : "",
		     get_option(fd, IPPROTO_TCP, TCP_NODELAY) ? " nodelay" : "");
	(void)close(fd);
	return 0;
}

int main(int argc, char *argv[])
{
	char path[64], link[64];
	int pidfd, result = 0;
	DIR *dir;

	if (argc != 2) {
		(void)fputs(usage, stderr);
		return 2;
	}
	(void)snprintf(path, sizeof(path), "/proc/%.20s/fd", argv[1]);
	dir = opendir(path);
	pidfd = (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0);
	if (!dir || pidfd == -1) {
		(void)fprintf(stderr, "socket-options: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		ssize_t length = readlinkat(dirfd(dir), e->d_name, link, sizeof(link));

		if (length < 7 || memcmp(link, "socket:", 7) != 0)
			continue;
		if (print_socket(pidfd, argv[1], e->d_name) == -1) {
			(void)fprintf(stderr, "socket-options: %s: descriptor %s: %s\n", argv[1],
				      e->d_name, strerror(errno));
			result = 1;
		}
	}
	(void)closedir(dir);
	(void)close(pidfd);
	return result;
}
