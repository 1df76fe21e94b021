/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a configuration: single pools, for a reload of one of them. */
#include "fpm/conf/conf.h"
#include "fpm/conf/conf_internal.h"

#include <string.h>

const struct conf_pool *conf_pool_find(const struct conf *conf, const char *name)
{
	for (const struct conf_pool *pool = conf->pools; pool != NULL; pool = pool->next) {
		if (strcmp(pool->name, name) == 0)
			return pool;
	}
	return NULL;
}

void conf_keep_pool(struct conf *conf, const char *name)
{
	struct conf_pool **at = &conf->pools;

	while (*at != NULL) {
		struct conf_pool *const pool = *at;

		if (strcmp(pool->name, name) == 0) {
			at = &pool->next;
			continue;
		}
		*at = pool->next;
		conf_pool_free(pool);
	}
}

/* Return: the pointer to a pool that is there */
static struct conf_pool **find_link(struct conf *conf, const char *name)
{
	struct conf_pool **at = &conf->pools;

	while (strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

/* The names of files stay behind with the configuration that they belong to. */
static void forget_origins(struct conf_pool *pool)
{
	pool->origin = (struct conf_origin){.file = ""};
	for (size_t i = 0; i < pool->listen_count; i++)
		pool->listen[i].origin = pool->origin;
}

void conf_exchange_pool(struct conf *one, struct conf *other, const char *name)
{
	struct conf_pool **const in_one = find_link(one, name);
	struct conf_pool **const in_other = find_link(other, name);
	struct conf_pool *const first = *in_one;
	struct conf_pool *const second = *in_other;
	struct conf_pool *const behind_first = first->next;

	first->next = second->next;
	second->next = behind_first;
	*in_one = second;
	*in_other = first;
	forget_origins(first);
	forget_origins(second);
}
