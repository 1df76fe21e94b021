/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzing of a worker's request boundaries: any input, cut anywhere, against a plain reader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_model.h"
#include "client_play.h"

/* Longer streams find nothing that these don't. */
#define LARGEST 3000

/* Where the bytes of a connection come from: the first byte of an input tells. */
enum source {
	SOURCE_MADE = 0, /* requests that the dice make */
	SOURCE_MUTATED,	 /* the same, with some bytes changed, lost or doubled */
	SOURCE_RAW,	 /* the rest of the input */
	SOURCE_COUNT,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t mutate(struct dice *dice, uint8_t *stream, size_t size)
{
	for (size_t hits = 1 + dice_roll(dice, 8); hits > 0 && size > 0; hits--) {
		size_t at = dice_roll(dice, size), n = 1 + dice_roll(dice, size - at);

		switch (dice_roll(dice, 4)) {
		case 0: /* lost */
			memmove(stream + at, stream + at + n, size - at - n);
			size -= n;
			break;
		case 1: /* doubled */
			if (size + n > MODEL_STREAM_MAX)
				break;
			memmove(stream + at + n, stream + at, size - at);
			size += n;
			break;
		case 2: /* a number that matters somewhere */
			stream[at] = (uint8_t)dice_roll(dice, 12);
			break;
		default:
			stream[at] = (uint8_t)dice_roll(dice, 256);
			break;
		}
	}
	return size;
}

static struct play make_play(struct dice *dice)
{
	static const size_t pieces[] = {1, 3, 8, PLAY_WHOLE, PLAY_RANDOM};
	static const size_t reads[] = {1, 8, 24, 8192, PLAY_RANDOM};
	struct play play = {.largest = 500};

	if (dice_roll(dice, 4) == 0)
		play.split = dice_roll(dice, 500);
	play.piece = pieces[dice_roll(dice, sizeof(pieces) / sizeof(pieces[0]))];
	play.read = reads[dice_roll(dice, sizeof(reads) / sizeof(reads[0]))];
	play.take = (enum play_take)dice_roll(dice, 3);
	play.write = pieces[dice_roll(dice, sizeof(pieces) / sizeof(pieces[0]))];
	play.early = dice_roll(dice, 2);
	return play;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t stream[MODEL_STREAM_MAX];
	struct dice dice = {.bytes = data, .left = size};
	enum source source = (enum source)dice_roll(&dice, SOURCE_COUNT);
	struct play play = make_play(&dice);
	const char *error;
	size_t made;

	if (source == SOURCE_RAW) {
		made = dice.left < sizeof(stream) ? dice.left : sizeof(stream);
		if (made > 0)
			memcpy(stream, dice.bytes, made);
		dice.left = 0;
	} else {
		made = model_make(&dice, dice_roll(&dice, LARGEST), stream);
		if (source == SOURCE_MUTATED)
			made = mutate(&dice, stream, made);
	}
	error = play_stream(&play, &dice, stream, made, NULL);
	if (!error)
		return 0;
	(void)fprintf(stderr, "%s\n", error);
	abort();
}
