/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may connect to a pool: its networks' text form, and the list that its workers get. */

#include "fpm/conf/peers.h"

#include "fpm/conf/identity.h"
#include "fpm/worker/abi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTED                                                                                 \
	"accepted are IPv4 and IPv6 addresses and networks, such as 127.0.0.1, 10.0.0.0/8, ::1 " \
	"or 2001:db8::/32"

#define MAPPED_BITS 96U /* what stands in front of an IPv4 address in IPv6's clothes */

__attribute__((format(printf, 3, 4))) static int fail(char *error, size_t size, const char *format,
						      ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error, size, format, args);
	va_end(args);
	return -EINVAL;
}

static uint32_t address_bits(const struct abi_network *network)
{
	return network->family == AF_INET ? 32 : 128;
}

/* Cuts "ADDRESS/PREFIX" in two; returns the address alone in @address and what is behind the '/'. */
static const char *split(const char *text, char address[INET6_ADDRSTRLEN])
{
	const char *slash = strchr(text, '/');
	size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);

	/* Too long to be an address at all, and what is left of it is none. */
	if (length >= INET6_ADDRSTRLEN)
		length = 0;
	memcpy(address, text, length);
	address[length] = '\0';
	return slash != NULL ? slash + 1 : NULL;
}

/* Return: false if @text is no number from 0 to @max, or not written as usual */
static bool parse_prefix(const char *text, uint32_t max, uint32_t *ret_prefix)
{
	const size_t digits = strspn(text, "0123456789");
	unsigned long prefix;

	if (digits == 0 || digits > 3 || text[digits] != '\0' || (digits > 1 && text[0] == '0'))
		return false;
	prefix = strtoul(text, NULL, 10);
	if (prefix > max)
		return false;
	*ret_prefix = (uint32_t)prefix;
	return true;
}

/* Clears what is behind the prefix; returns true if something was set there. */
static bool clear_rest(struct abi_network *network)
{
	const uint32_t size = address_bits(network) / 8;
	bool found = false;

	for (uint32_t i = network->prefix / 8; i < size; i++) {
		const uint32_t kept = i == network->prefix / 8 ? network->prefix % 8 : 0;
		const uint8_t rest = (uint8_t)(0xff >> kept);

		found = found || (network->address[i] & rest) != 0;
		network->address[i] &= (uint8_t)~rest;
	}
	return found;
}

static bool is_mapped(const struct abi_network *network)
{
	static const uint8_t front[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

	return network->family == AF_INET6 && network->prefix >= MAPPED_BITS &&
	       memcmp(network->address, front, sizeof(front)) == 0;
}

static void unmap(struct abi_network *network)
{
	network->family = AF_INET;
	network->prefix -= MAPPED_BITS;
	memmove(network->address, network->address + MAPPED_BITS / 8, 4);
	memset(network->address + 4, 0, sizeof(network->address) - 4);
}

static int parse_network(const char *text, struct abi_network *ret_network, char *error,
			 size_t size)
{
	struct abi_network network = {.family = AF_INET};
	char address[INET6_ADDRSTRLEN], right[PEERS_TEXT_MAX];
	const char *const prefix = split(text, address);

	if (strcmp(text, "any") == 0)
		return fail(error, size,
			    "'any' is not accepted; without this key everybody may connect");
	if (text[0] == '[')
		return fail(error, size, "'%.64s' is not accepted; write it without brackets",
			    text);
	if (inet_pton(AF_INET, address, network.address) != 1) {
		network.family = AF_INET6;
		if (inet_pton(AF_INET6, address, network.address) != 1)
			return fail(error, size, "'%.64s' is not accepted; " ACCEPTED, text);
	}
	network.prefix = address_bits(&network);
	if (prefix != NULL && !parse_prefix(prefix, network.prefix, &network.prefix))
		return fail(error, size,
			    "'%.64s' is not accepted; the number behind the '/' has to be from 0 "
			    "to %u",
			    text, network.prefix);
	if (clear_rest(&network))
		return fail(error, size, "'%.64s' has bits behind its prefix; the network is %s",
			    text, peers_format_network(&network, right, sizeof(right)));
	if (is_mapped(&network))
		unmap(&network);
	*ret_network = network;
	return 0;
}

static int fail_full(char *error, size_t size)
{
	(void)fail(error, size, "more than %d entries are not accepted", ABI_PEERS_MAX);
	return -E2BIG;
}

static int fail_memory(char *error, size_t size)
{
	(void)fail(error, size, "out of memory");
	return -ENOMEM;
}

int peers_add_network(struct peers *peers, const char *text, char *error, size_t size)
{
	struct abi_network network;
	struct abi_network *grown;
	int result = parse_network(text, &network, error, size);

	if (result < 0)
		return result;
	if (peers->network_count == ABI_PEERS_MAX)
		return fail_full(error, size);
	grown = reallocarray(peers->networks, peers->network_count + 1, sizeof(*grown));
	if (grown == NULL)
		return fail_memory(error, size);
	peers->networks = grown;
	grown[peers->network_count++] = network;
	return 0;
}

int peers_add_user(struct peers *peers, const char *text, char *error, size_t size)
{
	uint32_t *grown;
	uid_t uid;
	gid_t gid;
	int result = identity_user(text, &uid, &gid);

	if (result < 0) {
		if (result == -ENOENT)
			(void)fail(error, size, "there is no user %.64s", text);
		else
			(void)fail(error, size, "user %.64s can't be looked up: %s", text,
				   strerror(-result));
		return result;
	}
	if (peers->uid_count == ABI_PEERS_MAX)
		return fail_full(error, size);
	grown = reallocarray(peers->uids, peers->uid_count + 1, sizeof(*grown));
	if (grown == NULL)
		return fail_memory(error, size);
	peers->uids = grown;
	grown[peers->uid_count++] = uid;
	return 0;
}

void peers_done(struct peers *peers)
{
	free(peers->networks);
	free(peers->uids);
	*peers = (struct peers){0};
}

const char *peers_format_network(const struct abi_network *network, char *buffer, size_t size)
{
	char address[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop((int)network->family, network->address, address, sizeof(address));
	if (network->prefix == address_bits(network))
		(void)snprintf(buffer, size, "%s", address);
	else
		(void)snprintf(buffer, size, "%s/%u", address, network->prefix);
	return buffer;
}

static bool write_all(int fd, const void *data, size_t size)
{
	return size == 0 || write(fd, data, size) == (ssize_t)size;
}

static bool write_lists(int fd, const struct peers *peers)
{
	const struct abi_peers head = {.networks = (uint32_t)peers->network_count,
				       .uids = (uint32_t)peers->uid_count};

	if (head.networks == 0 && head.uids == 0)
		return true;
	return write_all(fd, &head, sizeof(head)) &&
	       write_all(fd, peers->networks, head.networks * sizeof(*peers->networks)) &&
	       write_all(fd, peers->uids, head.uids * sizeof(*peers->uids));
}

int peers_seal(const struct peers *peers, int *ret_fd)
{
	const int fd = memfd_create("berth-peers", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd == -1)
		return -errno;
	/* Workers share it, so none of them may change it for the others. */
	errno = ENOSPC;
	if (write_lists(fd, peers) &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) !=
		    -1) {
		*ret_fd = fd;
		return 0;
	}
	error = errno;
	(void)close(fd);
	return -error;
}
