/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fcgi/parser.c: the same events wherever the input is cut, and never a byte too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define STREAM_MAX   2048

/*
 * What a parser said, as text: "5#1+0<" the header of a record of type 5, id 1, padding 0, then its
 * content, then ">". "!72" a refused version; "$" the input ended between two records, "~" inside
 * one.
 */
struct transcript {
	char text[4 * STREAM_MAX];
	size_t used;
};

static void transcript_add(struct transcript *t, const void *data, size_t size)
{
	assert_true(size < sizeof(t->text) - t->used);
	memcpy(t->text + t->used, data, size);
	t->used += size;
	t->text[t->used] = '\0';
}

static void transcript_event(struct transcript *t, const struct wire_parser *parser,
			     const struct wire_event *event)
{
	char text[64];
	int size;

	switch (event->type) {
	case WIRE_EVENT_HEADER:
		size = snprintf(text, sizeof(text), "%u#%u+%u<", parser->header.type,
				parser->header.request_id, parser->header.padding_length);
		transcript_add(t, text, (size_t)size);
		break;
	case WIRE_EVENT_CONTENT:
		assert_true(event->size > 0);
		transcript_add(t, event->content, event->size);
		break;
	case WIRE_EVENT_END:
		transcript_add(t, ">", 1);
		assert_true(wire_parser_is_between(parser));
		return;
	}
	assert_false(wire_parser_is_between(parser));
}

/* Feed one piece. It is copied to memory of its own size, so that sanitizers see a read past it. */
static bool feed(struct wire_parser *parser, const uint8_t *data, size_t size, bool accept,
		 struct transcript *t)
{
	uint8_t *piece = malloc(size > 0 ? size : 1);
	size_t offset = 0;
	enum wire_status status;
	struct wire_event event;

	assert_non_null(piece);
	memcpy(piece, data, size);
	do {
		size_t used = SIZE_MAX;
		char text[16];

		status = wire_parser_next(parser, piece + offset, size - offset, &used, &event);
		assert_true(used <= size - offset);
		if (status == WIRE_OK && event.type == WIRE_EVENT_CONTENT) {
			assert_ptr_equal(event.content, piece + offset);
			assert_int_equal(event.size, used);
		}
		offset += used;
		if (status == WIRE_OK) {
			transcript_event(t, parser, &event);
		} else if (status == WIRE_E_VERSION) {
			transcript_add(t, text,
				       (size_t)snprintf(text, sizeof(text), "!%u",
							parser->header.version));
			wire_parser_accept(parser);
		}
	} while (status == WIRE_OK || (status == WIRE_E_VERSION && accept));
	if (status == WIRE_MORE)
		assert_int_equal(offset, size);
	free(piece);
	return status == WIRE_MORE;
}

struct parse_case {
	const char *title;
	size_t size;
	uint8_t bytes[96];
	const char *stopping;  /* transcript if the first refusal ends it */
	const char *accepting; /* transcript if odd versions are accepted, NULL = the same */
};

/* clang-format off */
static const struct parse_case parse_cases[] = {
	{"nothing", 0, {0}, "$", NULL},
	{"empty record", 8, {1, 5, 0, 1, 0, 0, 0, 0}, "5#1+0<>$", NULL},
	{"content", 10, {1, 5, 0, 1, 0, 2, 0, 0, 'o', 'k'}, "5#1+0<ok>$", NULL},
	{"padding", 13, {1, 6, 1, 0, 0, 2, 3, 0, 'o', 'k', 'x', 'x', 'x'}, "6#256+3<ok>$", NULL},
	{"padding, no content", 10, {1, 6, 0, 1, 0, 0, 2, 0, 'x', 'x'}, "6#1+2<>$", NULL},
	{"reserved byte set", 8, {1, 5, 0, 1, 0, 0, 0, 77}, "5#1+0<>$", NULL},
	{"unknown type, id 65535", 8, {1, 200, 255, 255, 0, 0, 0, 0}, "200#65535+0<>$", NULL},
	{"a whole request", 64,
	 {1, 1, 0, 1, 0, 8, 0, 0, 0, '1', 'k', 0, 0, 0, 0, 0,
	  1, 4, 0, 1, 0, 5, 3, 0, 1, 2, 'a', 'b', 'c', 0, 0, 0,
	  1, 4, 0, 1, 0, 0, 0, 0,
	  1, 5, 0, 1, 0, 7, 1, 0, 'p', 'o', 's', 't', 'i', 'n', 'g', 0,
	  1, 5, 0, 1, 0, 0, 0, 0}, NULL, NULL},
	{"cut in the header", 9, {1, 5, 0, 1, 0, 0, 0, 0, 1}, "5#1+0<>~", NULL},
	{"cut before the content", 8, {1, 5, 0, 1, 0, 2, 0, 0}, "5#1+0<~", NULL},
	{"cut in the content", 9, {1, 5, 0, 1, 0, 2, 0, 0, 'o'}, "5#1+0<o~", NULL},
	{"cut before the padding", 9, {1, 5, 0, 1, 0, 1, 2, 0, 'o'}, "5#1+2<o~", NULL},
	{"cut in the padding", 10, {1, 5, 0, 1, 0, 1, 2, 0, 'o', 0}, "5#1+2<o~", NULL},
	{"version 0", 18, {0, 5, 0, 1, 0, 1, 1, 0, 'a', 0, 1, 5, 0, 1, 0, 0, 0, 0},
	 "!0", "!05#1+1<a>5#1+0<>$"},
	{"version 2 comes second", 17, {1, 5, 0, 1, 0, 1, 0, 0, 'a', 2, 5, 0, 3, 0, 0, 0, 0},
	 "5#1+0<a>!2", "5#1+0<a>!25#3+0<>$"},
	{"HTTP", 18, "GET / HTTP/1.1\r\n\r\n", "!71", NULL},
	{"half a foreign header", 4, "GET ", "~", NULL},
};
/* clang-format on */

/* Its content holds bytes that C strings end with, so it is compared on its own. */
static const char request_transcript[] = "1#1+0<\0"
					 "1k\0\0\0\0\0>4#1+3<\1\2abc>4#1+0<>"
					 "5#1+1<posting>5#1+0<>$";

/* Parse in pieces that end at the given offsets, and compare. */
static void check_cuts(const struct parse_case *c, const size_t *cuts, size_t cut_count,
		       bool accept)
{
	const char *expected = accept && c->accepting != NULL ? c->accepting : c->stopping;
	size_t expected_size;
	struct transcript t = {.used = 0};
	struct wire_parser parser;
	size_t start = 0;
	bool going = true;

	wire_parser_init(&parser);
	for (size_t i = 0; i <= cut_count && going; i++) {
		const size_t end = i < cut_count ? cuts[i] : c->size;

		going = feed(&parser, c->bytes + start, end - start, accept, &t);
		start = end;
	}
	if (going)
		transcript_add(&t, wire_parser_end(&parser) == WIRE_OK ? "$" : "~", 1);
	if (expected == NULL) {
		expected = request_transcript;
		expected_size = sizeof(request_transcript) - 1;
	} else {
		expected_size = strlen(expected);
	}
	if (t.used != expected_size || memcmp(t.text, expected, t.used) != 0)
		fail_msg("%s: got %s instead of %s", c->title, t.text, expected);
}

/* What follows a foreign start is no record, so only a refusal can be expected of it. */
static bool accepts(const struct parse_case *c)
{
	return c->bytes[0] != 'G';
}

static void test_parse_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(parse_cases); i++) {
		check_cuts(&parse_cases[i], &parse_cases[i].size, 0, false);
		if (accepts(&parse_cases[i]))
			check_cuts(&parse_cases[i], &parse_cases[i].size, 0, true);
	}
}

static void test_parse_cut_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(parse_cases); i++) {
		const struct parse_case *c = &parse_cases[i];

		for (size_t first = 0; first <= c->size; first++) {
			for (size_t second = first; second <= c->size; second++) {
				check_cuts(c, (const size_t[]){first, second}, 2, false);
				if (accepts(c))
					check_cuts(c, (const size_t[]){first, second}, 2, true);
			}
		}
	}
}

static void test_parse_by_byte(void **state)
{
	size_t cuts[96];

	(void)state;
	for (size_t i = 0; i < COUNT(cuts); i++)
		cuts[i] = i;
	for (size_t i = 0; i < COUNT(parse_cases); i++) {
		check_cuts(&parse_cases[i], cuts, parse_cases[i].size, false);
		if (accepts(&parse_cases[i]))
			check_cuts(&parse_cases[i], cuts, parse_cases[i].size, true);
	}
}

static void test_paddings(void **state)
{
	(void)state;
	for (unsigned int padding = 0; padding <= 255; padding++) {
		const struct wire_header header = {1, FCGI_STDOUT, 1, 5, padding};
		const struct wire_stream next = {.type = FCGI_STDOUT, .request_id = 1};
		uint8_t bytes[STREAM_MAX] = {0};
		struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
		char expected[64];

		(void)snprintf(expected, sizeof(expected), "6#1+%u<hello>6#1+0<>", padding);
		assert_int_equal(wire_put_record(&out, &header, "hello"), WIRE_OK);
		assert_int_equal(wire_put_stream_end(&out, &next), WIRE_OK);
		for (size_t cut = 0; cut <= out.used; cut++) {
			struct transcript t = {.used = 0};
			struct wire_parser parser;

			wire_parser_init(&parser);
			assert_true(feed(&parser, bytes, cut, false, &t));
			assert_true(feed(&parser, bytes + cut, out.used - cut, false, &t));
			assert_string_equal(t.text, expected);
		}
	}
}

/* Parse one record and stop: the bytes behind it must not be touched, whatever they are. */
static void test_stop_after_one_record(void **state)
{
	static const uint8_t bytes[] = {1, 5, 0, 1, 0, 3, 2, 0, 'a', 'b', 'c', 0, 0, 'X', 'Y'};
	static const enum wire_event_type order[] = {WIRE_EVENT_HEADER, WIRE_EVENT_CONTENT,
						     WIRE_EVENT_END};
	static const size_t expected_used[] = {8, 3, 2};
	struct wire_parser parser;
	size_t offset = 0;

	(void)state;
	wire_parser_init(&parser);
	for (size_t i = 0; i < COUNT(order); i++) {
		struct wire_event event;
		size_t used = 0;

		assert_int_equal(wire_parser_next(&parser, bytes + offset, sizeof(bytes) - offset,
						  &used, &event),
				 WIRE_OK);
		assert_int_equal(event.type, order[i]);
		assert_int_equal(used, expected_used[i]);
		offset += used;
	}
	assert_int_equal(offset, 13);
	assert_true(wire_parser_is_between(&parser));
	assert_int_equal(wire_parser_end(&parser), WIRE_OK);
}

/* The end of an empty record comes without another byte, or a reader would wait for ever. */
static void test_empty_record_ends_without_a_byte(void **state)
{
	static const uint8_t bytes[] = {1, 5, 0, 1, 0, 0, 0, 0};
	struct wire_parser parser = {.state = WIRE_PARSER_HEADER};
	struct wire_event event;
	size_t used = 99;

	(void)state;
	assert_int_equal(wire_parser_next(&parser, NULL, 0, &used, &event), WIRE_MORE);
	assert_int_equal(used, 0);
	assert_int_equal(wire_parser_next(&parser, bytes, 8, &used, &event), WIRE_OK);
	assert_int_equal(event.type, WIRE_EVENT_HEADER);
	assert_int_equal(used, 8);
	assert_false(wire_parser_is_between(&parser));
	assert_int_equal(wire_parser_next(&parser, NULL, 0, &used, &event), WIRE_OK);
	assert_int_equal(event.type, WIRE_EVENT_END);
	assert_int_equal(used, 0);
	assert_int_equal(wire_parser_next(&parser, NULL, 0, &used, &event), WIRE_MORE);
}

/* A fixed-size body can be decoded at the end of its record, however it was cut. */
static void test_bodies_survive_cuts(void **state)
{
	const struct wire_end end = {.app_status = 0x01020304, .protocol_status = FCGI_OVERLOADED};
	uint8_t bytes[16];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};

	(void)state;
	assert_int_equal(wire_put_end(&out, 1, &end), WIRE_OK);
	for (size_t first = 0; first <= out.used; first++) {
		for (size_t second = first; second <= out.used; second++) {
			struct transcript t = {.used = 0};
			struct wire_parser parser;
			struct wire_end got;

			wire_parser_init(&parser);
			assert_true(feed(&parser, bytes, first, false, &t));
			assert_true(feed(&parser, bytes + first, second - first, false, &t));
			assert_true(feed(&parser, bytes + second, out.used - second, false, &t));
			assert_true(wire_parser_is_between(&parser));
			assert_int_equal(
				wire_end_decode(parser.body, parser.header.content_length, &got),
				WIRE_OK);
			assert_int_equal(got.app_status, end.app_status);
			assert_int_equal(got.protocol_status, end.protocol_status);
		}
	}
}

static void test_refusal_stays(void **state)
{
	static const uint8_t bytes[] = {3, 6, 0, 1, 0, 1, 0, 0, 'a'};
	struct wire_parser parser;
	struct wire_event event = {.size = 99};
	size_t used = 0;

	(void)state;
	wire_parser_init(&parser);
	wire_parser_accept(&parser);
	assert_int_equal(wire_parser_next(&parser, bytes, sizeof(bytes), &used, &event),
			 WIRE_E_VERSION);
	assert_int_equal(used, 8);
	assert_int_equal(parser.header.version, 3);
	assert_int_equal(parser.header.type, 6);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wire_parser_next(&parser, bytes + 8, 1, &used, &event),
				 WIRE_E_VERSION);
		assert_int_equal(used, 0);
	}
	assert_false(wire_parser_is_between(&parser));
	assert_int_equal(wire_parser_end(&parser), WIRE_E_TRUNCATED);
	assert_int_equal(event.size, 99);
}

/* The largest record streams through in pieces that are much smaller than it. */
static void test_largest_record(void **state)
{
	const struct wire_header header = {1, FCGI_STDOUT, 1, 65535, 255};
	const size_t size = 8 + 65535 + 255;
	uint8_t *content = malloc(65535);
	uint8_t *bytes = malloc(size);
	struct wire_buffer out = {.data = bytes, .size = size};
	struct wire_parser parser;
	size_t seen = 0;
	size_t ends = 0;

	(void)state;
	assert_non_null(content);
	assert_non_null(bytes);
	for (size_t i = 0; i < 65535; i++)
		content[i] = (uint8_t)(i * 7 + (i >> 8));
	assert_int_equal(wire_put_record(&out, &header, content), WIRE_OK);
	assert_int_equal(out.used, size);
	wire_parser_init(&parser);
	for (size_t offset = 0; offset < size;) {
		const size_t piece = size - offset < 1000 ? size - offset : 1000;
		struct wire_event event = {.type = WIRE_EVENT_HEADER};
		size_t used = 0;
		enum wire_status status;

		status = wire_parser_next(&parser, bytes + offset, piece, &used, &event);
		offset += used;
		if (status == WIRE_OK && event.type == WIRE_EVENT_CONTENT) {
			assert_memory_equal(event.content, content + seen, event.size);
			seen += event.size;
		}
		ends += status == WIRE_OK && event.type == WIRE_EVENT_END;
	}
	assert_int_equal(seen, 65535);
	assert_int_equal(ends, 1);
	free(content);
	free(bytes);
}

/* Names and values that a request was built from, cut into records of every size. */
static void test_request_round_trip(void **state)
{
	static const char pairs[] = "\4\3NAMEval\0\0\6\1METHODG";
	const size_t pairs_size = sizeof(pairs) - 1;

	(void)state;
	for (size_t max_content = 1; max_content <= pairs_size; max_content++) {
		const struct wire_stream stream = {FCGI_PARAMS, 1, max_content, max_content % 2};
		uint8_t bytes[STREAM_MAX] = {0};
		struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
		struct wire_parser parser = {.state = WIRE_PARSER_HEADER};
		struct wire_params params;
		uint8_t scratch[16];
		char text[64] = "";
		size_t offset = 0;
		struct wire_event event;
		size_t used;

		assert_int_equal(wire_put_stream(&out, &stream, pairs, pairs_size), WIRE_OK);
		assert_int_equal(wire_put_stream_end(&out, &stream), WIRE_OK);
		wire_params_init(&params, scratch, sizeof(scratch));
		for (; wire_parser_next(&parser, bytes + offset, out.used - offset, &used,
					&event) == WIRE_OK;
		     offset += used) {
			struct wire_pair pair;
			size_t at = 0;
			size_t taken;

			while (event.type == WIRE_EVENT_CONTENT &&
			       wire_params_next(&params, event.content + at, event.size - at,
						&taken, &pair) == WIRE_OK) {
				const size_t length = strlen(text);

				(void)snprintf(text + length, sizeof(text) - length, "%.*s=%.*s;",
					       (int)pair.name_size, pair.name, (int)pair.value_size,
					       pair.value);
				at += taken;
			}
		}
		assert_int_equal(offset, out.used);
		assert_int_equal(wire_params_end(&params), WIRE_OK);
		assert_string_equal(text, "NAME=val;=;METHOD=G;");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_whole),
		cmocka_unit_test(test_parse_cut_twice),
		cmocka_unit_test(test_parse_by_byte),
		cmocka_unit_test(test_paddings),
		cmocka_unit_test(test_stop_after_one_record),
		cmocka_unit_test(test_empty_record_ends_without_a_byte),
		cmocka_unit_test(test_bodies_survive_cuts),
		cmocka_unit_test(test_refusal_stays),
		cmocka_unit_test(test_largest_record),
		cmocka_unit_test(test_request_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
