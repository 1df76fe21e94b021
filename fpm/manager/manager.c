/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager: event loop, signals, start, reload and stop of all pools. */

#include "fpm/manager/manager_internal.h"

#include "fpm/listener/activation.h"
#include "fpm/command.h"
#include "fpm/conf/conf.h"
#include "fpm/manager/control.h"
#include "fpm/manager/daemonize.h"
#include "fpm/pool/generation.h"
#include "fpm/process/library.h"
#include "fpm/process/limits.h"
#include "fpm/log.h"
#include "fpm/manager/notify.h"
#include "fpm/process/output.h"
#include "fpm/manager/pid_file.h"
#include "fpm/process/process.h"
#include "fpm/process/program.h"
#include "fpm/manager/state.h"
#include "fpm/manager/store.h"
#include "fpm/process/strays.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 *	STARTING --every pool is ready--> RUNNING --stop signal--> STOPPING --all stopped--> SWEEPING
 *	    \--a pool failed, or a stop signal------------------------/            (strays end) --> done
 *
 * All pools of a configuration are a generation. A reload makes the next one beside it, on the same
 * listeners where their addresses are the same. When all of that is ready it takes the listeners
 * over, and the old one is stopped: its workers finish what they do, and put their clients where
 * the new workers find them. If it does not get ready it is dropped, and nothing has changed. A
 * reload that is asked for meanwhile follows.
 *
 * One loop, no threads, no blocking call. A dormant periodic watcher makes libev learn of clock
 * jumps from a timerfd; without one it would wake once a minute to look.
 */
/* Strays get SIGTERM, and SIGKILL when they are still there after SWEEP_KILL rounds. */
#define SWEEP_INTERVAL 0.02
#define SWEEP_KILL     25
#define SWEEP_GIVE_UP  250

/* The log */

static void log_writable_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	(void)revents;
	log_flush();
	if (log_pending() == 0)
		ev_io_stop(loop, w);
}

/* Before the loop sleeps: keep the store up to date, watch the log if it did not take everything. */
static void prepare_cb(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct manager *m = w->data;

	(void)revents;
	manager_store(m);
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

static void stop_generation(struct manager *m, struct generation *generation)
{
	/* It may be over before the call returns. */
	m->stopping++;
	if (!generation_stop(generation))
		m->stopping--;
}

void manager_stop(struct manager *m)
{
	struct generation *generations[] = {m->next, m->current};

	m->state = MANAGER_STOPPING;
	manager_upgrade_cancel(m);
	notify_stopping("");
	store_clear();
	for (size_t i = 0; i < 2; i++)
		if (generations[i])
			stop_generation(m, generations[i]);
}

static void hurry(struct manager *m)
{
	struct generation *generations[] = {m->next, m->old, m->current};

	m->hurry = true;
	if (m->state != MANAGER_STOPPING)
		return;
	for (size_t i = 0; i < 3; i++)
		if (generations[i])
			generation_kill(generations[i]);
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
	manager_stop(m);
}

static const char *reload_name(const struct manager *m, char *buffer, size_t size)
{
	(void)snprintf(buffer, size, "reload%s%s", m->reload_pool[0] ? " of pool " : "",
		       m->reload_pool);
	return buffer;
}

/* process.priority of [global], or what it was before there was one. */
static void set_priority(const struct manager *m, const struct conf *conf)
{
	int value = conf->priority.set ? conf->priority.value : m->priority;

	if (getpriority(PRIO_PROCESS, 0) != value && setpriority(PRIO_PROCESS, 0, value) == -1)
		log_warning("process.priority %d can't be set: %s", value, strerror(errno));
}

__attribute__((format(printf, 2, 3))) static void reload_failed(struct manager *m,
								const char *format, ...)
{
	char why[2048], text[2112], name[MANAGER_POOL_SIZE + 32];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	log_error("%s: nothing was changed: %s", reload_name(m, name, sizeof(name)), why);
	notify_ready(generation_conf(m->current), "the last reload failed, nothing was changed");
	set_priority(m, generation_conf(m->current));
	(void)snprintf(text, sizeof(text), "nothing was changed: %s\n", why);
	manager_answer(&m->running, false, text);
}

/* Generations */

static void reload(struct manager *m);

void manager_next_task(struct manager *m)
{
	/* One that fails at once leaves room for the next. */
	while (m->state == MANAGER_RUNNING && !m->next && !m->old && !m->upgrade.active) {
		if (manager_reload_next(m))
			reload(m);
		else if (m->upgrade.asked)
			manager_upgrade_begin(m);
		else
			return;
	}
}

static void reap_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct manager *m = w->data;
	char name[MANAGER_POOL_SIZE + 32];

	(void)loop, (void)revents;
	if (m->state != MANAGER_RUNNING)
		return;
	if (m->old) {
		generation_free(m->old);
		m->old = NULL;
		log_notice("%s: done", reload_name(m, name, sizeof(name)));
		notify_ready(generation_conf(m->current), "");
		manager_answer(&m->running, true, "");
	}
	generation_free(m->next);
	m->next = NULL;
	manager_next_task(m);
}

static void stopped_cb(void *data, struct generation *generation)
{
	struct manager *m = data;

	(void)generation;
	m->stopping--;
	if (m->state == MANAGER_RUNNING)
		ev_timer_start(m->loop, &m->reap);
	else if (m->state == MANAGER_STOPPING && m->stopping == 0)
		sweep(m);
}

static void open_log(struct manager *m)
{
	const struct conf *conf = generation_conf(m->current);
	int result;

	/* It watches the old descriptor; the next line that waits starts it again. */
	ev_io_stop(m->loop, &m->log_writable);
	result = log_open(conf->error_log, conf->log_level);
	if (result < 0)
		log_error("error_log %s can't be opened, the old one goes on: %s", conf->error_log,
			  strerror(-result));
	daemonize_log(log_fd());
}

static void ready_cb(void *data, struct generation *generation)
{
	struct manager *m = data;

	if (m->state == MANAGER_STARTING) {
		m->state = MANAGER_RUNNING;
		log_set_echo(false);
		store_touch();
		log_notice("ready, pid %d", getpid());
		notify_ready(generation_conf(m->current), "");
		daemonize_ready();
		daemonize_log(log_fd());
		manager_next_task(m);
		return;
	}
	if (generation != m->next || m->state != MANAGER_RUNNING)
		return;
	if (m->reload_pool[0]) {
		/* What is "next" has the old pool then. */
		generation_exchange(m->current, m->next);
		m->old = m->next;
		m->next = NULL;
	} else {
		generation_take_over(m->next);
		m->old = m->current;
		m->current = m->next;
		m->next = NULL;
		open_log(m);
	}
	store_touch();
	stop_generation(m, m->old);
}

static void failed_cb(void *data, struct generation *generation, const char *why)
{
	struct manager *m = data;

	if (generation == m->next) {
		reload_failed(m, "%s", why);
		stop_generation(m, generation);
		generation_kill(generation);
		return;
	}
	if (m->state != MANAGER_STARTING)
		return;
	log_error("%s", why);
	m->exit_status = COMMAND_EXIT_SYSTEM;
	manager_stop(m);
	notify_stopping(why);
	hurry(m);
}

const struct generation_events manager_generation_events = {
	.ready = ready_cb, .failed = failed_cb, .stopped = stopped_cb};

/* Its lock and its name go with this process, so it stays where it is. */
static bool same_pid_file(const struct conf *a, const struct conf *b)
{
	return a->pid == b->pid || (a->pid && b->pid && strcmp(a->pid, b->pid) == 0);
}

static struct generation *make_next(struct manager *m, struct conf *conf, char *error, size_t size)
{
	struct rlimit present;

	if (!same_pid_file(conf, generation_conf(m->current))) {
		(void)snprintf(error, size, "pid: can't change while berth runs");
		conf_free(conf);
		return NULL;
	}
	if ((m->reload_pool[0] && manager_reload_narrow(m, conf, error, size) < 0) ||
	    limits_raise(conf, generation_conf(m->current), &present, error, size) < 0) {
		conf_free(conf);
		return NULL;
	}
	activation_reserve(conf);
	if (m->reload_pool[0])
		return generation_new_pool(m->loop, conf, m->library, &m->nofile, m->current,
					   &manager_generation_events, m, error, size);
	/* Its processes are started with what is not set for them. */
	set_priority(m, conf);
	manager_check_store(conf);
	return generation_new(m->loop, conf, m->library, &m->nofile, m->current,
			      &manager_generation_events, m, error, size);
}

static void reload(struct manager *m)
{
	char name[MANAGER_POOL_SIZE + 32], error[2048] = "out of memory";
	struct conf *conf;

	log_notice("%s: begins", reload_name(m, name, sizeof(name)));
	notify_reloading();
	conf = m->load(m->load_data, error, sizeof(error));
	if (conf)
		m->next = make_next(m, conf, error, sizeof(error));
	if (m->next)
		generation_start(m->next);
	else
		reload_failed(m, "%s", error);
}

bool manager_ask_for_reload(struct manager *m, struct control_request *request, const char *pool)
{
	if (m->state == MANAGER_STOPPING || m->state == MANAGER_SWEEPING ||
	    !manager_reload_ask(m, request, pool))
		return false;
	if (m->state != MANAGER_RUNNING || m->next || m->old || m->upgrade.active)
		log_notice("reload%s%.64s: will follow", pool[0] ? " of pool " : "", pool);
	manager_next_task(m);
	return true;
}

/* Signals */

static void reload_signal_cb(struct ev_loop *loop, ev_signal *w, int revents)
{
	(void)loop, (void)revents;
	(void)manager_ask_for_reload(w->data, NULL, "");
}

static void reopen_signal_cb(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct manager *m = w->data;

	(void)loop, (void)revents;
	if (m->current)
		open_log(m);
	store_touch();
}

static void upgrade_signal_cb(struct ev_loop *loop, ev_signal *w, int revents)
{
	(void)loop, (void)revents;
	manager_ask_for_upgrade(w->data);
}

static void watch_signal(struct manager *m, ev_signal *watcher, int signal,
			 void (*cb)(struct ev_loop *, ev_signal *, int))
{
	ev_signal_init(watcher, cb, signal);
	watcher->data = m;
	ev_signal_start(m->loop, watcher);
}

static void watch_signals(struct manager *m)
{
	static const int stops[] = {SIGTERM, SIGINT, SIGQUIT};

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < 3; i++)
		watch_signal(m, &m->stop_signals[i], stops[i], stop_signal_cb);
	watch_signal(m, &m->reload_signal, SIGHUP, reload_signal_cb);
	watch_signal(m, &m->reopen_signal, SIGUSR1, reopen_signal_cb);
	watch_signal(m, &m->upgrade_signal, SIGUSR2, upgrade_signal_cb);
}

static void dormant_cb(struct ev_loop *loop, ev_periodic *w, int revents)
{
	(void)loop, (void)w, (void)revents;
}

static void run(struct manager *m, const struct state *state)
{
	/* In the year 2200; it only has to exist. */
	ev_periodic_init(&m->dormant, dormant_cb, 7258118400., 0., NULL);
	ev_periodic_start(m->loop, &m->dormant);
	ev_prepare_init(&m->prepare, prepare_cb);
	ev_init(&m->log_writable, log_writable_cb);
	m->prepare.data = m;
	ev_prepare_start(m->loop, &m->prepare);
	ev_timer_init(&m->reap, reap_cb, 0., 0.);
	m->reap.data = m;
	if (state)
		manager_resume(m, state);
	else
		generation_start(m->current);
	(void)ev_run(m->loop, 0);
	ev_io_stop(m->loop, &m->log_writable);
	output_release_all();
}

static void warn(void *data, const char *text)
{
	(void)data;
	log_warning("%s", text);
}

/* Takes the configuration over; returns false with the reason logged. */
static bool open_first(struct manager *m, struct conf *conf)
{
	char error[2048] = "out of memory";

	if (conf->pid && pid_file_new(conf->pid, &m->pid_file, error, sizeof(error)) < 0) {
		log_error("pid: %s", error);
		conf_free(conf);
		return false;
	}
	if (activation_take(error, sizeof(error)) < 0) {
		log_error("%s", error);
		m->exit_status = COMMAND_EXIT_USAGE;
		conf_free(conf);
		return false;
	}
	activation_reserve(conf);
	if (limits_raise(conf, NULL, &m->nofile, error, sizeof(error)) < 0 ||
	    library_open(&m->library, error, sizeof(error)) < 0) {
		log_error("%s", error);
		conf_free(conf);
		return false;
	}
	set_priority(m, conf);
	manager_check_store(conf);
	m->current = generation_new(m->loop, conf, m->library, &m->nofile, NULL,
				    &manager_generation_events, m, error, sizeof(error));
	if (!m->current)
		log_error("%s", error);
	else
		activation_close_unused(warn, NULL);
	return m->current && manager_control_open(m);
}

static void finish(struct manager *m)
{
	control_free(m->control);
	/* Those that share come before whose it is. */
	generation_free(m->next);
	generation_free(m->old);
	generation_free(m->current);
	activation_done();
	if (m->library != -1)
		(void)close(m->library);
	pid_file_free(m->pid_file);
	if (m->exit_status == COMMAND_EXIT_OK)
		log_notice("stopped");
	store_settle();
	log_close();
	free(m->upgrade.program);
	ev_loop_destroy(m->loop);
}

int manager_run(struct conf *conf, const struct manager_start *start, struct state *state)
{
	struct manager m = {.exit_status = COMMAND_EXIT_SYSTEM,
			    .library = -1,
			    .load = start->load,
			    .load_data = start->data,
			    .argv = start->argv,
			    .revived = start->revived};

	m.upgrade.program = state ? strdup(state->program) : program_self(start->argv[0]);
	m.loop = ev_default_loop(EVFLAG_AUTO);
	if (!m.loop || !m.upgrade.program) {
		log_error("no event loop: %s", strerror(errno));
		free(m.upgrade.program);
		conf_free(conf);
		return m.exit_status;
	}
	m.priority = getpriority(PRIO_PROCESS, 0);
	srand48(time(NULL) ^ getpid());
	process_init(m.loop);
	/* Before the first socket file is made: a stop must remove them, whenever it comes. */
	watch_signals(&m);
	notify_init(&m.notify, m.loop);
	if (state ? manager_adopt(&m, conf, state) : open_first(&m, conf)) {
		m.exit_status = COMMAND_EXIT_OK;
		if (m.revived)
			set_priority(&m, generation_conf(m.current));
		run(&m, state);
	}
	notify_done(&m.notify);
	/* Whatever could not be gone on with will not be the next time. */
	store_clear();
	finish(&m);
	return m.exit_status;
}
