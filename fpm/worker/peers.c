/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may connect: the pool's listen.allowed_clients and listen.allowed_uids. */

#include "peers.h"

#include "abi.h"
#include "libc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_MS 1000

/* NULL: everybody may connect. */
static const struct abi_peers *list;
static const struct abi_network *networks;
static const uint32_t *uids;

/* What keeps a flood of clients that are refused out of the log. */
static struct {
	uint64_t window_ms;
	unsigned int lines;
	uint64_t left_out;
} limit;

/*
 * An address as the list has it: IPv4 is IPv4, whatever kind of socket it came to. Other kinds have
 * none.
 */
struct origin {
	uint32_t family;
	const uint8_t *address;
};

struct line {
	char text[160];
	size_t size;
};

static void append(struct line *line, const char *text)
{
	size_t size = strnlen(text, sizeof(line->text) - line->size);

	memcpy(line->text + line->size, text, size);
	line->size += size;
}

static void append_number(struct line *line, uint64_t number)
{
	char digits[24];
	size_t i = sizeof(digits) - 1;

	digits[i] = '\0';
	do
		digits[--i] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	append(line, digits + i);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

/*
 * A line more or less does not matter, but a worker that waits for its log does: a full pipe counts
 * as one line too many.
 */
static bool may_tell(void)
{
	struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
	const uint64_t now = now_ms();

	if (now - limit.window_ms >= WINDOW_MS) {
		limit.window_ms = now;
		limit.lines = 0;
	}
	if (limit.lines < PEERS_LINES && libc_calls()->poll(&output, 1, 0) == 1 &&
	    output.revents == POLLOUT) {
		limit.lines++;
		return true;
	}
	limit.left_out++;
	return false;
}

static void tell(struct line *line, const char *key)
{
	append(line, " refused: not in ");
	append(line, key);
	if (limit.left_out > 0) {
		append(line, " (not told: ");
		append_number(line, limit.left_out);
		append(line, " more before)");
	}
	append(line, "\n");
	if (libc_calls()->write(STDERR_FILENO, line->text, line->size) != -1)
		limit.left_out = 0;
}

static void tell_origin(const struct origin *origin)
{
	struct line line = {.size = 0};
	char text[INET6_ADDRSTRLEN];

	if (!may_tell())
		return;
	append(&line, "berth: client ");
	if (origin->address && inet_ntop((int)origin->family, origin->address, text, sizeof(text)))
		append(&line, text);
	else
		append(&line, "of an unknown kind");
	tell(&line, "listen.allowed_clients");
}

static void tell_uid(const struct ucred *cred)
{
	struct line line = {.size = 0};

	if (!may_tell())
		return;
	append(&line, "berth: client of uid ");
	append_number(&line, cred->uid);
	append(&line, ", pid ");
	append_number(&line, (uint64_t)cred->pid);
	tell(&line, "listen.allowed_uids");
}

static struct origin origin_of(const struct sockaddr *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)peer;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)peer;

	if (peer->sa_family == AF_INET)
		return (struct origin){AF_INET, (const uint8_t *)&in->sin_addr};
	if (peer->sa_family != AF_INET6)
		return (struct origin){AF_UNSPEC, NULL};
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return (struct origin){AF_INET, in6->sin6_addr.s6_addr + 12};
	return (struct origin){AF_INET6, in6->sin6_addr.s6_addr};
}

static bool is_in(const struct abi_network *network, const struct origin *origin)
{
	const uint32_t bytes = network->prefix / 8, bits = network->prefix % 8;

	if (network->family != origin->family)
		return false;
	if (memcmp(network->address, origin->address, bytes) != 0)
		return false;
	return bits == 0 || (network->address[bytes] ^ origin->address[bytes]) >> (8 - bits) == 0;
}

static bool is_network_allowed(const struct sockaddr *peer)
{
	const struct origin origin = origin_of(peer);

	for (uint32_t i = 0; origin.address && i < list->networks; i++)
		if (is_in(&networks[i], &origin))
			return true;
	tell_origin(&origin);
	return false;
}

static bool is_uid_allowed(int fd)
{
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t len = sizeof(cred);

	/* If the kernel does not say who it is, it is nobody whom the list can name. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		cred = (struct ucred){.uid = (uid_t)-1};
	for (uint32_t i = 0; i < list->uids; i++)
		if (uids[i] == cred.uid)
			return true;
	tell_uid(&cred);
	return false;
}

bool peers_allowed(int fd, const struct sockaddr *peer)
{
	if (!list)
		return true;
	if (peer->sa_family == AF_UNIX)
		return list->uids == 0 || is_uid_allowed(fd);
	return list->networks == 0 || is_network_allowed(peer);
}

/* The manager wrote it, but what is refused by it must not depend on both agreeing. */
static bool is_sound(const struct abi_peers *peers, size_t size)
{
	const struct abi_network *network = (const struct abi_network *)(peers + 1);

	if (size < sizeof(*peers) || peers->networks > ABI_PEERS_MAX || peers->uids > ABI_PEERS_MAX)
		return false;
	if (size !=
	    sizeof(*peers) + peers->networks * sizeof(*network) + peers->uids * sizeof(uint32_t))
		return false;
	for (uint32_t i = 0; i < peers->networks; i++)
		if (network[i].prefix > (network[i].family == AF_INET ? 32U : 128U))
			return false;
	return true;
}

static int map(int fd)
{
	struct stat st;
	void *mapped;

	if (fstat(fd, &st) == -1)
		return -1;
	if (st.st_size == 0)
		return 0;
	/* Private, as kernels before 6.7 refuse to share what is sealed against writing. */
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return -1;
	if (!is_sound(mapped, (size_t)st.st_size)) {
		(void)munmap(mapped, (size_t)st.st_size);
		errno = EPROTO;
		return -1;
	}
	list = mapped;
	networks = (const struct abi_network *)(list + 1);
	uids = (const uint32_t *)(networks + list->networks);
	return 0;
}

int peers_open(int fd)
{
	int result, error;

	list = NULL;
	result = map(fd);
	error = errno;
	(void)libc_calls()->close(fd);
	errno = error;
	return result;
}
