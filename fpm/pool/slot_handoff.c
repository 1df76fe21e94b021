/* SPDX-License-Identifier: BSD-2-Clause */
/* A slot's pair of sockets for connections that wait between one worker and the next. */

#include "fpm/pool/slot_handoff.h"

#include "fpm/worker/client.h"
#include "fpm/worker/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Longest that its readers are given to make room. */
#define WAIT_MS 100

/* For all connections that a worker can hold, even while no successor is there to take them. */
static void make_room(int socket)
{
	const int bytes = 1 << 20;

	/* As an ordinary user one gets what net.core.wmem_max allows. */
	if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) == -1)
		(void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

int slot_handoff_open(int ret_pair[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_pair) == -1)
		return -errno;
	make_room(ret_pair[1]);
	return 0;
}

size_t slot_handoff_pass_on(const int pair[2], int out, size_t most)
{
	const size_t room = (size_t)CLIENT_BUFFER_SIZE * 2;
	struct transfer *transfer = malloc(sizeof(*transfer) + room);
	int fds[TRANSFER_BATCH];
	size_t passed = 0;
	uint32_t count;

	if (!transfer)
		return 0;
	while (most-- > 0 &&
	       (count = transfer_receive(pair[0], transfer, transfer + 1, room, fds)) > 0) {
		size_t bytes = 0;

		for (uint32_t i = 0; i < count; i++)
			bytes += transfer->entries[i].pending;
		if (transfer_send(out, transfer, transfer + 1, bytes, fds, WAIT_MS) == 0)
			passed += count;
		for (uint32_t i = 0; i < count; i++)
			(void)close(fds[i]);
	}
	free(transfer);
	return passed;
}
