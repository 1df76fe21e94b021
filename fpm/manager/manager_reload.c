/* SPDX-License-Identifier: BSD-2-Clause */
/* Who asked for which reload, and what of a new configuration a reload of one pool takes. */

#include "fpm/conf/conf.h"
#include "fpm/manager/control.h"
#include "fpm/pool/generation.h"
#include "fpm/manager/manager_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool manager_reload_ask(struct manager *m, struct control_request *request, const char *pool)
{
	struct manager_waiters *whole = &m->asked;

	if (pool[0]) {
		struct manager_ask *ask = &m->pool_asks[m->pool_ask_count];

		if (m->pool_ask_count == COUNT(m->pool_asks))
			return false;
		/* Longer than the longest name: no pool is called that, and it is told so. */
		(void)snprintf(ask->pool, sizeof(ask->pool), "%s", pool);
		ask->request = request;
		m->pool_ask_count++;
		return true;
	}
	if (request) {
		if (whole->count == COUNT(whole->list))
			return false;
		whole->list[whole->count++] = request;
	}
	m->reload_again = true;
	return true;
}

bool manager_reload_next(struct manager *m)
{
	if (m->reload_again) {
		m->reload_again = false;
		m->reload_pool[0] = '\0';
		m->running = m->asked;
		m->asked.count = 0;
		return true;
	}
	if (m->pool_ask_count == 0)
		return false;
	(void)snprintf(m->reload_pool, sizeof(m->reload_pool), "%s", m->pool_asks[0].pool);
	m->running.list[0] = m->pool_asks[0].request;
	m->running.count = 1;
	m->pool_ask_count--;
	memmove(m->pool_asks, m->pool_asks + 1, m->pool_ask_count * sizeof(m->pool_asks[0]));
	return true;
}

static void list_pools(const struct conf *conf, char *buffer, size_t size)
{
	size_t len = 0;

	buffer[0] = '\0';
	for (const struct conf_pool *p = conf->pools; p && len < size; p = p->next)
		len += (size_t)snprintf(buffer + len, size - len, "%s%s", len > 0 ? ", " : "",
					p->name);
}

void manager_no_pool(const struct manager *m, const char *name, char *error, size_t size)
{
	char names[512];

	list_pools(generation_conf(m->current), names, sizeof(names));
	(void)snprintf(error, size, "there is no pool %s; there are %s", name, names);
}

int manager_reload_narrow(const struct manager *m, struct conf *conf, char *error, size_t size)
{
	const char *name = m->reload_pool;
	const struct conf *running = generation_conf(m->current);
	bool runs = conf_pool_find(running, name) != NULL;
	bool is_written = conf_pool_find(conf, name) != NULL;

	if (runs && is_written) {
		conf_keep_pool(conf, name);
		return 0;
	}
	if (runs)
		(void)snprintf(error, size,
			       "pool %s is not in the configuration any more; a reload without "
			       "a pool's name removes it",
			       name);
	else if (is_written)
		(void)snprintf(error, size,
			       "pool %s is new in the configuration; a reload without a pool's "
			       "name starts it",
			       name);
	else
		manager_no_pool(m, name, error, size);
	return -ENOENT;
}
