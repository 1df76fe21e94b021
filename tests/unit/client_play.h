/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays a connection and a program against client.c, and watches its promises. */
#ifndef TESTS_CLIENT_PLAY_H
#define TESTS_CLIENT_PLAY_H

#include "client_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of a request's input the program takes. */
enum play_take {
	PLAY_TAKE_ALL = 0, /* to its end, and asks for more */
	PLAY_TAKE_HEAD,	   /* nothing but the head */
	PLAY_TAKE_SOME,	   /* the head, and as much more as the dice say */
};

/* Sizes with a meaning of their own. */
#define PLAY_RANDOM 0	     /* the dice say it each time */
#define PLAY_WHOLE  SIZE_MAX /* as much as there is */

/**
 * struct play - how to play
 * @split:	The first piece of the input ends here, 0 = pieces of @piece from the start on
 * @piece:	Size of the other pieces, or PLAY_RANDOM, PLAY_WHOLE
 * @read:	What the program asks for, or PLAY_RANDOM
 * @take:	How much of a request it takes
 * @write:	Size of the pieces in which the kernel takes its answer, or PLAY_RANDOM, PLAY_WHOLE
 * @largest:	Most bytes of an answer's content
 * @early:	A part of the answer is written before the input is read
 */
struct play {
	size_t split;
	size_t piece;
	size_t read;
	enum play_take take;
	size_t write;
	size_t largest;
	bool early;
};

/**
 * play_stream() - let a connection carry a stream and the program serve it
 * @play:	How
 * @dice:	For what is left to chance
 * @data:	Stream; anything that the model can't tell the fate of ends the comparison, and the
 *		rest is played for the promises only that hold for any input
 * @size:	Its bytes
 * @ret_turns:	Number of turns that the program had; may be NULL
 *
 * Return: NULL, or which promise was broken
 */
const char *play_stream(const struct play *play, struct dice *dice, const uint8_t *data,
			size_t size, unsigned int *ret_turns);

#endif
