/* SPDX-License-Identifier: BSD-2-Clause */
/* Forks and executes a program. */
#ifndef FPM_SPAWN_H
#define FPM_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct attributes;
struct identity;
struct jail;

/* A program gets descriptors 0 to SPAWN_FDS_MAX - 1 at the most. */
#define SPAWN_FDS_MAX 5

/**
 * struct spawn_request - what to execute, and as what
 * @path:	Program, a path
 * @argv:	Its arguments, NULL-terminated
 * @envp:	Its environment, NULL-terminated
 * @chdir:	Working folder, NULL = ours
 * @identity:	Who it becomes; uid (uid_t)-1 = stays who we are
 * @fds:	Its descriptors from 0 on; nothing else is open in it
 * @fd_count:	Entries of @fds, 3 or more
 * @nofile:	Its RLIMIT_NOFILE, unless @attributes has another one
 * @attributes:	Its limits and the like, NULL = ours
 * @jail:	Its root folder later on, NULL = ours; @chdir is not used then
 * @jail_channel: The helper's end of the channel for that
 * @end_with_us: It gets SIGTERM when we die
 */
struct spawn_request {
	const char *path;
	char *const *argv;
	char *const *envp;
	const char *chdir;
	const struct identity *identity;
	int fds[SPAWN_FDS_MAX];
	size_t fd_count;
	struct rlimit nofile;
	const struct attributes *attributes;
	const struct jail *jail;
	int jail_channel;
	bool end_with_us;
};

/**
 * spawn_program() - start a program in a session of its own
 * @request:	What
 * @ret_pid:	Its pid
 * @ret_pidfd:	Its pidfd, close-on-exec
 *
 * If it can't be executed, the reason is written to its descriptor 2 and it ends with status 127.
 * Signals have their default dispositions and an empty mask in it.
 *
 * Return: 0 or negative errno of fork() or pidfd_open()
 */
int spawn_program(const struct spawn_request *request, pid_t *ret_pid, int *ret_pidfd);

#endif
