/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket: takes one request a connection from root or our own user, and answers it. */

#include "fpm/manager/control.h"

#include "fpm/listener/address.h"
#include "fpm/listener/listener.h"
#include "fpm/log.h"
#include "fpm/manager/state.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS_MAX 16
#define BACKLOG	     16

/* One that does not send its line, or does not take its answer, is dropped after this, seconds. */
#define PATIENCE 10.

/**
 * struct control_request - a connection
 * @io:		Reads the line, then writes the answer
 * @patience:	Runs but while the manager works on it
 * @line:	The request so far; once it is whole, its verb
 * @argument:	Then: what stands behind that, in @line
 * @answer:	The answer, NULL before there is one
 */
struct control_request {
	LIST_ENTRY(control_request) link;
	struct control *control;
	ev_io io;
	ev_timer patience;
	char line[CONTROL_LINE_MAX];
	size_t line_length;
	const char *argument;
	char *answer;
	size_t answer_size;
	size_t answer_sent;
};

struct control {
	struct ev_loop *loop;
	const struct control_events *events;
	void *data;
	struct listener listener;
	ev_io accept;
	LIST_HEAD(control_requests, control_request) requests;
	unsigned int count;
};

static void drop(struct control_request *r)
{
	struct control *c = r->control;

	ev_io_stop(c->loop, &r->io);
	ev_timer_stop(c->loop, &r->patience);
	(void)close(r->io.fd);
	LIST_REMOVE(r, link);
	/* There is room for one more now. */
	if (c->count-- == REQUESTS_MAX)
		ev_io_start(c->loop, &c->accept);
	free(r->answer);
	free(r);
}

static void write_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct control_request *r = w->data;
	ssize_t n = send(w->fd, r->answer + r->answer_sent, r->answer_size - r->answer_sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	(void)loop, (void)revents;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		r->answer_sent += (size_t)n;
	if (n <= 0 || r->answer_sent == r->answer_size)
		drop(r);
}

void control_answer(struct control_request *request, bool ok, const char *text)
{
	struct control_request *r = request;
	int length = asprintf(&r->answer, "%s\n%s", ok ? "ok" : "error", text);

	if (length == -1) {
		r->answer = NULL;
		drop(r);
		return;
	}
	r->answer_size = (size_t)length;
	ev_io_stop(r->control->loop, &r->io);
	ev_io_init(&r->io, write_cb, r->io.fd, EV_WRITE);
	ev_io_start(r->control->loop, &r->io);
	ev_timer_again(r->control->loop, &r->patience);
}

static void take_line(struct control_request *r)
{
	char *argument = strchr(r->line, ' ');

	/* What the client sends from now on, its end included, means nothing. */
	ev_io_stop(r->control->loop, &r->io);
	ev_timer_stop(r->control->loop, &r->patience);
	if (argument)
		*argument++ = '\0';
	r->argument = argument ? argument : "";
	r->control->events->request(r->control->data, r, r->line, r->argument);
}

static void read_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct control_request *r = w->data;
	ssize_t n = recv(w->fd, r->line + r->line_length, sizeof(r->line) - r->line_length,
			 MSG_DONTWAIT);
	char *end;

	(void)loop, (void)revents;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(r);
		return;
	}
	r->line_length += (size_t)n;
	end = memchr(r->line, '\n', r->line_length);
	if (end) {
		*end = '\0';
		take_line(r);
	} else if (r->line_length == sizeof(r->line)) {
		control_answer(r, false, "the request is too long\n");
	}
}

static void patience_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop, (void)revents;
	drop(w->data);
}

static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1)
		return false;
	if (peer.uid == 0 || peer.uid == geteuid())
		return true;
	log_warning("control: pid %d of uid %lu may not use it", peer.pid, (unsigned long)peer.uid);
	return false;
}

/* NULL if memory is short; @fd is closed then. */
static struct control_request *add_request(struct control *c, int fd)
{
	struct control_request *r = calloc(1, sizeof(*r));

	if (!r) {
		(void)close(fd);
		return NULL;
	}
	r->control = c;
	ev_io_init(&r->io, read_cb, fd, EV_READ);
	ev_init(&r->patience, patience_cb);
	r->patience.repeat = PATIENCE;
	r->io.data = r->patience.data = r;
	ev_io_start(c->loop, &r->io);
	ev_timer_again(c->loop, &r->patience);
	LIST_INSERT_HEAD(&c->requests, r, link);
	if (++c->count == REQUESTS_MAX)
		ev_io_stop(c->loop, &c->accept);
	return r;
}

static void accept_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)loop, (void)revents;
	if (fd == -1)
		return;
	if (may_ask(fd))
		(void)add_request(w->data, fd);
	else
		(void)close(fd);
}

static int open_listener(struct control *c, const char *path, char *error, size_t size)
{
	const struct listener_options options = {.backlog = BACKLOG,
						 .mode = 0600,
						 .uid = (uid_t)-1,
						 .gid = (gid_t)-1,
						 .nonblocking = true};
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	size_t count;
	int result = address_parse(path, 1, &address, error, size);

	if (result < 0)
		return result;
	result = address_resolve(&address, 1, sockets, &count, error, size);
	if (result == 0)
		result = listener_open(&sockets[0], &options, &c->listener, error, size);
	address_done(&address);
	return result;
}

static void start_accepting(struct control *c)
{
	ev_io_init(&c->accept, accept_cb, c->listener.fd, EV_READ);
	c->accept.data = c;
	ev_io_start(c->loop, &c->accept);
}

struct control *control_new(struct ev_loop *loop, const char *path,
			    const struct control_events *events, void *data, char *error,
			    size_t size)
{
	struct control *c = calloc(1, sizeof(*c));

	if (!c) {
		(void)snprintf(error, size, "%s", strerror(ENOMEM));
		return NULL;
	}
	*c = (struct control){.loop = loop, .events = events, .data = data};
	LIST_INIT(&c->requests);
	if (open_listener(c, path, error, size) < 0) {
		free(c);
		return NULL;
	}
	start_accepting(c);
	return c;
}

void control_free(struct control *control)
{
	struct control *c = control;
	struct control_request *next;

	if (!c)
		return;
	for (struct control_request *r = LIST_FIRST(&c->requests); r; r = next) {
		next = LIST_NEXT(r, link);
		drop(r);
	}
	ev_io_stop(c->loop, &c->accept);
	listener_close(&c->listener);
	free(c);
}

/* Return: the request as it came, "" if that is still to come; to be freed */
static char *whole_line(const struct control_request *r, bool reads)
{
	char *line;

	if (reads)
		return strdup("");
	return asprintf(&line, "%s%s%s", r->line, r->argument[0] ? " " : "", r->argument) == -1
		       ? NULL
		       : line;
}

int control_export(const struct control *control, struct state_control *ret_state)
{
	struct control_request *r = NULL;
	size_t count;
	int result = listener_export(&control->listener, 1, &ret_state->listener, &count);

	ret_state->requests = calloc(control->count + 1, sizeof(*ret_state->requests));
	if (result < 0 || !ret_state->requests)
		return -ENOMEM;
	LIST_FOREACH(r, &control->requests, link)
	{
		struct state_request *state = &ret_state->requests[ret_state->request_count];
		bool reads = ev_is_active(&r->io) && !r->answer;

		/* The start of a line is lost; its client is told by the end of the connection. */
		if (r->answer || (reads && r->line_length > 0))
			continue;
		state->fd = r->io.fd;
		state->verb = whole_line(r, reads);
		if (!state->verb)
			return -ENOMEM;
		ret_state->request_count++;
	}
	return 0;
}

static void resume_request(struct control *c, const struct state_request *state)
{
	struct control_request *r = add_request(c, state->fd);

	if (!r || !state->verb[0])
		return;
	(void)snprintf(r->line, sizeof(r->line), "%s", state->verb);
	take_line(r);
}

struct control *control_adopt(struct ev_loop *loop, const struct state_control *state,
			      const struct control_events *events, void *data)
{
	struct control *c = calloc(1, sizeof(*c));
	struct listener *listener;

	if (!c)
		return NULL;
	if (listener_adopt(state->listener, 1, &listener) < 0) {
		free(c);
		return NULL;
	}
	*c = (struct control){.loop = loop, .events = events, .data = data, .listener = *listener};
	free(listener);
	LIST_INIT(&c->requests);
	start_accepting(c);
	for (size_t i = 0; i < state->request_count; i++)
		resume_request(c, &state->requests[i]);
	return c;
}
