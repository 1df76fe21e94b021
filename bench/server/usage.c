/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process tree used: CPU, memory, context switches. */

#include "usage.h"

#include "machine.h"
#include "proc_file.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * A process's own clock counts in nanoseconds what its threads used, those that ended included.
 * What it got from children that it has waited for is only in /proc/PID/stat, in clock ticks, but
 * cut to ticks as a sum, so that the error is less than two ticks for each process that waits, not
 * for each child. The sum over a tree therefore does not change when a child ends and is waited
 * for. It would lose that child if it ended between the reading of its parent, which comes first,
 * and its own; then everything is read again.
 */

#define READ_TRIES 3

/* proc(5) numbers the fields from 1; behind the name comes the third. */
#define FIELD_STATE  3
#define FIELD_CUTIME 16

/* CPU time of children that were waited for. */
static uint64_t reaped_ns(pid_t pid)
{
	uint64_t ticks, tick_ns = 1000000000U / (uint64_t)sysconf(_SC_CLK_TCK);
	char path[32], text[1024], *field;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (proc_file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	/* The name may hold anything, brackets and blanks too. */
	field = strrchr(text, ')');
	if (!field)
		return 0;
	field++;
	for (int i = FIELD_STATE; field && i < FIELD_CUTIME; i++)
		field = strchr(field + 1, ' ');
	if (!field)
		return 0;
	ticks = strtoull(field, &field, 10);
	ticks += strtoull(field, NULL, 10);
	return ticks * tick_ns;
}

static bool add_cpu(pid_t pid, struct usage *usage)
{
	struct timespec time;
	clockid_t clock;

	usage->cpu_ns += reaped_ns(pid);
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) == -1)
		return false;
	usage->cpu_ns += (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
	return true;
}

static bool add_switches(int folder, pid_t thread, void *data)
{
	struct usage *usage = data;
	char path[32], text[4096];

	(void)snprintf(path, sizeof(path), "%ld/status", (long)thread);
	if (proc_file_read(folder, path, text, sizeof(text)) > 0) {
		usage->voluntary += proc_file_number(text, "voluntary_ctxt_switches:");
		usage->involuntary += proc_file_number(text, "nonvoluntary_ctxt_switches:");
	}
	return true;
}

/* Return: false if we may not know */
static bool add_memory(pid_t pid, struct usage *usage)
{
	char path[40], text[2048];
	int n;

	(void)snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", (long)pid);
	n = proc_file_read(AT_FDCWD, path, text, sizeof(text));
	if (n == -EACCES || n == -EPERM)
		return false;
	usage->pss_kib += proc_file_number(text, "Pss:");
	return true;
}

/* Return: false if a process has gone meanwhile */
static bool read_tree(const pid_t *pids, size_t count, struct usage *ret_usage)
{
	bool whole = true;

	memset(ret_usage, 0, sizeof(*ret_usage));
	ret_usage->processes = count;
	for (size_t i = 0; i < count; i++)
		whole = add_cpu(pids[i], ret_usage) && whole;
	for (size_t i = 0; i < count; i++)
		(void)tree_threads(pids[i], add_switches, ret_usage);
	return whole;
}

void usage_read(pid_t pid, bool memory, struct usage *ret_usage)
{
	pid_t pids[TREE_MAX];
	size_t count = 0;

	for (int try = 0; try < READ_TRIES; try++) {
		count = tree_list(pid, pids, TREE_MAX);
		if (read_tree(pids, count, ret_usage))
			break;
	}
	for (size_t i = 0; memory && i < count; i++) {
		if (add_memory(pids[i], ret_usage))
			continue;
		/* A part of the tree's memory would pass for all of it. */
		ret_usage->pss_kib = 0;
		break;
	}
	machine_read(ret_usage);
}

/* A counter went down if what it counted has gone, e.g. a process that nobody waited for. */
static uint64_t growth(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

void usage_since(const struct usage *before, const struct usage *after, struct usage *ret_used)
{
	*ret_used = (struct usage){
		.cpu_ns = growth(before->cpu_ns, after->cpu_ns),
		.machine_ns = growth(before->machine_ns, after->machine_ns),
		.steal_ns = growth(before->steal_ns, after->steal_ns),
		.voluntary = growth(before->voluntary, after->voluntary),
		.involuntary = growth(before->involuntary, after->involuntary),
		.processes = after->processes,
		.pss_kib = after->pss_kib,
		.overflows = growth(before->overflows, after->overflows),
		.pressure_us = growth(before->pressure_us, after->pressure_us),
	};
}
