/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets: bind, permissions, stale files, removal; and named pipes in their place. */
#ifndef FPM_LISTENER_H
#define FPM_LISTENER_H

#include "fpm/listener/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct listener_options - how a listening socket is made
 * @backlog:	Length of the accept queue, 1 or more
 * @mode:	Mode of a unix socket's file, e.g. 0660
 * @uid:	Its owner, (uid_t)-1 to leave it alone
 * @gid:	Its group, (gid_t)-1 to leave it alone
 * @nonblocking: Set O_NONBLOCK: needed for workers that accept through libberth-worker.so,
 *		deadly for php-cgi's own accept()
 * @dual_stack:	An IPv6 address of all interfaces takes IPv4 as well, as the system has it by default
 */
struct listener_options {
	int backlog;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	bool nonblocking;
	bool dual_stack;
};

/**
 * struct listener - a listening socket that this process has bound
 * @fd:		Socket, or pipe open for both directions; close-on-exec; -1 if closed
 * @address:	Its address; a kernel-chosen port is filled in
 * @dev:	Device of a unix socket's file
 * @ino:	Inode of it, 0 if there is no file to remove
 * @made_parent: The file's folder was made for it and is removed with it when empty
 * @passed:	Somebody else has opened it: nothing but the descriptor is ours
 * @lender:	It is shared with this one, whose it is; NULL if it is its own
 */
struct listener {
	int fd;
	struct address_socket address;
	dev_t dev;
	ino_t ino;
	bool made_parent;
	bool passed;
	struct listener *lender;
};

/**
 * listener_open() - bind and listen
 * @address:	Where
 * @options:	How
 * @ret_listener: Set on success
 * @error:	On failure: what is wrong (who holds the address, what kind of file is in the way),
 *		without a newline
 * @size:	Bytes of @error
 *
 * A unix socket's file that nobody listens on is replaced; a live one and anything that is no
 * socket is refused and left alone. Two processes that do this at once to one path do not
 * disturb each other (the folder is locked meanwhile). A missing folder is made, one level only.
 * The mode holds from the first moment that a connection is possible. A TCP socket has
 * TCP_NODELAY, SO_REUSEADDR and, with IPv6 and without @dual_stack, IPV6_V6ONLY set. A named pipe is made anew, unless a
 * process has it open for reading; it is open for both directions, so that none of its users
 * ever sees its end.
 *
 * Return: 0 or negative errno
 */
int listener_open(const struct address_socket *address, const struct listener_options *options,
		  struct listener *ret_listener, char *error, size_t size);

/**
 * listener_open_passed() - use a listening socket that somebody else has opened
 * @fd:		Socket, which activation_claim() has given out
 * @address:	Address that it stands for, which may be written otherwise than its own
 * @options:	Only @nonblocking counts: queue, mode and owner are what they are
 * @ret_listener: Set on success; closing it leaves the socket and its file alone
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_open_passed(int fd, const struct address_socket *address,
			 const struct listener_options *options, struct listener *ret_listener,
			 char *error, size_t size);

/**
 * listener_actual_address() - where it listens, however that is written in the configuration
 * @listener:	Open listener
 *
 * Return: its address
 */
struct address_socket listener_actual_address(const struct listener *listener);

/**
 * listener_warnings() - what an administrator should know about a listener that was opened
 * @listener:	An open listener
 * @options:	What it was opened with
 * @warn:	Called with each text, without a newline: a folder that shuts the socket's group
 *		out, an address that any host can reach
 * @data:	Passed to @warn
 */
void listener_warnings(const struct listener *listener, const struct listener_options *options,
		       void (*warn)(void *data, const char *text), void *data);

/**
 * listener_share() - the same listening socket once more
 * @lender:	An open listener, which must stay where it is until listener_take_over()
 *
 * Return: listener that closes nothing
 */
struct listener listener_share(struct listener *lender);

/**
 * listener_take_over() - make a shared listener its own, and give it other options
 * @listener:	Listener; its lender closes nothing from now on
 * @options:	How it is to be; @nonblocking can't change
 * @error:	On failure: what is wrong; the listener works all the same
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_take_over(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size);

/**
 * listener_backlog_limit() - the longest accept queue that the kernel grants
 *
 * Return: net.core.somaxconn, or INT_MAX if it can't be read
 */
int listener_backlog_limit(void);

/**
 * listener_close() - close, and remove the file if it still is the one that was made
 * @listener:	Listener; @fd -1 is allowed; one that is shared is only forgotten
 */
void listener_close(struct listener *listener);

struct state_listener;

/**
 * listener_export() - what the next manager needs to go on with them
 * @list:	Open listeners
 * @count:	Entries of @list
 * @ret_list:	Set to an allocated list
 * @ret_count:	Its entries
 *
 * Return: 0 or -ENOMEM
 */
int listener_export(const struct listener *list, size_t count, struct state_listener **ret_list,
		    size_t *ret_count);

/**
 * listener_adopt() - go on with those that another manager has left
 * @list:	What it said of them; their descriptors are taken over on success
 * @count:	Entries of @list
 * @ret_list:	Set to an allocated list of as many entries
 *
 * Return: 0, -EPROTO or -ENOMEM
 */
int listener_adopt(const struct state_listener *list, size_t count, struct listener **ret_list);

#endif
