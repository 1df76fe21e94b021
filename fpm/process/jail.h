/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the root folder of a program that runs already. */
#ifndef FPM_JAIL_H
#define FPM_JAIL_H

#include <stddef.h>

/*
 * Theory of operation
 *
 * php-cgi is to find its libraries, php.ini and extensions where they are, and to run scripts in
 * another root folder. By the time that it has started it is not root any more, so it can't change
 * its root folder by itself; and must not be able to, as it may have run code of the pool.
 *
 * A process's root and working folder can be shared between processes (CLONE_FS), which an exec does
 * not end. So the child that is to become the program makes a helper before it gives its rights
 * away. The helper has the rights of the manager, closes every descriptor but one end of a pair of
 * sockets, and waits there for a byte; then it changes the root folder of both, answers, and ends.
 * The workers, which are forked later, get a copy of it as usual.
 *
 * If the manager ends, or forgets the program, the helper sees the end of its socket and leaves.
 */

/**
 * struct jail - where to
 * @root:	Root folder, absolute
 * @chdir:	Working folder below it, absolute; NULL = the root folder
 */
struct jail {
	const char *root;
	const char *chdir;
};

/**
 * jail_check() - is the root folder there
 * @root:	Folder
 *
 * Return: 0 or negative errno
 */
int jail_check(const char *root);

/**
 * jail_prepare() - make the helper, in a forked child that still has its rights
 * @jail:	Where to
 * @channel:	Its end of a pair of sockets (SOCK_SEQPACKET)
 *
 * Async-signal-safe. The helper becomes a child of the caller's parent.
 *
 * Return: 0, or -1 with errno
 */
int jail_prepare(const struct jail *jail, int channel);

/**
 * jail_close() - have the helper do its work; its answer makes the channel readable
 * @channel:	The manager's end
 *
 * Return: 0 or negative errno
 */
int jail_close(int channel);

/**
 * jail_answer() - read what came of it
 * @channel:	The manager's end, readable
 *
 * Return: 0, or the negative errno of what the helper could not do
 */
int jail_answer(int channel);

#endif
