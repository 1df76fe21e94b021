/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes listen addresses: two bytes of slots, then the text. What parses must resolve, too. */
#include "fpm/listener/address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No name server may be asked, and whether a zone exists depends on the machine. */
static bool needs_no_lookup(const struct address *address)
{
	struct in_addr ipv4;
	struct in6_addr ipv6;

	return address->kind != ADDRESS_INET || inet_pton(AF_INET, address->host, &ipv4) == 1 ||
	       inet_pton(AF_INET6, address->host, &ipv6) == 1;
}

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "%s\n", what);
	abort();
}

/* The text of a resolved address has no placeholder left for TCP, and means the same again. */
static void check_again(const struct address_socket *socket)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	char text[ADDRESS_TEXT_MAX];
	char error[256];
	size_t count;

	require(strlen(address_format(socket, text, sizeof(text))) > 0, "nothing formatted");
	if (strstr(text, "%n") != NULL)
		return;
	require(address_parse(text, 1, &address, error, sizeof(error)) == 0, text);
	require(address_resolve(&address, 1, sockets, &count, error, sizeof(error)) == 0, error);
	require(address_equal(&sockets[0], socket) || address.kind == ADDRESS_INET, text);
	address_done(&address);
}

static void check_slot(const struct address *address, unsigned int slot)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	char error[256] = "";
	size_t count = 0;

	require(address_resolve(address, slot, sockets, &count, error, sizeof(error)) == 0, error);
	require(count == (address->kind == ADDRESS_PIPE ? 2 : 1),
		"not exactly one address, or pair");
	/* Of a pipe the text names one end, not what was written. */
	if (address->kind != ADDRESS_PIPE)
		check_again(&sockets[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct address address;
	char text[TEXT_BYTES_MAX + 1];
	char error[256] = "";
	unsigned int slots;

	if (size < 2 || size - 2 > TEXT_BYTES_MAX)
		return 0;
	slots = 1U + data[0] + 256U * data[1];
	memcpy(text, data + 2, size - 2);
	text[size - 2] = '\0';
	if (address_parse(text, slots, &address, error, sizeof(error)) < 0) {
		require(error[0] != '\0', "refused without a reason");
		require(strchr(error, '\n') == NULL, "newline in a reason");
		return 0;
	}
	if (needs_no_lookup(&address)) {
		check_slot(&address, 1);
		check_slot(&address, slots);
	}
	address_done(&address);
	return 0;
}
