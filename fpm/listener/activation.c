/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets that systemd has opened, and which pool's listener each of them is. */

#include "fpm/listener/activation.h"

#include "fpm/conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/**
 * struct passed - a socket that was passed
 * @fd:		Descriptor
 * @name:	Name that its unit gives it, owned
 * @address:	Where it listens
 * @reserved:	A listener of the configuration has this address
 * @claimed:	It is some listener's
 */
struct passed {
	int fd;
	char *name;
	struct address_socket address;
	bool reserved;
	bool claimed;
};

/* As the environment that it comes from, there is one for the process. */
static struct {
	struct passed *list;
	size_t count;
} passed;

static int look_at(struct passed *p, char *error, size_t size)
{
	p->address.len = sizeof(p->address.addr);
	if (sd_is_socket(p->fd, AF_UNSPEC, SOCK_STREAM, 1) > 0 &&
	    getsockname(p->fd, &p->address.addr.sa, &p->address.len) == 0)
		return 0;
	(void)snprintf(error, size,
		       "systemd passed descriptor %d, named '%.64s', which is no listening stream "
		       "socket; accepted is ListenStream= with Accept=no",
		       p->fd, p->name);
	return -EINVAL;
}

int activation_add(int fd, const char *name, char *error, size_t size)
{
	struct passed *grown = realloc(passed.list, (passed.count + 1) * sizeof(*grown));
	struct passed *p;
	int result;

	(void)snprintf(error, size, "%s", strerror(ENOMEM));
	if (!grown)
		return -ENOMEM;
	passed.list = grown;
	p = &grown[passed.count];
	*p = (struct passed){.fd = fd, .name = strdup(name)};
	if (!p->name)
		return -ENOMEM;
	result = look_at(p, error, size);
	if (result == 0)
		passed.count++;
	else
		free(p->name);
	return result;
}

int activation_take(char *error, size_t size)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names);
	int result = count < 0 ? count : 0;

	if (count < 0)
		(void)snprintf(error, size, "sockets passed by systemd: %s", strerror(-count));
	for (int i = 0; i < count; i++) {
		if (result == 0)
			result = activation_add(SD_LISTEN_FDS_START + i, names[i], error, size);
		free(names[i]);
	}
	free(names);
	return result;
}

static struct passed *find(const struct address_socket *address)
{
	for (size_t i = 0; i < passed.count; i++)
		if (address_equal(&passed.list[i].address, address))
			return &passed.list[i];
	return NULL;
}

static void reserve(const struct address *address, unsigned int slot)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct passed *p;
	char error[256];
	size_t count;

	/* One that can't be resolved is reported when it is opened. */
	if (address_resolve(address, slot, sockets, &count, error, sizeof(error)) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		p = find(&sockets[i]);
		if (p && !sockets[i].pipe)
			p->reserved = true;
	}
}

void activation_reserve(const struct conf *conf)
{
	/* Names may be looked up in the network, so this is not done for nothing. */
	if (passed.count == 0)
		return;
	for (size_t i = 0; i < passed.count; i++)
		passed.list[i].reserved = false;
	for (const struct conf_pool *pool = conf->pools; pool; pool = pool->next) {
		for (size_t i = 0; i < pool->listen_count; i++) {
			const struct address *address = &pool->listen[i].address;
			unsigned int slots = address->per_slot ? pool->max_children : 1;

			for (unsigned int slot = 1; slot <= slots; slot++)
				reserve(address, slot);
		}
	}
}

static bool same_kind(const struct address_socket *a, const struct address_socket *b)
{
	return (a->addr.sa.sa_family == AF_UNIX) == (b->addr.sa.sa_family == AF_UNIX);
}

static struct passed *find_by_name(const struct address_socket *address, const char *name)
{
	struct passed *p = passed.list;

	for (size_t left = p ? passed.count : 0; left > 0; left--, p++)
		if (!p->claimed && !p->reserved && strcmp(p->name, name) == 0 &&
		    same_kind(&p->address, address))
			return p;
	return NULL;
}

int activation_claim(const struct address_socket *address, const char *pool)
{
	struct passed *p = NULL;

	if (!address->pipe) {
		p = find(address);
		if (!p)
			p = find_by_name(address, pool);
	}
	if (!p || p->claimed)
		return -1;
	p->claimed = true;
	return p->fd;
}

bool activation_release(int fd)
{
	for (size_t i = 0; i < passed.count; i++) {
		if (passed.list[i].fd != fd)
			continue;
		passed.list[i].claimed = false;
		return true;
	}
	return false;
}

static void drop(size_t index)
{
	struct passed *p = &passed.list[index];

	(void)close(p->fd);
	free(p->name);
	/* The order of those with one name counts. */
	memmove(p, p + 1, (--passed.count - index) * sizeof(*p));
}

void activation_close_unused(void (*warn)(void *data, const char *text), void *data)
{
	for (size_t i = 0; i < passed.count;) {
		const struct passed *p = &passed.list[i];
		char address[ADDRESS_TEXT_MAX], text[384];

		if (p->claimed) {
			i++;
			continue;
		}
		(void)snprintf(
			text, sizeof(text),
			"systemd listens on %s, named '%.64s', which is no pool's address or "
			"name: clients there wait for nothing",
			address_format(&p->address, address, sizeof(address)), p->name);
		warn(data, text);
		drop(i);
	}
}

void activation_done(void)
{
	while (passed.count > 0)
		drop(passed.count - 1);
	free(passed.list);
	passed.list = NULL;
}
