/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's side of a pool's scoreboard, which its workers write. */
#ifndef FPM_SCOREBOARD_H
#define FPM_SCOREBOARD_H

#include "fpm/worker/abi.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * struct scoreboard - shared memory with an entry for each worker of a pool
 * @fd:		memfd, sealed against resizing; -1 if there is none
 * @entries:	Entries of it
 * @used:	One flag an entry
 * @count:	Number of entries
 */
struct scoreboard {
	int fd;
	struct abi_score *entries;
	bool *used;
	uint32_t count;
};

/**
 * scoreboard_init() - make one
 * @board:	Storage
 * @count:	Entries
 *
 * Return: 0 or negative errno
 */
int scoreboard_init(struct scoreboard *board, uint32_t count);

/**
 * scoreboard_done() - release it
 * @board:	Scoreboard, all zero or initialised
 */
void scoreboard_done(struct scoreboard *board);

/**
 * scoreboard_adopt() - go on with one that another manager has made
 * @board:	Storage
 * @fd:		Its memory, taken over on success
 * @count:	Entries; no one is in use
 *
 * Return: 0, -EPROTO if the memory is not what it should be, or negative errno
 */
int scoreboard_adopt(struct scoreboard *board, int fd, uint32_t count);

/**
 * scoreboard_claim() - an entry is in use, and stays as it is
 * @board:	Scoreboard
 * @entry:	Index
 */
void scoreboard_claim(struct scoreboard *board, uint32_t entry);

/**
 * scoreboard_take() - take and clear a free entry
 * @board:	Scoreboard
 * @ret_entry:	Its index
 *
 * Return: 0, or -EAGAIN if all are in use
 */
int scoreboard_take(struct scoreboard *board, uint32_t *ret_entry);

/**
 * scoreboard_give_back() - its worker has ended
 * @board:	Scoreboard
 * @entry:	Index
 */
void scoreboard_give_back(struct scoreboard *board, uint32_t entry);

/**
 * scoreboard_ask_to_ring() - the worker shall tell when it goes busy, or holds more or less
 * @board:	Scoreboard
 * @entry:	Index
 *
 * What scoreboard_read() says after this either is what the worker does now, or it tells.
 */
void scoreboard_ask_to_ring(struct scoreboard *board, uint32_t entry);

/**
 * scoreboard_read() - copy an entry
 * @board:	Scoreboard
 * @entry:	Index
 *
 * Return: a copy; what it says is the worker's word
 */
struct abi_score scoreboard_read(const struct scoreboard *board, uint32_t entry);

/**
 * scoreboard_busy_since() - since when does a worker work on its request
 * @board:	Scoreboard
 * @entry:	Index
 *
 * Return: nanoseconds of CLOCK_MONOTONIC_COARSE, 0 if it idles; the same for as long as the request
 * is the same
 */
uint64_t scoreboard_busy_since(const struct scoreboard *board, uint32_t entry);

/**
 * scoreboard_announce() - have workers tell when they start on a request
 * @board:	Scoreboard
 * @on:		Each tells once, by the pool's eventfd; or none does
 *
 * After it was switched on, a worker that idles by its entry will tell.
 */
void scoreboard_announce(struct scoreboard *board, bool on);

#endif
