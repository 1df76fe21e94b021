/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a program so that nothing of it outlives us, whatever ends us. */
#ifndef BENCH_SERVER_GUARD_H
#define BENCH_SERVER_GUARD_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As much of what the program printed last is kept. */
#define GUARD_TAIL_MAX 2048

/**
 * struct guard - a guarded program; all zero = none
 * @pid:	Pid of the guard
 * @program:	Pid of the program
 * @program_fd:	Pidfd of it
 * @control:	The guard ends all when nobody has this open any more
 * @report:	What the guard says; at its end when the guard has ended
 */
struct guard {
	pid_t pid;
	pid_t program;
	int program_fd;
	int control;
	int report;
};

/**
 * struct guard_options - what to run
 * @argv:	Path of the program and its arguments
 * @envp:	Its environment
 * @cpus:	Where it runs, NULL = anywhere
 * @folder:	Removed with the files in it when all has ended, may be NULL
 */
struct guard_options {
	char *const *argv;
	char *const *envp;
	const cpu_set_t *cpus;
	const char *folder;
};

/**
 * guard_start() - run a program
 * @options:	What
 * @ret_guard:	Set on success, to be released by guard_stop()
 *
 * Return: 0 once the program is executed, or negative errno, that of execve() included
 */
int guard_start(const struct guard_options *options, struct guard *ret_guard);

/**
 * guard_alive() - does the program still run
 * @guard:	Guard
 *
 * Return: false soon after it has ended
 */
bool guard_alive(const struct guard *guard);

/**
 * guard_wait() - wait for the end of the program
 * @guard:	Guard
 * @timeout_ms:	How long
 *
 * Return: true if it has ended
 */
bool guard_wait(const struct guard *guard, int timeout_ms);

/**
 * guard_stop() - end the program and all that descend from it
 * @guard:	Guard, may be all zero; so it is afterwards
 * @ret_tail:	Set to what the program printed last, may be NULL
 * @size:	Bytes of @ret_tail
 */
void guard_stop(struct guard *guard, char *ret_tail, size_t size);

#endif
