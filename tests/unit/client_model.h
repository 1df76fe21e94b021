/* SPDX-License-Identifier: BSD-2-Clause */
/* A plain reader of request streams, and a maker of them: what client.c is compared with. */
#ifndef TESTS_CLIENT_MODEL_H
#define TESTS_CLIENT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct dice - a source of choices: given bytes first, then a generator
 * @bytes:	Bytes, may be NULL
 * @left:	Number of them
 * @state:	State of the generator, any value
 */
struct dice {
	const uint8_t *bytes;
	size_t left;
	uint64_t state;
};

/**
 * dice_roll() - choose
 * @dice:	Dice
 * @sides:	1 or more
 *
 * Return: 0 to @sides - 1
 */
size_t dice_roll(struct dice *dice, size_t sides);

/* What stands at a place where a request may begin. */
enum model_kind {
	MODEL_NONE = 0,	  /* less than a header */
	MODEL_REQUEST,	  /* BEGIN_REQUEST */
	MODEL_MANAGEMENT, /* GET_VALUES */
	MODEL_OTHER,	  /* anything else */
};

/**
 * struct model_turn - one turn of the program
 * @kind:	What it is
 * @id:		Request id
 * @begin:	Offset of its first byte
 * @ready:	Number of bytes with which the program can be given it, SIZE_MAX if they are not there
 * @head_end:	Offset behind BEGIN_REQUEST and PARAMS
 * @end:	Offset of the first byte that the program must not get
 * @ended:	@end is behind an empty STDIN record, or behind a management record
 */
struct model_turn {
	enum model_kind kind;
	unsigned int id;
	size_t begin;
	size_t ready;
	size_t head_end;
	size_t end;
	bool ended;
};

/**
 * model_turn_at() - read the turn that begins at an offset
 * @data:	All bytes that a connection will ever carry
 * @size:	Their number
 * @at:		Offset
 *
 * Return: turn
 */
struct model_turn model_turn_at(const uint8_t *data, size_t size, size_t at);

/**
 * model_after() - where the next turn begins when the program stopped somewhere in its input
 * @data:	As for model_turn_at()
 * @size:	As for model_turn_at()
 * @turn:	Turn that was answered
 * @taken:	Offset behind the last byte that the program took
 *
 * Return: offset, @size if that can't be told
 */
size_t model_after(const uint8_t *data, size_t size, const struct model_turn *turn, size_t taken);

/**
 * model_pass_late() - pass over records that belong to a request that is over
 * @data:	As for model_turn_at()
 * @size:	As for model_turn_at()
 * @at:		Where a turn may begin
 * @served:	A request was answered before
 *
 * Return: where it does, @size if such a record is not there as a whole
 */
size_t model_pass_late(const uint8_t *data, size_t size, size_t at, bool served);

/* Most bytes of a stream that model_make() makes. */
#define MODEL_STREAM_MAX (2048U * 1024)

/**
 * model_make() - make a stream of requests that a program can answer one after the other
 * @dice:	Decides on everything
 * @largest:	Most bytes of a request's parameters or body
 * @data:	MODEL_STREAM_MAX bytes
 *
 * Return: bytes made
 */
size_t model_make(struct dice *dice, size_t largest, uint8_t *data);

/**
 * model_put() - append a record with made-up content
 * @data:	Stream
 * @at:		Its size so far
 * @type:	Record type
 * @id:		Request id
 * @content:	Content length
 * @padding:	Padding length
 *
 * Return: its size then
 */
size_t model_put(uint8_t *data, size_t at, uint8_t type, unsigned int id, size_t content,
		 size_t padding);

#endif
