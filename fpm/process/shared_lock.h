/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a process waits for a lock in memory that it shares with others. */
#ifndef FPM_SHARED_LOCK_H
#define FPM_SHARED_LOCK_H

#include <sys/types.h>

/**
 * shared_lock_waits() - does a process sleep on a futex that is shared between processes
 * @pid:	Its pid; its first thread is looked at
 *
 * Private futexes, of threads of one process, do not count, and neither do other ways to wait.
 *
 * Return: 1 if it does at this moment, 0 if not, or negative errno if it can't be told: -EACCES if
 * we may not look into it, -ENOENT if there is no such process, -ENOTSUP if the kernel was built
 * without /proc/PID/syscall
 */
int shared_lock_waits(pid_t pid);

#endif
