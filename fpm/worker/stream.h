/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's bytes by system calls: what is the same, and what is not, for sockets and pipes. */
#ifndef FPM_WORKER_STREAM_H
#define FPM_WORKER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct client;

/**
 * stream_read() - read what is there, without waiting
 * @client:	Client
 * @data:	Where to
 * @size:	How much at most
 *
 * Return: as recv() with MSG_DONTWAIT; EINTR is tried again
 */
ssize_t stream_read(const struct client *client, void *data, size_t size);

/**
 * stream_wait() - likewise, but wait for it
 * @client:	Client
 * @data:	Where to
 * @size:	How much at most
 *
 * Return: as recv()
 */
ssize_t stream_wait(const struct client *client, void *data, size_t size);

/**
 * stream_has_input() - is there something to be read
 * @client:	Client
 *
 * Return: false at the end of its input, too
 */
bool stream_has_input(const struct client *client);

/**
 * stream_write() - write a part of an answer
 * @client:	Client
 * @fd:		The program's descriptor of its connection
 * @data:	What
 * @size:	How much
 *
 * Return: as write()
 */
ssize_t stream_write(const struct client *client, int fd, const void *data, size_t size);

/**
 * stream_end() - end both directions, as the program may hold the socket as well
 * @client:	Client; pipes have no such thing
 */
void stream_end(const struct client *client);

#endif
