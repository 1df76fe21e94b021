/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP ports that nobody uses. */

#include "ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORTS_FIRST 20000U
#define PORTS_LAST  32000U
#define PORTS_TRIES 100

/* Not with SO_REUSEADDR: servers differ in whether they set it. */
static bool is_free(unsigned int port)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool free = fd != -1 && bind(fd, (const struct sockaddr *)&in, sizeof(in)) == 0;

	if (fd != -1)
		(void)close(fd);
	return free;
}

int ports_find(unsigned int count, unsigned int *ret_base)
{
	if (count >= PORTS_LAST - PORTS_FIRST)
		return -EADDRINUSE;
	for (int try = 0; try < PORTS_TRIES; try++) {
		unsigned int base, found = 0;
		uint32_t random;

		/* Early after boot there are none yet; any other start will do. */
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
			random = (uint32_t)getpid() + (uint32_t)try * count;
		base = PORTS_FIRST + random % (PORTS_LAST - PORTS_FIRST - count);
		while (found < count && is_free(base + found + 1))
			found++;
		if (found < count)
			continue;
		*ret_base = base;
		return 0;
	}
	return -EADDRINUSE;
}
