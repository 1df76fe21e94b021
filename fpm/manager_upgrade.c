/* SPDX-License-Identifier: BSD-2-Clause */
/* Upgrade: the program that is installed now goes on in our place, with our pid and workers. */

#include "conf.h"
#include "conf_dump.h"
#include "control.h"
#include "daemonize.h"
#include "generation.h"
#include "identity.h"
#include "library.h"
#include "log.h"
#include "manager_internal.h"
#include "output.h"
#include "pid_file.h"
#include "spawn.h"
#include "state.h"
#include "worker/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 *	(nothing) --asked--> PROOF --status 0--> LAST ROUND --> exec, the same process goes on
 *			       \--anything else-----\--stop, exec fails--> (nothing)
 *
 * The new program proves itself as a child: `prove` in place of `run` on our command line. It reads
 * the configuration as it is on disk, which a later start would need, and our state, in which is the
 * configuration that runs, and does nothing else. Only if it ends with 0 it is executed here.
 *
 * Signals are blocked before the last round of the loop, in which those that have already been caught
 * are acted upon, and stay so until the new program has its handlers; they are delivered then. What
 * ends meanwhile waits in sockets, pidfds, and as zombies. Descriptors lose close-on-exec at the very
 * end, and get it back if the exec fails. A worker that is being made is left out: its lifeline ends
 * with the exec, so that it leaves, and its slot gets another.
 */
#define PROOF_TIMEOUT 10.
#define PROOF_VERB    "prove"
#define PROOF_STATE   3

static void block_signals(bool on)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL);
}

/* The state */

static char *dump(const struct conf *conf)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	conf_dump(conf, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static int collect(const struct manager *m, struct state *state)
{
	int result;

	*state = (struct state){
		.version = STATE_VERSION,
		.abi = ABI_VERSION,
		.berth = strdup(BERTH_VERSION),
		.program = strdup(m->upgrade.program),
		.conf = dump(generation_conf(m->current)),
		.nofile_soft =
			m->nofile.rlim_cur == RLIM_INFINITY ? -1 : (int64_t)m->nofile.rlim_cur,
		.nofile_hard =
			m->nofile.rlim_max == RLIM_INFINITY ? -1 : (int64_t)m->nofile.rlim_max,
		.niceness = m->priority + 20,
		.log = -1,
		.pid_file = pid_file_fd(m->pid_file),
		.reload = m->reload_again,
	};
	if (!state->berth || !state->program || !state->conf)
		return -ENOMEM;
	result = generation_export(m->current, &state->pools, &state->pool_count);
	if (result == 0)
		result = output_export_released(&state->outputs, &state->output_count);
	if (result == 0)
		result = log_export(&state->log, &state->log_pending);
	if (result < 0 || !m->control)
		return result;
	state->control = calloc(1, sizeof(*state->control));
	return state->control ? control_export(m->control, state->control) : -ENOMEM;
}

/* Return: descriptor of the state that is written, or negative errno; @state is to be released */
static int write_state(const struct manager *m, struct state *state)
{
	int fd = -1;
	int result = collect(m, state);

	if (result == 0)
		result = state_write(state, &fd);
	return result < 0 ? result : fd;
}

/* The end of an upgrade that was none */

static void end(struct manager *m)
{
	struct manager_upgrade *u = &m->upgrade;

	u->active = false;
	ev_timer_stop(m->loop, &u->deadline);
	ev_timer_stop(m->loop, &u->last_round);
	process_forget(&u->proof);
	output_release(u->output);
	u->output = NULL;
}

__attribute__((format(printf, 2, 3))) static void failed(struct manager *m, const char *format, ...)
{
	char why[1024], text[1088];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	end(m);
	log_error("upgrade: nothing was changed: %s", why);
	(void)snprintf(text, sizeof(text), "nothing was changed: %s\n", why);
	manager_answer(&m->upgrade.waiters, false, text);
}

void manager_upgrade_cancel(struct manager *m)
{
	m->upgrade.asked = false;
	if (m->upgrade.active) {
		(void)process_signal(&m->upgrade.proof, SIGKILL);
		block_signals(false);
		failed(m, "it is stopping");
	}
	manager_answer(&m->upgrade.waiters, false, "it is stopping\n");
}

/* The exec */

static void execute(struct manager *m)
{
	struct state state = {0};
	char number[16];
	int fd = write_state(m, &state);
	int result = fd < 0 ? fd : state_give_descriptors(&state, 1);

	if (result == 0) {
		(void)snprintf(number, sizeof(number), "%d", fd);
		(void)fcntl(fd, F_SETFD, 0);
		result = -ENOMEM;
		if (setenv(STATE_ENV, number, 1) == 0) {
			(void)execv(m->upgrade.program, m->argv);
			result = -errno;
		}
		(void)unsetenv(STATE_ENV);
	}
	if (fd >= 0) {
		(void)state_give_descriptors(&state, 0);
		(void)close(fd);
	}
	state_release(&state);
	failed(m, "%s: %s", m->upgrade.program, strerror(-result));
}

static void last_round_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct manager *m = w->data;

	(void)loop, (void)revents;
	execute(m);
	block_signals(false);
	manager_next_task(m);
}

/* The proof */

static void proof_ended_cb(struct process *process, const struct process_end *how)
{
	struct manager *m = process->data;
	struct manager_upgrade *u = &m->upgrade;
	const char *last;
	char text[80];

	ev_timer_stop(m->loop, &u->deadline);
	output_drain(u->output);
	if (how->known && how->status == 0) {
		output_release(u->output);
		u->output = NULL;
		block_signals(true);
		ev_timer_init(&u->last_round, last_round_cb, 0., 0.);
		u->last_round.data = m;
		ev_set_priority(&u->last_round, EV_MINPRI);
		ev_timer_start(m->loop, &u->last_round);
		return;
	}
	last = output_last(u->output);
	failed(m, "%s did not prove itself, %s%s%s", u->program,
	       process_end_describe(how, text, sizeof(text)), last[0] ? ": " : "", last);
	manager_next_task(m);
}

static void deadline_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct manager *m = w->data;

	(void)loop, (void)revents;
	log_error("upgrade: %s did not prove itself within %.0f s, killed", m->upgrade.program,
		  PROOF_TIMEOUT);
	(void)process_signal(&m->upgrade.proof, SIGKILL);
}

/* Return: NULL if memory is short */
static char **proof_arguments(char *const argv[])
{
	static char verb[] = PROOF_VERB;
	size_t count = 0;
	char **copy;

	while (argv[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (copy)
		memcpy(copy, argv, count * sizeof(*copy));
	if (copy && count > 1)
		copy[1] = verb;
	return copy;
}

static int spawn_proof(struct manager *m, int state, int output)
{
	static const struct identity same = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	struct spawn_request request = {.path = m->upgrade.program,
					.argv = proof_arguments(m->argv),
					.identity = &same,
					.fds = {state, output, output, state},
					.fd_count = PROOF_STATE + 1};
	int pidfd, result = -ENOMEM;
	char number[16];
	pid_t pid;

	(void)snprintf(number, sizeof(number), "%d", PROOF_STATE);
	if (request.argv && getrlimit(RLIMIT_NOFILE, &request.nofile) == 0 &&
	    setenv(STATE_ENV, number, 1) == 0) {
		request.envp = environ;
		result = spawn_program(&request, &pid, &pidfd);
	}
	(void)unsetenv(STATE_ENV);
	free((void *)(uintptr_t)request.argv);
	if (result < 0)
		return result;
	output_label(m->upgrade.output, "upgrade: pid %d", pid);
	m->upgrade.proof.data = m;
	process_watch(&m->upgrade.proof, m->loop, pid, pidfd, proof_ended_cb);
	return 0;
}

void manager_upgrade_begin(struct manager *m)
{
	struct manager_upgrade *u = &m->upgrade;
	struct state state = {0};
	int output = -1;
	int fd = write_state(m, &state);
	int result = fd < 0 ? fd : 0;

	state_release(&state);
	u->asked = false;
	u->active = true;
	log_notice("upgrade: begins, to %s", u->program);
	ev_timer_init(&u->deadline, deadline_cb, PROOF_TIMEOUT, 0.);
	u->deadline.data = m;
	ev_timer_start(m->loop, &u->deadline);
	if (result == 0) {
		u->output = output_new(m->loop, (uid_t)-1, (gid_t)-1, &output);
		result = u->output ? spawn_proof(m, fd, output) : -errno;
		(void)close(fd);
	}
	if (output != -1)
		(void)close(output);
	if (result < 0)
		failed(m, "%s", strerror(-result));
}

void manager_ask_for_upgrade(struct manager *m)
{
	if (m->state == MANAGER_STOPPING || m->state == MANAGER_SWEEPING) {
		log_notice("upgrade: not while it is stopping");
	} else if (m->upgrade.active) {
		log_notice("upgrade: goes on already");
	} else {
		m->upgrade.asked = true;
		if (m->state != MANAGER_RUNNING || m->next || m->old)
			log_notice("upgrade: will follow");
		manager_next_task(m);
	}
}

/* The other side */

static rlim_t limit_of(int64_t number)
{
	return number == -1 ? RLIM_INFINITY : (rlim_t)number;
}

static int adopt_outputs(struct manager *m, const struct state *state)
{
	for (size_t i = 0; i < state->output_count; i++) {
		struct output *output = output_adopt(m->loop, &state->outputs[i]);

		if (!output)
			return -ENOMEM;
		output_release(output);
	}
	return 0;
}

bool manager_adopt(struct manager *m, struct conf *conf, struct state *state)
{
	char error[2048] = "out of memory";
	bool usable = state->abi == ABI_VERSION;

	m->nofile = (struct rlimit){limit_of(state->nofile_soft), limit_of(state->nofile_hard)};
	m->priority = (int)state->niceness - 20;
	if (state_take_descriptors(state, error, sizeof(error)) < 0 ||
	    library_open(&m->library, error, sizeof(error)) < 0 || adopt_outputs(m, state) < 0) {
		log_error("upgrade: can't go on: %s", error);
		conf_free(conf);
		return false;
	}
	log_adopt(state->log, conf->log_level, state->log_pending);
	if (conf->daemonize)
		daemonize_adopt();
	if (conf->pid && state->pid_file != -1)
		m->pid_file = pid_file_adopt(conf->pid, state->pid_file);
	m->current = generation_adopt(m->loop, conf, m->library, &m->nofile, state->pools, usable,
				      &manager_generation_events, m, error, sizeof(error));
	if (!m->current) {
		log_error("upgrade: can't go on: %s", error);
		return false;
	}
	m->state = MANAGER_RUNNING;
	m->reload_again = state->reload != 0 || !usable;
	if (!usable)
		log_notice("upgrade: the workers speak another version (%lld, not %u), so a "
			   "reload follows",
			   (long long)state->abi, ABI_VERSION);
	return true;
}

void manager_resume(struct manager *m, const struct state *state)
{
	generation_resume(m->current);
	/* Those that have ended since the last one looked sent their signal to nobody. */
	ev_feed_signal_event(m->loop, SIGCHLD);
	log_notice("upgrade: done, from berth %s to %s, pid %d", state->berth, BERTH_VERSION,
		   getpid());
	if (state->control) {
		m->upgrade.done = true;
		m->control = manager_control_adopt(m, state->control);
		m->upgrade.done = false;
	}
	block_signals(false);
	manager_next_task(m);
}
