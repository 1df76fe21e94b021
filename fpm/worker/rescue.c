/* SPDX-License-Identifier: BSD-2-Clause */
/* While the program is busy: clients that wait go to whichever worker is free first. */

#include "rescue.h"

#include "clients.h"
#include "handoff.h"
#include "score.h"
#include "wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * A worker that runs a long request can't look at its listeners and kept connections. A thread of
 * its own does: every TICK_MS it sees whether the same request is still running. Then it takes what
 * the kernel reports as ready, exactly as the program's thread would, and passes the requests on
 * over the pool's socket. All workers read that, this one too, as if it were one more listener: it
 * wakes one that idles, and while none does it is the queue that a shared listener would be.
 *
 * Nothing can be missed: what is ready stays so until it is read, and every tick looks again.
 * Nothing can be served twice: a connection is in one worker's table, or in one message.
 * Nothing is lost: it leaves the table when it is in the socket, which the manager keeps open.
 *
 * It also sees the end of the lifeline, which the program's thread does only between two requests.
 * Then every client but the served one goes to the slot's next worker: this one may be killed before
 * its request is over.
 *
 * A program that leaves on its own does so in a state that looks busy, with its last request done.
 * From the moment that its clients are handed on it counts as idle, so the thread takes nobody more.
 *
 * Waiting for a sibling to idle instead would be wrong: under load none ever does, and those behind
 * a slow request would wait for its end while all others take turns.
 *
 * Table, queues and watch set belong to one thread at a time (`mine`): the program's from the
 * moment that it asks for a request until it has one, so the thread works while the program does.
 *
 * The thread blocks all signals, allocates nothing, and sleeps for good once the worker has been
 * idle for QUIET_TICKS, so an idle worker never wakes up.
 */
#define TICK_MS	    4
#define QUIET_TICKS 25

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool running, busy;
static bool passes_on;
static atomic_uint request;
static atomic_int asleep;

static void tick(void)
{
	const struct timespec pause = {.tv_nsec = TICK_MS * 1000000L};

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void sleep_until_busy(void)
{
	atomic_store(&asleep, 1);
	/* Either we see the request that begins now, or rescue_busy() sees that we are asleep. */
	while (!atomic_load(&busy) && atomic_load(&asleep))
		(void)syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	atomic_store(&asleep, 0);
}

static void rescue(void)
{
	bool leaving;

	if (pthread_mutex_trylock(&mine) != 0)
		return;
	leaving = wait_let_go();
	/* The program may have come back meanwhile, and waits for us now at most. */
	while (passes_on && atomic_load(&busy) && wait_take_ready())
		if (!handoff_send_ready())
			break;
	if (leaving && atomic_load(&busy)) {
		handoff_send_early();
		score_parked(clients_held() - 1);
	}
	(void)pthread_mutex_unlock(&mine);
}

static void *look_after(void *data)
{
	unsigned int seen = 0, quiet = 0;

	(void)data;
	for (;;) {
		unsigned int now;

		tick();
		now = atomic_load(&request);
		if (atomic_load(&busy)) {
			quiet = 0;
			if (now == seen)
				rescue();
		} else if (now != seen) {
			quiet = 0;
		} else if (++quiet >= QUIET_TICKS) {
			sleep_until_busy();
			quiet = 0;
		}
		seen = now;
	}
	return NULL;
}

void rescue_start(bool all)
{
	sigset_t blocked, old;
	pthread_attr_t attr;
	pthread_t thread;

	passes_on = all;
	(void)sigfillset(&blocked);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + 65536);
	/* The thread inherits the mask; signals are for the program. */
	(void)pthread_sigmask(SIG_SETMASK, &blocked, &old);
	if (pthread_create(&thread, &attr, look_after, NULL) == 0)
		atomic_store(&running, true);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
}

void rescue_enter(void)
{
	if (atomic_load_explicit(&running, memory_order_relaxed))
		(void)pthread_mutex_lock(&mine);
}

void rescue_leave(void)
{
	if (atomic_load_explicit(&running, memory_order_relaxed))
		(void)pthread_mutex_unlock(&mine);
}

void rescue_busy(void)
{
	atomic_fetch_add(&request, 1);
	atomic_store(&busy, true);
	if (atomic_load(&asleep)) {
		atomic_store(&asleep, 0);
		(void)syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

void rescue_idle(void)
{
	atomic_store(&busy, false);
}
