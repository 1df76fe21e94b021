/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the root folder of a program that runs already. */

#include "fpm/process/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int jail_check(const char *root)
{
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder == -1)
		return -errno;
	(void)close(folder);
	return 0;
}

/*
 * The folder is named, not held by a descriptor: the program shares the working folder and could
 * change it between an fchdir() and a chroot("."), but has no means to change what "/" is.
 */
static int enter(const struct jail *jail)
{
	if (chroot(jail->root) == -1)
		return errno;
	return chdir(jail->chdir ? jail->chdir : "/") == -1 ? errno : 0;
}

static __attribute__((noreturn)) void help(const struct jail *jail, int channel)
{
	char order;
	int answer;

	/* Above all the ends of pipes that tell others, by closing, that the manager is gone. */
	if (channel > 0)
		(void)close_range(0, (unsigned int)channel - 1, 0);
	(void)close_range((unsigned int)channel + 1, ~0U, 0);
	if (recv(channel, &order, sizeof(order), 0) != sizeof(order))
		_exit(0);
	answer = enter(jail);
	(void)send(channel, &answer, sizeof(answer), MSG_NOSIGNAL);
	_exit(0);
}

int jail_prepare(const struct jail *jail, int channel)
{
	long pid = syscall(SYS_clone, CLONE_FS | CLONE_PARENT | SIGCHLD, 0L, 0L, 0L, 0L);

	if (pid == 0)
		help(jail, channel);
	return pid == -1 ? -1 : 0;
}

int jail_close(int channel)
{
	const char order = 1;

	return send(channel, &order, sizeof(order), MSG_NOSIGNAL) == -1 ? -errno : 0;
}

int jail_answer(int channel)
{
	int answer = 0;
	ssize_t n = recv(channel, &answer, sizeof(answer), MSG_DONTWAIT);

	if (n == -1)
		return -errno;
	return n == sizeof(answer) ? -answer : -EPIPE;
}
