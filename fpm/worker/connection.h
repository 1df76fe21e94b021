/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's view: one connection, behind which the worker's clients take turns. */
#ifndef FPM_WORKER_CONNECTION_H
#define FPM_WORKER_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

struct pollfd;

/**
 * connection_is() - is this the number that the program has for its connection
 * @fd:		Descriptor
 *
 * Return: true from accept() to close()
 */
bool connection_is(int fd);

/**
 * connection_accept() - accept() on descriptor 0
 * @addr:	As for accept4()
 * @len:	As for accept4()
 * @flags:	As for accept4(); SOCK_CLOEXEC is added
 *
 * Return: a connection on which a request is waiting, or -1 with errno as wait_next() has it
 */
int connection_accept(struct sockaddr *addr, socklen_t *len, int flags);

/**
 * connection_read() - read() on the connection
 * @data:	As for read()
 * @size:	As for read()
 *
 * Between two requests of a kept connection this waits for whichever client comes first, and the
 * program's number stands for that one then. End of file means that the worker is to leave, or
 * that a signal came which the program may want to look at.
 *
 * Return: as for read()
 */
ssize_t connection_read(void *data, size_t size);

/**
 * connection_write() - write() on the connection
 * @data:	As for write()
 * @size:	As for write()
 *
 * Return: as for write()
 */
ssize_t connection_write(const void *data, size_t size);

/**
 * connection_poll() - poll() on the connection alone
 * @fd:		Its entry
 * @timeout:	As for poll()
 *
 * Return: as for poll()
 */
int connection_poll(struct pollfd *fd, int timeout);

/**
 * connection_recv() - recv() on the connection
 * @data:	As for recv()
 * @size:	As for recv()
 * @flags:	As for recv()
 *
 * php-cgi waits with it for its client to close. That is our task: it sees the end at once.
 *
 * Return: as for recv()
 */
ssize_t connection_recv(void *data, size_t size, int flags);

/**
 * connection_shutdown() - shutdown() on the connection
 * @how:	As for shutdown()
 *
 * Return: as for shutdown()
 */
int connection_shutdown(int how);

/**
 * connection_close() - close() on the connection
 *
 * Return: as for close()
 */
int connection_close(void);

/**
 * connection_leave() - the process ends: hand over whoever waits
 */
void connection_leave(void);

/**
 * connection_abandon() - a copy that a script forked: leave client and slot alone
 *
 * Puts /dev/null in the connection's place. Async-signal-safe.
 */
void connection_abandon(void);

#endif
