/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's side of the template protocol: one template process, from start to end. */
#ifndef FPM_TEMPLATE_H
#define FPM_TEMPLATE_H

#include "fpm/worker/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ev_loop;
struct process_end;
struct spawn_request;
struct template;
struct template_ticket;

/**
 * struct template_ticket - a request for one worker, embedded in what waits for it
 * @slot:	Slot number
 * @score:	Entry of the scoreboard
 * @scores:	Entries that the scoreboard has
 * @max_requests: Requests after which the worker wants a successor, 0 = none
 * @header_timeout_ms: Longest time that a request's head may take, 0 = any
 * @keepalive_timeout_ms: Longest time that an idle connection is kept, 0 = any
 * @rescue:	What it does about its clients while it is busy
 * @pipes:	Its two listeners are pipes, for requests and for answers
 * @fds:	In the order of enum abi_spawn_fd; open until @spawned, then its owner's to close
 * @fd_count:	Entries of @fds
 * @spawned:	Called once: with the worker's pid and pidfd (taken over), or with @error,
 *		a negative errno (-EPIPE: the template has ended)
 */
struct template_ticket {
	uint32_t slot;
	uint32_t score;
	uint32_t scores;
	uint32_t max_requests;
	uint32_t header_timeout_ms;
	uint32_t keepalive_timeout_ms;
	enum abi_rescue rescue;
	bool pipes;
	int fds[ABI_SPAWN_FDS_MAX];
	size_t fd_count;
	void (*spawned)(struct template_ticket *ticket, pid_t pid, int pidfd, int error);
	uint64_t sequence;
	struct template_ticket *next;
};

/**
 * struct template_events - what its owner is told
 * @ready:	It is warm and takes tickets
 * @ended:	It has ended, ready or not; every ticket was answered before. @why says how, with
 *		its last words; the owner calls template_free()
 */
struct template_events {
	void (*ready)(void *data);
	void (*ended)(void *data, const char *why);
};

/**
 * template_new() - start a template
 * @loop:	Event loop
 * @name:	Whose it is, for the log: "pool www"
 * @request:	The program; descriptors 3 and 4 are added
 * @library:	Descriptor of the preloaded library
 * @timeout_ms:	Time that it has to get ready
 * @events:	Callbacks
 * @data:	Passed to them
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: template, or NULL
 */
struct template *template_new(struct ev_loop *loop, const char *name,
			      const struct spawn_request *request, int library, uint32_t timeout_ms,
			      const struct template_events *events, void *data, char *error,
			      size_t size);

/**
 * template_free() - forget it; kills the process if it is still there
 * @template:	Template, may be NULL
 */
void template_free(struct template *template);

/**
 * template_is_ready() - does it take tickets
 * @template:	Template, may be NULL
 *
 * Return: true between READY and its end or shutdown
 */
bool template_is_ready(const struct template *template);

/**
 * template_pid() - its process
 * @template:	Template
 *
 * Return: pid, 0 once it has ended
 */
pid_t template_pid(const struct template *template);

/**
 * template_request() - ask for a worker
 * @template:	A template that is ready
 * @ticket:	Filled in; stays in use until @spawned was called or template_cancel()
 */
void template_request(struct template *template, struct template_ticket *ticket);

/**
 * template_cancel() - drop a ticket without a callback
 * @template:	Template
 * @ticket:	Ticket; if its worker exists already, the end of its lifeline makes it leave
 */
void template_cancel(struct template *template, struct template_ticket *ticket);

/**
 * template_shutdown() - ask it to leave; @ended follows
 * @template:	Template
 */
void template_shutdown(struct template *template);

/**
 * template_kill() - end it at once; @ended follows
 * @template:	Template
 */
void template_kill(struct template *template);

struct state_template;

/**
 * template_export() - what the next manager needs to go on with it
 * @template:	Template
 * @ret_state:	All zero, filled in
 *
 * Return: 0 or -ENOMEM
 */
int template_export(const struct template *template, struct state_template *ret_state);

/**
 * template_adopt() - go on with one that another manager has started
 * @loop:	Event loop
 * @name:	Whose it is, for the log: "pool www"
 * @path:	Its program
 * @timeout_ms:	Time that it had to get ready
 * @state:	What the other manager said of it; its descriptors are taken over
 * @usable:	False: it speaks another version, so nothing is asked of it but to leave
 * @events:	Callbacks
 * @data:	Passed to them
 *
 * Tickets that the other manager has given it are dropped when they are answered.
 *
 * Return: template, or NULL if memory is short
 */
struct template *template_adopt(struct ev_loop *loop, const char *name, const char *path,
				uint32_t timeout_ms, const struct state_template *state,
				bool usable, const struct template_events *events, void *data);

#endif
