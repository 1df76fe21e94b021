/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of answers: any bytes, cut anywhere, are judged in the same way. */
#include <stdlib.h>
#include <string.h>

#include "bench/client/response.h"

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* Status, what is checked, length, seed of the cuts. */
#define CONTROL_SIZE 4

/**
 * struct run - one way through an input
 * @response:	Answer
 * @result:	What was thought of it
 * @used:	Bytes that belonged to it
 */
struct run {
	struct response response;
	enum response_result result;
	size_t used;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct response_expect read_expect(const uint8_t *control)
{
	static const int statuses[] = {0, -1, 200, 404, 302, 500};

	return (struct response_expect){
		.status = statuses[control[0] % (sizeof(statuses) / sizeof(statuses[0]))],
		.check_length = (control[1] & 1) != 0,
		.check_hash = (control[1] & 2) != 0,
		.length = control[2],
		.hash = UINT64_C(0x85944171f73967e8),
	};
}

/* Pieces of 1..8 bytes, or now and then of more; always in memory that ends with them. */
static size_t next_piece(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return (*seed >> 28) == 0 ? *seed >> 16 & 0x3ff : 1 + (*seed >> 24 & 7);
}

static void run(struct run *run, const struct response_expect *expect, const uint8_t *data,
		size_t size, uint32_t seed)
{
	response_start(&run->response, expect, expect->check_hash);
	run->result = RESPONSE_MORE;
	run->used = 0;
	while (run->result == RESPONSE_MORE && run->used < size) {
		size_t piece = seed == 0 ? size : next_piece(&seed);
		uint8_t *copy;
		size_t used;

		if (piece > size - run->used)
			piece = size - run->used;
		copy = malloc(piece + 1);
		REQUIRE(copy != NULL);
		memcpy(copy + 1, data + run->used, piece);
		run->result = response_take(&run->response, copy + 1, piece, &used);
		free(copy);
		REQUIRE(used <= piece);
		REQUIRE(used == piece || run->result != RESPONSE_MORE);
		run->used += used;
	}
	REQUIRE((run->result == RESPONSE_FAILED) == (run->response.failure != FAILURE_NONE));
	REQUIRE(run->response.failure < FAILURE_CLASSES);
	REQUIRE(run->result != RESPONSE_DONE || run->response.whole);
}

static void compare(const struct run *a, const struct run *b)
{
	REQUIRE(a->result == b->result);
	REQUIRE(a->response.failure == b->response.failure);
	REQUIRE(a->response.whole == b->response.whole);
	/* Where an answer that can't be read stops to make sense depends on the pieces. */
	if (a->result == RESPONSE_FAILED && !a->response.whole)
		return;
	REQUIRE(a->used == b->used);
	REQUIRE(a->response.bytes == b->response.bytes);
	REQUIRE(a->response.status == b->response.status);
	REQUIRE(a->response.body_length == b->response.body_length);
	REQUIRE(a->response.body_hash == b->response.body_hash);
	REQUIRE(a->response.stderr_length == b->response.stderr_length);
	REQUIRE(a->response.app_status == b->response.app_status);
	REQUIRE(response_eof(&a->response) == response_eof(&b->response));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct response_expect expect;
	struct run whole;
	struct run cut;

	if (size < CONTROL_SIZE)
		return 0;
	expect = read_expect(data);
	run(&whole, &expect, data + CONTROL_SIZE, size - CONTROL_SIZE, 0);
	run(&cut, &expect, data + CONTROL_SIZE, size - CONTROL_SIZE, data[3] + 1U);
	compare(&whole, &cut);
	return 0;
}
