/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's own entry of the scoreboard. */

#include "score.h"

#include "abi.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static struct abi_score nowhere;
static volatile struct abi_score *own = &nowhere;

void score_open(int fd, uint32_t entry, uint32_t entries)
{
	size_t size = (size_t)entries * sizeof(struct abi_score);
	void *board = MAP_FAILED;

	if (entry < entries)
		board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	own = board == MAP_FAILED ? &nowhere : (struct abi_score *)board + entry;
	own->pid = getpid();
	own->served = 0;
	own->state = ABI_STATE_IDLE;
}

void score_idle(void)
{
	own->state = ABI_STATE_IDLE;
}

void score_busy(void)
{
	own->state = ABI_STATE_BUSY;
}

void score_served(void)
{
	own->served++;
}

void score_abandon(void)
{
	own = &nowhere;
}
