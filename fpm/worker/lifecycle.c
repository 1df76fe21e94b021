/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process is (template, worker, a script's copy of one) and what that makes of a call. */

#include "lifecycle.h"

#include "connection.h"
#include "environment.h"
#include "libc.h"
#include "score.h"
#include "setup.h"
#include "template.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * OUTSIDE	preloaded by chance, or a program that the pool's program executed: every call is
 *		the C library's.
 * TEMPLATE	from the start of a process that has ABI_ENV. The first accept(0) serves the
 *		manager and comes back in each forked worker, as WORKER. In the template itself it
 *		comes back only to leave, as DONE.
 * WORKER	accept(0) waits on the slot's listeners.
 * COPY		a script of a worker called fork(). The copy must not become a second worker of
 *		the slot, so its accept(0) fails; nor answer the client, so /dev/null stands in for
 *		the connection; and it keeps none of the slot's descriptors.
 * DONE		accept(0) fails; the program leaves its loop and ends by itself.
 *
 * Only the thread that runs the program's accept loop changes the role, and fork() handlers run
 * in the thread that forks, so there is no lock.
 */
enum lifecycle_role {
	LIFECYCLE_OUTSIDE = 0,
	LIFECYCLE_TEMPLATE,
	LIFECYCLE_WORKER,
	LIFECYCLE_COPY,
	LIFECYCLE_DONE,
};

static enum lifecycle_role role;

static void forked_child(void)
{
	if (role != LIFECYCLE_WORKER)
		return;
	role = LIFECYCLE_COPY;
	connection_abandon();
	score_abandon();
}

__attribute__((constructor)) static void lifecycle_start(void)
{
	int saved_errno = errno;
	bool dumpable = true;

	libc_bind();
	if (environment_is_template(&dumpable)) {
		if (!dumpable)
			(void)prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
		role = LIFECYCLE_TEMPLATE;
		(void)pthread_atfork(NULL, NULL, forked_child);
	}
	errno = saved_errno;
}

/* However the process ends, short of a signal, its clients go to its successor. */
__attribute__((destructor)) static void lifecycle_end(void)
{
	if (role == LIFECYCLE_WORKER)
		connection_leave();
}

/* Returns 0 if this process is a worker now, else -1 with errno set for the program to leave. */
static int enter(void)
{
	struct template_worker worker;

	switch (role) {
	case LIFECYCLE_WORKER:
		return 0;
	case LIFECYCLE_TEMPLATE:
		environment_forget();
		/* Until it returns, a fork is the template's own and makes a worker. */
		if (template_serve(&worker) == 0 && setup_worker(&worker) == 0) {
			role = LIFECYCLE_WORKER;
			return 0;
		}
		role = LIFECYCLE_DONE;
		break;
	case LIFECYCLE_OUTSIDE:
	case LIFECYCLE_COPY:
	case LIFECYCLE_DONE:
		break;
	}
	errno = EINVAL;
	return -1;
}

int lifecycle_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (fd != STDIN_FILENO || role == LIFECYCLE_OUTSIDE)
		return libc_calls()->accept(fd, addr, len);
	return enter() == 0 ? connection_accept(addr, len, 0) : -1;
}

int lifecycle_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	if (fd != STDIN_FILENO || role == LIFECYCLE_OUTSIDE)
		return libc_calls()->accept4(fd, addr, len, flags);
	return enter() == 0 ? connection_accept(addr, len, flags) : -1;
}

/* The connection exists in a worker only, so most calls are told apart by one comparison. */

ssize_t lifecycle_read(int fd, void *data, size_t size)
{
	return connection_is(fd) ? connection_read(data, size) : libc_calls()->read(fd, data, size);
}

ssize_t lifecycle_write(int fd, const void *data, size_t size)
{
	return connection_is(fd) ? connection_write(data, size)
				 : libc_calls()->write(fd, data, size);
}

ssize_t lifecycle_recv(int fd, void *data, size_t size, int flags)
{
	return connection_is(fd) ? connection_recv(data, size, flags)
				 : libc_calls()->recv(fd, data, size, flags);
}

int lifecycle_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return count == 1 && connection_is(fds->fd) ? connection_poll(fds, timeout)
						    : libc_calls()->poll(fds, count, timeout);
}

int lifecycle_shutdown(int fd, int how)
{
	return connection_is(fd) ? connection_shutdown(how) : libc_calls()->shutdown(fd, how);
}

int lifecycle_close(int fd)
{
	return connection_is(fd) ? connection_close() : libc_calls()->close(fd);
}
