/* SPDX-License-Identifier: BSD-2-Clause */
/* All pools of one configuration, as a whole: a reload puts a new generation in the old one's place. */

#include "fpm/pool/generation.h"

#include "fpm/conf/conf.h"
#include "fpm/log.h"
#include "fpm/pool/pool.h"
#include "fpm/manager/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct generation {
	struct ev_loop *loop;
	struct conf *conf;
	const struct generation_events *events;
	void *data;
	struct pool **pools;
	size_t count;
	size_t ready;
	size_t stopped;
	bool failed;
	bool stopping;
};

static void pool_ready_cb(void *data, struct pool *pool)
{
	struct generation *g = data;
	char text[1024];

	log_notice("%s: ready", pool_describe(pool, text, sizeof(text)));
	if (++g->ready == g->count && !g->failed && !g->stopping)
		g->events->ready(g->data, g);
}

static void pool_failed_cb(void *data, struct pool *pool, const char *why)
{
	struct generation *g = data;
	char text[1024], whole[2048];

	if (g->failed || g->stopping)
		return;
	g->failed = true;
	(void)snprintf(whole, sizeof(whole), "%s: did not get ready: %s",
		       pool_describe(pool, text, sizeof(text)), why);
	g->events->failed(g->data, g, whole);
}

static void pool_stopped_cb(void *data, struct pool *pool)
{
	struct generation *g = data;

	(void)pool;
	if (++g->stopped == g->count)
		g->events->stopped(g->data, g);
}

static bool may_start_cb(void *data)
{
	const struct generation *g = data;
	unsigned int processes = 0;

	if (g->conf->process_max == 0)
		return true;
	for (size_t i = 0; i < g->count; i++)
		processes += pool_processes(g->pools[i]);
	return processes < g->conf->process_max;
}

static const struct pool_events pool_events = {.ready = pool_ready_cb,
					       .failed = pool_failed_cb,
					       .stopped = pool_stopped_cb,
					       .may_start = may_start_cb};

/* Opens all pools, or goes on with those that were left. */
static int open_pools(struct generation *g, int library, const struct rlimit *nofile,
		      struct pool *const *lenders, size_t lender_count,
		      const struct state_pool *left, bool usable, char *error, size_t size)
{
	struct pool_start start = {.loop = g->loop,
				   .library = library,
				   .nofile = nofile,
				   .lenders = lenders,
				   .lender_count = lender_count,
				   .events = &pool_events,
				   .data = g};
	size_t count = 0;

	for (const struct conf_pool *p = g->conf->pools; p; p = p->next)
		count++;
	g->pools = calloc(count + 1, sizeof(struct pool *));
	if (!g->pools) {
		(void)snprintf(error, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (const struct conf_pool *p = g->conf->pools; p; p = p->next) {
		char why[1024];

		start.conf = p;
		g->pools[g->count] =
			left ? pool_adopt(&start, &left[g->count], usable, why, sizeof(why))
			     : pool_new(&start, why, sizeof(why));
		if (!g->pools[g->count]) {
			(void)snprintf(error, size, "pool %s: %s", p->name, why);
			return -EINVAL;
		}
		g->count++;
	}
	return 0;
}

static struct generation *make(struct ev_loop *loop, struct conf *conf,
			       const struct generation_events *events, void *data, char *error,
			       size_t size)
{
	struct generation *g = calloc(1, sizeof(*g));

	if (!g) {
		(void)snprintf(error, size, "%s", strerror(ENOMEM));
		conf_free(conf);
		return NULL;
	}
	*g = (struct generation){.loop = loop, .conf = conf, .events = events, .data = data};
	return g;
}

struct generation *generation_new(struct ev_loop *loop, struct conf *conf, int library,
				  const struct rlimit *nofile, struct generation *lender,
				  const struct generation_events *events, void *data, char *error,
				  size_t size)
{
	struct generation *g = make(loop, conf, events, data, error, size);

	if (g && open_pools(g, library, nofile, lender ? lender->pools : NULL,
			    lender ? lender->count : 0, NULL, true, error, size) == 0)
		return g;
	generation_free(g);
	return NULL;
}

struct generation *generation_adopt(struct ev_loop *loop, struct conf *conf, int library,
				    const struct rlimit *nofile, const struct state_pool *pools,
				    bool usable, const struct generation_events *events, void *data,
				    char *error, size_t size)
{
	struct generation *g = make(loop, conf, events, data, error, size);

	if (g && open_pools(g, library, nofile, NULL, 0, pools, usable, error, size) == 0) {
		g->ready = g->count;
		return g;
	}
	generation_free(g);
	return NULL;
}

void generation_resume(struct generation *generation)
{
	for (size_t i = 0; i < generation->count; i++)
		pool_resume(generation->pools[i]);
}

int generation_export(const struct generation *generation, struct state_pool **ret_pools,
		      size_t *ret_count)
{
	int result = 0;

	*ret_pools = calloc(generation->count + 1, sizeof(**ret_pools));
	if (!*ret_pools)
		return -ENOMEM;
	for (size_t i = 0; result == 0 && i < generation->count; i++) {
		*ret_count = i + 1;
		result = pool_export(generation->pools[i], &(*ret_pools)[i]);
	}
	return result;
}

/* Pools stand in the order of their configuration. */
static size_t find_pool(const struct generation *g, const char *name)
{
	size_t i = 0;

	for (const struct conf_pool *p = g->conf->pools; strcmp(p->name, name) != 0; p = p->next)
		i++;
	return i;
}

struct generation *generation_new_pool(struct ev_loop *loop, struct conf *conf, int library,
				       const struct rlimit *nofile, struct generation *running,
				       const struct generation_events *events, void *data,
				       char *error, size_t size)
{
	struct pool *const *lender = &running->pools[find_pool(running, conf->pools->name)];
	struct generation *g = make(loop, conf, events, data, error, size);

	if (g && open_pools(g, library, nofile, lender, 1, NULL, true, error, size) == 0)
		return g;
	generation_free(g);
	return NULL;
}

void generation_exchange(struct generation *running, struct generation *next)
{
	const char *name = next->conf->pools->name;
	struct pool **at = &running->pools[find_pool(running, name)];
	struct pool *old = *at;

	pool_take_over(next->pools[0]);
	*at = next->pools[0];
	next->pools[0] = old;
	pool_set_owner(*at, running);
	pool_set_owner(old, next);
	conf_exchange_pool(running->conf, next->conf, name);
}

void generation_free(struct generation *generation)
{
	struct generation *g = generation;

	if (!g)
		return;
	for (size_t i = 0; i < g->count; i++)
		pool_free(g->pools[i]);
	free(g->pools);
	conf_free(g->conf);
	free(g);
}

void generation_start(struct generation *generation)
{
	struct generation *g = generation;

	for (size_t i = 0; i < g->count && !g->failed; i++)
		pool_start(g->pools[i]);
}

void generation_take_over(struct generation *generation)
{
	for (size_t i = 0; i < generation->count; i++)
		pool_take_over(generation->pools[i]);
}

bool generation_stop(struct generation *generation)
{
	struct generation *g = generation;

	if (g->stopping)
		return false;
	g->stopping = true;
	for (size_t i = 0; i < g->count; i++)
		pool_stop(g->pools[i]);
	return true;
}

void generation_kill(struct generation *generation)
{
	for (size_t i = 0; i < generation->count; i++)
		pool_kill(generation->pools[i]);
}

struct pool *const *generation_pools(const struct generation *generation, size_t *ret_count)
{
	*ret_count = generation->count;
	return generation->pools;
}

const struct conf *generation_conf(const struct generation *generation)
{
	return generation->conf;
}
