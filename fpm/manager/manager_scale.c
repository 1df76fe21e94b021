/* SPDX-License-Identifier: BSD-2-Clause */
/* berth scale: how many workers a pool has until its next reload. */

#include "fpm/conf/conf.h"
#include "fpm/manager/control.h"
#include "fpm/pool/generation.h"
#include "fpm/log.h"
#include "fpm/manager/manager_internal.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/pool/pool_sizing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pool *find_pool(const struct manager *m, const char *name)
{
	size_t count;
	struct pool *const *pools = generation_pools(m->current, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(pools[i]->conf->name, name) == 0)
			return pools[i];
	return NULL;
}

/* Splits "POOL N"; what is no number is 0, which no pool can have. */
static unsigned long split(const char *argument, char *ret_name, size_t size)
{
	const char *number = strchr(argument, ' ');
	char *end = NULL;
	unsigned long most;

	(void)snprintf(ret_name, size, "%.*s", (int)strcspn(argument, " "), argument);
	if (!number || number[1] < '0' || number[1] > '9')
		return 0;
	most = strtoul(number + 1, &end, 10);
	return *end == '\0' ? most : 0;
}

static int refuse_pool(const struct pool *pool, unsigned long most, char *error, size_t size)
{
	const struct conf_pool *conf = pool->conf;

	if (conf->spawn == CONF_SPAWN_EXEC || conf_has_pipes(conf))
		(void)snprintf(error, size,
			       "pool %s has %s, so nobody could take what a worker's clients left "
			       "behind\n",
			       conf->name,
			       conf->spawn == CONF_SPAWN_EXEC ? "spawn = exec" : "pipes");
	else if (most < 1 || most > conf->max_children)
		(void)snprintf(error, size,
			       "pool %s can have 1 to %u workers; more take a greater "
			       "pm.max_children and a reload, as each has a socket of its own\n",
			       conf->name, conf->max_children);
	else if (pool->state != POOL_READY)
		(void)snprintf(error, size, "pool %s is not ready\n", conf->name);
	else
		return 0;
	return -EINVAL;
}

/* A reload makes new pools, for which nothing was said. */
static const char *refuse_now(const struct manager *m)
{
	if (m->state == MANAGER_RUNNING)
		return m->next ? "it is reloading, which sets the number anew; ask again after "
				 "that\n"
			       : NULL;
	return m->state == MANAGER_STARTING ? "it is starting\n" : "it is stopping\n";
}

static int scale(const struct manager *m, const char *argument, char *text, size_t size)
{
	const char *problem = refuse_now(m);
	char name[MANAGER_POOL_SIZE], error[700];
	unsigned long most = split(argument, name, sizeof(name));
	struct pool *pool;
	int result;

	if (problem) {
		(void)snprintf(text, size, "%s", problem);
		return -EBUSY;
	}
	pool = find_pool(m, name);
	if (!pool) {
		manager_no_pool(m, name, error, sizeof(error));
		(void)snprintf(text, size, "%s\n", error);
		return -ENOENT;
	}
	result = refuse_pool(pool, most, text, size);
	if (result < 0)
		return result;
	result = pool_sizing_scale(pool, (unsigned int)most);
	if (result < 0) {
		(void)snprintf(text, size, "%s\n", strerror(-result));
		return result;
	}
	(void)snprintf(text, size, "pool %s: %s%lu of %u workers, until its next reload\n", name,
		       pool->conf->pm == CONF_PM_STATIC ? "" : "up to ", most,
		       pool->conf->max_children);
	return 0;
}

void manager_scale(const struct manager *m, struct control_request *request, const char *argument)
{
	char text[1024];
	int result = scale(m, argument, text, sizeof(text));

	if (result == 0)
		log_notice("control: %.*s", (int)strcspn(text, "\n"), text);
	control_answer(request, result == 0, text);
}
