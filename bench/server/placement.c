/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CPUs client and server run on. */

#include "placement.h"

#include "tree.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	[PLACEMENT_DEFAULT] = "default",
	[PLACEMENT_SAME] = "same",
	[PLACEMENT_SPLIT] = "split",
	[PLACEMENT_FREE] = "free",
};
static_assert(sizeof(names) / sizeof(names[0]) == PLACEMENT_FREE + 1, "a name for each placement");

bool placement_parse(const char *text, enum placement *ret_placement)
{
	for (int i = PLACEMENT_SAME; i <= PLACEMENT_FREE; i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*ret_placement = (enum placement)i;
		return true;
	}
	return false;
}

/* The CPU behind @cpu, or the first one for -1; -1 at the end. */
static int next_cpu(const cpu_set_t *set, int cpu)
{
	while (++cpu < CPU_SETSIZE)
		if (CPU_ISSET(cpu, set))
			return cpu;
	return -1;
}

/* "CPU 1", "CPUs 0-3,6" */
static void describe_cpus(const cpu_set_t *set, char *buffer, size_t size)
{
	size_t used = (size_t)snprintf(buffer, size, CPU_COUNT(set) == 1 ? "CPU " : "CPUs ");
	const char *comma = "";

	for (int first = next_cpu(set, -1); first != -1 && used < size;) {
		int last = first;

		while (next_cpu(set, last) == last + 1)
			last++;
		used += (size_t)snprintf(buffer + used, size - used, "%s%d", comma, first);
		if (last > first && used < size)
			used += (size_t)snprintf(buffer + used, size - used, "-%d", last);
		comma = ",";
		first = next_cpu(set, last);
	}
}

static void describe(struct placement_plan *plan)
{
	char client[60], server[60];

	describe_cpus(&plan->client, client, sizeof(client));
	describe_cpus(&plan->server, server, sizeof(server));
	if (plan->placement == PLACEMENT_SAME)
		(void)snprintf(plan->text, sizeof(plan->text), "same: client and server on %s",
			       server);
	else if (plan->placement == PLACEMENT_FREE)
		(void)snprintf(plan->text, sizeof(plan->text), "free: the scheduler decides, %s",
			       server);
	else
		(void)snprintf(plan->text, sizeof(plan->text), "split: client on %s, server on %s",
			       client, server);
}

/* The highest CPUs go to the client: interrupts tend to be served by the lowest ones. */
static void take_last(cpu_set_t *from, cpu_set_t *into, unsigned int count)
{
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && count > 0; cpu--) {
		if (!CPU_ISSET(cpu, from))
			continue;
		CPU_CLR(cpu, from);
		CPU_SET(cpu, into);
		count--;
	}
}

int placement_plan(enum placement placement, unsigned int threads, struct placement_plan *ret_plan)
{
	struct placement_plan plan = {.placement = placement};
	cpu_set_t allowed;
	unsigned int cpus;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) == -1)
		return -errno;
	cpus = (unsigned int)CPU_COUNT(&allowed);
	if (placement == PLACEMENT_DEFAULT)
		plan.placement = cpus >= 2 ? PLACEMENT_SPLIT : PLACEMENT_SAME;
	switch (plan.placement) {
	case PLACEMENT_SPLIT:
		if (cpus < 2)
			return -EINVAL;
		if (threads == 0)
			threads = 1;
		plan.server = allowed;
		take_last(&plan.server, &plan.client, threads < cpus ? threads : cpus - 1);
		break;
	case PLACEMENT_SAME:
		take_last(&allowed, &plan.server, 1);
		plan.client = plan.server;
		break;
	default:
		plan.client = allowed;
		plan.server = allowed;
	}
	describe(&plan);
	*ret_plan = plan;
	return 0;
}

static bool thread_holds(int folder, pid_t thread, void *data)
{
	const struct placement_plan *plan = data;
	cpu_set_t seen, both;

	(void)folder;
	if (sched_getaffinity(thread, sizeof(seen), &seen) == -1)
		return errno == ESRCH;
	CPU_AND(&both, &seen, &plan->server);
	return CPU_EQUAL(&both, &seen);
}

bool placement_holds(const struct placement_plan *plan, int pid)
{
	struct placement_plan copy = *plan;
	pid_t pids[TREE_MAX];
	size_t count;

	if (plan->placement == PLACEMENT_FREE)
		return true;
	count = tree_list(pid, pids, TREE_MAX);
	for (size_t i = 0; i < count; i++)
		if (!tree_threads(pids[i], thread_holds, &copy))
			return false;
	return true;
}
