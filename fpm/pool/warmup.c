/* SPDX-License-Identifier: BSD-2-Clause */
/* Warm-up: scripts that are requested before a new template's workers serve. */

#include "fpm/pool/warmup.h"

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/log.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/process/process.h"
#include "fpm/pool/slot_handoff.h"
#include "fpm/pool/slot_worker.h"
#include "fpm/pool/warmup_request.h"
#include "fpm/worker/transfer.h"

#include <errno.h>
#include <ev.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * What a script leaves in the opcode cache and in APCu is in memory that all workers of a template
 * share. So it is enough that one process runs it, before the slots get their workers; and that need
 * not be a slot's worker, which clients could reach, and which would be in the middle of its life
 * then.
 *
 * Each script gets a process of its own, forked like any worker but with no listener. Its pairs of
 * sockets for connections are no slot's, either, so nobody passes a client on to it. One connection
 * is put into them: the manager's end of that sends the request and reads the answer.
 *
 *	fork + request --> answer is whole --> asked to leave --> ended --> the next script
 *	    \--time is over--> killed ------------------------------/
 *	    \--it ended meanwhile, or could not be forked-----------/
 *
 * It goes on only when that process has ended, so that there is one end to every story.
 */
struct warmup {
	struct pool *pool;
	const struct warmup_events *events;
	bool strict;
	size_t script;
	struct slot_worker *worker; /* NULL = there is nothing to wait for */
	int handoff[2];
	int fresh[2];
	ev_io connection;
	ev_timer timer;
	struct warmup_answer answer;
	bool answered;
	uint64_t began_ms;
	unsigned int failed;
	char why[512];
};

static void begin(struct warmup *w);

static const char *target(const struct warmup *w)
{
	return w->pool->conf->warmup[w->script];
}

/* Notes what is wrong with the present script, once. */
__attribute__((format(printf, 2, 3))) static void wrong(struct warmup *w, const char *format, ...)
{
	va_list args;

	if (w->why[0])
		return;
	va_start(args, format);
	(void)vsnprintf(w->why, sizeof(w->why), format, args);
	va_end(args);
}

static void close_pair(int pair[2])
{
	for (int i = 0; i < 2; i++) {
		if (pair[i] != -1)
			(void)close(pair[i]);
		pair[i] = -1;
	}
}

/* No more talk; the process may still be there. */
static void hang_up(struct warmup *w)
{
	ev_timer_stop(w->pool->loop, &w->timer);
	ev_io_stop(w->pool->loop, &w->connection);
	if (w->connection.fd != -1)
		(void)close(w->connection.fd);
	ev_io_set(&w->connection, -1, EV_READ);
	close_pair(w->handoff);
	close_pair(w->fresh);
}

/* The present script is over, and nothing of it is left. */
static void go_on(struct warmup *w)
{
	const char *name = w->pool->conf->name;
	char text[sizeof(w->why) + WARMUP_TARGET_MAX + 32];

	if (w->why[0] && w->strict) {
		(void)snprintf(text, sizeof(text), "warm-up %s: %s", target(w), w->why);
		w->events->over(w->pool, text);
		return;
	}
	if (w->why[0])
		log_warning("pool %s: warm-up %s: %s; its workers start all the same", name,
			    target(w), w->why);
	else if (w->answer.complaint[0])
		log_warning("pool %s: warm-up %s: %s", name, target(w), w->answer.complaint);
	w->failed += w->why[0] != '\0';
	if (++w->script < w->pool->conf->warmup_count) {
		begin(w);
		return;
	}
	log_notice("pool %s: warm-up: %zu of %zu scripts in %.2f s", name, w->script - w->failed,
		   w->script, (double)(clock_ms() - w->began_ms) / 1000.);
	w->events->over(w->pool, NULL);
}

/* The connection */

static void answer_is_over(struct warmup *w)
{
	w->answered = true;
	hang_up(w);
	/* It may have answered before the template has told of it. */
	if (slot_worker_pid(w->worker) != 0)
		slot_worker_ask(w->worker);
}

/* Takes what has come; false if there is nothing more to wait for. */
static bool read_answer(struct warmup *w)
{
	uint8_t bytes[16384];
	ssize_t n;
	int result;

	do {
		n = recv(w->connection.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		result = warmup_answer_take(&w->answer, bytes, (size_t)n);
	} while (result == 0);
	if (result < 0)
		wrong(w, "the answer is no FastCGI");
	else
		(void)warmup_answer_judge(&w->answer, w->why, sizeof(w->why));
	answer_is_over(w);
	return true;
}

static void connection_cb(struct ev_loop *loop, ev_io *io, int revents)
{
	struct warmup *w = io->data;

	(void)revents;
	/* Its process has closed it, and should end now, which tells more. */
	if (!read_answer(w))
		ev_io_stop(loop, io);
}

/* A socket that is new has room for the whole request. */
static int send_request(struct warmup *w, int fd)
{
	uint8_t bytes[WARMUP_REQUEST_SIZE];
	struct wire_buffer request = {.data = bytes, .size = sizeof(bytes)};
	int result = warmup_request_write(target(w), &request);
	ssize_t n;

	if (result < 0)
		return result;
	n = send(fd, request.data, request.used, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == -1)
		return -errno;
	return (size_t)n == request.used ? 0 : -EMSGSIZE;
}

/* Puts a connection where the process will find it, with the request in it. */
static int open_connection(struct warmup *w)
{
	struct transfer transfer = {.abi = ABI_VERSION, .count = 1};
	struct transfer_entry *entry = &transfer.entries[0];
	int pair[2], result;

	entry->born_ms = clock_ms();
	entry->peer.ss_family = AF_UNIX;
	entry->peer_len = sizeof(sa_family_t);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -errno;
	result = send_request(w, pair[0]);
	if (result == 0 && transfer_send(w->handoff[1], &transfer, NULL, 0, &pair[1], 0) == -1)
		result = -errno;
	(void)close(pair[1]);
	if (result < 0) {
		(void)close(pair[0]);
		return result;
	}
	ev_io_set(&w->connection, pair[0], EV_READ);
	ev_io_start(w->pool->loop, &w->connection);
	return 0;
}

/* The process */

static void up_cb(struct slot_worker *worker)
{
	struct warmup *w = slot_worker_data(worker);

	if (w->answered)
		slot_worker_ask(worker);
}

static void worker_gone(struct warmup *w)
{
	hang_up(w);
	slot_worker_free(w->worker);
	w->worker = NULL;
}

static void failed_cb(struct slot_worker *worker, int error)
{
	struct warmup *w = slot_worker_data(worker);

	worker_gone(w);
	/* The template is gone: the pool hears of that next. */
	if (error == -EPIPE)
		return;
	wrong(w, "can't start a process: %s", strerror(-error));
	go_on(w);
}

static void ended_cb(struct slot_worker *worker, const struct process_end *end)
{
	struct warmup *w = slot_worker_data(worker);
	const char *last = slot_worker_last_words(worker);
	char how[80];

	/* An answer that it sent before it ended counts. */
	if (!w->answered)
		(void)read_answer(w);
	if (!w->answered)
		wrong(w, "its process ended with %s in the middle of the request%s%.200s",
		      process_end_describe(end, how, sizeof(how)), last[0] ? ": " : "", last);
	worker_gone(w);
	go_on(w);
}

static const struct slot_worker_events worker_events = {
	.up = up_cb, .failed = failed_cb, .ended = ended_cb};

static int start_process(struct warmup *w)
{
	static const int no_listener[] = {-1};
	const struct slot_worker_start start = {.pool = w->pool,
						.handoff = w->handoff,
						.listeners = no_listener,
						.fresh = w->fresh};

	return slot_worker_new(&start, &worker_events, w, &w->worker);
}

static void timer_cb(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct warmup *w = timer->data;

	(void)loop, (void)revents;
	if (w->worker) {
		wrong(w, "no answer within warmup_timeout (%.1f s)",
		      w->pool->conf->warmup_timeout_ms / 1000.);
		w->answered = true;
		if (slot_worker_pid(w->worker) != 0) {
			hang_up(w);
			slot_worker_kill(w->worker);
			return;
		}
		worker_gone(w);
	}
	go_on(w);
}

static void set_timer(struct warmup *w, uint32_t ms)
{
	ev_timer_set(&w->timer, ms / 1000., 0.);
	ev_timer_start(w->pool->loop, &w->timer);
}

/* Begins the present script. */
static void begin(struct warmup *w)
{
	int result;

	w->answer = (struct warmup_answer){0};
	w->answered = false;
	w->why[0] = '\0';
	result = slot_handoff_open(w->handoff);
	if (result == 0)
		result = slot_handoff_open(w->fresh);
	if (result == 0)
		result = open_connection(w);
	if (result == 0)
		result = start_process(w);
	if (result == 0) {
		set_timer(w, w->pool->conf->warmup_timeout_ms);
		return;
	}
	wrong(w, "can't be requested: %s", strerror(-result));
	hang_up(w);
	/* Told from the loop, as our caller is not ready to hear of it. */
	set_timer(w, 0);
}

struct warmup *warmup_new(struct pool *pool, bool strict, const struct warmup_events *events)
{
	struct warmup *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->pool = pool;
	w->events = events;
	w->strict = strict;
	w->handoff[0] = w->handoff[1] = w->fresh[0] = w->fresh[1] = -1;
	w->began_ms = clock_ms();
	ev_io_init(&w->connection, connection_cb, -1, EV_READ);
	ev_timer_init(&w->timer, timer_cb, 0., 0.);
	w->connection.data = w->timer.data = w;
	begin(w);
	return w;
}

void warmup_free(struct warmup *warmup)
{
	struct warmup *w = warmup;

	if (!w)
		return;
	hang_up(w);
	/* It serves nobody who would miss it. */
	if (w->worker && slot_worker_pid(w->worker) != 0)
		slot_worker_kill(w->worker);
	slot_worker_free(w->worker);
	free(w);
}
