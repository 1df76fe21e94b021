/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's side of the template protocol: one template process, from start to end. */

#include "fpm/pool/template.h"

#include "fpm/conf/identity.h"
#include "fpm/process/jail.h"
#include "fpm/log.h"
#include "fpm/process/output.h"
#include "fpm/process/process.h"
#include "fpm/process/program.h"
#include "fpm/process/spawn.h"
#include "fpm/manager/state.h"
#include "fpm/timer.h"
#include "fpm/manager/store.h"
#include "fpm/worker/message.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 *	STARTING --READY (and its root folder is changed)--> READY --shutdown--> LEAVING --end--> (gone)
 *	    \------------------\-----------------------end------/
 *
 * Tickets wait in a queue; at most OUTSTANDING_MAX of them are with the template at a time, so
 * that neither its socket nor the limit of descriptors in flight fills up. Answers come in the
 * order of the requests.
 *
 * The socket is shared by no worker, but its other end lives in a process that runs the pool's
 * code: the kernel names the sender of each message (SO_PASSCRED), and what does not come from
 * the template itself is dropped.
 */
#define OUTSTANDING_MAX 16

/* An end of the socket that is not followed by the end of the process within this is a fault. */
#define LEAVE_TIMEOUT 5.0

enum template_state {
	TEMPLATE_STARTING = 0,
	TEMPLATE_READY,
	TEMPLATE_LEAVING,
	TEMPLATE_FOREIGN, /* it was left to us, and we do not speak its language */
};

struct template
{
	struct ev_loop *loop;
	const struct template_events *events;
	void *data;
	enum template_state state;
	char name[80];
	char *path;
	struct process process;
	struct output *output;
	ev_io control;
	ev_timer deadline;
	uint32_t timeout_ms;
	uint64_t epoch;
	uint64_t sequence;
	struct template_ticket *queue; /* not sent yet */
	struct template_ticket *sent;  /* sent, not answered */
	unsigned int outstanding;
	const struct jail *jail; /* NULL if its root folder stays */
	ev_io jail_channel;	 /* to the helper that changes it */
	char why[256];
};

static void append(struct template_ticket **list, struct template_ticket *ticket)
{
	ticket->next = NULL;
	while (*list)
		list = &(*list)->next;
	*list = ticket;
}

static bool unlink_ticket(struct template_ticket **list, const struct template_ticket *ticket)
{
	while (*list && *list != ticket)
		list = &(*list)->next;
	if (!*list)
		return false;
	*list = ticket->next;
	return true;
}

/* Sends what the template may have; returns when it has enough or the socket is full. */
static void send_tickets(struct template *t)
{
	while (t->queue && t->state == TEMPLATE_READY && t->outstanding < OUTSTANDING_MAX) {
		struct template_ticket *ticket = t->queue;
		struct abi_message spawn = {
			.abi = ABI_VERSION,
			.type = ABI_SPAWN,
			.epoch = t->epoch,
			.sequence = ++t->sequence,
			.slot = ticket->slot,
			.score = ticket->score,
			.scores = ticket->scores,
			.max_requests = ticket->max_requests,
			.header_timeout_ms = ticket->header_timeout_ms,
			.keepalive_timeout_ms = ticket->keepalive_timeout_ms,
			.rescue = ticket->rescue,
			.pipes = ticket->pipes,
			.listeners = (uint32_t)(ticket->fd_count - ABI_SPAWN_FD_LISTENER),
		};

		/* On an error the template is gone, which its end tells. */
		if (message_send(t->control.fd, &spawn, ticket->fds, ticket->fd_count) == -1)
			return;
		ticket->sequence = spawn.sequence;
		t->queue = ticket->next;
		append(&t->sent, ticket);
		t->outstanding++;
	}
}

static void fail_tickets(struct template *t)
{
	while (t->sent || t->queue) {
		struct template_ticket **list = t->sent ? &t->sent : &t->queue;
		struct template_ticket *ticket = *list;

		*list = ticket->next;
		ticket->spawned(ticket, 0, -1, -EPIPE);
	}
	t->outstanding = 0;
}

static void become_ready(struct template *t)
{
	ev_timer_stop(t->loop, &t->deadline);
	t->state = TEMPLATE_READY;
	store_touch();
	t->events->ready(t->data);
	send_tickets(t);
}

static void fail_jail(struct template *t, int error)
{
	(void)snprintf(t->why, sizeof(t->why), "chroot to %.100s%s%.100s: %s", t->jail->root,
		       t->jail->chdir ? " and chdir to " : "", t->jail->chdir ? t->jail->chdir : "",
		       strerror(-error));
	template_kill(t);
}

static void jail_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct template *t = w->data;
	int result = jail_answer(w->fd);

	(void)revents;
	ev_io_stop(loop, w);
	if (result < 0)
		fail_jail(t, result);
	else if (t->state == TEMPLATE_STARTING)
		become_ready(t);
}

/* It has started, so everything that it needed from outside is in its memory. */
static void enter_jail(struct template *t)
{
	int result = jail_close(t->jail_channel.fd);

	if (result < 0)
		fail_jail(t, result);
	else
		ev_io_start(t->loop, &t->jail_channel);
}

static void take_ready(struct template *t, const struct abi_message *m)
{
	if (t->state != TEMPLATE_STARTING || ev_is_active(&t->jail_channel)) {
		log_warning("%s template pid %d: READY again, dropped", t->name, t->process.pid);
		return;
	}
	if (m->threads > 1) {
		(void)snprintf(t->why, sizeof(t->why),
			       "it has %u threads, which a fork would lose; spawn = exec starts "
			       "each worker by itself",
			       m->threads);
		template_kill(t);
		return;
	}
	log_debug("%s template pid %d: ready, %u descriptors", t->name, t->process.pid,
		  m->descriptors);
	if (t->jail)
		enter_jail(t);
	else
		become_ready(t);
}

static void take_spawned(struct template *t, const struct abi_message *m, int pidfd)
{
	struct template_ticket *ticket = t->sent;

	if (t->outstanding > 0)
		t->outstanding--;
	while (ticket && ticket->sequence != m->sequence)
		ticket = ticket->next;
	if (!ticket) {
		/* Cancelled meanwhile: its lifeline has ended, so it is on its way out. */
		if (pidfd != -1)
			(void)close(pidfd);
	} else {
		(void)unlink_ticket(&t->sent, ticket);
		if (pidfd == -1)
			ticket->spawned(ticket, 0, -1, m->error ? -m->error : -EPROTO);
		else
			ticket->spawned(ticket, m->pid, pidfd, 0);
	}
	send_tickets(t);
}

static void take_message(struct template *t, const struct abi_message *m, pid_t sender, int fd)
{
	if (sender != t->process.pid) {
		/* Its own READY can't come any more, so there is nothing to wait for. */
		if (m->type == ABI_READY && t->state == TEMPLATE_STARTING) {
			(void)snprintf(
				t->why, sizeof(t->why),
				"READY came from pid %d, a child of it: a wrapper script must "
				"start the program with exec",
				sender);
			template_kill(t);
		}
		log_warning("%s template: message from pid %d, dropped", t->name, sender);
	} else if (m->type == ABI_READY) {
		take_ready(t, m);
	} else if (m->type == ABI_SPAWNED) {
		take_spawned(t, m, fd);
		return;
	} else if (m->type == ABI_EXITED) {
		(void)process_reaped(m->pid, m->status);
	}
	if (fd != -1)
		(void)close(fd);
}

static void control_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct template *t = w->data;

	(void)revents;
	/* Bounded, so that a template that talks without end does not stop the loop. */
	for (int i = 0; i < 64 && t->process.pid != 0; i++) {
		struct abi_message m;
		pid_t sender;
		size_t count;
		int fd = -1;
		int n = message_receive(w->fd, &m, &fd, 1, &count, &sender);

		if (n == 1) {
			take_message(t, &m, sender, count ? fd : -1);
			continue;
		}
		if (n == -1 && errno == EPROTO) {
			log_warning("%s template: message of another version, dropped", t->name);
			continue;
		}
		if (n == -1 && errno == EAGAIN)
			return;
		/* Its process should end now. If it closed the socket and stays, it is no use. */
		ev_io_stop(loop, w);
		ev_timer_stop(loop, &t->deadline);
		ev_timer_set(&t->deadline, LEAVE_TIMEOUT, 0.);
		ev_timer_start(loop, &t->deadline);
		return;
	}
}

static void deadline_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct template *t = w->data;

	(void)loop, (void)revents;
	if (t->state == TEMPLATE_STARTING && !t->why[0])
		(void)snprintf(t->why, sizeof(t->why),
			       "it did not accept on descriptor 0 within %.0f s; is it a FastCGI "
			       "program? (process_start_timeout, spawn = exec)",
			       (double)t->timeout_ms / 1000);
	template_kill(t);
}

static void ended_cb(struct process *process, const struct process_end *end)
{
	struct template *t = process->data;
	const struct template_events *events = t->events;
	const char *problem =
		t->state == TEMPLATE_STARTING ? program_template_problem(t->path) : NULL;
	const char *last;
	char how[80], why[1024];

	output_drain(t->output);
	last = output_last(t->output);
	(void)process_end_describe(end, how, sizeof(how));
	if (t->state == TEMPLATE_STARTING && !t->why[0])
		(void)snprintf(t->why, sizeof(t->why), "it ended before it was ready, %s", how);
	(void)snprintf(why, sizeof(why), "%s%s%s%s%s", t->why[0] ? t->why : how,
		       problem ? "; spawn = exec would do, for " : "", problem ? problem : "",
		       last[0] ? "; its last words: " : "", last);
	t->state = TEMPLATE_LEAVING;
	ev_io_stop(t->loop, &t->control);
	ev_io_stop(t->loop, &t->jail_channel);
	ev_timer_stop(t->loop, &t->deadline);
	fail_tickets(t);
	events->ended(t->data, why);
}

/* Opens the channel to the helper that changes the root folder. */
static int open_jail(struct template *t, int *ret_channel)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return -errno;
	ev_io_set(&t->jail_channel, pair[0], EV_READ);
	*ret_channel = pair[1];
	return 0;
}

static int start(struct template *t, const struct spawn_request *request, int control, int library)
{
	struct spawn_request r = *request;
	int listener, output = -1, pidfd, result;
	pid_t pid;

	r.jail_channel = -1;
	/* Never bound, it looks like a listener all the same, which makes php-cgi choose FastCGI. */
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	t->output = output_new(t->loop, r.identity->uid, r.identity->gid, &output);
	if (listener == -1 || !t->output) {
		result = -errno;
		goto out;
	}
	r.fds[0] = listener;
	r.fds[1] = r.fds[2] = output;
	r.fds[ABI_FD_CONTROL] = control;
	r.fds[ABI_FD_LIBRARY] = library;
	r.fd_count = ABI_FD_LIBRARY + 1;
	if (r.jail) {
		result = open_jail(t, &r.jail_channel);
		if (result < 0)
			goto out;
	}
	result = spawn_program(&r, &pid, &pidfd);
	if (result < 0)
		goto out;
	output_label(t->output, "%s template pid %d", t->name, pid);
	t->process.data = t;
	process_watch(&t->process, t->loop, pid, pidfd, ended_cb);
out:
	if (listener != -1)
		(void)close(listener);
	if (output != -1)
		(void)close(output);
	if (r.jail_channel != -1)
		(void)close(r.jail_channel);
	return result;
}

static void start_watching(struct template *t, int control, double timeout)
{
	ev_io_init(&t->control, control_cb, control, EV_READ);
	/* Its word about a worker's end comes before the worker's pidfd is looked at. */
	ev_set_priority(&t->control, EV_MAXPRI);
	ev_timer_init(&t->deadline, deadline_cb, timeout, 0.);
	t->control.data = t->deadline.data = t;
	ev_io_start(t->loop, &t->control);
	ev_timer_start(t->loop, &t->deadline);
}

static uint64_t make_epoch(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

struct template *template_new(struct ev_loop *loop, const char *name,
			      const struct spawn_request *request, int library, uint32_t timeout_ms,
			      const struct template_events *events, void *data, char *error,
			      size_t size)
{
	struct template *t = calloc(1, sizeof(*t));
	int pair[2] = {-1, -1};
	int on = 1;
	int result = -ENOMEM;

	if (!t)
		goto fail;
	t->loop = loop;
	t->events = events;
	t->data = data;
	t->timeout_ms = timeout_ms;
	t->epoch = make_epoch();
	t->jail = request->jail;
	ev_io_init(&t->jail_channel, jail_cb, -1, EV_READ);
	t->jail_channel.data = t;
	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	t->path = strdup(request->path);
	if (!t->path)
		goto fail;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1 ||
	    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == -1 ||
	    fcntl(pair[0], F_SETFL, O_NONBLOCK) == -1) {
		result = -errno;
		goto fail;
	}
	result = start(t, request, pair[1], library);
	if (result < 0)
		goto fail;
	(void)close(pair[1]);
	start_watching(t, pair[0], timeout_ms / 1000.);
	return t;
fail:
	(void)snprintf(error, size, "can't start the template: %s", strerror(-result));
	for (int i = 0; i < 2; i++)
		if (pair[i] != -1)
			(void)close(pair[i]);
	if (t) {
		if (t->jail_channel.fd != -1)
			(void)close(t->jail_channel.fd);
		output_release(t->output);
		free(t->path);
		free(t);
	}
	return NULL;
}

void template_free(struct template *template)
{
	if (!template)
		return;
	(void)process_signal(&template->process, SIGKILL);
	process_forget(&template->process);
	ev_io_stop(template->loop, &template->control);
	ev_timer_stop(template->loop, &template->deadline);
	ev_io_stop(template->loop, &template->jail_channel);
	if (template->jail_channel.fd != -1)
		(void)close(template->jail_channel.fd);
	(void)close(template->control.fd);
	output_release(template->output);
	free(template->path);
	free(template);
}

bool template_is_ready(const struct template *template)
{
	return template && template->state == TEMPLATE_READY;
}

pid_t template_pid(const struct template *template)
{
	return template->process.pid;
}

void template_request(struct template *template, struct template_ticket *ticket)
{
	append(&template->queue, ticket);
	send_tickets(template);
}

void template_cancel(struct template *template, struct template_ticket *ticket)
{
	if (!unlink_ticket(&template->queue, ticket))
		(void)unlink_ticket(&template->sent, ticket);
}

void template_shutdown(struct template *template)
{
	const struct abi_message shutdown = {.abi = ABI_VERSION, .type = ABI_SHUTDOWN};

	template->state = TEMPLATE_LEAVING;
	(void)message_send(template->control.fd, &shutdown, NULL, 0);
	ev_timer_stop(template->loop, &template->deadline);
	ev_timer_set(&template->deadline, LEAVE_TIMEOUT, 0.);
	ev_timer_start(template->loop, &template->deadline);
}

void template_kill(struct template *template)
{
	(void)process_signal(&template->process, SIGKILL);
}

int template_export(const struct template *template, struct state_template *ret_state)
{
	const struct template *t = template;

	*ret_state = (struct state_template){
		.state = t->state == TEMPLATE_FOREIGN ? TEMPLATE_READY : t->state,
		.pid = t->process.pid,
		.pidfd = t->process.pidfd,
		.control = t->control.fd,
		.epoch = (int64_t)t->epoch,
		.sequence = (int64_t)t->sequence,
		.deadline_ms = timer_left_ms(t->loop, &t->deadline),
		.output = calloc(1, sizeof(*ret_state->output)),
	};
	return ret_state->output ? output_export(t->output, ret_state->output) : -ENOMEM;
}

struct template *template_adopt(struct ev_loop *loop, const char *name, const char *path,
				uint32_t timeout_ms, const struct state_template *state,
				bool usable, const struct template_events *events, void *data)
{
	struct template *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct template){.loop = loop,
			       .events = events,
			       .data = data,
			       .state = usable ? (enum template_state)state->state
					       : TEMPLATE_FOREIGN,
			       .path = strdup(path),
			       .output = output_adopt(loop, state->output),
			       .timeout_ms = timeout_ms,
			       .epoch = (uint64_t)state->epoch,
			       .sequence = (uint64_t)state->sequence};
	if (!t->path || !t->output) {
		output_release(t->output);
		free(t->path);
		free(t);
		return NULL;
	}
	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	t->process.data = t;
	process_watch(&t->process, loop, (pid_t)state->pid, state->pidfd, ended_cb);
	ev_io_init(&t->jail_channel, jail_cb, -1, EV_READ);
	t->jail_channel.data = t;
	start_watching(t, state->control, (double)state->deadline_ms / 1000.);
	if (state->deadline_ms < 0)
		ev_timer_stop(loop, &t->deadline);
	return t;
}
