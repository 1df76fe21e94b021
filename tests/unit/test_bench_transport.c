/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of bench/client/transport.c and peer.c: classes of errors, options, who has read. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/client/peer.h"
#include "bench_fixture.h"

static const struct transport_options no_options;

static void classes_of_connect_errors(void **state)
{
	static const struct {
		enum transport transport;
		int error;
		enum failure failure;
	} cases[] = {
		{TRANSPORT_UNIX, EAGAIN, FAILURE_EAGAIN},
		{TRANSPORT_TCP, EAGAIN, FAILURE_ADDRESSES},
		{TRANSPORT_TCP, EADDRNOTAVAIL, FAILURE_ADDRESSES},
		{TRANSPORT_UNIX, ECONNREFUSED, FAILURE_REFUSED},
		{TRANSPORT_TCP, ECONNREFUSED, FAILURE_REFUSED},
		{TRANSPORT_PIPE, ENXIO, FAILURE_REFUSED},
		{TRANSPORT_TCP, ECONNRESET, FAILURE_CONNECT_RESET},
		{TRANSPORT_TCP, ETIMEDOUT, FAILURE_CONNECT_TIMEOUT},
		{TRANSPORT_UNIX, ENOENT, FAILURE_NO_PATH},
		{TRANSPORT_UNIX, EACCES, FAILURE_NO_PATH},
		{TRANSPORT_PIPE, ENOTDIR, FAILURE_NO_PATH},
		{TRANSPORT_TCP, ENETUNREACH, FAILURE_NO_PATH},
		{TRANSPORT_UNIX, EMFILE, FAILURE_LOCAL},
		{TRANSPORT_TCP, ENFILE, FAILURE_LOCAL},
		{TRANSPORT_TCP, ENOBUFS, FAILURE_LOCAL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(transport_connect_failure(cases[i].transport, -cases[i].error),
				 cases[i].failure);
	assert_int_equal(transport_send_failure(-EPIPE), FAILURE_SEND_PIPE);
	assert_int_equal(transport_send_failure(-ECONNRESET), FAILURE_SEND_RESET);
}

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

static void assert_flags(const struct transport_link *link, bool blocking)
{
	assert_true((fcntl(link->in, F_GETFD) & FD_CLOEXEC) != 0);
	assert_true((fcntl(link->out, F_GETFD) & FD_CLOEXEC) != 0);
	assert_int_equal((fcntl(link->in, F_GETFL) & O_NONBLOCK) == 0, blocking);
}

static void wait_until_connected(const struct transport_link *link)
{
	char none;

	/* The empty write fails until the connection stands. */
	while (send(link->out, &none, 0, MSG_DONTWAIT | MSG_NOSIGNAL) == -1)
		fixture_sleep_ms(1);
	assert_int_equal(transport_connect_error(link), 0);
}

static void options_and_flags(void **state)
{
	static struct fixture_server server;
	const struct transport_options all = {.nodelay = true, .quickack = true, .blocking = true};

	(void)state;
	for (enum transport i = TRANSPORT_TCP; i < TRANSPORTS; i++) {
		struct transport_link link;
		int rc;

		server = (struct fixture_server){.serve = fixture_serve_well};
		fixture_start(&server, i);
		rc = transport_open(&server.endpoint, &no_options, &link);
		assert_true(rc == 0 || rc == -EINPROGRESS);
		assert_flags(&link, false);
		assert_int_equal(link.pipe, i == TRANSPORT_PIPE);
		if (i == TRANSPORT_TCP)
			assert_int_equal(option_of(link.in, IPPROTO_TCP, TCP_NODELAY), 0);
		transport_close(&link);
		assert_int_equal(link.in, -1);
		rc = transport_open(&server.endpoint, &all, &link);
		assert_true(rc == 0 || rc == -EINPROGRESS);
		assert_flags(&link, true);
		assert_int_equal(link.quickack, i == TRANSPORT_TCP);
		if (i == TRANSPORT_TCP)
			assert_int_equal(option_of(link.in, IPPROTO_TCP, TCP_NODELAY), 1);
		transport_close(&link);
		fixture_stop(&server);
	}
}

/* What an earlier client left in the pipe of answers is not an answer to us. */
static void old_answers_are_thrown_away(void **state)
{
	static struct fixture_server server;
	struct transport_link link;
	char buffer[16];

	(void)state;
	server = (struct fixture_server){.serve = fixture_serve_well};
	fixture_start(&server, TRANSPORT_PIPE);
	assert_true(fixture_write(server.pipe_out, "old answer", 10));
	assert_int_equal(transport_open(&server.endpoint, &no_options, &link), 0);
	assert_int_equal(transport_receive(&link, buffer, sizeof(buffer), false), -EAGAIN);
	transport_close(&link);
	fixture_stop(&server);
}

static int accept_one(const struct fixture_server *server)
{
	const int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd != -1);
	return fd;
}

/* Not accepted, accepted and not read, partly read, all read; @size may be more than buffers take. */
static void look_at_each_stage(enum transport transport, size_t size)
{
	static struct fixture_server server;
	static char bytes[4 << 20];
	struct transport_link link;
	size_t sent = 0;
	ssize_t now;
	int fd;

	server = (struct fixture_server){.serve = NULL};
	fixture_start(&server, transport);
	(void)transport_open(&server.endpoint, &no_options, &link);
	wait_until_connected(&link);
	while (sent < size && (now = transport_send(&link, bytes, size - sent)) > 0)
		sent += (size_t)now;
	assert_true(sent > 0);
	assert_int_equal(peer_look(&link, transport, sent), PEER_IDLE);
	fd = accept_one(&server);
	assert_int_equal(peer_look(&link, transport, sent), PEER_IDLE);
	assert_int_equal(read(fd, bytes, 1), 1);
	assert_int_equal(peer_look(&link, transport, sent), PEER_HAS_READ);
	(void)close(fd);
	transport_close(&link);
	fixture_stop(&server);
}

static void who_has_read(void **state)
{
	static const size_t sizes[] = {1000, 4 << 20};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		look_at_each_stage(TRANSPORT_UNIX, sizes[i]);
		look_at_each_stage(TRANSPORT_TCP, sizes[i]);
	}
}

static void who_has_read_a_pipe(void **state)
{
	struct transport_link link = {.pipe = true};
	char byte;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	link.in = fds[0];
	link.out = fds[1];
	assert_int_equal(transport_send(&link, "request", 7), 7);
	assert_int_equal(peer_look(&link, TRANSPORT_PIPE, 7), PEER_IDLE);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(peer_look(&link, TRANSPORT_PIPE, 7), PEER_HAS_READ);
	transport_close(&link);
}

/* A connection whose other end is not on this machine; here one that is no connection at all. */
static void nothing_known(void **state)
{
	struct transport_link link;

	(void)state;
	link.in = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	link.out = link.in;
	link.pipe = false;
	assert_int_equal(peer_look(&link, TRANSPORT_TCP, 1), PEER_UNKNOWN);
	transport_close(&link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_of_connect_errors),   cmocka_unit_test(options_and_flags),
		cmocka_unit_test(old_answers_are_thrown_away), cmocka_unit_test(who_has_read),
		cmocka_unit_test(who_has_read_a_pipe),	       cmocka_unit_test(nothing_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
