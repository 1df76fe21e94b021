/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches a process until it ends, whoever its parent is. */
#ifndef FPM_PROCESS_H
#define FPM_PROCESS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process;

/**
 * struct process_end - how a process ended
 * @pid:	Its pid
 * @known:	False if nobody told us its status
 * @status:	As waitpid() gives it
 */
struct process_end {
	pid_t pid;
	bool known;
	int status;
};

/* Called once, when the process has ended; may free or reuse @process. */
typedef void (*process_ended_fn)(struct process *process, const struct process_end *end);

/**
 * struct process - a process that is being watched; all zero = none
 * @pid:	Its pid, 0 = none
 * @pidfd:	Its pidfd, owned
 * @ended:	Callback
 * @data:	For the owner
 */
struct process {
	pid_t pid;
	int pidfd;
	process_ended_fn ended;
	void *data;
	struct ev_loop *loop;
	struct process *next;
	ev_io exit_watcher;
	ev_timer grace;
};

/**
 * process_init() - start the module: reap whatever becomes our child
 * @loop:	The default loop
 *
 * Makes us the subreaper of all our descendants.
 */
void process_init(struct ev_loop *loop);

/**
 * process_watch() - watch a process
 * @process:	Storage, all zero or ended
 * @loop:	Event loop
 * @pid:	Its pid
 * @pidfd:	Its pidfd, taken over
 * @ended:	Callback
 *
 * The process may be our child or our grandchild. Its end is reported when its status is known:
 * from our own reaping, or from its parent by process_reaped(). If neither comes soon after the
 * pidfd says that it ended, it is reported without a status.
 */
void process_watch(struct process *process, struct ev_loop *loop, pid_t pid, int pidfd,
		   process_ended_fn ended);

/**
 * process_reaped() - its parent tells that a process ended
 * @pid:	Pid
 * @status:	As waitpid() gives it
 *
 * Return: true if the process was watched
 */
bool process_reaped(pid_t pid, int status);

/**
 * process_signal() - send a signal, never to a reused pid
 * @process:	Watched process
 * @signal:	Signal
 *
 * Return: 0 or negative errno
 */
int process_signal(const struct process *process, int signal);

/**
 * process_forget() - stop watching, without a callback
 * @process:	Process, may be none
 */
void process_forget(struct process *process);

/**
 * process_end_describe() - how a process ended, in words
 * @end:	End
 * @buffer:	Set to e.g. "exit status 255", "signal 11 (Segmentation fault), core dumped"
 * @size:	Bytes of @buffer
 *
 * Return: @buffer
 */
const char *process_end_describe(const struct process_end *end, char *buffer, size_t size);

#endif
