/* SPDX-License-Identifier: BSD-2-Clause */
/* What a server and the machine used during a slice: CPU, memory, context switches, queues. */
#ifndef BENCH_SERVER_USAGE_H
#define BENCH_SERVER_USAGE_H

#include "bench/client/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct usage - a reading, or the difference of two
 * @cpu_ns:	CPU time of the process tree; children that ended meanwhile included
 * @machine_ns:	CPU time of the whole machine: user, nice, system, irq, softirq
 * @steal_ns:	Time that the hypervisor took
 * @voluntary:	Context switches of the tree; those of threads that have ended are lost
 * @involuntary: Likewise
 * @processes:	Of the tree, at the reading
 * @pss_kib:	Proportional set size of the tree at the reading, 0 if not allowed to know
 * @overflows:	TcpExt ListenOverflows of this network namespace: how often a TCP accept queue was full.
 *		(ListenDrops counts each of them once more.)
 * @pressure_us: /proc/pressure/cpu "some", total
 */
struct usage {
	uint64_t cpu_ns;
	uint64_t machine_ns;
	uint64_t steal_ns;
	uint64_t voluntary;
	uint64_t involuntary;
	uint64_t processes;
	uint64_t pss_kib;
	uint64_t overflows;
	uint64_t pressure_us;
};

/**
 * usage_read() - read all of it
 * @pid:	Root of the tree, 0 = none: only what is the machine's
 * @memory:	Read @pss_kib too (slow)
 * @ret_usage:	Set; what can't be read is 0
 */
void usage_read(pid_t pid, bool memory, struct usage *ret_usage);

/**
 * usage_since() - what was used between two readings
 * @before:	First one
 * @after:	Second one; @processes and @pss_kib are taken from it
 * @ret_used:	Set
 */
void usage_since(const struct usage *before, const struct usage *after, struct usage *ret_used);

/**
 * struct queue_depth - accept queues
 * @depth:	Connections that wait now, all endpoints together
 * @deepest:	Most in one of them
 * @limit:	Least backlog of them, 0 = not known
 */
struct queue_depth {
	unsigned int depth;
	unsigned int deepest;
	unsigned int limit;
};

/**
 * queue_read() - ask the kernel (NETLINK_SOCK_DIAG) for the accept queues of endpoints
 * @endpoints:	Endpoints; pipes have none
 * @count:	Entries
 * @ret_depth:	Set on success
 *
 * Return: 0 or negative errno
 */
int queue_read(const struct endpoint *endpoints, size_t count, struct queue_depth *ret_depth);

struct queue_watch;

/**
 * queue_watch_start() - sample them from a thread of its own
 * @endpoints:	Endpoints, must stay where they are
 * @count:	Entries
 * @interval_ms: Time between two samples, e.g. 20
 *
 * Return: watch, or NULL if there is nothing to watch
 */
struct queue_watch *queue_watch_start(const struct endpoint *endpoints, size_t count,
				      unsigned int interval_ms);

/**
 * queue_watch_stop() - end the thread
 * @watch:	Watch, may be NULL
 * @ret_mean:	Mean depth, set (0 without a watch)
 * @ret_deepest: The deepest that one queue was at any sample
 */
void queue_watch_stop(struct queue_watch *watch, double *ret_mean, unsigned int *ret_deepest);

#endif
