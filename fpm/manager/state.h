/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's state as one manager leaves it to the next: what it is made of, written and read. */
#ifndef FPM_STATE_H
#define FPM_STATE_H

#include "fpm/manager/record.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Rises whenever a manager that knows only the number before could not go on with what is written.
 * A new member that an old one may pass over does not need it, if its absence is allowed for.
 */
#define STATE_VERSION 3

/* In the environment of the next manager: the descriptor of the state. */
#define STATE_ENV "BERTH_STATE"

/* Descriptors are -1, and times in milliseconds -1, where there is none. */

/**
 * struct state_output - a pipe that a process prints into
 * @fd:		Our end
 * @label:	Whose it is
 * @last:	The last line
 * @line:	Start of a line whose end has not come yet
 */
struct state_output {
	int fd;
	char *label;
	char *last;
	char *line;
};

/**
 * struct state_listener - struct listener
 * @fd:		Socket or pipe
 * @address:	Its address: the bytes in hexadecimal
 * @pipe:	It is a named pipe
 * @dev:	Of its file
 * @ino:	Of its file, 0 if there is none to remove
 * @made_parent: Its folder was made for it
 * @passed:	Somebody else has opened it
 */
struct state_listener {
	int fd;
	char *address;
	int64_t pipe;
	int64_t dev;
	int64_t ino;
	int64_t made_parent;
	int64_t passed;
};

/**
 * struct state_worker - struct slot_worker; one that is still being made is left out
 * @pid:	Process
 * @pidfd:	Its pidfd
 * @output:	What it prints
 * @lifeline:	Our end; -1 if it was asked to leave, or has none
 * @score:	Entry of the scoreboard, -1 if it has none
 * @started_ms:	When it was started, by the monotonic clock
 * @template_serial: Which template it came from
 * @asked:	It was asked to leave
 * @leaving:	How urgently, by enum leaving of slot_worker.c
 * @overtime_since: Since when it was busy with the request that it is ended in, 0 = none
 * @deadline_ms: When it is killed, from now on
 */
struct state_worker {
	int64_t pid;
	int pidfd;
	struct state_output *output;
	int lifeline;
	int64_t score;
	int64_t started_ms;
	int64_t template_serial;
	int64_t asked;
	int64_t leaving;
	int64_t overtime_since;
	int64_t deadline_ms;
};

/**
 * struct state_slot - struct slot
 * @listeners:	Its own listeners
 * @handoff_in:	Where connections arrive, -1 in exec mode
 * @handoff_out: Where they go
 * @current:	Worker that serves
 * @retiring:	Workers that were asked to leave
 * @failures:	Memory of its back-off
 * @started_ms:	Likewise
 * @delay_ms:	Wait before the next start
 * @wait_ms:	What is left of it, -1 if it does not wait
 * @has_been_up: It had a worker at least once
 */
struct state_slot {
	struct state_listener *listeners;
	size_t listener_count;
	int handoff_in;
	int handoff_out;
	struct state_worker *current;
	struct state_worker *retiring;
	size_t retiring_count;
	int64_t failures;
	int64_t started_ms;
	int64_t delay_ms;
	int64_t wait_ms;
	int64_t has_been_up;
};

/**
 * struct state_template - struct template
 * @state:	0 = starting, 1 = ready, 2 = leaving
 * @pid:	Process
 * @pidfd:	Its pidfd
 * @control:	Our end of the socket
 * @output:	What it prints
 * @epoch:	Of its messages
 * @sequence:	Of the last one
 * @deadline_ms: When it is killed, from now on
 */
struct state_template {
	int64_t state;
	int64_t pid;
	int pidfd;
	int control;
	struct state_output *output;
	int64_t epoch;
	int64_t sequence;
	int64_t deadline_ms;
};

/**
 * struct state_pool - struct pool
 * @name:	Its name
 * @path:	Its program
 * @ini_dir:	Folder with its PHP settings, NULL if there is none
 * @shared:	Listeners of all slots
 * @slots:	Slots
 * @board:	Memory of the scoreboard
 * @board_count: Its entries
 * @attention:	Eventfd
 * @fresh_in:	Pair of sockets for connections that change workers
 * @fresh_out:	Its other end
 * @peers:	Who may connect, -1 in exec mode
 * @most:	How many workers it has or may have, 0 = as many as slots
 * @template:	Template
 * @template_serial: Number of templates so far
 * @template_failures: Memory of their back-off
 * @template_started_ms: Likewise
 * @template_wait_ms: What is left of it
 */
struct state_pool {
	char *name;
	char *path;
	char *ini_dir;
	struct state_listener *shared;
	size_t shared_count;
	struct state_slot *slots;
	size_t slot_count;
	int board;
	int64_t board_count;
	int attention;
	int fresh_in;
	int fresh_out;
	int peers;
	int64_t most;
	struct state_template *template;
	int64_t template_serial;
	int64_t template_failures;
	int64_t template_started_ms;
	int64_t template_wait_ms;
};

/**
 * struct state_request - somebody who waits at the control socket
 * @fd:		Connection
 * @verb:	What was asked for, with its argument; "" if that is still to be read
 */
struct state_request {
	int fd;
	char *verb;
};

/**
 * struct state_control - the control socket
 * @listener:	Socket
 * @requests:	Connections
 */
struct state_control {
	struct state_listener *listener;
	struct state_request *requests;
	size_t request_count;
};

/**
 * struct state_stored - a descriptor that systemd keeps a copy of
 * @number:	Descriptor
 * @id:		Number in its name there
 */
struct state_stored {
	int64_t number;
	int64_t id;
};

/**
 * struct state - everything
 * @version:	STATE_VERSION
 * @abi:	ABI_VERSION of its workers
 * @berth:	Version of the manager that has written it
 * @program:	Where the program is
 * @conf:	Configuration, as conf_dump() writes it
 * @nofile_soft: RLIMIT_NOFILE as it was at the start, -1 = no limit
 * @nofile_hard: Likewise
 * @niceness:	20 + nice value that the manager was started with
 * @pools:	Pools in the order of the configuration
 * @outputs:	Pipes whose process has ended, and which somebody else still has
 * @control:	Control socket, NULL if there is none
 * @log:	The log, -1 for standard error
 * @pid_file:	The pid file, locked, -1 if there is none
 * @log_pending: What it has not taken yet
 * @reload:	A reload has been asked for
 * @stored:	Descriptors in systemd's keeping; none in a state that is there itself
 * @stored_serial: Number of the state there
 * @stored_last: The last number that was given to a descriptor there
 */
struct state {
	int64_t version;
	int64_t abi;
	char *berth;
	char *program;
	char *conf;
	int64_t nofile_soft;
	int64_t nofile_hard;
	int64_t niceness;
	struct state_pool *pools;
	size_t pool_count;
	struct state_output *outputs;
	size_t output_count;
	struct state_control *control;
	int log;
	int pid_file;
	char *log_pending;
	int64_t reload;
	struct state_stored *stored;
	size_t stored_count;
	int64_t stored_serial;
	int64_t stored_last;
};

/**
 * state_write() - write it
 * @state:	State
 * @ret_fd:	Memory that holds it, close-on-exec, at its start
 *
 * Return: 0 or negative errno
 */
int state_write(const struct state *state, int *ret_fd);

/**
 * state_read() - read it
 * @fd:		Descriptor that holds it, which stays open
 * @ret_state:	Set on success; to be released by state_release()
 * @error:	On failure: what does not fit, without a newline
 * @size:	Bytes of @error
 *
 * Looks at no descriptor but @fd: it may be read where there is none of the others.
 *
 * Return: 0 or negative errno
 */
int state_read(int fd, struct state *ret_state, char *error, size_t size);

struct conf;

/**
 * state_check() - does it fit its own configuration, and is it sound
 * @state:	From state_read()
 * @conf:	Read from @state->conf
 * @error:	On failure: what does not fit, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or -EPROTO
 */
int state_check(const struct state *state, const struct conf *conf, char *error, size_t size);

/**
 * state_take_descriptors() - see that its descriptors are what they should be, and ours alone
 * @state:	State that was left to us; they are close-on-exec afterwards
 * @error:	On failure: what does not fit, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int state_take_descriptors(struct state *state, char *error, size_t size);

/**
 * state_give_descriptors() - let the next program have them, or not after all
 * @state:	State
 * @give:	False: they are close-on-exec again
 *
 * Return: 0 or negative errno
 */
int state_give_descriptors(struct state *state, int give);

/**
 * state_each_descriptor() - see record_each_fd()
 * @state:	State
 * @each:	Called for each
 * @data:	Passed to @each
 *
 * Return: 0 or negative errno
 */
int state_each_descriptor(struct state *state, record_fd_fn each, void *data);

/**
 * state_drop_retiring() - leave out the workers that were asked to leave
 * @state:	State
 */
void state_drop_retiring(struct state *state);

/**
 * state_release() - release its memory; descriptors stay open
 * @state:	State, may be all zero
 */
void state_release(struct state *state);

#endif
