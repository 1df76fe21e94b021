/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples accept queues from a thread of its own. */

#include "queue_internal.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct queue_watch {
	struct queue_reader reader;
	pthread_t thread;
	unsigned int interval_ms;
	int stop_fd;
	/* The thread's until it has ended. */
	uint64_t samples;
	uint64_t sum;
	unsigned int deepest;
};

static void *watch_queues(void *data)
{
	struct queue_watch *watch = data;
	struct pollfd stop = {.fd = watch->stop_fd, .events = POLLIN};
	struct queue_depth depth;

	do {
		if (queue_reader_read(&watch->reader, &depth) < 0)
			continue;
		watch->samples++;
		watch->sum += depth.depth;
		if (depth.deepest > watch->deepest)
			watch->deepest = depth.deepest;
	} while (poll(&stop, 1, (int)watch->interval_ms) <= 0);
	return NULL;
}

static void watch_free(struct queue_watch *watch)
{
	queue_reader_done(&watch->reader);
	if (watch->stop_fd != -1)
		(void)close(watch->stop_fd);
	free(watch);
}

/* Signals are for the thread that started us. */
static int start_thread(struct queue_watch *watch)
{
	sigset_t all, before;
	int ret;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&watch->thread, NULL, watch_queues, watch);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

struct queue_watch *queue_watch_start(const struct endpoint *endpoints, size_t count,
				      unsigned int interval_ms)
{
	struct queue_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->stop_fd = -1;
	watch->interval_ms = interval_ms > 0 ? interval_ms : 1;
	if (queue_reader_init(&watch->reader, endpoints, count) < 0 ||
	    (!watch->reader.local && !watch->reader.inet))
		goto fail;
	watch->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->stop_fd == -1 || start_thread(watch) != 0)
		goto fail;
	return watch;
fail:
	watch_free(watch);
	return NULL;
}

void queue_watch_stop(struct queue_watch *watch, double *ret_mean, unsigned int *ret_deepest)
{
	*ret_mean = 0;
	*ret_deepest = 0;
	if (!watch)
		return;
	(void)eventfd_write(watch->stop_fd, 1);
	(void)pthread_join(watch->thread, NULL);
	if (watch->samples > 0)
		*ret_mean = (double)watch->sum / (double)watch->samples;
	*ret_deepest = watch->deepest;
	watch_free(watch);
}
