/* SPDX-License-Identifier: BSD-2-Clause */
/* What scripts left running: descendants of ours that belong to no pool. */

#include "fpm/process/strays.h"

#include "fpm/process/proc_stat.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* A tree that is deeper than this is walked again after its upper part has gone. */
#define DEPTH_MAX 64

static unsigned int signal_children(pid_t parent, int signal, unsigned int depth)
{
	DIR *proc = depth < DEPTH_MAX ? opendir("/proc") : NULL;
	unsigned int count = 0;

	if (!proc)
		return 0;
	for (const struct dirent *e = readdir(proc); e; e = readdir(proc)) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		struct proc_stat stat;

		if (pid <= 0 || proc_stat_read(pid, &stat) < 0 || stat.parent != parent)
			continue;
		count += signal_children(pid, signal, depth + 1);
		if (stat.state == 'Z')
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
