/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages with descriptors over the control socket. */
#ifndef FPM_WORKER_MESSAGE_H
#define FPM_WORKER_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

struct abi_message;

/**
 * message_receive() - take the next message
 * @socket:	Control socket
 * @ret_message: Message
 * @ret_fds:	Its descriptors, close-on-exec
 * @size:	Entries of @ret_fds
 * @ret_count:	Number of descriptors received
 * @ret_sender:	Pid of the process that sent it, 0 if the socket has no SO_PASSCRED; may be NULL
 *
 * Return: 1 for a message, 0 at the end of the stream, -1 with errno (EPROTO for a message that
 * is not of this ABI; its descriptors are closed)
 */
int message_receive(int socket, struct abi_message *ret_message, int ret_fds[], size_t size,
		    size_t *ret_count, pid_t *ret_sender);

/**
 * message_send() - send a message
 * @socket:	Control socket
 * @message:	Message
 * @fds:	Descriptors to go with it
 * @count:	Their number, ABI_SPAWN_FDS_MAX at most
 *
 * Return: 0, or -1 with errno
 */
int message_send(int socket, const struct abi_message *message, const int fds[], size_t count);

#endif
