/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fcgi/record.c: exact bytes of headers, bodies and streams cut into records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UNTOUCHED    0xa5

struct header_case {
	struct wire_header header;
	uint8_t bytes[FCGI_HEADER_LEN];
};

static const struct header_case header_cases[] = {
	{{1, FCGI_BEGIN_REQUEST, 1, 8, 0}, {1, 1, 0, 1, 0, 8, 0, 0}},
	{{1, FCGI_STDIN, 1, 0, 0}, {1, 5, 0, 1, 0, 0, 0, 0}},
	{{1, FCGI_PARAMS, 0x0102, 0x0304, 5}, {1, 4, 1, 2, 3, 4, 5, 0}},
	{{1, FCGI_GET_VALUES, 0, 127, 1}, {1, 9, 0, 0, 0, 127, 1, 0}},
	{{1, FCGI_STDOUT, 255, 128, 0}, {1, 6, 0, 255, 0, 128, 0, 0}},
	{{1, FCGI_STDERR, 256, 255, 1}, {1, 7, 1, 0, 0, 255, 1, 0}},
	{{1, FCGI_DATA, 65535, 256, 255}, {1, 8, 255, 255, 1, 0, 255, 0}},
	{{1, FCGI_STDOUT, 32768, 65535, 255}, {1, 6, 128, 0, 255, 255, 255, 0}},
	{{1, 255, 0, 0, 0}, {1, 255, 0, 0, 0, 0, 0, 0}},
};

static void assert_header_equal(const struct wire_header *a, const struct wire_header *b)
{
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->request_id, b->request_id);
	assert_int_equal(a->content_length, b->content_length);
	assert_int_equal(a->padding_length, b->padding_length);
}

static void test_header_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(header_cases); i++) {
		const struct header_case *c = &header_cases[i];
		uint8_t bytes[FCGI_HEADER_LEN];
		struct wire_header header;

		memset(bytes, UNTOUCHED, sizeof(bytes));
		assert_int_equal(wire_header_encode(&c->header, bytes), WIRE_OK);
		assert_memory_equal(bytes, c->bytes, sizeof(bytes));
		assert_int_equal(wire_header_decode(c->bytes, &header), WIRE_OK);
		assert_header_equal(&header, &c->header);
	}
}

/* A caller that forgets the version must not send version 0. */
static void test_header_version_is_always_ours(void **state)
{
	const struct wire_header header = {.version = 0, .type = FCGI_STDIN, .request_id = 1};
	uint8_t bytes[FCGI_HEADER_LEN];

	(void)state;
	assert_int_equal(wire_header_encode(&header, bytes), WIRE_OK);
	assert_int_equal(bytes[0], FCGI_VERSION_1);
}

static void test_header_too_large(void **state)
{
	static const struct wire_header headers[] = {
		{1, FCGI_STDIN, 65536, 0, 0},
		{1, FCGI_STDIN, 0, 65536, 0},
		{1, FCGI_STDIN, 0, SIZE_MAX, 0},
		{1, FCGI_STDIN, 0, 0, 256},
	};
	uint8_t untouched[FCGI_HEADER_LEN];
	uint8_t bytes[FCGI_HEADER_LEN];

	(void)state;
	memset(untouched, UNTOUCHED, sizeof(untouched));
	memcpy(bytes, untouched, sizeof(bytes));
	for (size_t i = 0; i < COUNT(headers); i++) {
		struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};

		assert_int_equal(wire_header_encode(&headers[i], bytes), WIRE_E_RANGE);
		assert_int_equal(wire_put_record(&out, &headers[i], "x"), WIRE_E_RANGE);
		assert_int_equal(out.used, 0);
		assert_memory_equal(bytes, untouched, sizeof(bytes));
	}
}

static void test_header_odd_versions_are_reported(void **state)
{
	static const uint8_t versions[] = {0, 2, 'H', 255};
	uint8_t bytes[FCGI_HEADER_LEN] = {0, 6, 1, 2, 3, 4, 5, 99};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		const struct wire_header expected = {versions[i], 6, 0x0102, 0x0304, 5};
		struct wire_header header;

		bytes[0] = versions[i];
		assert_int_equal(wire_header_decode(bytes, &header), WIRE_E_VERSION);
		assert_header_equal(&header, &expected);
	}
}

struct begin_case {
	struct wire_begin begin;
	uint8_t record[16];
};

static void test_begin_bytes(void **state)
{
	static const struct begin_case cases[] = {
		{{FCGI_RESPONDER, 0}, {1, 1, 0, 7, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
		{{FCGI_RESPONDER, FCGI_KEEP_CONN},
		 {1, 1, 0, 7, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0}},
		{{FCGI_FILTER, 0}, {1, 1, 0, 7, 0, 8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0}},
		{{0xfeff, 0x82}, {1, 1, 0, 7, 0, 8, 0, 0, 0xfe, 0xff, 0x82, 0, 0, 0, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t record[16];
		struct wire_buffer out = {.data = record, .size = sizeof(record)};
		struct wire_begin begin;

		assert_int_equal(wire_put_begin(&out, 7, &cases[i].begin), WIRE_OK);
		assert_int_equal(out.used, sizeof(record));
		assert_memory_equal(record, cases[i].record, sizeof(record));
		assert_int_equal(wire_begin_decode(record + 8, 8, &begin), WIRE_OK);
		assert_int_equal(begin.role, cases[i].begin.role);
		assert_int_equal(begin.flags, cases[i].begin.flags);
	}
}

struct end_case {
	struct wire_end end;
	uint8_t record[16];
};

static void test_end_bytes(void **state)
{
	static const struct end_case cases[] = {
		{{0, FCGI_REQUEST_COMPLETE}, {1, 3, 1, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{{0x01020304, FCGI_OVERLOADED}, {1, 3, 1, 2, 0, 8, 0, 0, 1, 2, 3, 4, 2, 0, 0, 0}},
		{{0xfffefdfc, FCGI_UNKNOWN_ROLE},
		 {1, 3, 1, 2, 0, 8, 0, 0, 0xff, 0xfe, 0xfd, 0xfc, 3, 0, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t record[16];
		struct wire_buffer out = {.data = record, .size = sizeof(record)};
		struct wire_end end;

		assert_int_equal(wire_put_end(&out, 0x0102, &cases[i].end), WIRE_OK);
		assert_int_equal(out.used, sizeof(record));
		assert_memory_equal(record, cases[i].record, sizeof(record));
		assert_int_equal(wire_end_decode(record + 8, 8, &end), WIRE_OK);
		assert_true(end.app_status == cases[i].end.app_status);
		assert_int_equal(end.protocol_status, cases[i].end.protocol_status);
	}
}

static void test_unknown_type_bytes(void **state)
{
	static const uint8_t golden[16] = {1, 11, 0, 0, 0, 8, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0};
	uint8_t record[16];
	struct wire_buffer out = {.data = record, .size = sizeof(record)};
	uint8_t type = 0;

	(void)state;
	assert_int_equal(wire_put_unknown(&out, 50), WIRE_OK);
	assert_int_equal(out.used, sizeof(record));
	assert_memory_equal(record, golden, sizeof(golden));
	assert_int_equal(wire_unknown_decode(record + 8, 8, &type), WIRE_OK);
	assert_int_equal(type, 50);
}

static void test_bodies_of_another_size(void **state)
{
	static const size_t sizes[] = {0, 1, 7, 9, 65535};
	static const uint8_t body[WIRE_BODY_SIZE] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct wire_begin begin = {.role = 99};
	struct wire_end end = {.app_status = 99};
	uint8_t type = 99;

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		assert_int_equal(wire_begin_decode(body, sizes[i], &begin), WIRE_E_LENGTH);
		assert_int_equal(wire_end_decode(body, sizes[i], &end), WIRE_E_LENGTH);
		assert_int_equal(wire_unknown_decode(body, sizes[i], &type), WIRE_E_LENGTH);
	}
	assert_int_equal(begin.role, 99);
	assert_int_equal(end.app_status, 99);
	assert_int_equal(type, 99);
}

static void test_record_paddings(void **state)
{
	uint8_t bytes[8 + 3 + 255];

	(void)state;
	for (unsigned int padding = 0; padding <= 255; padding++) {
		const struct wire_header header = {1, FCGI_STDOUT, 1, 3, padding};
		const uint8_t golden[] = {1, 6, 0, 1, 0, 3, (uint8_t)padding, 0, 'a', 'b', 'c'};
		struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};

		memset(bytes, UNTOUCHED, sizeof(bytes));
		assert_int_equal(wire_put_record(&out, &header, "abc"), WIRE_OK);
		assert_int_equal(out.used, sizeof(golden) + padding);
		assert_memory_equal(bytes, golden, sizeof(golden));
		for (size_t i = sizeof(golden); i < sizeof(bytes); i++)
			assert_int_equal(bytes[i], i < out.used ? 0 : UNTOUCHED);
	}
}

/* Every size below the one that is needed is refused, and nothing is appended. */
static void test_no_space(void **state)
{
	const struct wire_header header = {1, FCGI_STDOUT, 1, 3, 5};
	const struct wire_stream stream = {.type = FCGI_STDIN, .request_id = 1, .max_content = 4};
	const struct wire_begin begin = {.role = FCGI_RESPONDER};
	const struct wire_end end = {.app_status = 0};
	uint8_t bytes[32];

	(void)state;
	for (size_t size = 0; size < sizeof(bytes); size++) {
		struct wire_buffer out = {.data = bytes, .size = size};

		if (size < 16) {
			assert_int_equal(wire_put_record(&out, &header, "abc"), WIRE_E_SPACE);
			assert_int_equal(wire_put_begin(&out, 1, &begin), WIRE_E_SPACE);
			assert_int_equal(wire_put_end(&out, 1, &end), WIRE_E_SPACE);
			assert_int_equal(wire_put_unknown(&out, 50), WIRE_E_SPACE);
		}
		if (size < 8)
			assert_int_equal(wire_put_stream_end(&out, &stream), WIRE_E_SPACE);
		if (size < 21)
			assert_int_equal(wire_put_stream(&out, &stream, "hello", 5), WIRE_E_SPACE);
		assert_int_equal(out.used, 0);
	}
}

static void test_buffer_take(void **state)
{
	uint8_t bytes[8];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes), .used = 3};
	struct wire_buffer broken = {.data = bytes, .size = sizeof(bytes), .used = 9};

	(void)state;
	assert_null(wire_buffer_take(&out, 6));
	assert_null(wire_buffer_take(&out, SIZE_MAX));
	assert_int_equal(out.used, 3);
	assert_ptr_equal(wire_buffer_take(&out, 5), bytes + 3);
	assert_int_equal(out.used, 8);
	assert_null(wire_buffer_take(&out, 1));
	assert_null(wire_buffer_take(&broken, 0));
}

struct stream_case {
	const char *data;
	size_t max_content;
	bool pad;
	size_t size;
	uint8_t bytes[80];
};

#define HEAD(length, padding) 1, FCGI_STDIN, 0, 9, 0, (length), (padding), 0

static const struct stream_case stream_cases[] = {
	{"", 0, false, 0, {0}},
	{"hello", 0, false, 13, {HEAD(5, 0), 'h', 'e', 'l', 'l', 'o'}},
	{"hello", 0, true, 16, {HEAD(5, 3), 'h', 'e', 'l', 'l', 'o'}},
	{"12345678", 0, true, 16, {HEAD(8, 0), '1', '2', '3', '4', '5', '6', '7', '8'}},
	{"123456789", 0, true, 24, {HEAD(9, 7), '1', '2', '3', '4', '5', '6', '7', '8', '9'}},
	{"abcd", 2, false, 20, {HEAD(2, 0), 'a', 'b', HEAD(2, 0), 'c', 'd'}},
	{"abc", 1, false, 27, {HEAD(1, 0), 'a', HEAD(1, 0), 'b', HEAD(1, 0), 'c'}},
	{"hello", 4, false, 21, {HEAD(4, 0), 'h', 'e', 'l', 'l', HEAD(1, 0), 'o'}},
	{"hello", 4, true, 32, {HEAD(4, 4), 'h', 'e', 'l', 'l', 0, 0, 0, 0, HEAD(1, 7), 'o'}},
};

static void test_stream_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(stream_cases); i++) {
		const struct stream_case *c = &stream_cases[i];
		const struct wire_stream stream = {FCGI_STDIN, 9, c->max_content, c->pad};
		uint8_t bytes[80];
		struct wire_buffer out = {.data = bytes, .size = c->size};
		size_t size = 99;

		memset(bytes, UNTOUCHED, sizeof(bytes));
		assert_int_equal(wire_stream_size(&stream, strlen(c->data), &size), WIRE_OK);
		assert_int_equal(size, c->size);
		assert_int_equal(wire_put_stream(&out, &stream, c->data, strlen(c->data)), WIRE_OK);
		assert_int_equal(out.used, c->size);
		assert_memory_equal(bytes, c->bytes, c->size);
	}
}

static void test_stream_end_bytes(void **state)
{
	static const uint8_t golden[] = {1, 5, 0, 9, 0, 0, 0, 0};
	const struct wire_stream stream = {.type = FCGI_STDIN, .request_id = 9, .pad = true};
	uint8_t bytes[8];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};

	(void)state;
	assert_int_equal(wire_put_stream(&out, &stream, NULL, 0), WIRE_OK);
	assert_int_equal(out.used, 0);
	assert_int_equal(wire_put_stream_end(&out, &stream), WIRE_OK);
	assert_int_equal(out.used, sizeof(golden));
	assert_memory_equal(bytes, golden, sizeof(golden));
}

/* One byte more than a record takes begins a second record. */
static void test_stream_of_65536(void **state)
{
	static const uint8_t first[] = {1, 5, 0, 1, 255, 255, 1, 0};
	static const uint8_t second[] = {1, 5, 0, 1, 0, 1, 7, 0, 0xee};
	const struct wire_stream stream = {.type = FCGI_STDIN, .request_id = 1, .pad = true};
	const size_t data_size = 65536;
	uint8_t *data = malloc(data_size);
	uint8_t *bytes = malloc(data_size + 24);
	struct wire_buffer out = {.data = bytes, .size = data_size + 24};
	size_t size = 0;

	(void)state;
	assert_non_null(data);
	assert_non_null(bytes);
	memset(data, 0xee, data_size);
	assert_int_equal(wire_stream_size(&stream, data_size, &size), WIRE_OK);
	assert_int_equal(size, data_size + 24);
	assert_int_equal(wire_put_stream(&out, &stream, data, data_size), WIRE_OK);
	assert_int_equal(out.used, size);
	assert_memory_equal(bytes, first, sizeof(first));
	assert_memory_equal(bytes + 8, data, 65535);
	assert_int_equal(bytes[8 + 65535], 0);
	assert_memory_equal(bytes + 65544, second, sizeof(second));
	free(data);
	free(bytes);
}

static void test_stream_refused(void **state)
{
	static const struct wire_stream streams[] = {
		{.type = FCGI_STDIN, .request_id = 65536},
		{.type = FCGI_STDIN, .request_id = 1, .max_content = 65536},
		{.type = FCGI_STDIN, .request_id = 1, .max_content = SIZE_MAX},
	};
	const struct wire_stream tiny = {.type = FCGI_STDIN, .max_content = 1};
	uint8_t bytes[64];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
	struct wire_header header;
	size_t size = 99;

	(void)state;
	for (size_t i = 0; i < COUNT(streams); i++) {
		assert_int_equal(wire_stream_header(&streams[i], 5, &header), WIRE_E_RANGE);
		assert_int_equal(wire_stream_size(&streams[i], 5, &size), WIRE_E_RANGE);
		assert_int_equal(wire_put_stream(&out, &streams[i], "hello", 5), WIRE_E_RANGE);
		assert_int_equal(wire_put_stream_end(&out, &streams[i]), WIRE_E_RANGE);
	}
	assert_int_equal(wire_stream_size(&tiny, SIZE_MAX, &size), WIRE_E_RANGE);
	assert_int_equal(
		wire_stream_size(&(struct wire_stream){.type = FCGI_STDIN}, SIZE_MAX, &size),
		WIRE_E_RANGE);
	assert_int_equal(size, 99);
	assert_int_equal(out.used, 0);
}

static void test_strerror(void **state)
{
	(void)state;
	for (int i = 0; i < WIRE_STATUS_MAX; i++) {
		assert_non_null(wire_strerror((enum wire_status)i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(wire_strerror((enum wire_status)i),
						wire_strerror((enum wire_status)j));
	}
	assert_string_equal(wire_strerror(WIRE_STATUS_MAX), "unknown status");
	assert_string_equal(wire_strerror((enum wire_status) - 1), "unknown status");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_bytes),
		cmocka_unit_test(test_header_version_is_always_ours),
		cmocka_unit_test(test_header_too_large),
		cmocka_unit_test(test_header_odd_versions_are_reported),
		cmocka_unit_test(test_begin_bytes),
		cmocka_unit_test(test_end_bytes),
		cmocka_unit_test(test_unknown_type_bytes),
		cmocka_unit_test(test_bodies_of_another_size),
		cmocka_unit_test(test_record_paddings),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_buffer_take),
		cmocka_unit_test(test_stream_bytes),
		cmocka_unit_test(test_stream_end_bytes),
		cmocka_unit_test(test_stream_of_65536),
		cmocka_unit_test(test_stream_refused),
		cmocka_unit_test(test_strerror),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
