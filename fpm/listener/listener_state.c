/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets that one manager leaves to the next. */

#include "fpm/listener/listener.h"

#include "fpm/manager/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int listener_export(const struct listener *list, size_t count, struct state_listener **ret_list,
		    size_t *ret_count)
{
	*ret_list = calloc(count + 1, sizeof(**ret_list));
	if (!*ret_list)
		return -ENOMEM;
	*ret_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct address_socket *address = &list[i].address;
		const unsigned char *bytes = (const unsigned char *)&address->addr;
		struct state_listener *state = &(*ret_list)[i];

		*state = (struct state_listener){.fd = list[i].fd,
						 .pipe = address->pipe,
						 .dev = (int64_t)list[i].dev,
						 .ino = (int64_t)list[i].ino,
						 .made_parent = list[i].made_parent,
						 .passed = list[i].passed,
						 .address = calloc(2, address->len + 1U)};
		if (!state->address)
			return -ENOMEM;
		for (size_t n = 0; n < address->len; n++)
			(void)snprintf(state->address + 2 * n, 3, "%02x", bytes[n]);
	}
	return 0;
}

static int read_address(const struct state_listener *state, struct address_socket *ret_address)
{
	size_t length = strlen(state->address);
	unsigned char *bytes = (unsigned char *)&ret_address->addr;

	if (length % 2 != 0 || length / 2 > sizeof(ret_address->addr) ||
	    length / 2 < sizeof(sa_family_t) ||
	    strspn(state->address, "0123456789abcdef") != length)
		return -EPROTO;
	for (size_t n = 0; n < length / 2; n++) {
		const char digits[] = {state->address[2 * n], state->address[2 * n + 1], '\0'};

		bytes[n] = (unsigned char)strtoul(digits, NULL, 16);
	}
	ret_address->len = (socklen_t)(length / 2);
	ret_address->pipe = state->pipe != 0;
	return 0;
}

int listener_adopt(const struct state_listener *list, size_t count, struct listener **ret_list)
{
	struct listener *listeners = calloc(count + 1, sizeof(*listeners));

	if (!listeners)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct listener *l = &listeners[i];

		*l = (struct listener){.fd = list[i].fd,
				       .dev = (dev_t)list[i].dev,
				       .ino = (ino_t)list[i].ino,
				       .made_parent = list[i].made_parent != 0,
				       .passed = list[i].passed != 0};
		if (read_address(&list[i], &l->address) == 0)
			continue;
		free(listeners);
		return -EPROTO;
	}
	*ret_list = listeners;
	return 0;
}
