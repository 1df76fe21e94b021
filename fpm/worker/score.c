/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's own entry of the scoreboard. */

#include "score.h"

#include "abi.h"
#include "template.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static struct abi_score nowhere;
static volatile struct abi_score *own = &nowhere;
static const volatile struct abi_score *board;
static uint32_t board_count;
static uint32_t max_requests;
static int attention = -1;

void score_open(const struct template_worker *worker)
{
	const struct abi_message *m = &worker->message;
	int fd = worker->fds[ABI_SPAWN_FD_SCOREBOARD];
	void *mapped = MAP_FAILED;

	if (m->score < m->scores)
		mapped = mmap(NULL, (size_t)m->scores * sizeof(struct abi_score),
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (mapped != MAP_FAILED) {
		board = mapped;
		board_count = m->scores;
		own = (struct abi_score *)mapped + m->score;
	}
	max_requests = m->max_requests;
	attention = worker->fds[ABI_SPAWN_FD_ATTENTION];
	own->pid = getpid();
	own->served = 0;
	own->wants_successor = 0;
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
	const uint64_t one = 1;

	own->served++;
	if (max_requests == 0 || own->served < max_requests || own->wants_successor)
		return;
	own->wants_successor = 1;
	/* A full eventfd has woken the manager already. */
	(void)!write(attention, &one, sizeof(one));
}

bool score_others_idle(void)
{
	for (uint32_t i = 0; i < board_count; i++)
		if (board[i].state == ABI_STATE_IDLE && &board[i] != own)
			return true;
	return false;
}

void score_abandon(void)
{
	own = &nowhere;
	max_requests = 0;
}
