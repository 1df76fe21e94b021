/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of a warm-up's request and of what is made of its answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fpm/pool/warmup_request.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Collects "NAME=value\n" of the params, and the types of all records, a letter each. */
struct seen {
	char types[32];
	char pairs[16384];
	size_t size;
};

static void add_pairs(struct seen *seen, struct wire_params *params, const uint8_t *data,
		      size_t size)
{
	struct wire_pair pair;
	size_t used;

	while (wire_params_next(params, data, size, &used, &pair) == WIRE_OK) {
		data += used;
		size -= used;
		seen->size += (size_t)snprintf(
			seen->pairs + seen->size, sizeof(seen->pairs) - seen->size, "%.*s=%.*s\n",
			(int)pair.name_size, pair.name, (int)pair.value_size, pair.value);
	}
}

static void read_request(const struct wire_buffer *request, struct seen *seen)
{
	static uint8_t scratch[8192];
	struct wire_parser parser = {0};
	struct wire_params params;
	const uint8_t *at = request->data;
	size_t size = request->used, used;
	struct wire_event event;

	*seen = (struct seen){0};
	wire_params_init(&params, scratch, sizeof(scratch));
	while (wire_parser_next(&parser, at, size, &used, &event) == WIRE_OK) {
		at += used;
		size -= used;
		if (event.type == WIRE_EVENT_HEADER)
			seen->types[strlen(seen->types)] = (char)('0' + parser.header.type);
		if (event.type == WIRE_EVENT_CONTENT && parser.header.type == FCGI_PARAMS)
			add_pairs(seen, &params, event.content, event.size);
	}
	assert_true(wire_parser_is_between(&parser));
	assert_int_equal(wire_params_end(&params), WIRE_OK);
}

static void check_pair(const struct seen *seen, const char *name, const char *value)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "\n%s=%s\n", name, value);
	if (!strstr(seen->pairs, line))
		fail_msg("no %s=%s in %s", name, value, seen->pairs);
}

static void test_request(void **state)
{
	static const struct {
		const char *target;
		const char *file;
		const char *root;
		const char *name;
		const char *uri;
		const char *query;
	} cases[] = {
		{"/srv/www/a.php", "/srv/www/a.php", "/srv/www", "/a.php", "/a.php", ""},
		{"/srv/a.php?x=/b?c", "/srv/a.php", "/srv", "/a.php", "/a.php?x=/b?c", "x=/b?c"},
		{"/a.php", "/a.php", "/", "/a.php", "/a.php", ""},
		{"/a.php?", "/a.php", "/", "/a.php", "/a.php?", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		static uint8_t bytes[WARMUP_REQUEST_SIZE];
		struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
		static struct seen seen;

		assert_int_equal(warmup_request_write(cases[i].target, &out), 0);
		read_request(&out, &seen);
		/* BEGIN_REQUEST, PARAMS, its end, the end of STDIN. */
		assert_string_equal(seen.types, "1445");
		assert_ptr_equal(strstr(seen.pairs, "REQUEST_METHOD=GET\n"), seen.pairs);
		check_pair(&seen, "SCRIPT_FILENAME", cases[i].file);
		check_pair(&seen, "DOCUMENT_ROOT", cases[i].root);
		check_pair(&seen, "SCRIPT_NAME", cases[i].name);
		check_pair(&seen, "DOCUMENT_URI", cases[i].name);
		check_pair(&seen, "REQUEST_URI", cases[i].uri);
		check_pair(&seen, "QUERY_STRING", cases[i].query);
		check_pair(&seen, "REDIRECT_STATUS", "200");
	}
}

static void test_longest_request(void **state)
{
	static uint8_t bytes[WARMUP_REQUEST_SIZE];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
	char target[WARMUP_TARGET_MAX + 2];
	static struct seen seen;

	(void)state;
	memset(target, 'x', sizeof(target));
	target[0] = '/';
	target[WARMUP_TARGET_MAX + 1] = '\0';
	assert_int_equal(warmup_request_write(target, &out), -E2BIG);
	target[WARMUP_TARGET_MAX] = '\0';
	out.used = 0;
	assert_int_equal(warmup_request_write(target, &out), 0);
	read_request(&out, &seen);
	assert_string_equal(seen.types, "1445");
}

struct part {
	uint8_t type;
	const char *text;
};

/* An answer of these parts and an exit status. */
static void make_answer(struct wire_buffer *out, const struct part *parts, uint32_t app_status)
{
	const struct wire_end end = {.app_status = app_status};

	for (; parts->text; parts++) {
		const struct wire_stream stream = {.type = parts->type, .request_id = 1};

		assert_int_equal(wire_put_stream(out, &stream, parts->text, strlen(parts->text)),
				 WIRE_OK);
	}
	assert_int_equal(wire_put_end(out, 1, &end), WIRE_OK);
}

#define OUT(text)                 \
	{                         \
		FCGI_STDOUT, text \
	}
#define ERR(text)                 \
	{                         \
		FCGI_STDERR, text \
	}

static const struct {
	struct part parts[4];
	uint32_t app_status;
	const char *why; /* NULL = it is good */
} answers[] = {
	{{OUT("Content-type: text/html\r\n\r\nhello")}, 0, NULL},
	{{OUT("Status: 302 Found\r\nLocation: /x\r\n\r\n")}, 0, NULL},
	{{OUT("Status: 399\r\n\r\n")}, 0, NULL},
	{{OUT("Status: 404 Not Found\r\n\r\nx")}, 0, "status 404 Not Found"},
	{{OUT("X-A: b\r\nstatus:500\r\n\r\nx")}, 0, "status 500"},
	/* What only looks like it is in the body. */
	{{OUT("X-A: b\r\n\r\nStatus: 500\r\n")}, 0, NULL},
	{{OUT("Stat"), OUT("us: 50"), OUT("3 Busy\n\n")}, 0, "status 503 Busy"},
	{{OUT("Status: 500 A\033B\r\n\r\n"), ERR("no\001 more\n")}, 0, "status 500 A?B: no? more"},
	{{OUT("Status: 500 I\r\n\r\n"), ERR("PHP Warning: a\nPHP Fatal error: b\nStack tr"),
	  ERR("ace:\n#0 {main}\n  thrown in c\n\nnot whole")},
	 0,
	 "status 500 I: PHP Fatal error: b"},
	{{OUT("\r\n")}, 255, "exit status 255"},
	{{OUT("\r\n"), ERR("it hurts\r\n")}, 1, "exit status 1: it hurts"},
	{{{0, NULL}}, 0, NULL},
};

/* Cut into two at every place, the end comes with the last byte and says the same. */
static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(answers); i++) {
		uint8_t bytes[1024];
		struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};

		make_answer(&out, answers[i].parts, answers[i].app_status);
		for (size_t cut = 0; cut < out.used; cut++) {
			static struct warmup_answer a;
			char why[256] = "";

			a = (struct warmup_answer){0};
			assert_int_equal(warmup_answer_take(&a, bytes, cut), 0);
			assert_int_equal(warmup_answer_take(&a, bytes + cut, out.used - cut), 1);
			assert_int_equal(warmup_answer_judge(&a, why, sizeof(why)),
					 answers[i].why == NULL);
			assert_string_equal(why, answers[i].why ? answers[i].why : "");
		}
	}
}

/* More than there is room for is left out. */
static void test_long_answer(void **state)
{
	static char text[20000];
	static uint8_t bytes[65536];
	static struct warmup_answer a;
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
	const struct part parts[] = {OUT("Status: 418 T\r\n"), OUT(text), ERR(text), {0, NULL}};
	char why[64];

	(void)state;
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 2] = '\n';
	make_answer(&out, parts, 0);
	assert_int_equal(warmup_answer_take(&a, bytes, out.used), 1);
	assert_int_equal(strlen(a.complaint), WARMUP_COMPLAINT_SIZE - 1);
	assert_false(warmup_answer_judge(&a, why, sizeof(why)));
	assert_ptr_equal(strstr(why, "status 418 T: yyy"), why);
}

static void test_no_fastcgi(void **state)
{
	static struct warmup_answer a;
	static const uint8_t short_end[] = {1, FCGI_END_REQUEST, 0, 1, 0, 1, 0, 0, 0};

	(void)state;
	assert_int_equal(warmup_answer_take(&a, "HTTP/1.1 200 OK", 15), -EPROTO);
	a = (struct warmup_answer){0};
	assert_int_equal(warmup_answer_take(&a, short_end, sizeof(short_end)), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),	   cmocka_unit_test(test_longest_request),
		cmocka_unit_test(test_answers),	   cmocka_unit_test(test_long_answer),
		cmocka_unit_test(test_no_fastcgi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
