/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/request.c: the bytes are decoded again, in every shape of records. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/client/request.h"
#include "fcgi/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SCRIPT	     "/srv/www/app/index.php"
#define LINES_MAX    8192

/* What a request says: its parameters as "NAME=value" lines, its body, its records. */
struct decoded {
	char lines[LINES_MAX];
	uint8_t body[262144];
	size_t body_size;
	unsigned int flags;
	unsigned int records[FCGI_MAXTYPE + 1];
	size_t most_content;
	bool all_padded;
	bool in_closed;
};

static void add_pairs(struct decoded *decoded, const uint8_t *content, size_t size)
{
	static char scratch[LINES_MAX];
	struct wire_params params;
	struct wire_pair pair;
	size_t used;

	wire_params_init(&params, scratch, sizeof(scratch));
	while (wire_params_next(&params, content, size, &used, &pair) == WIRE_OK) {
		const size_t have = strlen(decoded->lines);

		content += used;
		size -= used;
		(void)snprintf(decoded->lines + have, sizeof(decoded->lines) - have, "%.*s=%.*s\n",
			       (int)pair.name_size, pair.name, (int)pair.value_size, pair.value);
	}
	assert_int_equal(wire_params_end(&params), WIRE_OK);
}

static void note_header(struct decoded *decoded, const struct wire_header *header)
{
	assert_int_equal(header->request_id, 1);
	assert_in_range(header->type, 1, FCGI_MAXTYPE);
	decoded->records[header->type]++;
	if (header->content_length > decoded->most_content)
		decoded->most_content = header->content_length;
	if ((header->content_length + header->padding_length) % 8 != 0)
		decoded->all_padded = false;
	if (header->type == FCGI_STDIN && header->content_length == 0)
		decoded->in_closed = true;
}

static struct decoded *decode(const uint8_t *data, size_t size)
{
	static struct decoded decoded;
	static uint8_t pairs[LINES_MAX];
	struct wire_parser parser;
	struct wire_event event;
	size_t pairs_size = 0;
	size_t used;

	decoded = (struct decoded){.all_padded = true};
	wire_parser_init(&parser);
	while (wire_parser_next(&parser, data, size, &used, &event) == WIRE_OK) {
		data += used;
		size -= used;
		if (event.type == WIRE_EVENT_HEADER)
			note_header(&decoded, &parser.header);
		if (event.type == WIRE_EVENT_END && parser.header.type == FCGI_BEGIN_REQUEST)
			decoded.flags = parser.body[2];
		if (event.type != WIRE_EVENT_CONTENT)
			continue;
		if (parser.header.type == FCGI_PARAMS) {
			memcpy(pairs + pairs_size, event.content, event.size);
			pairs_size += event.size;
		} else if (parser.header.type == FCGI_STDIN) {
			memcpy(decoded.body + decoded.body_size, event.content, event.size);
			decoded.body_size += event.size;
		}
	}
	assert_int_equal(wire_parser_end(&parser), WIRE_OK);
	add_pairs(&decoded, pairs, pairs_size);
	return &decoded;
}

static void assert_line(const struct decoded *decoded, const char *line)
{
	const size_t size = strlen(line);
	const char *at = decoded->lines;

	while (at != NULL && !(strncmp(at, line, size) == 0 && at[size] == '\n')) {
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	if (at == NULL)
		fail_msg("no line %s in\n%s", line, decoded->lines);
}

/* Makes, decodes and releases; the result is overwritten by the next call. */
static struct decoded *make(const struct request_options *options, bool kept)
{
	struct request request;
	struct decoded *decoded;

	assert_int_equal(request_make(options, &request), 0);
	decoded = decode(kept ? request.kept : request.once, request.size);
	request_done(&request);
	return decoded;
}

static void usual_request(void **state)
{
	static const char *const lines[] = {
		"SCRIPT_FILENAME=/srv/www/app/index.php",
		"REQUEST_METHOD=GET",
		"QUERY_STRING=a=1&b=2",
		"SCRIPT_NAME=/index.php",
		"DOCUMENT_ROOT=/srv/www/app",
		"CONTENT_LENGTH=",
		"REQUEST_URI=/index.php?a=1&b=2",
		"DOCUMENT_URI=/index.php",
		"REDIRECT_STATUS=200",
		"GATEWAY_INTERFACE=CGI/1.1",
	};
	const struct request_options options = {.script = SCRIPT, .query = "a=1&b=2"};
	const struct decoded *decoded = make(&options, true);

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_line(decoded, lines[i]);
	assert_int_equal(decoded->flags, FCGI_KEEP_CONN);
	assert_int_equal(decoded->records[FCGI_BEGIN_REQUEST], 1);
	assert_int_equal(decoded->records[FCGI_PARAMS], 2);
	assert_int_equal(decoded->records[FCGI_STDIN], 1);
	assert_true(decoded->in_closed);
	assert_int_equal(make(&options, false)->flags, 0);
}

static void scripts_without_a_folder(void **state)
{
	const struct request_options bare = {.script = "index.php", .query = "x"};
	const struct request_options root = {.script = "/index.php"};

	(void)state;
	assert_line(make(&bare, true), "SCRIPT_NAME=/index.php");
	assert_line(make(&bare, true), "REQUEST_URI=/index.php?x");
	assert_line(make(&bare, true), "DOCUMENT_ROOT=");
	assert_line(make(&root, true), "SCRIPT_NAME=/index.php");
	assert_line(make(&root, true), "DOCUMENT_ROOT=");
}

static void own_parameters(void **state)
{
	static const struct request_param params[] = {
		{"MINE", "first"},
		{"SERVER_NAME", "example.org"},
		{"MINE", "last"},
		{"EMPTY", ""},
	};
	const struct request_options options = {
		.script = SCRIPT,
		.method = "PURGE",
		.params = params,
		.param_count = COUNT(params),
	};
	const struct decoded *decoded = make(&options, true);

	(void)state;
	assert_line(decoded, "MINE=last");
	assert_line(decoded, "SERVER_NAME=example.org");
	assert_line(decoded, "EMPTY=");
	assert_line(decoded, "REQUEST_METHOD=PURGE");
	assert_null(strstr(decoded->lines, "MINE=first"));
	assert_null(strstr(decoded->lines, "SERVER_NAME=localhost"));
}

/* Whatever the shape of the records, what they say is the same. */
static void shapes(void **state)
{
	static const size_t splits[] = {0, 1, 7, 100, 65535};
	static const size_t bodies[] = {1, 8, 65535, 65536, 200000};
	static uint8_t body[200000];
	char length[48];

	(void)state;
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < COUNT(splits) * COUNT(bodies) * 2; i++) {
		const size_t split = splits[i / 2 % COUNT(splits)];
		const size_t size = bodies[i / 2 / COUNT(splits)];
		const struct request_options options = {
			.script = SCRIPT,
			.body = body,
			.body_size = size,
			.split_params = split,
			.split_stdin = split,
			.pad = i % 2 == 1,
		};
		const struct decoded *decoded = make(&options, true);

		assert_int_equal(decoded->body_size, size);
		assert_memory_equal(decoded->body, body, size);
		assert_line(decoded, "REQUEST_METHOD=POST");
		(void)snprintf(length, sizeof(length), "CONTENT_LENGTH=%zu", size);
		assert_line(decoded, length);
		assert_true(decoded->in_closed);
		if (split != 0)
			assert_true(decoded->most_content <= (split > 8 ? split : 8));
		if (options.pad)
			assert_true(decoded->all_padded);
	}
}

/* PHP reads each PARAMS record by itself. */
static void pairs_are_whole(void **state)
{
	const struct request_options options = {.script = SCRIPT, .split_params = 64};
	struct request request;
	unsigned int records = 0;

	(void)state;
	assert_int_equal(request_make(&options, &request), 0);
	for (size_t at = 0; at < request.size;) {
		struct wire_params params;
		struct wire_header header;
		struct wire_pair pair;
		char scratch[256];
		size_t used;

		assert_int_equal(wire_header_decode(request.kept + at, &header), WIRE_OK);
		at += FCGI_HEADER_LEN;
		wire_params_init(&params, scratch, sizeof(scratch));
		for (size_t from = 0; header.type == FCGI_PARAMS && from < header.content_length;
		     from += used)
			assert_int_equal(wire_params_next(&params, request.kept + at + from,
							  header.content_length - from, &used,
							  &pair),
					 WIRE_OK);
		records += header.type == FCGI_PARAMS;
		at += header.content_length + header.padding_length;
	}
	assert_true(records > 5);
	request_done(&request);
}

static void refused(void **state)
{
	const struct request_options no_script = {.method = "GET"};
	const struct request_options empty = {.script = ""};
	const struct request_options split = {.script = SCRIPT, .split_params = 65536};
	struct request request = {.size = 77};

	(void)state;
	assert_int_equal(request_make(&no_script, &request), -EINVAL);
	assert_int_equal(request_make(&empty, &request), -EINVAL);
	assert_int_equal(request_make(&split, &request), -EINVAL);
	assert_int_equal(request.size, 77);
	request = (struct request){.size = 0};
	request_done(&request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_request),   cmocka_unit_test(scripts_without_a_folder),
		cmocka_unit_test(own_parameters),  cmocka_unit_test(shapes),
		cmocka_unit_test(pairs_are_whole), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
