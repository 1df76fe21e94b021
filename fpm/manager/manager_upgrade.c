/* SPDX-License-Identifier: BSD-2-Clause */
/* Upgrade: the program that is installed now goes on in our place, with our pid and workers. */

#include "fpm/conf/identity.h"
#include "fpm/log.h"
#include "fpm/manager/manager_internal.h"
#include "fpm/process/output.h"
#include "fpm/process/spawn.h"
#include "fpm/manager/state.h"

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
 * configuration that runs, looks for its library, and does nothing else. Only if it ends with 0 it is
 * executed here.
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
		manager_block_signals(false);
		failed(m, "it is stopping");
	}
	manager_answer(&m->upgrade.waiters, false, "it is stopping\n");
}

/* The exec */

static void execute(struct manager *m)
{
	struct state state = {0};
	char number[16];
	int fd = manager_write_state(m, &state);
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
	manager_block_signals(false);
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
		manager_block_signals(true);
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
	int fd = manager_write_state(m, &state);
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
