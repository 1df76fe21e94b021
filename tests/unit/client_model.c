/* SPDX-License-Identifier: BSD-2-Clause */
/* A plain reader of request streams, and a maker of them: what client.c is compared with. */
#include "client_model.h"

#include "fpm/worker/client.h"

/* Written without the project's parser, and with the whole stream in view: no state, no cuts. */
struct record {
	bool there; /* its header is */
	uint8_t type;
	unsigned int id;
	size_t content;
	size_t next; /* may be behind the end of the stream */
};

size_t dice_roll(struct dice *dice, size_t sides)
{
	size_t value = 0;

	if (sides < 2)
		return 0;
	if (dice->left > 0) {
		for (size_t range = 1; range < sides && dice->left > 0; range *= 256, dice->left--)
			value = value << 8 | *dice->bytes++;
		return value % sides;
	}
	dice->state = dice->state * 6364136223846793005U + 1442695040888963407U;
	return (size_t)(dice->state >> 33) % sides;
}

static struct record record_at(const uint8_t *data, size_t size, size_t at)
{
	struct record r = {.there = at < size && size - at >= 8, .next = at};

	if (!r.there)
		return r;
	r.type = data[at + 1];
	r.id = data[at + 2] * 256U + data[at + 3];
	r.content = data[at + 4] * 256U + data[at + 5];
	r.next = at + 8 + r.content + data[at + 6];
	return r;
}

static bool is_rest(uint8_t type)
{
	return type == FCGI_STDIN || type == FCGI_DATA || type == FCGI_ABORT_REQUEST;
}

/* Finds the end of a request's input behind its BEGIN_REQUEST. */
static void find_end(const uint8_t *data, size_t size, size_t at, struct model_turn *t)
{
	for (;;) {
		struct record r = record_at(data, size, at);

		t->end = at < size ? at : size;
		if (!r.there) {
			/* Also the part of a header that the next request may have. */
			t->end = size;
			return;
		}
		if (r.type == FCGI_BEGIN_REQUEST)
			return;
		at = r.next;
		if (r.type == FCGI_STDIN && r.content == 0) {
			t->ended = at <= size;
			t->end = t->ended ? at : size;
			return;
		}
	}
}

static void read_request(const uint8_t *data, size_t size, struct record r, struct model_turn *t)
{
	size_t input = r.next;

	do {
		t->head_end = r.next;
		r = record_at(data, size, r.next);
	} while (r.there && r.type == FCGI_PARAMS && r.content > 0);
	if (r.there)
		t->ready = t->head_end + 8;
	if (r.there && r.type == FCGI_PARAMS)
		t->head_end = r.next;
	/* More than the buffer takes is not waited for. */
	if (t->ready - t->begin > CLIENT_BUFFER_SIZE)
		t->ready = size - t->begin >= CLIENT_BUFFER_SIZE ? t->begin + CLIENT_BUFFER_SIZE
								 : SIZE_MAX;
	find_end(data, size, input, t);
	if (t->head_end > t->end)
		t->head_end = t->end;
}

struct model_turn model_turn_at(const uint8_t *data, size_t size, size_t at)
{
	struct record r = record_at(data, size, at);
	struct model_turn t = {.begin = at, .id = r.id, .ready = SIZE_MAX, .end = size};

	if (!r.there)
		return t;
	t.head_end = t.end = size;
	if (r.type == FCGI_BEGIN_REQUEST) {
		t.kind = MODEL_REQUEST;
		read_request(data, size, r, &t);
	} else if (r.type == FCGI_GET_VALUES) {
		t.kind = MODEL_MANAGEMENT;
		t.ended = r.next <= size;
		if (t.ended)
			t.ready = t.head_end = t.end = r.next;
	} else {
		t.kind = MODEL_OTHER;
		t.ready = at + 8;
	}
	return t;
}

size_t model_after(const uint8_t *data, size_t size, const struct model_turn *turn, size_t taken)
{
	size_t at = turn->begin;

	if (turn->ended && (taken == turn->end || turn->kind == MODEL_MANAGEMENT))
		return turn->end;
	for (;;) {
		struct record r = record_at(data, size, at);

		if (!r.there)
			return at < size ? at : size;
		/* A record that was begun is passed over, whatever it is. */
		if (at >= taken && !is_rest(r.type))
			return at;
		at = r.next;
		if (r.type == FCGI_STDIN && r.content == 0)
			return at < size ? at : size;
	}
}

size_t model_pass_late(const uint8_t *data, size_t size, size_t at, bool served)
{
	for (;;) {
		struct record r = record_at(data, size, at);

		/* At the start of a connection nothing but an end of input is taken for one. */
		if (!r.there || !is_rest(r.type) ||
		    (!served && (r.type != FCGI_STDIN || r.content > 0)))
			return at;
		if (r.next > size)
			return size;
		at = r.next;
	}
}

size_t model_put(uint8_t *data, size_t at, uint8_t type, unsigned int id, size_t content,
		 size_t padding)
{
	const uint8_t header[] = {1,
				  type,
				  (uint8_t)(id >> 8),
				  (uint8_t)id,
				  (uint8_t)(content >> 8),
				  (uint8_t)content,
				  (uint8_t)padding,
				  0};

	for (size_t i = 0; i < sizeof(header); i++)
		data[at++] = header[i];
	/* No two places look alike, so that a lost or doubled byte is seen. */
	for (size_t i = 0; i < content + padding; i++, at++)
		data[at] = (uint8_t)(at ^ at >> 7 ^ at >> 14);
	return at;
}

/* Mostly few, sometimes as many as a field takes. */
static size_t few(struct dice *dice, size_t most)
{
	switch (dice_roll(dice, 4)) {
	case 0:
		return dice_roll(dice, most + 1);
	case 1:
		return 0;
	default:
		return dice_roll(dice, most < 20 ? most + 1 : 20);
	}
}

static size_t put(uint8_t *data, size_t at, struct dice *dice, uint8_t type, unsigned int id,
		  size_t content)
{
	size_t end = model_put(data, at, type, id, content, few(dice, 255));

	if (dice_roll(dice, 16) == 0)
		data[at] = (uint8_t)dice_roll(dice, 256);
	return end;
}

/* A stream's content, cut anywhere, with ABORT_REQUEST in between if it is STDIN. */
static size_t put_content(uint8_t *data, size_t at, struct dice *dice, uint8_t type,
			  unsigned int id, size_t left)
{
	size_t largest = left / 8 + 1;

	while (left > 0) {
		size_t most = left < FCGI_MAX_LENGTH ? left : FCGI_MAX_LENGTH;
		size_t content = dice_roll(dice, 2) ? most : 1 + few(dice, most - 1);

		/* Bounds the number of records. */
		if (content < largest)
			content = largest < most ? largest : most;
		if (type == FCGI_STDIN && dice_roll(dice, 12) == 0)
			at = put(data, at, dice, FCGI_ABORT_REQUEST, id, few(dice, 30));
		at = put(data, at, dice, type, id, content);
		left -= content;
	}
	return at;
}

static size_t put_request(uint8_t *data, size_t at, struct dice *dice, size_t largest)
{
	unsigned int id = (unsigned int)dice_roll(dice, 65536);

	at = put(data, at, dice, FCGI_BEGIN_REQUEST, id, 8);
	at = put_content(data, at, dice, FCGI_PARAMS, id, few(dice, largest));
	if (dice_roll(dice, 12) != 0)
		at = put(data, at, dice, FCGI_PARAMS, id, 0);
	at = put_content(data, at, dice, FCGI_STDIN, id, few(dice, largest));
	if (dice_roll(dice, 8) == 0)
		at = put(data, at, dice, FCGI_ABORT_REQUEST, id, 0);
	if (dice_roll(dice, 5) != 0)
		at = put(data, at, dice, FCGI_STDIN, id, 0);
	/* These come too late. */
	if (dice_roll(dice, 8) == 0)
		at = put(data, at, dice, FCGI_ABORT_REQUEST, id, 0);
	if (dice_roll(dice, 8) == 0)
		at = put(data, at, dice, FCGI_STDIN, id, 0);
	return at;
}

size_t model_make(struct dice *dice, size_t largest, uint8_t *data)
{
	size_t items = 1 + dice_roll(dice, 5), at = 0;

	while (items-- > 0) {
		if (dice_roll(dice, 5) == 0)
			at = put(data, at, dice, FCGI_GET_VALUES, 0, few(dice, 300));
		else
			at = put_request(data, at, dice, largest);
	}
	return at;
}
