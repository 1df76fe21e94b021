/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection that the program serves now: what it has answered. */
#ifndef FPM_WORKER_CONNECTION_H
#define FPM_WORKER_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

/**
 * connection_begin() - the program was given a connection
 * @fd:		Its descriptor
 */
void connection_begin(int fd);

/**
 * connection_is() - is this the connection
 * @fd:		Descriptor
 *
 * Return: true until it is closed or another one begins
 */
bool connection_is(int fd);

/**
 * connection_closed() - the program closed it
 */
void connection_closed(void);

/**
 * connection_abandon() - put /dev/null in its place, in a copy that a script forked
 *
 * What the copy writes, or shuts down, would reach the worker's client. Async-signal-safe.
 */
void connection_abandon(void);

/**
 * connection_wrote() - the kernel took a part of the answer
 * @data:	What was written
 * @size:	Bytes that were taken
 *
 * Return: number of END_REQUEST records that became whole by it
 */
unsigned int connection_wrote(const void *data, size_t size);

#endif
