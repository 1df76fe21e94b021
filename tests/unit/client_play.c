/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays a connection and a program against client.c, and watches its promises. */
#include "client_play.h"

#include "fpm/worker/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Theory of operation
 *
 * The stream is all that the peer will ever send; `fed` counts what has come. It goes through the
 * client's buffer as connection.c and clients.c do it: read ahead while the client waits, and when
 * the program asks and nothing is there. A byte's place in the stream is known at any time (`fed`
 * less what is pending), so that a lost, doubled or changed one is seen at once.
 */
struct table {
	const struct play *play;
	struct dice *dice;
	const uint8_t *data;
	size_t size;
	size_t fed;
	struct client client;
	struct model_turn turn;
	uint8_t *answer;
	size_t answer_size;
	size_t written;
	unsigned int ends;
	char error[160];
};

#define REQUIRE(t, condition)                                                              \
	do {                                                                               \
		if (!(condition) && !(t)->error[0])                                        \
			(void)snprintf((t)->error, sizeof((t)->error), "%d: %s", __LINE__, \
				       #condition);                                        \
	} while (0)

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t place(const struct table *t)
{
	return t->fed - client_pending(&t->client);
}

static size_t piece_size(struct table *t, size_t size, size_t most)
{
	if (size == PLAY_RANDOM)
		size = dice_roll(t->dice, 3) ? 1 + dice_roll(t->dice, 300)
					     : 1 + dice_roll(t->dice, 100000);
	return smaller(size, most);
}

/* Size of the piece of the stream that comes next; 0 at its end. */
static size_t next_piece(struct table *t)
{
	if (t->fed < t->play->split)
		return smaller(t->play->split, t->size) - t->fed;
	return piece_size(t, t->play->piece, t->size - t->fed);
}

/* One recv() into the buffer; false at the end of the stream. */
static bool feed(struct table *t)
{
	struct client *c = &t->client;
	size_t before = place(t);
	uint8_t *at = NULL;
	size_t room = client_room(c, &at);
	size_t n = smaller(next_piece(t), room);

	REQUIRE(t, room + client_pending(c) == CLIENT_BUFFER_SIZE);
	REQUIRE(t, at == c->buffer + c->end);
	REQUIRE(t, place(t) == before);
	/* Whoever is asked for more has room for it, or it would be asked for ever. */
	REQUIRE(t, room > 0);
	if (t->fed == t->size || t->error[0])
		return false;
	memcpy(at, t->data + t->fed, n);
	t->fed += n;
	c->end += (uint32_t)n;
	return true;
}

/* The program is to get the turn with the byte that completes it, not before, not later. */
static bool wait_for_head(struct table *t, bool ready)
{
	struct client *c = &t->client;

	for (;;) {
		REQUIRE(t, ready == (t->fed >= t->turn.ready));
		REQUIRE(t, ready == (c->phase == CLIENT_READY));
		REQUIRE(t, ready || c->phase == CLIENT_HEAD || c->phase == CLIENT_REST);
		/* An old body is not collected. */
		REQUIRE(t, c->phase != CLIENT_REST || client_pending(c) < FCGI_HEADER_LEN);
		if (ready || !feed(t))
			break;
		ready = client_look(c);
	}
	REQUIRE(t, !ready || place(t) == t->turn.begin);
	return ready && !t->error[0];
}

/* One roll a statement: the order of arguments is the compiler's, and seeds are to mean the same. */
static void make_answer(struct table *t)
{
	size_t left = dice_roll(t->dice, t->play->largest + 1);
	size_t padding = dice_roll(t->dice, 2) ? dice_roll(t->dice, 256) : 0;
	size_t at = 0;

	t->written = 0;
	t->ends = 0;
	if (t->turn.kind == MODEL_MANAGEMENT) {
		t->answer_size = model_put(t->answer, at, FCGI_GET_VALUES_RESULT, 0,
					   dice_roll(t->dice, 100), padding);
		return;
	}
	while (left > 0) {
		size_t n = smaller(left, 1 + dice_roll(t->dice, FCGI_MAX_LENGTH));
		uint8_t type = dice_roll(t->dice, 9) ? FCGI_STDOUT : FCGI_STDERR;

		at = model_put(t->answer, at, type, t->turn.id, n, dice_roll(t->dice, 8));
		/* Bounds the number of records. */
		left -= smaller(left, n > 200 ? n : 200);
	}
	t->answer_size =
		model_put(t->answer, at, FCGI_END_REQUEST, t->turn.id, WIRE_BODY_SIZE, padding);
}

/* The kernel takes the answer up to a byte. */
static void write_until(struct table *t, size_t end)
{
	while (t->written < end && !t->error[0]) {
		size_t n = piece_size(t, t->play->write, end - t->written);

		t->ends += client_wrote(&t->client, t->answer + t->written, n);
		t->written += n;
		REQUIRE(t, client_is_answered(&t->client) == (t->written == t->answer_size));
		REQUIRE(t, t->ends == (t->written == t->answer_size &&
				       t->turn.kind != MODEL_MANAGEMENT));
	}
}

/* Hands out bytes from the buffer, as a read() of a size does it. */
static size_t take(struct table *t, size_t size)
{
	struct client *c = &t->client;
	size_t at = place(t), n = client_take(c, c->buffer + c->start, size);

	REQUIRE(t, n <= size && n <= t->size - at);
	if (t->error[0])
		return 0;
	REQUIRE(t, memcmp(c->buffer + c->start, t->data + at, n) == 0);
	c->start += (uint32_t)n;
	return n;
}

/* Inside a record's content the program may get bytes that never were in the buffer. */
static bool take_past_buffer(struct table *t, size_t size)
{
	const struct client *c = &t->client;
	size_t n = smaller(size, next_piece(t));

	if (n == 0 || c->in.state != WIRE_PARSER_RECORD || c->in.content_left < size ||
	    dice_roll(t->dice, 2))
		return false;
	REQUIRE(t, client_take(&t->client, t->data + t->fed, n) == n);
	t->fed += n;
	return true;
}

/* The program reads up to a place; false if the stream ends before that. */
static bool read_until(struct table *t, size_t stop, bool ask_for_more)
{
	struct client *c = &t->client;

	while ((place(t) < stop || ask_for_more) && !t->error[0]) {
		size_t want =
			t->play->read == PLAY_RANDOM ? 1 + dice_roll(t->dice, 9000) : t->play->read;
		size_t at = place(t), most, n;

		if (!ask_for_more)
			want = smaller(want, stop - at);
		if (client_pending(c) == 0 && !c->input_ended) {
			if (take_past_buffer(t, want))
				continue;
			if (!feed(t))
				return false;
		}
		most = smaller(want, client_pending(c));
		n = take(t, most);
		REQUIRE(t, n == smaller(most, t->turn.end - at));
		REQUIRE(t, c->input_ended == (t->turn.ended && at + n == t->turn.end));
		if (n == 0) {
			REQUIRE(t, ask_for_more && c->input_ended);
			return true;
		}
	}
	return true;
}

static bool serve(struct table *t)
{
	size_t stop = t->turn.end;

	t->client.phase = CLIENT_SERVED;
	make_answer(t);
	REQUIRE(t, !client_is_answered(&t->client));
	if (t->play->early) {
		if (!read_until(t, t->turn.head_end, false))
			return false;
		write_until(t, dice_roll(t->dice, t->answer_size));
	}
	if (t->play->take == PLAY_TAKE_HEAD)
		stop = t->turn.head_end;
	else if (t->play->take == PLAY_TAKE_SOME)
		stop = t->turn.head_end + dice_roll(t->dice, t->turn.end - t->turn.head_end + 1);
	/* Who leaves the end out gets no reader that goes on behind what it was promised. */
	if (!read_until(t, stop, t->play->take == PLAY_TAKE_ALL && t->turn.ended))
		return false;
	write_until(t, t->answer_size);
	return !t->error[0];
}

/* Any input: bytes come in order and once, and everything has an end. */
static void play_on(struct table *t, bool ready)
{
	struct client *c = &t->client;
	size_t steps = 8 * t->size + 1000;

	while (!t->error[0]) {
		REQUIRE(t, steps-- > 0);
		if (!ready) {
			if (!feed(t))
				return;
			ready = client_look(c);
			continue;
		}
		c->phase = CLIENT_SERVED;
		for (size_t n = 1; n > 0 && dice_roll(t->dice, 20) != 0 && !t->error[0];) {
			if (client_pending(c) == 0 && !c->input_ended && !feed(t))
				return;
			n = take(t, smaller(client_pending(c), 1 + dice_roll(t->dice, 9000)));
			REQUIRE(t, n > 0 || c->input_ended);
			REQUIRE(t, steps-- > 0);
		}
		make_answer(t);
		(void)client_wrote(c, t->answer, t->answer_size);
		/* A program that did not take a byte is not answered either: it closes. */
		if (place(t) == t->turn.begin)
			return;
		t->turn.begin = place(t);
		ready = client_next(c);
	}
}

static unsigned int play_turns(struct table *t)
{
	unsigned int turns = 0;
	bool ready = false, served = false;
	size_t begin = 0;

	for (;; turns++) {
		begin = model_pass_late(t->data, t->size, begin, served);
		t->turn = model_turn_at(t->data, t->size, begin);
		if (!wait_for_head(t, ready))
			return turns;
		if (t->turn.kind == MODEL_OTHER) {
			play_on(t, true);
			return turns;
		}
		if (!serve(t))
			return turns;
		served = served || t->turn.kind == MODEL_REQUEST;
		begin = model_after(t->data, t->size, &t->turn, place(t));
		ready = client_next(&t->client);
	}
}

const char *play_stream(const struct play *play, struct dice *dice, const uint8_t *data,
			size_t size, unsigned int *ret_turns)
{
	static char error[160];
	static uint8_t *buffer;
	struct table t = {.play = play, .dice = dice, .data = data, .size = size};
	unsigned int turns;

	/* Memory of their own sizes, so that sanitizers see a step too far; kept, as it is large. */
	if (!buffer)
		buffer = malloc(CLIENT_BUFFER_SIZE);
	t.client.buffer = buffer;
	t.answer = malloc(4 * play->largest + 1024);
	if (!t.client.buffer || !t.answer)
		abort();
	client_start(&t.client, -1);
	turns = play_turns(&t);
	if (ret_turns)
		*ret_turns = turns;
	(void)snprintf(error, sizeof(error), "%s", t.error);
	free(t.answer);
	return error[0] ? error : NULL;
}
