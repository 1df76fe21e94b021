/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/endpoint.c: what a text means, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/client/endpoint.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct accepted_case {
	const char *text;
	unsigned int workers;
	enum transport transport;
	size_t count;
	const char *first;
	const char *last;
};

static const struct accepted_case accepted_cases[] = {
	{"/run/www.sock", 4, TRANSPORT_UNIX, 1, "/run/www.sock", "/run/www.sock"},
	{"unix:/run/www.sock", 1, TRANSPORT_UNIX, 1, "/run/www.sock", "/run/www.sock"},
	{"@www", 1, TRANSPORT_UNIX, 1, "@www", "@www"},
	{"unix:@www-%n", 3, TRANSPORT_UNIX, 3, "@www-1", "@www-3"},
	{"/run/www-%n.sock", 12, TRANSPORT_UNIX, 12, "/run/www-1.sock", "/run/www-12.sock"},
	{"9000", 2, TRANSPORT_TCP, 1, "127.0.0.1:9000", "127.0.0.1:9000"},
	{"tcp:10.1.2.3:9000", 2, TRANSPORT_TCP, 1, "10.1.2.3:9000", "10.1.2.3:9000"},
	{"127.0.0.1:9000+%n", 2, TRANSPORT_TCP, 2, "127.0.0.1:9001", "127.0.0.1:9002"},
	{"[::1]:9000", 1, TRANSPORT_TCP, 1, "[::1]:9000", "[::1]:9000"},
	{"pipe:/run/www", 1, TRANSPORT_PIPE, 1, "pipe:/run/www", "pipe:/run/www"},
	{"pipe:/run/www-%n", 2, TRANSPORT_PIPE, 2, "pipe:/run/www-1", "pipe:/run/www-2"},
};

static void accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(accepted_cases); i++) {
		const struct accepted_case *c = &accepted_cases[i];
		struct endpoint *endpoints = NULL;
		char error[256] = "";
		size_t count = 0;

		assert_int_equal(endpoint_parse(c->text, c->workers, &endpoints, &count, error,
						sizeof(error)),
				 0);
		assert_int_equal(count, c->count);
		assert_int_equal(endpoints[0].transport, c->transport);
		assert_string_equal(endpoints[0].text, c->first);
		assert_string_equal(endpoints[count - 1].text, c->last);
		free(endpoints);
	}
}

static void refused(void **state)
{
	static const char *const texts[] = {
		"",	 "www.sock", "unix:www.sock", "unix:",	     "tcp:/run/www.sock",
		"70000", "pipe:",    "pipe:www",      "127.0.0.1:0", "0",
		"/run/", "@",	     "::1:9000",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct endpoint *endpoints = NULL;
		char error[256] = "";
		size_t count = 77;

		assert_true(endpoint_parse(texts[i], 2, &endpoints, &count, error, sizeof(error)) <
			    0);
		assert_null(endpoints);
		assert_int_equal(count, 77);
		assert_true(strlen(error) > 0);
		assert_null(strchr(error, '\n'));
	}
}

static void pipes_have_a_path(void **state)
{
	struct endpoint *endpoints = NULL;
	char error[256] = "";
	size_t count = 0;

	(void)state;
	assert_int_equal(
		endpoint_parse("pipe:/run/www-%n", 2, &endpoints, &count, error, sizeof(error)), 0);
	assert_string_equal(endpoints[1].path, "/run/www-2");
	free(endpoints);
}

static void names_of_transports(void **state)
{
	(void)state;
	assert_string_equal(transport_name(TRANSPORT_TCP), "tcp");
	assert_string_equal(transport_name(TRANSPORT_UNIX), "unix");
	assert_string_equal(transport_name(TRANSPORT_PIPE), "pipe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
		cmocka_unit_test(pipes_have_a_path),
		cmocka_unit_test(names_of_transports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
