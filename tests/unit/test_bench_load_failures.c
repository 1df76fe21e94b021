/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the load's failure classes: responders that misbehave, each in its own way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench_fixture.h"

#define REQUESTS 5
#define BIG	 (8U << 20)

static void write_head(int out)
{
	fixture_write_records(out, FCGI_STDOUT, FIXTURE_HEAD "body", strlen(FIXTURE_HEAD "body"));
}

static void serve_nothing(struct fixture_server *server, int in, int out)
{
	(void)out;
	(void)fixture_read_request(server, in);
}

static void serve_without_end(struct fixture_server *server, int in, int out)
{
	if (fixture_read_request(server, in))
		write_head(out);
}

static void serve_half_a_record(struct fixture_server *server, int in, int out)
{
	if (fixture_read_request(server, in))
		(void)fixture_write(out, "\1\6\0\1\0\144\0\0half", 12);
}

/* Closes with unread input, which the client sees as a reset. */
static void serve_reset(struct fixture_server *server, int in, int out)
{
	char buffer[8];

	(void)server;
	(void)out;
	(void)!read(in, buffer, sizeof(buffer));
}

static void serve_garbage(struct fixture_server *server, int in, int out)
{
	if (fixture_read_request(server, in))
		(void)fixture_write(out, "HTTP/1.1 200 OK\r\n\r\n", 19);
	fixture_wait_for_end(in);
}

static void serve_two_ends(struct fixture_server *server, int in, int out)
{
	static const char answer[] = "\1\6\0\1\0\4\0\0\r\nxx"
				     "\1\3\0\1\0\10\0\0\0\0\0\0\0\0\0\0"
				     "\1\3\0\1\0\10\0\0\0\0\0\0\0\0\0\0";

	while (fixture_read_request(server, in))
		(void)fixture_write(out, answer, sizeof(answer) - 1);
}

static void serve_large_head(struct fixture_server *server, int in, int out)
{
	char head[RESPONSE_HEAD_MAX + 100];

	memset(head, 'h', sizeof(head));
	if (fixture_read_request(server, in))
		fixture_write_records(out, FCGI_STDOUT, head, sizeof(head));
	fixture_wait_for_end(in);
}

static void serve_protocol(struct fixture_server *server, int in, int out, uint32_t app,
			   uint8_t protocol)
{
	while (fixture_read_request(server, in)) {
		write_head(out);
		fixture_write_end(out, app, protocol);
	}
}

static void serve_cant_mpx(struct fixture_server *server, int in, int out)
{
	serve_protocol(server, in, out, 0, FCGI_CANT_MPX_CONN);
}

static void serve_overloaded(struct fixture_server *server, int in, int out)
{
	serve_protocol(server, in, out, 0, FCGI_OVERLOADED);
}

static void serve_role(struct fixture_server *server, int in, int out)
{
	serve_protocol(server, in, out, 0, FCGI_UNKNOWN_ROLE);
}

static void serve_exit_status(struct fixture_server *server, int in, int out)
{
	serve_protocol(server, in, out, 255, FCGI_REQUEST_COMPLETE);
}

static void serve_no_head(struct fixture_server *server, int in, int out)
{
	while (fixture_read_request(server, in))
		fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
}

static void serve_status(struct fixture_server *server, int in, int out)
{
	while (fixture_read_request(server, in)) {
		fixture_write_records(out, FCGI_STDOUT, "Status: 500\r\n\r\n", 15);
		fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	}
}

static void serve_silence(struct fixture_server *server, int in, int out)
{
	(void)out;
	if (fixture_read_request(server, in))
		fixture_wait_for_end(in);
}

static void serve_a_part(struct fixture_server *server, int in, int out)
{
	if (fixture_read_request(server, in))
		write_head(out);
	fixture_wait_for_end(in);
}

/* Reads one byte of what is larger than all buffers, then nothing more. */
static void serve_a_byte(struct fixture_server *server, int in, int out)
{
	char byte;

	(void)out;
	(void)!read(in, &byte, 1);
	while (!atomic_load(&server->stopping))
		fixture_sleep_ms(5);
}

static void serve_end_of_file(struct fixture_server *server, int in, int out)
{
	(void)server;
	(void)in;
	(void)out;
}

/**
 * struct server_case - a way to misbehave
 * @serve:	Does it
 * @failure:	Its class
 * @timeout_ms:	Of the client
 * @body:	Bytes of the request's body
 * @kept:	The connection goes on, as the answer was complete
 */
struct server_case {
	fixture_serve_fn serve;
	enum failure failure;
	unsigned int timeout_ms;
	size_t body;
	bool kept;
};

static const struct server_case server_cases[] = {
	{serve_nothing, FAILURE_EOF_EMPTY, 10000, 0, false},
	{serve_without_end, FAILURE_EOF_SHORT, 10000, 0, false},
	{serve_half_a_record, FAILURE_EOF_SHORT, 10000, 0, false},
	{serve_garbage, FAILURE_BAD_RECORD, 10000, 0, false},
	{serve_two_ends, FAILURE_BAD_RECORD, 10000, 0, false},
	{serve_large_head, FAILURE_OVERFLOW, 10000, 0, false},
	{serve_cant_mpx, FAILURE_CANT_MPX, 10000, 0, true},
	{serve_overloaded, FAILURE_OVERLOADED, 10000, 0, true},
	{serve_role, FAILURE_ROLE, 10000, 0, true},
	{serve_exit_status, FAILURE_APP_STATUS, 10000, 0, true},
	{serve_no_head, FAILURE_NO_HEAD, 10000, 0, true},
	{serve_status, FAILURE_STATUS, 10000, 0, true},
	{serve_silence, FAILURE_TIMEOUT_SILENT, 600, 0, false},
	{serve_a_part, FAILURE_TIMEOUT_PARTIAL, 600, 0, false},
	{serve_a_byte, FAILURE_SEND_TIMEOUT, 600, BIG, false},
	{serve_reset, FAILURE_RECEIVE_RESET, 10000, 0, false},
	{serve_reset, FAILURE_SEND_RESET, 10000, BIG, false},
};

static void run_case(const struct server_case *c, enum transport transport, bool keep,
		     unsigned int connections)
{
	static struct fixture_server server;
	const bool times_out = c->timeout_ms < 10000;
	const uint64_t requests = times_out ? connections : REQUESTS;
	struct load_options options;
	struct load_result *result;
	uint64_t made;

	server = (struct fixture_server){.serve = c->serve};
	fixture_start(&server, transport);
	options = fixture_options(&server);
	options.request = fixture_request(c->body);
	options.keep = keep;
	options.connections = connections;
	options.requests = requests;
	options.timeout_ns = c->timeout_ms * MS;
	result = fixture_load(&options);
	fixture_assert_failures(result, c->failure, requests, requests);
	assert_int_equal(result->answered, 0);
	assert_int_equal(result->service.count, 0);
	assert_int_equal(result->failures.times.count, requests);
	made = keep && c->kept ? connections : requests;
	assert_int_equal(result->connections_made, made);
	if (times_out)
		assert_true(result->failures.times.min >= c->timeout_ms * MS);
	test_free(result);
	fixture_stop(&server);
}

static void every_misbehaviour(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(server_cases) * 8; i++) {
		const struct server_case *c = &server_cases[i / 8];
		const bool keep = i / 2 % 2 == 0;
		const bool alone = i / 4 % 2 == 0;

		/* What comes behind the answer matters only to whoever asks once more. */
		if (c->serve == serve_two_ends && !keep)
			continue;
		/* Timeouts take their time, so not every pair of the two is worth it. */
		if (c->timeout_ms == 10000 || keep == alone)
			run_case(c, i % 2 == 0 ? TRANSPORT_UNIX : TRANSPORT_TCP, keep,
				 alone ? 1 : 2);
	}
}

static void two_ends_on_a_connection_that_is_not_kept(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = serve_two_ends};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.request = fixture_request(0);
	options.keep = false;
	options.requests = REQUESTS;
	result = fixture_load(&options);
	assert_int_equal(result->answered, REQUESTS);
	assert_int_equal(failures_total(&result->failures), 0);
	test_free(result);
	fixture_stop(&server);
}

/* Where the unsent rest of a request meets an orderly end, there is no reset. */
static void closed_before_the_request_was_sent(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = serve_end_of_file, .one_by_one = true};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.request = fixture_request(BIG);
	options.requests = REQUESTS;
	result = fixture_load(&options);
	/* Depends on whether the first bytes were there when it closed. */
	assert_int_equal(result->failures.count[FAILURE_SEND_PIPE] +
				 result->failures.count[FAILURE_SEND_RESET],
			 REQUESTS);
	assert_int_equal(failures_total(&result->failures), REQUESTS);
	test_free(result);
	fixture_stop(&server);
}

/* Body of another length, or of other bytes. */
static void wrong_bodies(void **state)
{
	static struct fixture_server server;
	const struct response_expect length = {.check_length = true, .length = 5};
	const struct response_expect hash = {.check_hash = true, .hash = 1};
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = fixture_serve_well};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.requests = REQUESTS;
	options.expect = &length;
	result = fixture_load(&options);
	fixture_assert_failures(result, FAILURE_LENGTH, REQUESTS, REQUESTS);
	assert_int_equal(result->wrong_body, REQUESTS);
	test_free(result);
	options.expect = &hash;
	result = fixture_load(&options);
	fixture_assert_failures(result, FAILURE_CONTENT, REQUESTS, REQUESTS);
	assert_int_equal(result->wrong_body, REQUESTS);
	test_free(result);
	fixture_stop(&server);
}

static void nobody_there(void **state)
{
	static const struct {
		const char *text;
		enum failure failure;
	} cases[] = {
		{"/nonexistent/berth.sock", FAILURE_NO_PATH},
		{"pipe:/nonexistent/berth", FAILURE_NO_PATH},
		{"@berth-bench-that-nobody-has", FAILURE_REFUSED},
		{"127.0.0.1:1", FAILURE_REFUSED},
		{"[::1]:1", FAILURE_REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2; i++) {
		struct fixture_server none = {.listener = -1};
		struct load_options options = fixture_options(&none);
		struct endpoint *endpoints;
		struct load_result *result;
		char error[256];

		assert_int_equal(endpoint_parse(cases[i / 2].text, 1, &endpoints,
						&options.endpoint_count, error, sizeof(error)),
				 0);
		options.endpoints = endpoints;
		options.requests = 20;
		options.keep = i % 2 == 0;
		options.connections = cases[i / 2].text[0] == 'p' ? 1 : 3;
		result = fixture_load(&options);
		fixture_assert_failures(result, cases[i / 2].failure, 20, 20);
		assert_int_equal(result->connections_made, 0);
		test_free(result);
		free(endpoints);
	}
}

/* A failed connect() must not make a busy loop of it: about one a millisecond and connection. */
static void failed_connects_are_bounded(void **state)
{
	struct fixture_server none = {.listener = -1};
	struct load_options options = fixture_options(&none);
	struct load_result *result;
	struct endpoint *endpoints;
	char error[256];

	(void)state;
	assert_int_equal(endpoint_parse("127.0.0.1:1", 1, &endpoints, &options.endpoint_count,
					error, sizeof(error)),
			 0);
	options.endpoints = endpoints;
	options.duration_ns = 100 * MS;
	result = fixture_load(&options);
	fixture_assert_failures(result, FAILURE_REFUSED, 2, 110);
	test_free(result);
	free(endpoints);
}

/* Nobody accepts: the queue takes some, which starve; the others are turned away. */
static void full_queue_of_a_unix_socket(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.backlog = 4};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.connections = 25;
	options.requests = 25;
	options.timeout_ns = 100 * MS;
	result = fixture_load(&options);
	assert_int_equal(result->failures.count[FAILURE_STARVED], 5);
	assert_int_equal(result->failures.count[FAILURE_EAGAIN], 20);
	assert_int_equal(failures_total(&result->failures), 25);
	test_free(result);
	fixture_stop(&server);
}

static void full_queue_with_another_policy(void **state)
{
	static const enum load_eagain policies[] = {LOAD_EAGAIN_RETRY, LOAD_EAGAIN_WAIT};
	static struct fixture_server server;

	(void)state;
	for (size_t i = 0; i < COUNT(policies); i++) {
		struct load_options options;
		struct load_result *result;

		server = (struct fixture_server){.backlog = 4};
		fixture_start(&server, TRANSPORT_UNIX);
		options = fixture_options(&server);
		options.connections = 25;
		options.requests = 25;
		options.timeout_ns = 100 * MS;
		options.eagain = policies[i];
		options.eagain_retry_ns = 2 * MS;
		result = fixture_load(&options);
		assert_int_equal(result->failures.count[FAILURE_STARVED], 5);
		assert_int_equal(result->failures.count[FAILURE_EAGAIN], 20);
		/* All of them were tried until the timeout. */
		assert_true(result->failures.times.min >= 100 * MS);
		test_free(result);
		fixture_stop(&server);
	}
}

/* With patience every one gets its answer, though the queue has room for two. */
static void waiting_for_room_in_the_queue(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){
		.serve = fixture_serve_well, .backlog = 1, .one_by_one = true};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.connections = 10;
	options.keep = false;
	options.requests = 100;
	options.eagain = LOAD_EAGAIN_WAIT;
	result = fixture_load(&options);
	assert_int_equal(result->answered, 100);
	assert_int_equal(failures_total(&result->failures), 0);
	test_free(result);
	fixture_stop(&server);
}

/* TCP does not tell that its queue is full. */
static void full_queue_of_tcp(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.backlog = 1};
	fixture_start(&server, TRANSPORT_TCP);
	options = fixture_options(&server);
	options.connections = 10;
	options.requests = 10;
	options.timeout_ns = 200 * MS;
	result = fixture_load(&options);
	assert_true(result->failures.count[FAILURE_STARVED] >= 2);
	assert_true(result->failures.count[FAILURE_CONNECT_TIMEOUT] >= 6);
	assert_int_equal(failures_total(&result->failures), 10);
	test_free(result);
	fixture_stop(&server);
}

/* One worker, two kept connections: the second one starves, as long as the first goes on. */
static void kept_connection_starves(void **state)
{
	static const enum transport transports[] = {TRANSPORT_UNIX, TRANSPORT_TCP};
	static struct fixture_server server;

	(void)state;
	for (size_t i = 0; i < COUNT(transports); i++) {
		struct load_options options;
		struct load_result *result;

		server = (struct fixture_server){.serve = fixture_serve_well, .one_by_one = true};
		fixture_start(&server, transports[i]);
		options = fixture_options(&server);
		options.connections = 2;
		options.duration_ns = 100 * MS;
		options.timeout_ns = 200 * MS;
		result = fixture_load(&options);
		assert_true(result->answered > 0);
		fixture_assert_failures(result, FAILURE_STARVED, 1, 1);
		test_free(result);
		fixture_stop(&server);
	}
}

/* A silent responder of a connection that was answered before is not one that starves it. */
static void serve_once(struct fixture_server *server, int in, int out)
{
	if (!fixture_read_request(server, in))
		return;
	write_head(out);
	fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	while (!atomic_load(&server->stopping))
		fixture_sleep_ms(5);
}

static void silence_after_an_answer(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = serve_once};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.requests = 4;
	options.timeout_ns = 60 * MS;
	result = fixture_load(&options);
	assert_int_equal(result->answered, 2);
	fixture_assert_failures(result, FAILURE_TIMEOUT_SILENT, 2, 2);
	test_free(result);
	fixture_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_misbehaviour),
		cmocka_unit_test(two_ends_on_a_connection_that_is_not_kept),
		cmocka_unit_test(closed_before_the_request_was_sent),
		cmocka_unit_test(wrong_bodies),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(failed_connects_are_bounded),
		cmocka_unit_test(full_queue_of_a_unix_socket),
		cmocka_unit_test(full_queue_with_another_policy),
		cmocka_unit_test(waiting_for_room_in_the_queue),
		cmocka_unit_test(full_queue_of_tcp),
		cmocka_unit_test(kept_connection_starves),
		cmocka_unit_test(silence_after_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
