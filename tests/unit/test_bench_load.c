/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/load*.c: how many requests, what is recorded, open and closed loop. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench_fixture.h"

static const enum transport transports[] = {TRANSPORT_TCP, TRANSPORT_UNIX, TRANSPORT_PIPE};

static void serve_after_20_ms(struct fixture_server *server, int in, int out)
{
	while (fixture_read_request(server, in)) {
		fixture_sleep_ms(20);
		fixture_write_records(out, FCGI_STDOUT, FIXTURE_HEAD, strlen(FIXTURE_HEAD));
		fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	}
}

/* The 10th answer takes 300 ms. */
static void serve_with_a_stall(struct fixture_server *server, int in, int out)
{
	while (fixture_read_request(server, in)) {
		if (atomic_load(&server->requests) == 10)
			fixture_sleep_ms(300);
		fixture_write_records(out, FCGI_STDOUT, FIXTURE_HEAD, strlen(FIXTURE_HEAD));
		fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	}
}

/* Answers with a megabyte. */
static void serve_much(struct fixture_server *server, int in, int out)
{
	static char body[1 << 20];

	while (fixture_read_request(server, in)) {
		fixture_write_records(out, FCGI_STDOUT, FIXTURE_HEAD, strlen(FIXTURE_HEAD));
		fixture_write_records(out, FCGI_STDOUT, body, sizeof(body));
		fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	}
}

/* The whole answer comes before the body was read, which it never is. */
static void serve_early(struct fixture_server *server, int in, int out)
{
	char byte;

	if (read(in, &byte, 1) != 1)
		return;
	fixture_write_records(out, FCGI_STDOUT, FIXTURE_HEAD, strlen(FIXTURE_HEAD));
	fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	(void)atomic_fetch_add(&server->requests, 1);
	while (!atomic_load(&server->stopping))
		fixture_sleep_ms(5);
}

static void serve_warnings(struct fixture_server *server, int in, int out)
{
	while (fixture_read_request(server, in)) {
		fixture_write_records(out, FCGI_STDERR, "warning", 7);
		fixture_write_records(out, FCGI_STDOUT, FIXTURE_HEAD "body",
				      strlen(FIXTURE_HEAD "body"));
		fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	}
}

/* Exactly as many requests as asked for, whatever the transport, the mode, the concurrency. */
static void counts_are_exact(void **state)
{
	static struct fixture_server server;

	(void)state;
	for (size_t i = 0; i < COUNT(transports) * 8; i++) {
		const enum transport transport = transports[i / 8];
		struct load_options options;
		struct load_result *result;

		server = (struct fixture_server){.serve = serve_warnings};
		fixture_start(&server, transport);
		options = fixture_options(&server);
		options.keep = i % 2 == 0;
		options.connections = i / 2 % 2 == 0 || transport == TRANSPORT_PIPE ? 1 : 7;
		options.threads = i / 4 % 2 == 0 ? 1 : 3;
		options.skip = 20;
		options.requests = 100;
		result = fixture_load(&options);
		assert_int_equal(result->answered, 100);
		assert_int_equal(failures_total(&result->failures), 0);
		assert_int_equal(atomic_load(&server.requests), 120);
		assert_int_equal(result->service.count, 100);
		assert_int_equal(result->first_byte.count, 100);
		assert_int_equal(result->response.count, 0);
		assert_int_equal(result->bytes_out, 120 * options.request->size);
		assert_int_equal(result->stderr_bytes, 120 * 7);
		assert_int_equal(result->body_length, 4);
		assert_true(result->elapsed_ns > 0);
		if (options.keep || transport == TRANSPORT_PIPE)
			assert_in_range(result->connections_made, 1, options.connections);
		else
			assert_int_equal(result->connections_made, 120);
		test_free(result);
		fixture_stop(&server);
	}
}

static void connect_is_a_part_of_the_service(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = fixture_serve_well};
	fixture_start(&server, TRANSPORT_TCP);
	options = fixture_options(&server);
	options.keep = false;
	options.requests = 50;
	options.nodelay = true;
	options.quickack = true;
	result = fixture_load(&options);
	assert_int_equal(result->connect.count, 50);
	assert_true(result->service.sum > result->connect.sum);
	assert_true(result->service.min > result->connect.min);
	assert_true(result->first_byte.sum <= result->service.sum);
	test_free(result);
	fixture_stop(&server);
}

static void known_delays(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = serve_after_20_ms};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.duration_ns = 210 * MS;
	result = fixture_load(&options);
	assert_in_range(result->answered, 3, 11);
	assert_true(result->service.min >= 20 * MS);
	assert_true(result->elapsed_ns >= result->answered * 20 * MS);
	test_free(result);
	fixture_stop(&server);
}

/* Larger than every buffer on the way, in both directions at once. */
static void large_requests_and_answers(void **state)
{
	static struct fixture_server server;
	const struct response_expect expect = {.check_length = true, .length = 1 << 20};

	(void)state;
	for (size_t i = 0; i < COUNT(transports) * 4; i++) {
		struct load_options options;
		struct load_result *result;

		server = (struct fixture_server){.serve = serve_much};
		fixture_start(&server, transports[i / 4]);
		options = fixture_options(&server);
		options.request = fixture_request(3 << 20);
		options.expect = &expect;
		options.keep = i % 2 == 0;
		options.connections = i / 2 % 2 == 0 || transports[i / 4] == TRANSPORT_PIPE ? 1 : 2;
		options.requests = 6;
		result = fixture_load(&options);
		assert_int_equal(result->answered, 6);
		assert_int_equal(failures_total(&result->failures), 0);
		assert_int_equal(result->bytes_out, 6 * options.request->size);
		assert_true(result->bytes_in > 6 << 20);
		test_free(result);
		fixture_stop(&server);
	}
}

/* It counts, but the connection is in the middle of a request and must not be used again. */
static void answer_before_the_body_was_sent(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		server = (struct fixture_server){.serve = serve_early};
		fixture_start(&server, transports[i]);
		options = fixture_options(&server);
		options.request = fixture_request(8 << 20);
		options.requests = 4;
		result = fixture_load(&options);
		fixture_assert_failures(result, FAILURE_NONE, 0, 0);
		assert_int_equal(result->answered, 4);
		assert_int_equal(failures_total(&result->failures), 0);
		test_free(result);
		fixture_stop(&server);
	}
}

/* A pipe can't be opened anew: late answers must not be taken for those of later requests. */
static void pipe_after_a_timeout(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = serve_with_a_stall};
	fixture_start(&server, TRANSPORT_PIPE);
	options = fixture_options(&server);
	options.requests = 40;
	options.timeout_ns = 100 * MS;
	result = fixture_load(&options);
	assert_int_equal(result->connections_made, 1);
	fixture_assert_failures(result, FAILURE_TIMEOUT_SILENT, 1, 3);
	assert_int_equal(result->answered + result->failures.count[FAILURE_TIMEOUT_SILENT], 40);
	assert_int_equal(atomic_load(&server.requests), 40);
	test_free(result);
	fixture_stop(&server);
}

/* The same arrivals in each run with a seed; none is forgotten. */
static void open_loop_arrivals(void **state)
{
	static struct fixture_server server;
	uint64_t arrivals[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct load_options options;
		struct load_result *result;

		server = (struct fixture_server){.serve = fixture_serve_well};
		fixture_start(&server, TRANSPORT_UNIX);
		options = fixture_options(&server);
		options.connections = 4;
		options.threads = 2;
		options.arrivals = LOAD_POISSON;
		options.rate = 1000;
		options.max_queue = 10000;
		options.seed = 99;
		options.duration_ns = 300 * MS;
		result = fixture_load(&options);
		arrivals[i] = result->arrivals;
		assert_int_equal(result->answered, result->arrivals);
		assert_int_equal(result->response.count, result->answered);
		assert_true(result->response.sum >= result->service.sum);
		assert_int_equal(failures_total(&result->failures), 0);
		test_free(result);
		fixture_stop(&server);
	}
	assert_int_equal(arrivals[0], arrivals[1]);
	assert_in_range(arrivals[0], 200, 400);
}

static void open_loop_with_equal_gaps(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = fixture_serve_well};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.connections = 3;
	options.arrivals = LOAD_CONSTANT;
	options.rate = 500;
	options.max_queue = 1000;
	options.spin = true;
	options.duration_ns = 200 * MS;
	result = fixture_load(&options);
	assert_int_equal(result->arrivals, 100);
	assert_int_equal(result->answered, 100);
	assert_true(result->send_lag.count > 0);
	assert_true(result->elapsed_ns >= 190 * MS);
	test_free(result);
	/* A number of requests ends it as well. */
	options.duration_ns = 0;
	options.requests = 20;
	result = fixture_load(&options);
	assert_int_equal(result->arrivals, 20);
	assert_int_equal(result->answered, 20);
	test_free(result);
	fixture_stop(&server);
}

/* 50 requests a second can be served, 400 arrive: they wait in the client or are dropped. */
static void open_loop_overload(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = serve_after_20_ms};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.arrivals = LOAD_CONSTANT;
	options.rate = 400;
	options.max_queue = 5;
	options.duration_ns = 200 * MS;
	result = fixture_load(&options);
	assert_int_equal(result->arrivals, 80);
	assert_int_equal(result->queue_max, 5);
	fixture_assert_failures(result, FAILURE_DROPPED, 60, 79);
	assert_int_equal(result->answered + result->failures.count[FAILURE_DROPPED], 80);
	/* Those that waited for four others took five times as long. */
	assert_true(result->response.max >= 100 * MS);
	test_free(result);
	fixture_stop(&server);
}

/* A responder that never answers: what waits behind it is not tried once more for each timeout. */
static void open_loop_by_count_ends_one_timeout_after_the_last_arrival(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = NULL};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.arrivals = LOAD_CONSTANT;
	options.rate = 1000;
	options.max_queue = 1000;
	options.requests = 200;
	options.timeout_ns = 100 * MS;
	result = fixture_load(&options);
	assert_int_equal(result->arrivals, 200);
	assert_int_equal(result->answered, 0);
	assert_int_equal(failures_total(&result->failures), 200);
	/* One connection: two time out while requests arrive, and one or two after that. */
	assert_true(result->failures.count[FAILURE_DEADLINE] >= 150);
	test_free(result);
	fixture_stop(&server);
}

/* One stall: the open loop sees all whom it hit, the closed one a single slow answer. */
static void stall_is_seen_by_the_open_loop(void **state)
{
	static struct fixture_server server;
	struct load_options options;
	struct load_result *result;

	(void)state;
	server = (struct fixture_server){.serve = serve_with_a_stall};
	fixture_start(&server, TRANSPORT_UNIX);
	options = fixture_options(&server);
	options.arrivals = LOAD_CONSTANT;
	options.rate = 200;
	options.max_queue = 1000;
	options.requests = 100;
	result = fixture_load(&options);
	assert_int_equal(result->answered, 100);
	assert_true(result->response.max >= 300 * MS);
	/* 60 arrive during the stall; half of them wait for 150 ms or longer. */
	assert_true(histogram_quantile(&result->response, 0.75) >= 100 * MS);
	assert_true(histogram_quantile(&result->service, 0.75) < 100 * MS);
	test_free(result);
	fixture_stop(&server);
}

static volatile sig_atomic_t stop;
static unsigned int progress_calls;

static void progress_cb(uint64_t answered, uint64_t failed, uint64_t elapsed_ns, void *data)
{
	assert_ptr_equal(data, &progress_calls);
	assert_true(elapsed_ns > 0);
	(void)answered;
	(void)failed;
	if (++progress_calls == 2)
		stop = 1;
}

static void serve_never(struct fixture_server *server, int in, int out)
{
	(void)out;
	while (fixture_read_request(server, in))
		;
}

/* What is in flight when it is stopped is recorded as "at least that long". */
static void stopped(void **state)
{
	static struct fixture_server server;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct load_options options;
		struct load_result *result;

		server = (struct fixture_server){.serve = serve_never};
		fixture_start(&server, transports[i]);
		options = fixture_options(&server);
		options.connections = transports[i] == TRANSPORT_PIPE ? 1 : 3;
		options.duration_ns = 60000 * MS;
		options.stop = &stop;
		options.progress = progress_cb;
		options.data = &progress_calls;
		stop = 0;
		progress_calls = 0;
		result = fixture_load(&options);
		assert_true(result->interrupted);
		assert_int_equal(result->in_flight, options.connections);
		fixture_assert_failures(result, FAILURE_DEADLINE, options.connections,
					options.connections);
		assert_true(result->failures.times.min >= 300 * MS);
		test_free(result);
		fixture_stop(&server);
	}
}

static void merging(void **state)
{
	struct load_result *into = test_calloc(1, sizeof(*into));
	struct load_result *from = test_calloc(1, sizeof(*from));

	(void)state;
	assert_true(into != NULL && from != NULL);
	into->elapsed_ns = 10;
	into->queue_max = 4;
	into->answered = 1;
	from->elapsed_ns = 20;
	from->queue_max = 7;
	from->answered = 2;
	from->interrupted = true;
	from->body_length = 5;
	histogram_add(&from->service, 1);
	failures_add(&from->failures, FAILURE_STATUS, 1, 1);
	load_merge(into, from);
	load_merge(into, from);
	assert_int_equal(into->elapsed_ns, 50);
	assert_int_equal(into->answered, 5);
	assert_int_equal(into->queue_max, 7);
	assert_int_equal(into->service.count, 2);
	assert_int_equal(into->body_length, 5);
	assert_int_equal(failures_total(&into->failures), 2);
	assert_true(into->interrupted);
	test_free(into);
	test_free(from);
}

static void refused(void **state)
{
	static const struct fixture_server none;
	static struct endpoint pipe = {.transport = TRANSPORT_PIPE};
	struct load_result *result = test_calloc(1, sizeof(*result));
	char error[256];

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct load_options options = fixture_options(&none);

		options.requests = i == 0 ? 0 : 1;
		if (i == 1)
			options.threads = 0;
		if (i == 2)
			options.connections = 0;
		if (i == 3)
			options.endpoint_count = 0;
		if (i == 4)
			options.arrivals = LOAD_POISSON;
		if (i == 5) {
			options.endpoints = &pipe;
			options.connections = 2;
		}
		error[0] = '\0';
		assert_int_equal(load_run(&options, result, error, sizeof(error)), -EINVAL);
		assert_true(strlen(error) > 0);
	}
	test_free(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(connect_is_a_part_of_the_service),
		cmocka_unit_test(known_delays),
		cmocka_unit_test(large_requests_and_answers),
		cmocka_unit_test(answer_before_the_body_was_sent),
		cmocka_unit_test(pipe_after_a_timeout),
		cmocka_unit_test(open_loop_arrivals),
		cmocka_unit_test(open_loop_with_equal_gaps),
		cmocka_unit_test(open_loop_overload),
		cmocka_unit_test(open_loop_by_count_ends_one_timeout_after_the_last_arrival),
		cmocka_unit_test(stall_is_seen_by_the_open_loop),
		cmocka_unit_test(stopped),
		cmocka_unit_test(merging),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
