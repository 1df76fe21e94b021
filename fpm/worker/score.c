/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's own entry of the scoreboard. */

#include "score.h"

#include "abi.h"
#include "head.h"
#include "template.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct abi_score nowhere;
static struct abi_score *own = &nowhere;
static const struct abi_score *entries = &nowhere;
static uint32_t entry_count;
static uint32_t max_requests;
static int attention = -1;

static void change_state(uint32_t state)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	own->since_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	__atomic_store_n(&own->state, state, __ATOMIC_RELEASE);
}

static bool is_wanted(uint32_t *wish)
{
	if (__atomic_load_n(wish, __ATOMIC_RELAXED) == 0)
		return false;
	__atomic_store_n(wish, 0, __ATOMIC_RELAXED);
	return true;
}

static void wake_manager(void)
{
	const uint64_t one = 1;

	/* A full eventfd has woken it already. */
	if (attention != -1)
		(void)!write(attention, &one, sizeof(one));
}

/*
 * The manager sleeps while everybody is idle, if it may. Either it sees our state when it looks for
 * the last time before that, or we see its wish here; the fence keeps the two apart.
 */
static void announce(void)
{
	bool wanted;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	wanted = is_wanted(&own->announce);
	if (is_wanted(&own->ring) || wanted)
		wake_manager();
}

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
		entries = mapped;
		entry_count = m->scores;
		own = (struct abi_score *)mapped + m->score;
	}
	max_requests = m->max_requests;
	attention = worker->fds[ABI_SPAWN_FD_ATTENTION];
	own->pid = getpid();
	change_state(ABI_STATE_IDLE);
}

void score_idle(void)
{
	change_state(ABI_STATE_IDLE);
}

void score_busy(const uint8_t *head, size_t size)
{
	const struct head_text texts[] = {
		{"REQUEST_METHOD", own->method, ABI_METHOD_SIZE - 1},
		{"REQUEST_URI", own->uri, ABI_URI_SIZE - 1},
		{"SCRIPT_FILENAME", own->script, ABI_SCRIPT_SIZE - 1},
	};

	change_state(ABI_STATE_BUSY);
	announce();
	head_read(head, size, texts, sizeof(texts) / sizeof(texts[0]));
}

void score_accepted(void)
{
	own->accepted++;
}

void score_parked(uint32_t count)
{
	if (own->parked == count)
		return;
	__atomic_store_n(&own->parked, count, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (is_wanted(&own->ring))
		wake_manager();
}

bool score_other_holds_fewer(uint32_t count)
{
	for (uint32_t i = 0; i < entry_count; i++) {
		const struct abi_score *other = &entries[i];
		uint32_t state = __atomic_load_n(&other->state, __ATOMIC_RELAXED);

		if (other == own || (state != ABI_STATE_IDLE && state != ABI_STATE_BUSY))
			continue;
		if (__atomic_load_n(&other->parked, __ATOMIC_RELAXED) < count)
			return true;
	}
	return false;
}

void score_wrote(size_t size)
{
	own->bytes += size;
}

void score_served(void)
{
	own->served++;
	if (max_requests == 0 || own->served < max_requests || own->wants_successor)
		return;
	own->wants_successor = 1;
	wake_manager();
}

void score_abandon(void)
{
	entry_count = 0;
	own = &nowhere;
	max_requests = 0;
	if (attention != -1)
		(void)close(attention);
	attention = -1;
}
