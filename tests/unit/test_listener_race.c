/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of several processes that want one path at the same moment. */
#include "fpm/listener/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "listener_fixture.h"

#define OPENERS 8
#define ROUNDS	50
#define WAIT_MS 20000

/* One of several processes that want one path. Says how it went, and serves once if it won. */
static void run_opener(int start, int result, int stop, const char *path)
{
	struct address_socket address = fixture_resolve(path);
	struct listener listener;
	struct pollfd stopped = {.fd = stop, .events = POLLIN};
	char byte;
	int rc;

	fixture_require(read(start, &byte, 1) == 0);
	rc = listener_open(&address, &fixture_defaults, &listener, fixture_error,
			   sizeof(fixture_error));
	fixture_require(rc == 0 || rc == -EADDRINUSE);
	if (rc < 0) {
		fixture_require(write(result, "-", 1) == 1);
		return;
	}
	fixture_require(write(result, "+", 1) == 1);
	/* The losers' probes are connections, too, so all are answered until told to stop. */
	for (;;) {
		struct pollfd fds[] = {{.fd = listener.fd, .events = POLLIN}, stopped};
		int client;

		fixture_require(poll(fds, 2, WAIT_MS) > 0);
		if (fds[1].revents != 0)
			break;
		client = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
		fixture_require(client != -1);
		(void)send(client, "x", 1, MSG_NOSIGNAL);
		(void)close(client);
	}
	listener_close(&listener);
}

static void spawn_openers(pid_t pids[OPENERS], int start[2], int result[2], int stop[2],
			  const char *path)
{
	for (size_t i = 0; i < OPENERS; i++) {
		pids[i] = fork();
		assert_int_not_equal(pids[i], -1);
		if (pids[i] != 0)
			continue;
		(void)close(start[1]);
		(void)close(stop[1]);
		run_opener(start[0], result[1], stop[0], path);
		_exit(0);
	}
}

static void reap_all(const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

static void run_round(const char *path)
{
	struct address_socket address = fixture_resolve(path);
	int start[2];
	int result[2];
	int stop[2];
	pid_t pids[OPENERS];
	int winners = 0;
	char byte = '\0';
	int client;

	assert_int_equal(pipe2(start, O_CLOEXEC), 0);
	assert_int_equal(pipe2(result, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	spawn_openers(pids, start, result, stop, path);
	(void)close(result[1]);
	(void)close(start[0]);
	(void)close(stop[0]);
	(void)close(start[1]);
	for (size_t i = 0; i < OPENERS; i++) {
		assert_int_equal(read(result[0], &byte, 1), 1);
		winners += byte == '+';
	}
	assert_int_equal(winners, 1);

	client = fixture_connect_to(&address);
	assert_int_not_equal(client, -1);
	assert_int_equal(read(client, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	(void)close(client);
	(void)close(stop[1]);
	(void)close(result[0]);
	reap_all(pids, OPENERS);
	assert_false(fixture_exists(path));
}

static void test_race_to_open(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		const char *path = fixture_path_of(i % 4 == 1 ? "made/race.sock" : "race.sock");

		/* Every other time there is a dead socket in the way. */
		if (i % 2 == 0)
			(void)close(fixture_bind_raw(path, SOCK_STREAM, false));
		run_round(path);
	}
}

/* Opens and closes again and again; while it is open, the path must lead to this process. */
static void open_and_close_often(const char *path)
{
	struct address_socket address = fixture_resolve(path);
	struct listener_options options = fixture_defaults;

	/* The others' probes fill the queue, and nobody empties it. */
	options.backlog = listener_backlog_limit();
	for (int i = 0; i < ROUNDS; i++) {
		struct listener listener;
		struct ucred peer;
		socklen_t len = sizeof(peer);
		int rc = listener_open(&address, &options, &listener, fixture_error,
				       sizeof(fixture_error));
		int client;

		fixture_require(rc == 0 || rc == -EADDRINUSE);
		if (rc < 0)
			continue;
		client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		fixture_require(client != -1);
		fixture_require(connect(client, &address.addr.sa, address.len) == 0);
		fixture_require(getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0);
		fixture_require(peer.pid == getpid());
		(void)close(client);
		listener_close(&listener);
	}
}

static void test_race_to_close(void **state)
{
	static const char *const names[] = {"race.sock", "made/race.sock"};
	pid_t pids[OPENERS];

	(void)state;
	for (size_t n = 0; n < COUNT(names); n++) {
		const char *path = fixture_path_of(names[n]);

		for (size_t i = 0; i < OPENERS; i++) {
			pids[i] = fork();
			assert_int_not_equal(pids[i], -1);
			if (pids[i] == 0) {
				open_and_close_often(path);
				_exit(0);
			}
		}
		reap_all(pids, OPENERS);
		assert_false(fixture_exists(path));
	}
}

#define folder_test(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_race_to_open),
		folder_test(test_race_to_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
