/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/response.c: every judgement, whatever way the answer is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/client/response.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RECORDS_MAX  8
#define HEAD	     "Content-Type: text/plain\r\n\r\n"
#define END_GOOD                                              \
	{                                                     \
		FCGI_END_REQUEST, 1, "\0\0\0\0\0\0\0\0", 8, 0 \
	}
#define OUT(text)                                         \
	{                                                 \
		FCGI_STDOUT, 1, text, sizeof(text) - 1, 0 \
	}
#define ERR(text)                                         \
	{                                                 \
		FCGI_STDERR, 1, text, sizeof(text) - 1, 0 \
	}

struct record {
	uint8_t type;
	unsigned int id;
	const char *content;
	size_t size;
	unsigned int padding;
};

/**
 * struct answer_case - an answer and what is to be thought of it
 * @name:	What it is
 * @records:	Up to the first one of type 0
 * @status:	Expected status, 0 = 200
 * @failure:	FAILURE_NONE: it is good
 * @whole:	It was read to its END_REQUEST
 * @seen_status: HTTP status that was read
 * @body:	Length of its body
 */
struct answer_case {
	const char *name;
	struct record records[RECORDS_MAX];
	int status;
	enum failure failure;
	bool whole;
	int seen_status;
	uint64_t body;
};

static const struct answer_case answer_cases[] = {
	{"plain", {OUT(HEAD "body"), OUT(""), END_GOOD}, 0, FAILURE_NONE, true, 200, 4},
	{"stdout not closed", {OUT(HEAD "body"), END_GOOD}, 0, FAILURE_NONE, true, 200, 4},
	{"no body", {OUT(HEAD), END_GOOD}, 0, FAILURE_NONE, true, 200, 0},
	{"bare LF", {OUT("A: b\n\nbody\n"), END_GOOD}, 0, FAILURE_NONE, true, 200, 5},
	{"mixed line ends", {OUT("A: b\r\nC: d\n\r\nx"), END_GOOD}, 0, FAILURE_NONE, true, 200, 1},
	{"empty head", {OUT("\r\nbody"), END_GOOD}, 0, FAILURE_NONE, true, 200, 4},
	{"body that looks like a head",
	 {OUT("A: b\r\n\r\n\r\n\r\nStatus: 500\r\n\r\n"), END_GOOD},
	 0,
	 FAILURE_NONE,
	 true,
	 200,
	 19},
	{"a byte in each record",
	 {OUT("A"), OUT(":"), OUT("\r"), OUT("\n"), OUT("\r"), OUT("\n"), OUT("x"), END_GOOD},
	 0,
	 FAILURE_NONE,
	 true,
	 200,
	 1},
	{"padded",
	 {{FCGI_STDOUT, 1, HEAD "body", sizeof(HEAD "body") - 1, 255},
	  {FCGI_STDOUT, 1, "", 0, 255},
	  {FCGI_END_REQUEST, 1, "\0\0\0\0\0\0\0\0", 8, 255}},
	 0,
	 FAILURE_NONE,
	 true,
	 200,
	 4},
	{"stderr between",
	 {ERR("one\n"), OUT(HEAD "bo"), ERR("two\n"), OUT("dy"), ERR(""), OUT(""), END_GOOD},
	 0,
	 FAILURE_NONE,
	 true,
	 200,
	 4},
	{"zero bytes", {OUT(HEAD "\0\0\0"), END_GOOD}, 0, FAILURE_NONE, true, 200, 3},

	{"404 that was asked for",
	 {OUT("Status: 404 Not Found\r\n" HEAD), END_GOOD},
	 404,
	 FAILURE_NONE,
	 true,
	 404,
	 0},
	{"any status", {OUT("Status: 503\r\n" HEAD), END_GOOD}, -1, FAILURE_NONE, true, 503, 0},
	{"status in other letters",
	 {OUT("sTATUS:\t204\r\n" HEAD), END_GOOD},
	 204,
	 FAILURE_NONE,
	 true,
	 204,
	 0},
	{"status behind other lines",
	 {OUT("A: b\r\nStatus: 500 x\r\n" HEAD "bad"), END_GOOD},
	 0,
	 FAILURE_STATUS,
	 true,
	 500,
	 3},
	{"200 instead of 404", {OUT(HEAD), END_GOOD}, 404, FAILURE_STATUS, true, 200, 0},
	{"status without a number",
	 {OUT("Status: fine\r\n" HEAD), END_GOOD},
	 0,
	 FAILURE_STATUS,
	 true,
	 0,
	 0},
	{"status of four digits",
	 {OUT("Status: 2000\r\n" HEAD), END_GOOD},
	 0,
	 FAILURE_STATUS,
	 true,
	 0,
	 0},
	{"a header that only begins like it",
	 {OUT("Status-X: 500\r\n" HEAD), END_GOOD},
	 0,
	 FAILURE_NONE,
	 true,
	 200,
	 0},
	{"redirection",
	 {OUT("Location: /there\r\n\r\n"), END_GOOD},
	 302,
	 FAILURE_NONE,
	 true,
	 302,
	 0},
	{"redirection with a status",
	 {OUT("Status: 301\r\nLocation: /\r\n\r\n"), END_GOOD},
	 301,
	 FAILURE_NONE,
	 true,
	 301,
	 0},
	{"the same the other way round",
	 {OUT("Location: /\r\nStatus: 301\r\n\r\n"), END_GOOD},
	 301,
	 FAILURE_NONE,
	 true,
	 301,
	 0},

	{"nothing but the end", {END_GOOD}, 0, FAILURE_NO_HEAD, true, 0, 0},
	{"stdout closed without a head", {OUT(""), END_GOOD}, 0, FAILURE_NO_HEAD, true, 0, 0},
	{"head without its end",
	 {OUT("Content-Type: text/plain\r\n"), END_GOOD},
	 0,
	 FAILURE_NO_HEAD,
	 true,
	 0,
	 0},
	{"overloaded",
	 {{FCGI_END_REQUEST, 1, "\0\0\0\0\2\0\0\0", 8, 0}},
	 0,
	 FAILURE_OVERLOADED,
	 true,
	 0,
	 0},
	{"can't multiplex",
	 {{FCGI_END_REQUEST, 1, "\0\0\0\0\1\0\0\0", 8, 0}},
	 0,
	 FAILURE_CANT_MPX,
	 true,
	 0,
	 0},
	{"unknown role",
	 {{FCGI_END_REQUEST, 1, "\0\0\0\0\3\0\0\0", 8, 0}},
	 0,
	 FAILURE_ROLE,
	 true,
	 0,
	 0},
	{"unknown status",
	 {OUT(HEAD), {FCGI_END_REQUEST, 1, "\0\0\0\0\x9\0\0\0", 8, 0}},
	 0,
	 FAILURE_ROLE,
	 true,
	 200,
	 0},
	{"exit status",
	 {OUT(HEAD), {FCGI_END_REQUEST, 1, "\1\2\3\4\0\0\0\0", 8, 0}},
	 0,
	 FAILURE_APP_STATUS,
	 true,
	 200,
	 0},

	{"another request's stdout",
	 {{FCGI_STDOUT, 2, HEAD, sizeof(HEAD) - 1, 0}},
	 0,
	 FAILURE_BAD_RECORD,
	 false,
	 0,
	 0},
	{"another request's end",
	 {OUT(HEAD), {FCGI_END_REQUEST, 257, "\0\0\0\0\0\0\0\0", 8, 0}},
	 0,
	 FAILURE_BAD_RECORD,
	 false,
	 200,
	 0},
	{"short end",
	 {OUT(HEAD), {FCGI_END_REQUEST, 1, "\0\0\0\0\0\0\0", 7, 1}},
	 0,
	 FAILURE_BAD_RECORD,
	 false,
	 200,
	 0},
	{"long end",
	 {OUT(HEAD), {FCGI_END_REQUEST, 1, "\0\0\0\0\0\0\0\0\0", 9, 0}},
	 0,
	 FAILURE_BAD_RECORD,
	 false,
	 200,
	 0},
	{"unknown type", {{99, 1, "what", 4, 0}}, 0, FAILURE_BAD_RECORD, false, 0, 0},
	{"management record",
	 {{FCGI_UNKNOWN_TYPE, 0, "c\0\0\0\0\0\0\0", 8, 0}},
	 0,
	 FAILURE_BAD_RECORD,
	 false,
	 0,
	 0},
	{"stdout after its end",
	 {OUT(HEAD), OUT(""), OUT("more")},
	 0,
	 FAILURE_BAD_RECORD,
	 false,
	 200,
	 0},
};

static size_t build(const struct record *records, uint8_t *bytes, size_t size)
{
	struct wire_buffer out = {.data = bytes, .size = size};

	for (size_t i = 0; i < RECORDS_MAX && records[i].type != 0; i++) {
		const struct wire_header header = {
			.type = records[i].type,
			.request_id = records[i].id,
			.content_length = records[i].size,
			.padding_length = records[i].padding,
		};

		assert_int_equal(wire_put_record(&out, &header, records[i].content), WIRE_OK);
	}
	return out.used;
}

/* Feeds in pieces of @first and then @step bytes; each in memory of its own, for the sanitizer. */
static enum response_result feed(struct response *response, const uint8_t *bytes, size_t size,
				 size_t first, size_t step)
{
	enum response_result result = RESPONSE_MORE;
	size_t at = 0;
	size_t piece = first;

	while (at < size && result == RESPONSE_MORE) {
		uint8_t *copy;
		size_t used;

		if (piece > size - at)
			piece = size - at;
		copy = test_malloc(piece > 0 ? piece : 1);
		memcpy(copy, bytes + at, piece);
		result = response_take(response, copy, piece, &used);
		test_free(copy);
		assert_true(used <= piece);
		if (result == RESPONSE_MORE)
			assert_int_equal(used, piece);
		at += used;
		piece = step;
	}
	if (result != RESPONSE_FAILED)
		assert_int_equal(response->bytes, at);
	return result;
}

static void check(const struct answer_case *c, const uint8_t *bytes, size_t size, size_t first,
		  size_t step)
{
	const struct response_expect expect = {.status = c->status};
	struct response response;
	enum response_result result;

	response_start(&response, &expect, false);
	result = feed(&response, bytes, size, first, step);
	if (result != (c->failure == FAILURE_NONE ? RESPONSE_DONE : RESPONSE_FAILED) ||
	    response.failure != c->failure || response.whole != c->whole ||
	    response.status != c->seen_status || response.body_length != c->body)
		fail_msg("%s, cut at %zu by %zu: result %d, %s, whole %d, status %d, body %llu",
			 c->name, first, step, (int)result, failure_name(response.failure),
			 response.whole, response.status, (unsigned long long)response.body_length);
}

static void every_judgement(void **state)
{
	static uint8_t bytes[4096];

	(void)state;
	for (size_t i = 0; i < COUNT(answer_cases); i++) {
		const size_t size = build(answer_cases[i].records, bytes, sizeof(bytes));

		for (size_t cut = 0; cut <= size; cut++)
			check(&answer_cases[i], bytes, size, cut, size);
		check(&answer_cases[i], bytes, size, 1, 1);
		check(&answer_cases[i], bytes, size, 3, 7);
	}
}

static void wrong_version_and_garbage(void **state)
{
	static const struct response_expect expect;
	static const char http[] = "HTTP/1.1 200 OK\r\n\r\n";
	uint8_t bytes[64];
	struct response response;
	size_t used;

	(void)state;
	response_start(&response, &expect, false);
	assert_int_equal(response_take(&response, (const uint8_t *)http, sizeof(http) - 1, &used),
			 RESPONSE_FAILED);
	assert_int_equal(response.failure, FAILURE_BAD_RECORD);
	assert_int_equal(build((struct record[RECORDS_MAX]){END_GOOD}, bytes, sizeof(bytes)), 16);
	bytes[0] = 2;
	response_start(&response, &expect, false);
	assert_int_equal(response_take(&response, bytes, 16, &used), RESPONSE_FAILED);
	assert_int_equal(response.failure, FAILURE_BAD_RECORD);
	/* An answer that has failed can be asked again without harm. */
	assert_int_equal(response_take(&response, bytes, 16, &used), RESPONSE_FAILED);
}

static void body_is_checked(void **state)
{
	/* FNV-1a of "foobar", a published value. */
	const struct response_expect good = {
		.check_length = true,
		.length = 6,
		.check_hash = true,
		.hash = UINT64_C(0x85944171f73967e8),
	};
	struct response_expect expect = good;
	uint8_t bytes[128];
	const size_t size = build((struct record[RECORDS_MAX]){OUT(HEAD "foobar"), END_GOOD}, bytes,
				  sizeof(bytes));
	struct response response;

	(void)state;
	response_start(&response, &expect, true);
	assert_int_equal(feed(&response, bytes, size, 1, 1), RESPONSE_DONE);
	assert_true(response.body_hash == good.hash);
	expect.hash++;
	response_start(&response, &expect, true);
	assert_int_equal(feed(&response, bytes, size, size, size), RESPONSE_FAILED);
	assert_int_equal(response.failure, FAILURE_CONTENT);
	assert_true(response.whole);
	expect.length++;
	response_start(&response, &expect, true);
	assert_int_equal(feed(&response, bytes, size, size, size), RESPONSE_FAILED);
	assert_int_equal(response.failure, FAILURE_LENGTH);
}

static void what_follows_is_left(void **state)
{
	static const struct response_expect expect;
	uint8_t bytes[128];
	const size_t size = build((struct record[RECORDS_MAX]){OUT(HEAD "x"), END_GOOD, END_GOOD},
				  bytes, sizeof(bytes));
	struct response response;
	size_t used;

	(void)state;
	response_start(&response, &expect, false);
	assert_int_equal(response_take(&response, bytes, size, &used), RESPONSE_DONE);
	assert_int_equal(used, size - 16);
	assert_int_equal(response.bytes, size - 16);
}

/* Put into records of 60,000 bytes; one more than the limit is too much, wherever it is cut. */
static enum response_result take_head(size_t length, bool lines, size_t step)
{
	static const struct response_expect expect;
	static uint8_t head[RESPONSE_HEAD_MAX + 16];
	static uint8_t bytes[RESPONSE_HEAD_MAX + 256];
	const struct wire_stream out_stream = {FCGI_STDOUT, 1, 60000, false};
	const struct wire_end end = {.app_status = 0};
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
	struct response response;

	memset(head, 'h', sizeof(head));
	for (size_t i = 99; lines && i < length; i += 100)
		head[i] = '\n';
	head[length - 2] = '\n';
	head[length - 1] = '\n';
	assert_int_equal(wire_put_stream(&out, &out_stream, head, length), WIRE_OK);
	assert_int_equal(wire_put_end(&out, 1, &end), WIRE_OK);
	response_start(&response, &expect, false);
	if (feed(&response, bytes, out.used, step, step) == RESPONSE_DONE)
		return RESPONSE_DONE;
	assert_int_equal(response.failure, FAILURE_OVERFLOW);
	assert_false(response.whole);
	return RESPONSE_FAILED;
}

static void large_heads(void **state)
{
	static const size_t steps[] = {1000000, 60008, 4096, 77};

	(void)state;
	for (size_t i = 0; i < COUNT(steps) * 2; i++) {
		const bool lines = i % 2 == 1;
		const size_t step = steps[i / 2];

		assert_int_equal(take_head(RESPONSE_HEAD_MAX, lines, step), RESPONSE_DONE);
		assert_int_equal(take_head(RESPONSE_HEAD_MAX + 1, lines, step), RESPONSE_FAILED);
	}
}

static void ends_of_file(void **state)
{
	static const struct response_expect expect;
	uint8_t bytes[128];
	const size_t size =
		build((struct record[RECORDS_MAX]){OUT(HEAD "body")}, bytes, sizeof(bytes));
	struct response response;

	(void)state;
	response_start(&response, &expect, false);
	assert_int_equal(response_eof(&response), FAILURE_EOF_EMPTY);
	for (size_t length = 1; length <= size; length++) {
		response_start(&response, &expect, false);
		assert_int_equal(feed(&response, bytes, length, 5, 5), RESPONSE_MORE);
		assert_int_equal(response_eof(&response), FAILURE_EOF_SHORT);
	}
}

static void stderr_is_counted(void **state)
{
	static const struct response_expect expect;
	uint8_t bytes[128];
	const size_t size =
		build((struct record[RECORDS_MAX]){ERR("abc"), OUT(HEAD), ERR("defg"), END_GOOD},
		      bytes, sizeof(bytes));
	struct response response;

	(void)state;
	response_start(&response, &expect, false);
	assert_int_equal(feed(&response, bytes, size, 2, 3), RESPONSE_DONE);
	assert_int_equal(response.stderr_length, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_judgement),   cmocka_unit_test(wrong_version_and_garbage),
		cmocka_unit_test(body_is_checked),   cmocka_unit_test(what_follows_is_left),
		cmocka_unit_test(large_heads),	     cmocka_unit_test(ends_of_file),
		cmocka_unit_test(stderr_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
