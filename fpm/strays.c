/* SPDX-License-Identifier: BSD-2-Clause */
/* What scripts left running: descendants of ours that belong to no pool. */

#include "strays.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* A tree that is deeper than this is walked again after its upper part has gone. */
#define DEPTH_MAX 64

/* Reads state and parent from /proc/PID/stat, whose second field may hold anything. */
static bool read_stat(const char *pid, char *ret_state, pid_t *ret_parent)
{
	char path[64], text[512];
	const char *rest;
	char *end;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (!rest || rest[1] != ' ' || !rest[2])
		return false;
	*ret_state = rest[2];
	*ret_parent = (pid_t)strtol(rest + 3, &end, 10);
	return true;
}

static unsigned int signal_children(pid_t parent, int signal, unsigned int depth)
{
	DIR *proc = depth < DEPTH_MAX ? opendir("/proc") : NULL;
	unsigned int count = 0;

	if (!proc)
		return 0;
	for (const struct dirent *e = readdir(proc); e; e = readdir(proc)) {
		pid_t pid, its_parent;
		char state;

		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !read_stat(e->d_name, &state, &its_parent) || its_parent != parent)
			continue;
		pid = (pid_t)strtol(e->d_name, NULL, 10);
		count += signal_children(pid, signal, depth + 1);
		if (state == 'Z')
			continue;
		count++;
		if (signal != 0)
			(void)kill(pid, signal);
	}
	(void)closedir(proc);
	return count;
}

unsigned int strays_signal(int signal)
{
	return signal_children(getpid(), signal, 0);
}
