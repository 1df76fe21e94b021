/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's side of a pool's scoreboard, which its workers write. */

#include "fpm/pool/scoreboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int scoreboard_init(struct scoreboard *board, uint32_t count)
{
	size_t size = (size_t)count * sizeof(struct abi_score);
	void *entries;
	int error;

	*board = (struct scoreboard){.fd = -1, .count = count};
	board->used = calloc(count, sizeof(*board->used));
	if (!board->used)
		return -ENOMEM;
	board->fd = memfd_create("berth-scoreboard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (board->fd == -1 || ftruncate(board->fd, (off_t)size) == -1)
		goto fail;
	/* A worker that shrinks it would make our reads end in SIGBUS. */
	if (fcntl(board->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == -1)
		goto fail;
	entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, board->fd, 0);
	if (entries == MAP_FAILED)
		goto fail;
	board->entries = entries;
	return 0;
fail:
	error = errno;
	scoreboard_done(board);
	return -error;
}

int scoreboard_adopt(struct scoreboard *board, int fd, uint32_t count)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	size_t size = (size_t)count * sizeof(struct abi_score);
	int present = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *entries;

	if (present == -1 || (present & seals) != seals || fstat(fd, &st) == -1 ||
	    st.st_size != (off_t)size)
		return -EPROTO;
	entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (entries == MAP_FAILED)
		return -errno;
	*board = (struct scoreboard){.fd = fd, .count = count, .entries = entries};
	board->used = calloc(count, sizeof(*board->used));
	if (board->used)
		return 0;
	(void)munmap(entries, size);
	*board = (struct scoreboard){.fd = -1};
	return -ENOMEM;
}

void scoreboard_claim(struct scoreboard *board, uint32_t entry)
{
	board->used[entry] = true;
}

void scoreboard_done(struct scoreboard *board)
{
	size_t size = (size_t)board->count * sizeof(struct abi_score);

	if (board->entries)
		(void)munmap(board->entries, size);
	if (board->used && board->fd != -1)
		(void)close(board->fd);
	free(board->used);
	*board = (struct scoreboard){.fd = -1};
}

int scoreboard_take(struct scoreboard *board, uint32_t *ret_entry)
{
	for (uint32_t i = 0; i < board->count; i++) {
		if (board->used[i])
			continue;
		board->used[i] = true;
		memset(&board->entries[i], 0, sizeof(board->entries[i]));
		*ret_entry = i;
		return 0;
	}
	return -EAGAIN;
}

void scoreboard_give_back(struct scoreboard *board, uint32_t entry)
{
	board->used[entry] = false;
	board->entries[entry].state = ABI_STATE_NONE;
}

uint64_t scoreboard_busy_since(const struct scoreboard *board, uint32_t entry)
{
	const struct abi_score *score = &board->entries[entry];

	/* The worker writes the time first, so that this order never makes a request look older. */
	if (__atomic_load_n(&score->state, __ATOMIC_ACQUIRE) != ABI_STATE_BUSY)
		return 0;
	return __atomic_load_n(&score->since_ns, __ATOMIC_RELAXED);
}

void scoreboard_announce(struct scoreboard *board, bool on)
{
	for (uint32_t i = 0; i < board->count; i++)
		if (board->used[i])
			__atomic_store_n(&board->entries[i].announce, on, __ATOMIC_RELAXED);
	/* Whoever does not see it has shown its state before this. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void scoreboard_ask_to_ring(struct scoreboard *board, uint32_t entry)
{
	__atomic_store_n(&board->entries[entry].ring, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

struct abi_score scoreboard_read(const struct scoreboard *board, uint32_t entry)
{
	struct abi_score copy;

	/* Its worker may be writing; every field is read once. */
	memcpy(&copy, &board->entries[entry], sizeof(copy));
	copy.method[ABI_METHOD_SIZE - 1] = '\0';
	copy.uri[ABI_URI_SIZE - 1] = '\0';
	copy.script[ABI_SCRIPT_SIZE - 1] = '\0';
	return copy;
}
