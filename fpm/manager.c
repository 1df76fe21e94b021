/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager: event loop, signals, start and stop of all pools. */

#include "manager.h"

#include "command.h"
#include "conf.h"
#include "library.h"
#include "limits.h"
#include "log.h"
#include "output.h"
#include "pool.h"
#include "process.h"
#include "strays.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 *	STARTING --every pool is ready--> RUNNING --stop signal--> STOPPING --all stopped--> SWEEPING
 *	    \--a pool failed, or a stop signal------------------------/            (strays end) --> done
 *
 * One loop, no threads, no blocking call. A dormant periodic watcher makes libev learn of clock
 * jumps from a timerfd; without one it would wake once a minute to look.
 */
enum manager_state {
	MANAGER_STARTING = 0,
	MANAGER_RUNNING,
	MANAGER_STOPPING,
	MANAGER_SWEEPING,
};

/* Strays get SIGTERM, and SIGKILL when they are still there after SWEEP_KILL rounds. */
#define SWEEP_INTERVAL 0.02
#define SWEEP_KILL     25
#define SWEEP_GIVE_UP  250

struct manager {
	struct ev_loop *loop;
	enum manager_state state;
	int exit_status;
	struct pool **pools;
	size_t pool_count;
	size_t ready;
	size_t stopped;
	bool hurry;
	ev_signal stop_signals[3];
	ev_signal other_signals[3];
	ev_periodic dormant;
	ev_prepare log_prepare;
	ev_io log_writable;
	ev_timer sweep;
	unsigned int sweeps;
};

/* The log */

static void log_writable_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	(void)revents;
	log_flush();
	if (log_pending() == 0)
		ev_io_stop(loop, w);
}

/* Before the loop sleeps: watch the log if it did not take everything. */
static void log_prepare_cb(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct manager *m = w->data;

	(void)revents;
	if (log_pending() == 0 || ev_is_active(&m->log_writable))
		return;
	ev_io_set(&m->log_writable, log_fd(), EV_WRITE);
	ev_io_start(loop, &m->log_writable);
}

/* Stop */

static void sweep_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct manager *m = w->data;
	unsigned int left;

	(void)revents;
	m->sweeps++;
	left = strays_signal(m->hurry || m->sweeps >= SWEEP_KILL ? SIGKILL
			     : m->sweeps == 1			 ? SIGTERM
								 : 0);
	if (m->sweeps == 1 && left > 0)
		log_notice("%u processes that scripts left running are ended", left);
	if (left > 0 && m->sweeps < SWEEP_GIVE_UP)
		return;
	if (left > 0)
		log_error("%u processes can't be ended", left);
	ev_timer_stop(loop, w);
	ev_break(loop, EVBREAK_ALL);
}

static void sweep(struct manager *m)
{
	m->state = MANAGER_SWEEPING;
	ev_timer_init(&m->sweep, sweep_cb, 0., SWEEP_INTERVAL);
	m->sweep.data = m;
	ev_timer_start(m->loop, &m->sweep);
}

static void stop(struct manager *m)
{
	m->state = MANAGER_STOPPING;
	for (size_t i = 0; i < m->pool_count; i++)
		pool_stop(m->pools[i]);
}

static void hurry(struct manager *m)
{
	m->hurry = true;
	if (m->state != MANAGER_STOPPING)
		return;
	for (size_t i = 0; i < m->pool_count; i++)
		pool_kill(m->pools[i]);
}

static void pool_stopped_cb(void *data, struct pool *pool)
{
	struct manager *m = data;

	(void)pool;
	if (++m->stopped == m->pool_count)
		sweep(m);
}

static void stop_signal_cb(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct manager *m = w->data;

	(void)loop, (void)revents;
	if (m->state == MANAGER_STOPPING || m->state == MANAGER_SWEEPING) {
		log_notice("signal %d again: what is left is killed", w->signum);
		hurry(m);
		return;
	}
	log_notice("signal %d: stopping", w->signum);
	stop(m);
}

static void other_signal_cb(struct ev_loop *loop, ev_signal *w, int revents)
{
	(void)loop, (void)revents;
	log_notice("signal %d has no meaning here, ignored", w->signum);
}

/* Start */

static void pool_ready_cb(void *data, struct pool *pool)
{
	struct manager *m = data;
	char text[1024];

	log_notice("%s: ready", pool_describe(pool, text, sizeof(text)));
	if (++m->ready < m->pool_count || m->state != MANAGER_STARTING)
		return;
	m->state = MANAGER_RUNNING;
	log_set_echo(false);
	log_notice("ready, pid %d", getpid());
}

static void pool_failed_cb(void *data, struct pool *pool, const char *why)
{
	struct manager *m = data;
	char text[1024];

	if (m->state != MANAGER_STARTING)
		return;
	log_error("%s: did not get ready: %s", pool_describe(pool, text, sizeof(text)), why);
	m->exit_status = COMMAND_EXIT_SYSTEM;
	stop(m);
	hurry(m);
}

static void watch_signals(struct manager *m)
{
	static const int stops[] = {SIGTERM, SIGINT, SIGQUIT};
	static const int others[] = {SIGHUP, SIGUSR1, SIGUSR2};

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < 3; i++) {
		ev_signal_init(&m->stop_signals[i], stop_signal_cb, stops[i]);
		ev_signal_init(&m->other_signals[i], other_signal_cb, others[i]);
		m->stop_signals[i].data = m->other_signals[i].data = m;
		ev_signal_start(m->loop, &m->stop_signals[i]);
		ev_signal_start(m->loop, &m->other_signals[i]);
	}
}

static void dormant_cb(struct ev_loop *loop, ev_periodic *w, int revents)
{
	(void)loop, (void)w, (void)revents;
}

static int open_pools(struct manager *m, const struct conf *conf, int library,
		      const struct rlimit *nofile)
{
	static const struct pool_events events = {
		.ready = pool_ready_cb, .failed = pool_failed_cb, .stopped = pool_stopped_cb};
	size_t count = 0;

	for (const struct conf_pool *p = conf->pools; p; p = p->next)
		count++;
	m->pools = calloc(count + 1, sizeof(struct pool *));
	if (!m->pools)
		return -ENOMEM;
	for (const struct conf_pool *p = conf->pools; p; p = p->next) {
		char error[1024];
		struct pool *pool =
			pool_new(m->loop, p, library, nofile, &events, m, error, sizeof(error));

		if (!pool) {
			log_error("pool %s: %s", p->name, error);
			return -EINVAL;
		}
		m->pools[m->pool_count++] = pool;
	}
	return 0;
}

static void run(struct manager *m)
{
	/* In the year 2200; it only has to exist. */
	ev_periodic_init(&m->dormant, dormant_cb, 7258118400., 0., NULL);
	ev_periodic_start(m->loop, &m->dormant);
	ev_prepare_init(&m->log_prepare, log_prepare_cb);
	ev_init(&m->log_writable, log_writable_cb);
	m->log_prepare.data = m;
	ev_prepare_start(m->loop, &m->log_prepare);
	for (size_t i = 0; i < m->pool_count && m->state == MANAGER_STARTING; i++)
		pool_start(m->pools[i]);
	(void)ev_run(m->loop, 0);
	ev_io_stop(m->loop, &m->log_writable);
	output_release_all();
}

int manager_run(const struct conf *conf)
{
	struct manager m = {.exit_status = COMMAND_EXIT_SYSTEM};
	char error[512] = "out of memory";
	struct rlimit nofile;
	int library = -1;

	m.loop = ev_default_loop(EVFLAG_AUTO);
	if (!m.loop) {
		log_error("no event loop: %s", strerror(errno));
		return m.exit_status;
	}
	srand48(time(NULL) ^ getpid());
	process_init(m.loop);
	/* Before the first socket file is made: a stop must remove them, whenever it comes. */
	watch_signals(&m);
	if (limits_raise(conf, &nofile, error, sizeof(error)) < 0 ||
	    library_open(&library, error, sizeof(error)) < 0) {
		log_error("%s", error);
		goto out;
	}
	if (open_pools(&m, conf, library, &nofile) == 0) {
		m.exit_status = COMMAND_EXIT_OK;
		run(&m);
	}
	for (size_t i = 0; i < m.pool_count; i++)
		pool_free(m.pools[i]);
	free(m.pools);
	(void)close(library);
	if (m.exit_status == COMMAND_EXIT_OK)
		log_notice("stopped");
out:
	log_close();
	ev_loop_destroy(m.loop);
	return m.exit_status;
}
