/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that no two listening sockets of the configuration would have the same address. */
#include "fpm/conf/conf_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Theory of operation
 *
 * Each socket of each slot is a claim. The claims are sorted so that those of one address are
 * neighbours; among those of one TCP port the wildcard address (all bytes zero) comes first, because
 * it leaves no room for any other address of that port. Equal claims stay in the order of the
 * configuration, so the later line is the one that the message is about.
 */

#define REASON_BYTES 256

/**
 * struct claim - a socket that somebody wants
 * @socket:	Its address
 * @pool:	Who wants it
 * @listen:	By which line
 * @order:	Number of that line over all pools
 * @slot:	For which slot
 */
struct claim {
	struct address_socket socket;
	const struct conf_pool *pool;
	const struct conf_listen *listen;
	unsigned int order;
	unsigned int slot;
};

/**
 * struct claims - what is wanted altogether
 * @builder:	Builder
 * @list:	Claims
 * @count:	Entries in use
 * @size:	Entries that there is room for
 */
struct claims {
	struct conf_builder *builder;
	struct claim *list;
	size_t count;
	size_t size;
};

static const struct sockaddr_in *as_in(const struct claim *claim)
{
	return (const struct sockaddr_in *)&claim->socket.addr.storage;
}

static const struct sockaddr_in6 *as_in6(const struct claim *claim)
{
	return (const struct sockaddr_in6 *)&claim->socket.addr.storage;
}

/* Return: the port, 0 for a unix socket */
static unsigned int get_port(const struct claim *claim)
{
	switch (claim->socket.addr.sa.sa_family) {
	case AF_INET:
		return ntohs(as_in(claim)->sin_port);
	case AF_INET6:
		return ntohs(as_in6(claim)->sin6_port);
	default:
		return 0;
	}
}

static void set_port(struct address_socket *socket, unsigned int port)
{
	if (socket->addr.sa.sa_family == AF_INET)
		((struct sockaddr_in *)&socket->addr.storage)->sin_port = htons((uint16_t)port);
	else
		((struct sockaddr_in6 *)&socket->addr.storage)->sin6_port = htons((uint16_t)port);
}

static bool is_wildcard(const struct claim *claim)
{
	switch (claim->socket.addr.sa.sa_family) {
	case AF_INET:
		return as_in(claim)->sin_addr.s_addr == htonl(INADDR_ANY);
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(&as_in6(claim)->sin6_addr);
	default:
		return false;
	}
}

static int compare_number(unsigned int a, unsigned int b)
{
	return (a > b) - (a < b);
}

/* Compares claims of one family and one port. */
static int compare_hosts(const struct claim *a, const struct claim *b)
{
	int r;

	switch (a->socket.addr.sa.sa_family) {
	case AF_INET:
		return memcmp(&as_in(a)->sin_addr, &as_in(b)->sin_addr, sizeof(struct in_addr));
	case AF_INET6:
		r = memcmp(&as_in6(a)->sin6_addr, &as_in6(b)->sin6_addr, sizeof(struct in6_addr));
		return r != 0 ? r
			      : compare_number(as_in6(a)->sin6_scope_id, as_in6(b)->sin6_scope_id);
	default:
		/* What is behind an address's end is zero, so lengths need no look. */
		return memcmp(a->socket.addr.un.sun_path, b->socket.addr.un.sun_path,
			      sizeof(a->socket.addr.un.sun_path));
	}
}

static int compare(const void *left, const void *right)
{
	const struct claim *const a = left;
	const struct claim *const b = right;
	int r = compare_number(a->socket.addr.sa.sa_family, b->socket.addr.sa.sa_family);

	if (r == 0)
		r = compare_number(get_port(a), get_port(b));
	if (r == 0)
		r = compare_hosts(a, b);
	if (r == 0)
		r = compare_number(a->order, b->order);
	return r != 0 ? r : compare_number(a->slot, b->slot);
}

static void report(struct conf_builder *builder, const struct conf_listen *listen,
		   enum conf_severity severity, const char *message)
{
	/* On the command line the option may be "-o" as well, but that is how it is known best. */
	conf_report(builder, severity, &listen->origin,
		    listen->origin.line > 0 ? "listen" : "--listen", "%s", message);
}

static void report_at(struct conf_builder *builder, const struct conf_listen *listen,
		      const char *message)
{
	report(builder, listen, CONF_ERROR, message);
}

static bool make_room(struct claims *claims, size_t more)
{
	size_t size = claims->size;
	struct claim *list;

	if (claims->count + more <= size)
		return true;
	while (size < claims->count + more)
		size = size > 0 ? size * 2 : 64;
	list = reallocarray(claims->list, size, sizeof(*list));
	if (list == NULL) {
		conf_report_memory(claims->builder);
		return false;
	}
	claims->list = list;
	claims->size = size;
	return true;
}

/*
 * Finds the addresses of a slot. The ports of a host's slots follow from the first slot's, so that
 * its name is looked up once and not ten thousand times.
 *
 * Return: false with the error, or the warning, reported
 */
static bool resolve(struct claims *claims, const struct conf_listen *listen, unsigned int slot,
		    struct address_socket sockets[ADDRESS_RESOLVE_MAX], size_t *count)
{
	char reason[REASON_BYTES];
	int result;

	if (slot > 1 && listen->address.kind == ADDRESS_INET) {
		for (size_t i = 0; i < *count; i++)
			set_port(&sockets[i], listen->address.port + slot);
		return true;
	}
	result = address_resolve(&listen->address, slot, sockets, count, reason, sizeof(reason));
	if (result == 0)
		return true;
	/* A name server that is not up yet does not make the configuration wrong. */
	report(claims->builder, listen, result == -EAGAIN ? CONF_WARNING : CONF_ERROR, reason);
	return false;
}

/* Return: false if there is no use in going on */
static bool add_listen(struct claims *claims, const struct conf_pool *pool,
		       const struct conf_listen *listen, unsigned int order)
{
	const unsigned int slots = listen->address.per_slot ? pool->max_children : 1;
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	size_t count = 0;

	for (unsigned int slot = 1; slot <= slots; slot++) {
		if (!resolve(claims, listen, slot, sockets, &count))
			return true;
		if (count > 1 && pool->spawn == CONF_SPAWN_EXEC) {
			report_at(claims->builder, listen,
				  "the name stands for several addresses, and with spawn = exec "
				  "a worker has one socket; accepted is one of the addresses");
			return true;
		}
		if (claims->count + count > CONF_SOCKETS_MAX) {
			report_at(claims->builder, listen,
				  "all pools together would have more than " CONF_TEXT(
					  CONF_SOCKETS_MAX) " listening sockets, which is not "
							    "accepted");
			return false;
		}
		if (!make_room(claims, count))
			return false;
		for (size_t i = 0; i < count; i++)
			claims->list[claims->count++] = (struct claim){.socket = sockets[i],
								       .pool = pool,
								       .listen = listen,
								       .order = order,
								       .slot = slot};
	}
	return true;
}

/* Return: number of `listen` lines */
static unsigned int collect(struct claims *claims)
{
	unsigned int order = 0;

	for (const struct conf_section *section = claims->builder->pools; section != NULL;
	     section = section->next) {
		const struct conf_pool *const pool = section->pool;

		for (size_t i = 0; i < pool->listen_count; i++) {
			if (!add_listen(claims, pool, &pool->listen[i], order++))
				return order;
		}
	}
	return order;
}

/* Return: @buffer, set to the address and, if each slot has its own, the slot */
static const char *describe(const struct claim *claim, char *buffer, size_t size)
{
	char text[ADDRESS_TEXT_MAX];

	address_format(&claim->socket, text, sizeof(text));
	if (claim->listen->address.per_slot)
		(void)snprintf(buffer, size, "%s (slot %u)", text, claim->slot);
	else
		(void)snprintf(buffer, size, "%s", text);
	return buffer;
}

static void report_pair(struct conf_builder *builder, const struct claim *later,
			const struct claim *earlier)
{
	char later_text[ADDRESS_TEXT_MAX + 32];
	char earlier_text[ADDRESS_TEXT_MAX + 32];
	char line[16] = "";
	char *message = NULL;

	if (earlier->listen->origin.line > 0)
		(void)snprintf(line, sizeof(line), ":%u", earlier->listen->origin.line);
	if (asprintf(&message,
		     "%s collides with %s of pool %s, %s%s; accepted is an address that nobody "
		     "else has",
		     describe(later, later_text, sizeof(later_text)),
		     describe(earlier, earlier_text, sizeof(earlier_text)), earlier->pool->name,
		     earlier->listen->origin.file, line) == -1) {
		conf_report_memory(builder);
		return;
	}
	report_at(builder, later->listen, message);
	free(message);
}

/* Reports one collision of each line: its other slots are of no more help. */
static void find_collisions(const struct claims *claims, bool *reported)
{
	const struct claim *head = NULL;

	for (size_t i = 0; i < claims->count; i++) {
		const struct claim *const claim = &claims->list[i];
		const struct claim *other = NULL;
		const struct claim *later;

		if (head == NULL ||
		    head->socket.addr.sa.sa_family != claim->socket.addr.sa.sa_family ||
		    get_port(head) != get_port(claim))
			head = claim;
		else if (address_equal(&claims->list[i - 1].socket, &claim->socket))
			other = &claims->list[i - 1];
		else if (is_wildcard(head) && get_port(head) != 0)
			other = head;
		if (other == NULL)
			continue;
		later = claim->order >= other->order ? claim : other;
		if (reported[later->order])
			continue;
		reported[later->order] = true;
		report_pair(claims->builder, later, later == claim ? other : claim);
	}
}

void conf_check_claims(struct conf_builder *builder)
{
	struct claims claims = {.builder = builder};
	const unsigned int lines = collect(&claims);
	bool *reported = calloc(lines + 1, sizeof(*reported));

	if (reported == NULL) {
		conf_report_memory(builder);
	} else if (claims.count > 0) {
		qsort(claims.list, claims.count, sizeof(*claims.list), compare);
		find_collisions(&claims, reported);
	}
	free(reported);
	free(claims.list);
}
