/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process prints: lines from a pipe into the log. */
#ifndef FPM_OUTPUT_H
#define FPM_OUTPUT_H

#include <ev.h>
#include <sys/types.h>

/* A longer line is logged in pieces. */
#define OUTPUT_LINE_MAX (1U << 20)

struct output;

/**
 * output_new() - make a pipe and log what is written into it
 * @loop:	Event loop
 * @uid:	Owner of the pipe, so that /proc/self/fd/2 can be opened; (uid_t)-1 = our own
 * @gid:	Its group
 * @ret_write:	Write end, close-on-exec, blocking; the caller closes it
 *
 * Return: output, or NULL with errno
 */
struct output *output_new(struct ev_loop *loop, uid_t uid, gid_t gid, int *ret_write);

/**
 * output_label() - say who writes there
 * @output:	Output
 * @format:	printf format of a text such as "pool www slot 3 pid 4711"
 */
void output_label(struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * output_drain() - log what has arrived by now, a last line without newline included
 * @output:	Output
 */
void output_drain(struct output *output);

/**
 * output_last() - the last line that was not empty
 * @output:	Output
 *
 * Return: its start, "" if there was none; valid until more is read
 */
const char *output_last(const struct output *output);

/**
 * output_release() - its process has ended
 * @output:	Output, may be NULL
 *
 * It goes on for as long as somebody else, say a command that a script left in the background,
 * holds the write end. Of such outputs at most OUTPUT_RELEASED_MAX are kept; the oldest is closed
 * for a new one.
 */
void output_release(struct output *output);
#define OUTPUT_RELEASED_MAX 64

/**
 * output_release_all() - close every released output
 */
void output_release_all(void);

struct state_output;

/**
 * output_export() - what the next manager needs to go on with it
 * @output:	Output
 * @ret_state:	All zero, filled in
 *
 * Return: 0 or -ENOMEM
 */
int output_export(const struct output *output, struct state_output *ret_state);

/**
 * output_export_released() - likewise of all released outputs
 * @ret_list:	Set to an allocated list
 * @ret_count:	Its entries
 *
 * Return: 0 or -ENOMEM
 */
int output_export_released(struct state_output **ret_list, size_t *ret_count);

/**
 * output_adopt() - go on with what another manager has left
 * @loop:	Event loop
 * @state:	What it said of it; its descriptor is taken over
 *
 * Return: output, or NULL if memory is short
 */
struct output *output_adopt(struct ev_loop *loop, const struct state_output *state);

#endif
