/* SPDX-License-Identifier: BSD-2-Clause */
/* A slot's pair of sockets for connections that wait between one worker and the next. */
#ifndef FPM_SLOT_HANDOFF_H
#define FPM_SLOT_HANDOFF_H

#include <stddef.h>

/**
 * slot_handoff_open() - make a pair
 * @ret_pair:	Where connections arrive, where they go
 *
 * Return: 0 or negative errno
 */
int slot_handoff_open(int ret_pair[2]);

/**
 * slot_handoff_pass_on() - give what waits in a pair to another one's readers
 * @pair:	Pair of sockets
 * @out:	Where connections go that any worker of the pool may take
 * @most:	Messages at most, each with up to TRANSFER_BATCH connections
 *
 * Return: number of connections
 */
size_t slot_handoff_pass_on(const int pair[2], int out, size_t most);

#endif
