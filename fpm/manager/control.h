/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket: takes one request a connection from root or our own user, and answers it. */
#ifndef FPM_CONTROL_H
#define FPM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

struct control;
struct control_request;
struct ev_loop;

/*
 * A request is a line "VERB [ARGUMENT]\n". The answer is a line "ok\n" or "error\n", then text up to
 * the end of the stream. New verbs and new members of a JSON answer do not disturb old clients.
 */
#define CONTROL_LINE_MAX 512

/* Owner and mode leave it to root and our own user; its peer's uid is looked at as well. */
#define CONTROL_DEFAULT "/run/berth/berth.sock"

/**
 * struct control_events - what the manager is told
 * @request:	Somebody asks; @request is answered by control_answer(), now or later
 */
struct control_events {
	void (*request)(void *data, struct control_request *request, const char *verb,
			const char *argument);
};

/**
 * control_new() - open the socket
 * @loop:	Event loop
 * @path:	Absolute path
 * @events:	Callbacks
 * @data:	Passed to them
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: control, or NULL
 */
struct control *control_new(struct ev_loop *loop, const char *path,
			    const struct control_events *events, void *data, char *error,
			    size_t size);

/**
 * control_free() - close it; requests without an answer see an end
 * @control:	Control, may be NULL
 */
void control_free(struct control *control);

/**
 * control_answer() - answer a request, which is gone then
 * @request:	Request
 * @ok:		It was done
 * @text:	What to say, with newlines; may be long
 */
void control_answer(struct control_request *request, bool ok, const char *text);

struct state_control;

/**
 * control_export() - what the next manager needs to go on with it
 * @control:	Control
 * @ret_state:	All zero, filled in; a connection that is being answered is not in it
 *
 * Return: 0 or -ENOMEM
 */
int control_export(const struct control *control, struct state_control *ret_state);

/**
 * control_adopt() - go on with the socket that another manager has left
 * @loop:	Event loop
 * @state:	What it said of it; its descriptors are taken over
 * @events:	Callbacks; @request is called at once for what was asked for and not answered
 * @data:	Passed to them
 *
 * Return: control, or NULL if memory is short
 */
struct control *control_adopt(struct ev_loop *loop, const struct state_control *state,
			      const struct control_events *events, void *data);

#endif
