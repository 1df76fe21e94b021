/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says of a process. */
#ifndef FPM_PROC_STAT_H
#define FPM_PROC_STAT_H

#include <stdint.h>
#include <sys/types.h>

/**
 * struct proc_stat - a process
 * @state:	'R', 'S', 'Z' ...
 * @parent:	Pid of its parent
 * @start_ticks: When it started, clock ticks since the machine did
 */
struct proc_stat {
	char state;
	pid_t parent;
	unsigned long long start_ticks;
};

/**
 * proc_stat_read() - read it
 * @pid:	Process
 * @ret_stat:	Set on success
 *
 * Return: 0 or negative errno
 */
int proc_stat_read(pid_t pid, struct proc_stat *ret_stat);

/**
 * proc_stat_anonymous() - how much memory of its own it has, what forks share with it included
 * @pid:	Process
 * @ret_bytes:	Set on success to what /proc/PID/status calls RssAnon
 *
 * Return: 0 or negative errno
 */
int proc_stat_anonymous(pid_t pid, uint64_t *ret_bytes);

#endif
