/* SPDX-License-Identifier: BSD-2-Clause */
/* What the client does when its local ports are used up. */

#include "bench_fixture.h"

#include "bench/client/transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

/* Sources below that one have no port left; that of an unbound socket is 127.0.0.1. */
static _Atomic unsigned int first_free;
static _Atomic unsigned int last_source;

int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	struct sockaddr_in local = {0};
	socklen_t local_size = sizeof(local);
	unsigned int source;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&local, &local_size), 0);
	source = ntohl(local.sin_addr.s_addr) & 255;
	if (address->sa_family == AF_INET && (source == 0 ? 1 : source) < first_free) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	last_source = source;
	return __real_connect(fd, address, size);
}

static struct load_result *load(unsigned int free_source)
{
	struct fixture_server server = {.serve = fixture_serve_well};
	struct load_options options;
	struct load_result *result;

	first_free = free_source;
	last_source = 0;
	fixture_start(&server, TRANSPORT_TCP);
	options = fixture_options(&server);
	options.keep = false;
	options.requests = 20;
	result = fixture_load(&options);
	fixture_stop(&server);
	return result;
}

static void ports_are_left(void **state)
{
	struct load_result *result = load(0);

	(void)state;
	assert_int_equal(result->answered, 20);
	assert_int_equal(result->source_changes, 0);
	assert_int_equal(last_source, 0);
	test_free(result);
}

/* The fourth source has ports, and is kept. */
static void others_are_tried(void **state)
{
	struct load_result *result = load(4);

	(void)state;
	assert_int_equal(result->answered, 20);
	assert_int_equal(failures_total(&result->failures), 0);
	assert_int_equal(result->source_changes, 3);
	assert_int_equal(last_source, 4);
	test_free(result);
}

/* It does not go on for ever, and says what was wrong. */
static void none_has_any(void **state)
{
	struct load_result *result = load(256);

	(void)state;
	assert_int_equal(result->answered, 0);
	assert_int_equal(result->failures.count[FAILURE_ADDRESSES], 20);
	assert_in_range(result->source_changes, 20, 20 * 16);
	test_free(result);
}

static void only_loopback(void **state)
{
	static const struct {
		const char *text;
		int error;
		bool can;
	} rows[] = {
		{"127.0.0.1:9000", -EADDRNOTAVAIL, true},  {"127.9.9.9:9000", -EAGAIN, true},
		{"127.0.0.1:9000", -ECONNREFUSED, false},  {"127.0.0.1:9000", -EINPROGRESS, false},
		{"192.0.2.1:9000", -EADDRNOTAVAIL, false}, {"[::1]:9000", -EADDRNOTAVAIL, false},
		{"/tmp/x.sock", -EAGAIN, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct endpoint *endpoint;
		size_t count;
		char error[200];

		assert_int_equal(
			endpoint_parse(rows[i].text, 1, &endpoint, &count, error, sizeof(error)),
			0);
		assert_int_equal(transport_can_rotate(endpoint, rows[i].error), rows[i].can);
		free(endpoint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_left),
		cmocka_unit_test(others_are_tried),
		cmocka_unit_test(none_has_any),
		cmocka_unit_test(only_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
