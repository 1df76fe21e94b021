/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CPUs client and server run on. */
#ifndef BENCH_SERVER_PLACEMENT_H
#define BENCH_SERVER_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum placement {
	PLACEMENT_DEFAULT = 0, /* split with 2 CPUs or more, else same */
	PLACEMENT_SAME,	       /* client and server on one CPU */
	PLACEMENT_SPLIT,       /* the client's threads have CPUs of their own */
	PLACEMENT_FREE,	       /* the scheduler decides */
};

/**
 * struct placement_plan - what was decided
 * @placement:	SAME, SPLIT or FREE
 * @client:	CPUs of the client
 * @server:	CPUs of the server
 * @text:	For the report: "split: client on CPU 1, server on CPU 0"
 */
struct placement_plan {
	enum placement placement;
	cpu_set_t client;
	cpu_set_t server;
	char text[160];
};

/**
 * placement_plan() - decide within the CPUs that we may use
 * @placement:	What was asked for
 * @threads:	Client threads, each of which gets a CPU with SPLIT as far as they go
 * @ret_plan:	Set on success
 *
 * Return: 0, or -EINVAL: SPLIT with one CPU
 */
int placement_plan(enum placement placement, unsigned int threads, struct placement_plan *ret_plan);

/**
 * placement_parse() - "same", "split", "free"
 * @text:	Text
 * @ret_placement: Set on success
 *
 * Return: false if it is none of them
 */
bool placement_parse(const char *text, enum placement *ret_placement);

/**
 * placement_holds() - does a process tree run where the plan wants it
 * @plan:	Plan
 * @pid:	Root of the tree
 *
 * Return: false if the affinity of any process of it says otherwise
 */
bool placement_holds(const struct placement_plan *plan, int pid);

#endif
