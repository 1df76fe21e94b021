/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the listeners of a pool's slots. */

#include "fpm/listener/activation.h"
#include "fpm/conf/conf.h"
#include "fpm/pool/pool_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void warn(void *data, const char *text)
{
	const struct pool *pool = data;

	log_warning("pool %s: %s", pool->conf->name, text);
}

static struct listener_options options_of(const struct conf_pool *conf)
{
	return (struct listener_options){.backlog = conf->backlog,
					 .mode = conf->listen_mode,
					 .uid = conf->listen_uid,
					 .gid = conf->listen_gid,
					 .nonblocking = conf->spawn == CONF_SPAWN_TEMPLATE};
}

static struct listener *find(struct listener *list, size_t count,
			     const struct address_socket *socket)
{
	for (size_t i = 0; i < count; i++)
		if (address_equal(&list[i].address, socket))
			return &list[i];
	return NULL;
}

static struct listener *find_in_slot(struct pool *pool, unsigned int i,
				     const struct address_socket *socket)
{
	if (i >= pool->conf->max_children)
		return NULL;
	return find(pool->slots[i].listeners, pool->slots[i].listener_count, socket);
}

/* Looks first where it was if the configuration has not changed: searching is quadratic. */
static struct listener *find_lender(const struct pool *pool, const struct slot *slot,
				    const struct address_socket *socket)
{
	struct listener *found = NULL;

	if (pool->lender && slot)
		found = find_in_slot(pool->lender, slot->number - 1, socket);
	for (size_t i = 0; !found && i < pool->lender_count; i++) {
		struct pool *p = pool->lenders[i];

		if ((p->conf->spawn == CONF_SPAWN_TEMPLATE) !=
		    (pool->conf->spawn == CONF_SPAWN_TEMPLATE))
			continue;
		found = find(p->shared, p->shared_count, socket);
		for (unsigned int n = 0; !found && n < p->conf->max_children; n++)
			found = find_in_slot(p, n, socket);
	}
	return found;
}

static int open_new(const struct pool *pool, const struct address_socket *socket,
		    const struct listener_options *options, struct listener *ret_listener,
		    char *error, size_t size)
{
	int fd = activation_claim(socket, pool->conf->name);
	int result;

	if (fd == -1)
		return listener_open(socket, options, ret_listener, error, size);
	result = listener_open_passed(fd, socket, options, ret_listener, error, size);
	if (result < 0)
		(void)activation_release(fd);
	return result;
}

/* Opens one socket, or shares that of an older pool, and adds it to a list. */
static int add(struct pool *pool, const struct slot *slot, const struct address_socket *socket,
	       struct listener **list, size_t *count, char *error, size_t size)
{
	struct listener *lender = find_lender(pool, slot, socket);
	const struct listener_options options = options_of(pool->conf);
	struct listener *grown = realloc(*list, (*count + 1) * sizeof(**list));
	char text[ADDRESS_TEXT_MAX], reason[512];
	int result;

	if (!grown)
		return -ENOMEM;
	*list = grown;
	if (lender) {
		grown[(*count)++] = listener_share(lender);
		return 0;
	}
	result = open_new(pool, socket, &options, &grown[*count], reason, sizeof(reason));
	if (result < 0) {
		(void)snprintf(error, size, "can't listen on %s: %s",
			       address_format(socket, text, sizeof(text)), reason);
		return result;
	}
	/* The same goes for all slots of a line, so the first speaks for them. */
	if (list == &pool->shared || (list == &pool->slots[0].listeners))
		listener_warnings(&grown[*count], &options, warn, pool);
	if (socket->addr.sa.sa_family != AF_UNIX && !address_equal(socket, &grown[*count].address))
		log_notice("pool %s: the kernel chose %s", pool->conf->name,
			   address_format(&grown[*count].address, text, sizeof(text)));
	(*count)++;
	return 0;
}

/* Opens what one `listen` line means to one slot; slot NULL: to all of them. */
static int listen_line(struct pool *pool, const struct address *address, struct slot *slot,
		       char *error, size_t size)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct listener **list = slot ? &slot->listeners : &pool->shared;
	size_t *count = slot ? &slot->listener_count : &pool->shared_count;
	size_t found;
	int result;

	result = address_resolve(address, slot ? slot->number : 1, sockets, &found, error, size);
	for (size_t i = 0; result == 0 && i < found; i++)
		result = add(pool, slot, &sockets[i], list, count, error, size);
	return result;
}

static void warn_backlog(const struct pool *pool)
{
	int limit = listener_backlog_limit();

	if (pool->conf->backlog > limit)
		log_warning("pool %s: listen.backlog = %d is cut to %d by net.core.somaxconn",
			    pool->conf->name, pool->conf->backlog, limit);
}

static size_t count_passed(const struct listener *list, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += list[i].passed && !list[i].lender;
	return found;
}

static void tell_passed(const struct pool *pool)
{
	size_t found = count_passed(pool->shared, pool->shared_count);

	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		found += count_passed(pool->slots[i].listeners, pool->slots[i].listener_count);
	if (found > 0)
		log_notice("pool %s: %zu of its sockets are systemd's", pool->conf->name, found);
}

int pool_listen(struct pool *pool, char *error, size_t size)
{
	int result = 0;

	warn_backlog(pool);
	for (size_t i = 0; result == 0 && i < pool->conf->listen_count; i++) {
		const struct address *address = &pool->conf->listen[i].address;

		if (!address->per_slot)
			result = listen_line(pool, address, NULL, error, size);
		for (unsigned int n = 0;
		     address->per_slot && result == 0 && n < pool->conf->max_children; n++)
			result = listen_line(pool, address, &pool->slots[n], error, size);
	}
	if (result == -ENOMEM)
		(void)snprintf(error, size, "%s", strerror(ENOMEM));
	if (result == 0)
		tell_passed(pool);
	return result;
}

static void take_over(struct pool *pool, struct listener *list, size_t count)
{
	const struct listener_options options = options_of(pool->conf);
	char text[ADDRESS_TEXT_MAX], reason[512];

	for (size_t i = 0; i < count; i++)
		if (listener_take_over(&list[i], &options, reason, sizeof(reason)) < 0)
			log_warning("pool %s: %s: %s", pool->conf->name,
				    address_format(&list[i].address, text, sizeof(text)), reason);
}

void pool_listen_take_over(struct pool *pool)
{
	take_over(pool, pool->shared, pool->shared_count);
	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		take_over(pool, pool->slots[i].listeners, pool->slots[i].listener_count);
}

unsigned int pool_listeners(const struct pool *pool, const struct slot *slot,
			    int ret_fds[SLOT_LISTENERS_MAX])
{
	unsigned int count = 0;

	for (size_t i = 0; i < slot->listener_count && count < SLOT_LISTENERS_MAX; i++)
		ret_fds[count++] = slot->listeners[i].fd;
	for (size_t i = 0; i < pool->shared_count && count < SLOT_LISTENERS_MAX; i++)
		ret_fds[count++] = pool->shared[i].fd;
	return count;
}
