/* SPDX-License-Identifier: BSD-2-Clause */
/* How many clients wait in a listener's accept queue. */
#ifndef FPM_QUEUE_H
#define FPM_QUEUE_H

/**
 * queue_depth() - ask the kernel
 * @listener:	Listening socket, unix or TCP
 *
 * Return: number of connections that nobody has accepted yet, or negative errno
 */
int queue_depth(int listener);

#endif
