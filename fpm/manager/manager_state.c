/* SPDX-License-Identifier: BSD-2-Clause */
/* What one manager leaves to the next: collected, kept in the store, and gone on with. */

#include "fpm/conf/conf.h"
#include "fpm/conf/conf_dump.h"
#include "fpm/manager/control.h"
#include "fpm/manager/daemonize.h"
#include "fpm/pool/generation.h"
#include "fpm/process/library.h"
#include "fpm/process/limits.h"
#include "fpm/log.h"
#include "fpm/manager/manager_internal.h"
#include "fpm/manager/notify.h"
#include "fpm/process/output.h"
#include "fpm/manager/pid_file.h"
#include "fpm/manager/state.h"
#include "fpm/manager/store.h"
#include "fpm/worker/abi.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void manager_block_signals(bool on)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL);
}

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

int manager_write_state(const struct manager *m, struct state *state)
{
	int fd = -1;
	int result = collect(m, state);

	if (result == 0)
		result = store_export(state);
	if (result == 0)
		result = state_write(state, &fd);
	return result < 0 ? result : fd;
}

/* The store */

/* What only the moment of an exec can tell. */
static void leave_out(struct state *state)
{
	free(state->log_pending);
	state->log_pending = NULL;
	/* A copy would keep its lock. */
	state->pid_file = -1;
	/* Nobody waits for an answer from the next one. */
	if (state->control)
		state->control->request_count = 0;
	/* They are on their way out, and do not need anybody for that. */
	state_drop_retiring(state);
	state->reload = 0;
}

void manager_store(struct manager *m)
{
	struct state state = {0};
	int result;

	if (!store_is_due() || m->state != MANAGER_RUNNING)
		return;
	result = collect(m, &state);
	leave_out(&state);
	if (result == 0)
		result = store_update(&state);
	state_release(&state);
	if (result < 0)
		log_error("systemd can't keep descriptors, workers will end if the manager dies: "
			  "%s",
			  strerror(-result));
}

void manager_check_store(const struct conf *conf)
{
	unsigned long need = limits_stored(conf);

	if (!store_available() || need <= store_limit())
		return;
	log_warning("systemd keeps %u descriptors, this configuration needs %lu: workers will end "
		    "if the manager dies (FileDescriptorStoreMax, FDSTORE)",
		    store_limit(), need);
	store_clear();
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

/* The lock of one that died has ended with it, and the pid is another. */
static void adopt_pid_file(struct manager *m, const struct conf *conf, const struct state *state)
{
	char error[512];

	if (conf->pid && state->pid_file != -1)
		m->pid_file = pid_file_adopt(conf->pid, state->pid_file);
	else if (conf->pid && m->revived &&
		 pid_file_new(conf->pid, &m->pid_file, error, sizeof(error)) < 0)
		log_warning("pid: %s", error);
}

bool manager_adopt(struct manager *m, struct conf *conf, struct state *state)
{
	char error[2048] = "out of memory";
	bool usable = state->abi == ABI_VERSION;

	m->nofile = (struct rlimit){limit_of(state->nofile_soft), limit_of(state->nofile_hard)};
	m->priority = (int)state->niceness - 20;
	if (state_take_descriptors(state, error, sizeof(error)) < 0 ||
	    (m->revived ? limits_raise(conf, NULL, &m->nofile, error, sizeof(error))
			: store_adopt(state)) < 0 ||
	    library_open(&m->library, error, sizeof(error)) < 0 || adopt_outputs(m, state) < 0) {
		log_error("can't go on with what was left: %s", error);
		conf_free(conf);
		return false;
	}
	log_adopt(state->log, conf->log_level, state->log_pending);
	if (conf->daemonize)
		daemonize_adopt();
	adopt_pid_file(m, conf, state);
	m->current = generation_adopt(m->loop, conf, m->library, &m->nofile, state->pools, usable,
				      &manager_generation_events, m, error, sizeof(error));
	if (!m->current) {
		log_error("can't go on with what was left: %s", error);
		return false;
	}
	m->state = MANAGER_RUNNING;
	m->reload_again = state->reload != 0 || !usable;
	if (!usable)
		log_notice("the workers speak another version (%lld, not %u), so a "
			   "reload follows",
			   (long long)state->abi, ABI_VERSION);
	return true;
}

void manager_resume(struct manager *m, const struct state *state)
{
	generation_resume(m->current);
	/* Those that have ended since the last one looked sent their signal to nobody. */
	ev_feed_signal_event(m->loop, SIGCHLD);
	if (m->revived)
		log_warning("the manager has died; its workers go on with pid %d", getpid());
	else
		log_notice("upgrade: done, from berth %s to %s, pid %d", state->berth,
			   BERTH_VERSION, getpid());
	store_touch();
	if (state->control) {
		m->upgrade.done = true;
		m->control = manager_control_adopt(m, state->control);
		m->upgrade.done = false;
	}
	notify_ready(generation_conf(m->current), "");
	manager_block_signals(false);
	manager_next_task(m);
}
