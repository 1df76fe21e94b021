/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fpm/worker/head.c: parameters out of a head, whatever the client made of it. */
#include "fpm/worker/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	TEXT_SIZE = 12
};

static uint8_t memory[200000];
static struct wire_buffer head;
static char method[TEXT_SIZE], uri[TEXT_SIZE], script[300];
static const struct head_text texts[] = {
	{"REQUEST_METHOD", method, sizeof(method)},
	{"REQUEST_URI", uri, sizeof(uri)},
	{"SCRIPT_FILENAME", script, sizeof(script)},
};

static void put_record(uint8_t type, const void *content, size_t size, unsigned int padding)
{
	const struct wire_header header = {
		.type = type, .request_id = 1, .content_length = size, .padding_length = padding};

	assert_int_equal(wire_put_record(&head, &header, content), WIRE_OK);
}

static int set_up(void **state)
{
	static const struct wire_begin begin = {.role = FCGI_RESPONDER};

	(void)state;
	head = (struct wire_buffer){.data = memory, .size = sizeof(memory)};
	/* What an earlier request left there must not be taken for this one's. */
	memset(method, 'x', sizeof(method));
	memset(uri, 'x', sizeof(uri));
	memset(script, 'x', sizeof(script));
	return wire_put_begin(&head, 1, &begin) == WIRE_OK ? 0 : -1;
}

/* Appends a pair to the content of a record that is being made. */
static size_t pair(uint8_t *content, size_t used, const char *name, const char *value)
{
	const struct wire_pair p = {name, strlen(name), value, strlen(value)};
	struct wire_buffer out = {.data = content, .size = 70000, .used = used};

	assert_int_equal(wire_put_pair(&out, &p), WIRE_OK);
	return out.used;
}

/* The head lies in memory of its own size, so that sanitizers see a read past it. */
static void read_head(void)
{
	uint8_t *copy = malloc(head.used > 0 ? head.used : 1);

	assert_non_null(copy);
	memcpy(copy, memory, head.used);
	head_read(copy, head.used, texts, COUNT(texts));
	free(copy);
}

static void expect(const char *want_method, const char *want_uri, const char *want_script)
{
	read_head();
	assert_string_equal(method, want_method);
	assert_string_equal(uri, want_uri);
	assert_string_equal(script, want_script);
}

static void test_finds_parameters(void **state)
{
	uint8_t content[70000];
	size_t size = pair(content, 0, "SCRIPT_FILENAME", "/srv/a.php");

	(void)state;
	size = pair(content, size, "EMPTY", "");
	size = pair(content, size, "", "nameless");
	size = pair(content, size, "REQUEST_METHODS", "no");
	size = pair(content, size, "REQUEST_METHO", "no");
	size = pair(content, size, "REQUEST_METHOD", "GET");
	size = pair(content, size, "REQUEST_URI", "/a?b=c");
	put_record(FCGI_PARAMS, content, size, 3);
	put_record(FCGI_PARAMS, NULL, 0, 0);
	expect("GET", "/a?b=c", "/srv/a.php");
}

static void test_absent(void **state)
{
	uint8_t content[70000];

	(void)state;
	put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_URI", ""), 0);
	put_record(FCGI_PARAMS, NULL, 0, 0);
	expect("", "", "");
}

static void test_cut_to_size(void **state)
{
	uint8_t content[70000];
	size_t size = pair(content, 0, "REQUEST_METHOD", "exactly-11b");

	(void)state;
	size = pair(content, size, "REQUEST_URI", "one-byte-12b");
	put_record(FCGI_PARAMS, content, size, 0);
	expect("exactly-11b", "one-byte-12", "");
}

/* Lengths above 127 take four bytes; so may shorter ones. */
static void test_long_forms(void **state)
{
	static const char spelled[] = "\x80\0\0\x0e\x80\0\0\4REQUEST_METHODPOST";
	uint8_t content[70000];
	char value[251] = "", name[201] = "";
	size_t size;

	(void)state;
	memset(value, 'v', sizeof(value) - 1);
	memset(name, 'n', sizeof(name) - 1);
	size = pair(content, 0, name, value);
	size = pair(content, size, "SCRIPT_FILENAME", value);
	memcpy(content + size, spelled, sizeof(spelled) - 1);
	put_record(FCGI_PARAMS, content, size + sizeof(spelled) - 1, 0);
	expect("POST", "", value);
}

static void test_several_records(void **state)
{
	uint8_t content[70000];

	(void)state;
	put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_METHOD", "PUT"), 255);
	put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_URI", "/x"), 0);
	put_record(FCGI_PARAMS, content, pair(content, 0, "SCRIPT_FILENAME", "/y"), 7);
	put_record(FCGI_PARAMS, NULL, 0, 0);
	expect("PUT", "/x", "/y");
}

/* Behind the head stands the body, and maybe the next request: nothing is taken from there. */
static void test_stops_behind_head(void **state)
{
	static const uint8_t ends[] = {FCGI_PARAMS, FCGI_STDIN, FCGI_GET_VALUES};
	uint8_t content[70000];

	for (size_t i = 0; i < COUNT(ends); i++) {
		(void)set_up(state);
		put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_METHOD", "GET"), 0);
		put_record(ends[i], NULL, 0, 0);
		put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_URI", "/next"), 0);
		expect("GET", "", "");
	}
}

/* Wherever a record is cut out of the stream of pairs, those before the cut are found. */
static void test_pair_cut_by_record(void **state)
{
	uint8_t content[70000];
	size_t first = pair(content, 0, "REQUEST_METHOD", "GET");
	size_t size = pair(content, first, "SCRIPT_FILENAME", "/srv/a/long/path.php");

	for (size_t cut = 1; cut < size; cut++) {
		(void)set_up(state);
		put_record(FCGI_PARAMS, content, cut, 1);
		put_record(FCGI_PARAMS, content + cut, size - cut, 0);
		put_record(FCGI_PARAMS, NULL, 0, 0);
		read_head();
		if (cut >= first)
			assert_string_equal(method, "GET");
		if (cut == first)
			assert_string_equal(script, "/srv/a/long/path.php");
		assert_non_null(memchr(script, '\0', sizeof(script)));
	}
}

static void test_lying_lengths(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} lies[] = {
		{"\xff\xff\xff\xff\xff\xff\xff\xff", 8},
		{"\x0e\xff\xff\xff\xffREQUEST_METHODGET", 22},
		{"\x0e\x04REQUEST_METHODGET", 19},
		{"\x0e\x80\x01\x00\x00REQUEST_METHODGET", 22},
		{"\x0f\x03REQUEST_METHOD", 16},
		{"\x80", 1},
		{"\x0e\x80\0\0", 4},
	};
	uint8_t content[70000];

	for (size_t i = 0; i < COUNT(lies); i++) {
		(void)set_up(state);
		put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_URI", "/before"), 0);
		put_record(FCGI_PARAMS, lies[i].bytes, lies[i].size, 0);
		expect("", "/before", "");
	}
}

/* A head that breaks off anywhere, or whose header promises more than there is. */
static void test_truncated_head(void **state)
{
	uint8_t content[70000];
	size_t whole;

	(void)state;
	put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_METHOD", "GET"), 4);
	whole = head.used;
	put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_URI", "/a"), 4);
	for (size_t end = head.used; head.used > 0; head.used--) {
		expect(head.used >= whole ? "GET" : "", head.used == end ? "/a" : "", "");
	}
	expect("", "", "");
}

static void test_other_version(void **state)
{
	uint8_t content[70000];

	(void)state;
	put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_METHOD", "GET"), 0);
	memory[16] = 9;
	expect("", "", "");
}

static void test_garbage(void **state)
{
	static const uint8_t params[] = {FCGI_VERSION_1, FCGI_PARAMS, 0, 1, 0};
	static const char text[] = "GET / HTTP/1.1\r\nHost: REQUEST_METHOD\r\n\r\n";

	(void)state;
	memcpy(memory, text, sizeof(text));
	head.used = sizeof(text);
	expect("", "", "");
	for (uint32_t seed = 1; seed < 3000; seed++) {
		uint32_t state32 = seed;

		head.used = seed % 200;
		for (size_t i = 0; i < head.used; i++) {
			state32 = state32 * 1664525U + 1013904223U;
			memory[i] = (uint8_t)(state32 >> 24);
		}
		/* Records that lead to the bytes inside. */
		memcpy(memory, params, sizeof(params));
		read_head();
		assert_non_null(memchr(method, '\0', sizeof(method)));
		assert_non_null(memchr(uri, '\0', sizeof(uri)));
		assert_non_null(memchr(script, '\0', sizeof(script)));
	}
}

/* The largest record, and one pair that fills it. */
static void test_largest_pair(void **state)
{
	static uint8_t content[FCGI_MAX_LENGTH];
	static char value[FCGI_MAX_LENGTH];
	const size_t size = sizeof(content) - 5 - strlen("SCRIPT_FILENAME");

	(void)state;
	memset(value, 'v', size);
	assert_int_equal(pair(content, 0, "SCRIPT_FILENAME", value), sizeof(content));
	put_record(FCGI_PARAMS, content, sizeof(content), 255);
	put_record(FCGI_PARAMS, content, pair(content, 0, "REQUEST_METHOD", "GET"), 0);
	read_head();
	assert_int_equal(strlen(script), sizeof(script) - 1);
	assert_string_equal(method, "GET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_finds_parameters, set_up),
		cmocka_unit_test_setup(test_absent, set_up),
		cmocka_unit_test_setup(test_cut_to_size, set_up),
		cmocka_unit_test_setup(test_long_forms, set_up),
		cmocka_unit_test_setup(test_several_records, set_up),
		cmocka_unit_test_setup(test_stops_behind_head, set_up),
		cmocka_unit_test_setup(test_pair_cut_by_record, set_up),
		cmocka_unit_test_setup(test_lying_lengths, set_up),
		cmocka_unit_test_setup(test_truncated_head, set_up),
		cmocka_unit_test_setup(test_other_version, set_up),
		cmocka_unit_test_setup(test_garbage, set_up),
		cmocka_unit_test_setup(test_largest_pair, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
