/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process prints: lines from a pipe into the log. */

#include "fpm/process/output.h"

#include "fpm/log.h"
#include "fpm/manager/state.h"
#include "fpm/manager/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

/* Read at once; also what a line takes before it needs memory of its own. */
#define CHUNK 65536

struct output {
	struct ev_loop *loop;
	ev_io readable;
	char label[128];
	char last[256];
	char *line;
	size_t len;
	size_t size;
	bool released;
	TAILQ_ENTRY(output) link;
};

/* Released outputs, oldest first. */
static TAILQ_HEAD(output_list, output) released = TAILQ_HEAD_INITIALIZER(released);
static unsigned int released_count;

static void output_free(struct output *o)
{
	ev_io_stop(o->loop, &o->readable);
	(void)close(o->readable.fd);
	free(o->line);
	free(o);
}

static void free_released(struct output *o)
{
	TAILQ_REMOVE(&released, o, link);
	released_count--;
	store_touch();
	output_free(o);
}

static void emit(struct output *o, const char *text, size_t len)
{
	if (len > 0 && text[len - 1] == '\r')
		len--;
	if (len > 0)
		(void)snprintf(o->last, sizeof(o->last), "%.*s", (int)len, text);
	log_bytes(LOG_LEVEL_WARNING, o->label, text, len);
}

static void emit_partial(struct output *o)
{
	if (o->len > 0)
		emit(o, o->line, o->len);
	free(o->line);
	o->line = NULL;
	o->len = o->size = 0;
}

static void append(struct output *o, const char *data, size_t len)
{
	if (o->len + len > OUTPUT_LINE_MAX)
		emit_partial(o);
	/* Nothing may be at no address, which memcpy() does not take. */
	if (len == 0)
		return;
	if (o->len + len > o->size) {
		size_t want = o->len + len < 512 ? 512 : (o->len + len) * 2;
		char *grown = realloc(o->line, want);

		if (!grown) {
			emit_partial(o);
			emit(o, data, len);
			return;
		}
		o->line = grown;
		o->size = want;
	}
	memcpy(o->line + o->len, data, len);
	o->len += len;
}

static void take(struct output *o, const char *data, size_t len)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t part = end ? (size_t)(end - data) : len;

		if (end && o->len == 0) {
			emit(o, data, part);
		} else {
			append(o, data, part);
			if (end)
				emit_partial(o);
		}
		part += end ? 1 : 0;
		data += part;
		len -= part;
	}
}

/* Reads once; returns what read() did. */
static ssize_t take_some(struct output *o)
{
	static char chunk[CHUNK];
	ssize_t n;

	do
		n = read(o->readable.fd, chunk, sizeof(chunk));
	while (n == -1 && errno == EINTR);
	if (n > 0)
		take(o, chunk, (size_t)n);
	return n;
}

static void readable_cb(struct ev_loop *loop, ev_io *w, int revents)
{
	struct output *o = w->data;
	ssize_t n = take_some(o);

	(void)revents;
	if (n > 0 || (n == -1 && errno == EAGAIN))
		return;
	emit_partial(o);
	/* The owner still has it; only released ones go by themselves. */
	ev_io_stop(loop, w);
	if (o->released)
		free_released(o);
}

struct output *output_new(struct ev_loop *loop, uid_t uid, gid_t gid, int *ret_write)
{
	struct output *o = calloc(1, sizeof(*o));
	int fds[2] = {-1, -1};

	if (!o)
		return NULL;
	if (pipe2(fds, O_CLOEXEC) == -1)
		goto fail;
	if (uid != (uid_t)-1 && fchown(fds[1], uid, gid) == -1)
		goto fail;
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) == -1)
		goto fail;
	o->loop = loop;
	ev_io_init(&o->readable, readable_cb, fds[0], EV_READ);
	o->readable.data = o;
	ev_io_start(loop, &o->readable);
	*ret_write = fds[1];
	return o;
fail:
	if (fds[0] != -1) {
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
	free(o);
	return NULL;
}

void output_label(struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(output->label, sizeof(output->label), format, args);
	va_end(args);
}

void output_drain(struct output *output)
{
	/* Bounded: a background command may write without end. */
	for (int i = 0; i < 32; i++)
		if (take_some(output) <= 0)
			break;
	emit_partial(output);
}

const char *output_last(const struct output *output)
{
	return output->last;
}

void output_release(struct output *output)
{
	if (!output)
		return;
	output_drain(output);
	if (!ev_is_active(&output->readable)) {
		output_free(output);
		return;
	}
	if (released_count >= OUTPUT_RELEASED_MAX)
		free_released(TAILQ_FIRST(&released));
	TAILQ_INSERT_TAIL(&released, output, link);
	output->released = true;
	store_touch();
	released_count++;
}

void output_release_all(void)
{
	/* The analyzer does not see that TAILQ_REMOVE() changes the list's head. */
	while (!TAILQ_EMPTY(&released))
		free_released(TAILQ_FIRST(&released)); /* NOLINT(clang-analyzer-unix.Malloc) */
}

int output_export(const struct output *output, struct state_output *ret_state)
{
	ret_state->fd = output->readable.fd;
	ret_state->label = strdup(output->label);
	ret_state->last = strdup(output->last);
	ret_state->line = calloc(1, output->len + 1);
	if (!ret_state->label || !ret_state->last || !ret_state->line)
		return -ENOMEM;
	for (size_t i = 0; i < output->len; i++)
		ret_state->line[i] = (char)(output->line[i] ? output->line[i] : '?');
	return 0;
}

int output_export_released(struct state_output **ret_list, size_t *ret_count)
{
	const struct output *o = NULL;
	int result = 0;

	*ret_list = calloc(released_count + 1, sizeof(**ret_list));
	if (!*ret_list)
		return -ENOMEM;
	TAILQ_FOREACH(o, &released, link)
	{
		if (result == 0)
			result = output_export(o, &(*ret_list)[(*ret_count)++]);
	}
	return result;
}

struct output *output_adopt(struct ev_loop *loop, const struct state_output *state)
{
	struct output *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->loop = loop;
	ev_io_init(&o->readable, readable_cb, state->fd, EV_READ);
	o->readable.data = o;
	ev_io_start(loop, &o->readable);
	output_label(o, "%s", state->label);
	(void)snprintf(o->last, sizeof(o->last), "%s", state->last);
	append(o, state->line, strlen(state->line));
	return o;
}
