/* SPDX-License-Identifier: BSD-2-Clause */
/* The template's side of the protocol: waits for the manager and forks workers. */
#ifndef FPM_WORKER_TEMPLATE_H
#define FPM_WORKER_TEMPLATE_H

#include "abi.h"

#include <stddef.h>

/**
 * struct template_worker - what a forked worker was given; it owns the descriptors
 * @message:	The ABI_SPAWN that made it
 * @fds:	In the order of enum abi_spawn_fd
 * @count:	Entries of @fds
 * @null:	/dev/null, which may be out of reach by now
 */
struct template_worker {
	struct abi_message message;
	int fds[ABI_SPAWN_FDS_MAX];
	size_t count;
	int null;
};

/**
 * template_serve() - announce READY, then do as the manager says
 * @ret_worker:	Set in a forked worker
 *
 * Return: 0 in a forked worker, -1 in the template when it is to leave
 */
int template_serve(struct template_worker *ret_worker);

#endif
