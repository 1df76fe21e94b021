/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's limit of open files: how many it needs, and raising it. */

#include "fpm/process/limits.h"

#include "fpm/conf/conf.h"
#include "fpm/process/output.h"

#include <errno.h>
#include <stdio.h>

/* A worker's output pipe, lifeline and pidfd; a slot may have a retiring one beside it. */
#define PER_SLOT    (2 * 3 + 2)
/* The loop, the log, templates, what scripts left behind, descriptors on their way. */
#define PER_MANAGER (64 + OUTPUT_RELEASED_MAX)

/* A template's pidfd, control socket and output, and what its workers share. */
#define STORED_BY_POOL	  8
/* A worker's output, lifeline and pidfd, and the slot's pair of sockets. */
#define STORED_BY_SLOT	  (3 + 2)
/* Control socket, log, the state and the one that follows it, what scripts left behind. */
#define STORED_BY_MANAGER (4 + OUTPUT_RELEASED_MAX)

static rlim_t sockets(const struct conf_pool *pool)
{
	rlim_t count = 0;

	/* A name may stand for several addresses, almost always two; pipes are two as well. */
	for (size_t i = 0; i < pool->listen_count; i++) {
		const struct address *a = &pool->listen[i].address;
		rlim_t each = a->kind == ADDRESS_INET || a->kind == ADDRESS_PIPE ? 2 : 1;

		count += each * (a->per_slot ? pool->max_children : 1);
	}
	return count;
}

static rlim_t pool_need(const struct conf_pool *pool)
{
	return (rlim_t)pool->max_children * PER_SLOT + 8 + sockets(pool);
}

static rlim_t conf_need(const struct conf *conf, unsigned long *slots)
{
	rlim_t need = 0;

	for (const struct conf_pool *pool = conf ? conf->pools : NULL; pool; pool = pool->next) {
		need += pool_need(pool);
		*slots += pool->max_children;
	}
	return need;
}

unsigned long limits_stored(const struct conf *conf)
{
	rlim_t need = STORED_BY_MANAGER;

	for (const struct conf_pool *pool = conf->pools; pool; pool = pool->next)
		need += STORED_BY_POOL + pool->max_children * STORED_BY_SLOT + sockets(pool);
	return (unsigned long)need;
}

int limits_raise(const struct conf *conf, const struct conf *also, struct rlimit *ret_original,
		 char *error, size_t size)
{
	struct rlimit limit;
	unsigned long slots = 0;
	rlim_t need = PER_MANAGER;

	need += conf_need(conf, &slots);
	need += conf_need(also, &slots);
	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return -errno;
	*ret_original = limit;
	if (limit.rlim_cur >= need)
		return 0;
	if (limit.rlim_max < need) {
		(void)snprintf(error, size,
			       "%lu workers need %llu open files (%d each for pipes and pidfds, "
			       "their listeners, %d for the manager), but the hard limit "
			       "(RLIMIT_NOFILE) is %llu",
			       slots, (unsigned long long)need, PER_SLOT, PER_MANAGER,
			       (unsigned long long)limit.rlim_max);
		return -EMFILE;
	}
	limit.rlim_cur = need;
	return setrlimit(RLIMIT_NOFILE, &limit) == -1 ? -errno : 0;
}
