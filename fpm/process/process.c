/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches a process until it ends, whoever its parent is. */

#include "fpm/process/process.h"

#include "fpm/manager/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a status may be late, in seconds: only a parent that is stopped makes it so. */
#define STATUS_GRACE 0.2

static struct process *watched;
static ev_child reaper;

static void end(struct process *process, const struct process_end *how)
{
	process_ended_fn ended = process->ended;

	process_forget(process);
	ended(process, how);
}

bool process_reaped(pid_t pid, int status)
{
	const struct process_end how = {.pid = pid, .known = true, .status = status};

	for (struct process *p = watched; p; p = p->next) {
		if (p->pid != pid)
			continue;
		end(p, &how);
		return true;
	}
	return false;
}

/* libev reaps every child; strays that scripts left and that became ours end here unnoticed. */
static void reaper_cb(struct ev_loop *loop, ev_child *w, int revents)
{
	(void)loop, (void)revents;
	(void)process_reaped(w->rpid, w->rstatus);
}

void process_init(struct ev_loop *loop)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	ev_child_init(&reaper, reaper_cb, 0, 0);
	ev_child_start(loop, &reaper);
	ev_unref(loop);
}

static void grace_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct process *process = w->data;
	const struct process_end how = {.pid = process->pid, .known = false};

	(void)loop, (void)revents;
	end(process, &how);
}

static void exit_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct process *process = w->data;

	(void)revents;
	ev_io_stop(loop, w);
	ev_timer_start(loop, &process->grace);
}

void process_watch(struct process *process, struct ev_loop *loop, pid_t pid, int pidfd,
		   process_ended_fn ended)
{
	process->pid = pid;
	process->pidfd = pidfd;
	process->ended = ended;
	process->loop = loop;
	process->next = watched;
	watched = process;
	ev_io_init(&process->exit_watcher, exit_cb, pidfd, EV_READ);
	ev_timer_init(&process->grace, grace_cb, STATUS_GRACE, 0.);
	process->exit_watcher.data = process->grace.data = process;
	/* Above the rest: a status that has arrived by then must not look late. */
	ev_set_priority(&process->exit_watcher, EV_MINPRI);
	ev_io_start(loop, &process->exit_watcher);
	store_touch();
}

int process_signal(const struct process *process, int signal)
{
	if (process->pid == 0)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0) == -1 ? -errno : 0;
}

void process_forget(struct process *process)
{
	struct process **link = &watched;

	if (process->pid == 0)
		return;
	while (*link && *link != process)
		link = &(*link)->next;
	if (*link)
		*link = process->next;
	ev_io_stop(process->loop, &process->exit_watcher);
	ev_timer_stop(process->loop, &process->grace);
	store_forget(process->pidfd);
	(void)close(process->pidfd);
	store_touch();
	process->pid = 0;
	process->pidfd = -1;
	process->next = NULL;
}

const char *process_end_describe(const struct process_end *end_, char *buffer, size_t size)
{
	int status = end_->status;

	if (!end_->known) {
		(void)snprintf(buffer, size, "unknown status");
	} else if (WIFSIGNALED(status)) {
		const char *name = sigdescr_np(WTERMSIG(status));

		(void)snprintf(buffer, size, "signal %d (%s)%s", WTERMSIG(status),
			       name ? name : "unknown", WCOREDUMP(status) ? ", core dumped" : "");
	} else {
		(void)snprintf(buffer, size, "exit status %d", WEXITSTATUS(status));
	}
	return buffer;
}
