/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that descend from one, and their threads. */
#ifndef BENCH_SERVER_TREE_H
#define BENCH_SERVER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Most processes of a tree that are looked at. */
#define TREE_MAX 4096

/* Called for a thread; false ends the walk. */
typedef bool (*tree_thread_fn)(int folder, pid_t thread, void *data);

/**
 * tree_list() - a process and all that descend from it
 * @root:	Process
 * @ret_pids:	Set; each process stands behind its parent
 * @max:	Entries of @ret_pids
 *
 * Return: number of entries, 0 if there is no such process
 */
size_t tree_list(pid_t root, pid_t *ret_pids, size_t max);

/**
 * tree_threads() - call a function for each thread of a process
 * @pid:	Process
 * @thread:	Called with the descriptor of /proc/PID/task
 * @data:	Passed to it
 *
 * Return: true if each call returned true; threads that end meanwhile are passed over
 */
bool tree_threads(pid_t pid, tree_thread_fn thread, void *data);

#endif
