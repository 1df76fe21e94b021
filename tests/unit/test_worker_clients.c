/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fpm/worker/clients.c: order, bounds, time limits and the watch set, over real sockets. */
#include "fpm/worker/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client_model.h"
#include "worker_fixture.h"

enum {
	ENTRIES = 4,
	HEADER_MS = 500,
	KEEPALIVE_MS = 3000,
};

static uint8_t request[2048];
static size_t request_size;
static int peers[64];
static unsigned int peer_count;

static int set_up(void **state)
{
	(void)state;
	request_size = fixture_request(request, 100, 30);
	peer_count = 0;
	fixture_open(ENTRIES, (struct clients_limits){HEADER_MS, KEEPALIVE_MS});
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (peer_count > 0)
		(void)close(peers[--peer_count]);
	fixture_close();
	return 0;
}

static int connect_peer(struct client **ret_client)
{
	return peers[peer_count++] = fixture_connect(ret_client);
}

static void send_request(int peer)
{
	fixture_send(peer, request, request_size);
}

/* A kept connection that has been served once. */
static int connect_idle(struct client **ret_client)
{
	struct client *c;
	int peer = connect_peer(&c);

	send_request(peer);
	fixture_events();
	assert_ptr_equal(clients_ready(), c);
	fixture_park(c, request_size);
	assert_int_equal(c->phase, CLIENT_HEAD);
	if (ret_client)
		*ret_client = c;
	return peer;
}

static void test_nothing_is_ready(void **state)
{
	struct client *c;

	(void)state;
	assert_null(clients_ready());
	assert_null(clients_first_ready());
	assert_null(clients_parked());
	assert_null(clients_fresh());
	assert_false(clients_have_ready());
	assert_int_equal(clients_expire(), -1);
	(void)connect_peer(&c);
	assert_null(clients_ready());
	assert_false(clients_have_ready());
	assert_ptr_equal(clients_parked(), c);
	assert_ptr_equal(clients_fresh(), c);
	assert_int_equal(fixture_held(), 1);
}

static void test_byte_by_byte(void **state)
{
	struct client *c;
	int peer = connect_peer(&c);

	(void)state;
	for (size_t i = 0; i < request_size; i++) {
		fixture_send(peer, request + i, 1);
		fixture_events();
	}
	assert_true(clients_have_ready());
	assert_ptr_equal(clients_first_ready(), c);
	assert_ptr_equal(clients_ready(), c);
	assert_null(clients_ready());
	/* What comes behind the head is read when the program asks for it. */
	assert_in_range(client_pending(c), request_size - 30 - 16, request_size);
	fixture_expect(c, request, client_pending(c));
	fixture_park(c, client_pending(c));
}

/* The order is that in which heads were complete, not that of the connections. */
static void test_oldest_ready_first(void **state)
{
	struct client *c[3];
	int peer[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		peer[i] = connect_idle(&c[i]);
	fixture_send(peer[0], request, 20);
	send_request(peer[2]);
	send_request(peer[1]);
	fixture_send(peer[0], request + 20, request_size - 20);
	while (fixture_event())
		;
	/* The kernel's list tells when the first byte came; it was whole by the time it was read. */
	assert_ptr_equal(clients_ready(), c[0]);
	assert_ptr_equal(clients_ready(), c[2]);
	assert_ptr_equal(clients_ready(), c[1]);
	fixture_park(c[0], request_size);
	fixture_park(c[2], request_size);
	fixture_park(c[1], request_size);
	/* This one is read too early. */
	fixture_send(peer[0], request, 20);
	fixture_events();
	send_request(peer[2]);
	send_request(peer[1]);
	fixture_send(peer[0], request + 20, request_size - 20);
	fixture_events();
	assert_ptr_equal(clients_ready(), c[2]);
	assert_ptr_equal(clients_ready(), c[1]);
	assert_ptr_equal(clients_ready(), c[0]);
	fixture_expect(c[0], request, request_size);
}

/* Who sends several requests at once has his next turn behind those that wait. */
static void test_pipelined_requests_take_turns(void **state)
{
	uint8_t three[sizeof(request) * 3];
	struct client *c[2];
	int peer[2];

	(void)state;
	peer[0] = connect_idle(&c[0]);
	peer[1] = connect_idle(&c[1]);
	for (size_t i = 0; i < 3; i++) {
		send_request(peer[0]);
		memcpy(three + i * request_size, request, request_size);
	}
	fixture_events();
	assert_ptr_equal(clients_ready(), c[0]);
	for (size_t turn = 0; turn < 2; turn++) {
		send_request(peer[1]);
		fixture_events();
		fixture_park(c[0], request_size);
		assert_ptr_equal(clients_ready(), c[1]);
		fixture_park(c[1], request_size);
		assert_ptr_equal(clients_ready(), c[0]);
		fixture_expect(c[0], three, (2 - turn) * request_size);
	}
	fixture_park(c[0], request_size);
	assert_null(clients_ready());
}

static void test_closed_by_peer(void **state)
{
	struct client *c;

	(void)state;
	(void)connect_peer(NULL);
	(void)connect_idle(NULL);
	fixture_send(connect_peer(&c), request, 20);
	fixture_events();
	assert_int_equal(fixture_held(), 3);
	while (peer_count > 0)
		(void)close(peers[--peer_count]);
	fixture_events();
	assert_int_equal(fixture_held(), 0);
	assert_int_equal(c->phase, CLIENT_FREE);
	assert_int_equal(clients_expire(), -1);
}

/* Half a head holds its place so long, however often a byte of it comes. */
static void test_header_timeout(void **state)
{
	struct client *c;
	int peer = connect_peer(&c), idle = connect_idle(NULL);

	(void)state;
	fixture_send(peer, request, 10);
	fixture_events();
	for (int i = 10; i < 15; i++) {
		assert_in_range(clients_expire(), 1, HEADER_MS + 1);
		fixture_now_ms += HEADER_MS / 5 - 1;
		fixture_send(peer, request + i, 1);
		fixture_events();
	}
	assert_in_range(clients_expire(), 1, 6);
	assert_true(fixture_is_open(peer));
	fixture_now_ms += 5;
	(void)clients_expire();
	assert_false(fixture_is_open(peer));
	assert_true(fixture_is_open(idle));
	assert_int_equal(fixture_held(), 1);
}

/* It counts from the head's first byte, not from when the connection became idle. */
static void test_header_time_starts_with_head(void **state)
{
	int peer = connect_idle(NULL);

	(void)state;
	fixture_now_ms += KEEPALIVE_MS - 1;
	fixture_send(peer, request, 10);
	fixture_events();
	fixture_now_ms += HEADER_MS - 1;
	(void)clients_expire();
	assert_true(fixture_is_open(peer));
	fixture_send(peer, request + 10, request_size - 10);
	fixture_events();
	fixture_now_ms += 10 * KEEPALIVE_MS;
	/* A request that waits for the program is not thrown away. */
	assert_int_equal(clients_expire(), -1);
	assert_non_null(clients_ready());
}

/* The same behind the rest of an old body, which may take its own time. */
static void test_header_time_starts_behind_rest(void **state)
{
	struct client *c;
	int peer = connect_peer(&c);

	(void)state;
	fixture_send(peer, request, request_size - 20);
	fixture_events();
	assert_ptr_equal(clients_ready(), c);
	fixture_park(c, request_size - 20);
	assert_int_equal(c->phase, CLIENT_REST);
	fixture_now_ms += HEADER_MS - 1;
	fixture_send(peer, request + request_size - 20, 20);
	fixture_send(peer, request, 10);
	fixture_events();
	assert_int_equal(c->phase, CLIENT_HEAD);
	fixture_now_ms += HEADER_MS - 1;
	(void)clients_expire();
	assert_true(fixture_is_open(peer));
	fixture_now_ms += 2;
	(void)clients_expire();
	assert_false(fixture_is_open(peer));
}

static void test_keepalive_timeout(void **state)
{
	int fresh = connect_peer(NULL), idle;

	(void)state;
	fixture_now_ms += 100;
	idle = connect_idle(NULL);
	assert_int_equal(clients_expire(), KEEPALIVE_MS - 100 + 1);
	fixture_now_ms += KEEPALIVE_MS - 100;
	assert_int_equal(clients_expire(), 100 + 1);
	assert_false(fixture_is_open(fresh));
	assert_true(fixture_is_open(idle));
	fixture_now_ms += 100;
	assert_int_equal(clients_expire(), -1);
	assert_false(fixture_is_open(idle));
	assert_int_equal(fixture_held(), 0);
}

static void test_no_limits(void **state)
{
	int peer;

	(void)tear_down(state);
	fixture_open(ENTRIES, (struct clients_limits){0, 0});
	peer = connect_peer(NULL);
	fixture_send(peer, request, 10);
	(void)connect_idle(NULL);
	fixture_events();
	fixture_now_ms += 1000ULL * 86400 * 1000;
	assert_int_equal(clients_expire(), -1);
	assert_int_equal(fixture_held(), 2);
}

static void test_fresh_grows_old(void **state)
{
	struct client *c[3];

	(void)state;
	(void)connect_peer(&c[0]);
	fixture_now_ms += 10;
	(void)connect_peer(&c[1]);
	fixture_send(connect_peer(&c[2]), request, 1);
	fixture_events();
	assert_ptr_equal(clients_fresh(), c[0]);
	fixture_now_ms += CLIENT_FRESH_MS - 10;
	assert_ptr_equal(clients_fresh(), c[1]);
	fixture_now_ms += 10;
	assert_null(clients_fresh());
	assert_int_equal(fixture_held(), 3);
}

/* When the table is full, the connection goes that has been idle for longest. */
static void test_oldest_idle_is_evicted(void **state)
{
	int peer[ENTRIES + 1];

	(void)state;
	for (int i = 0; i < ENTRIES; i++) {
		peer[i] = connect_idle(NULL);
		fixture_now_ms++;
	}
	/* The first is not the oldest any more. */
	send_request(peer[0]);
	fixture_events();
	fixture_park(clients_ready(), request_size);
	peer[ENTRIES] = connect_peer(NULL);
	for (int i = 0; i <= ENTRIES; i++)
		assert_int_equal(fixture_is_open(peer[i]), i != 1);
	assert_int_equal(fixture_held(), ENTRIES);
}

/* One that has just got a request, which nobody has read yet, is served. */
static void test_evicts_none_with_input(void **state)
{
	struct client *c[ENTRIES];
	int peer[ENTRIES];

	(void)state;
	for (int i = 0; i < ENTRIES; i++)
		peer[i] = connect_idle(&c[i]);
	send_request(peer[0]);
	fixture_send(peer[1], request, 10);
	(void)connect_peer(NULL);
	for (int i = 0; i < ENTRIES; i++)
		assert_int_equal(fixture_is_open(peer[i]), i != 2);
	assert_ptr_equal(clients_ready(), c[0]);
	fixture_expect(c[0], request, request_size);
	fixture_send(peer[1], request + 10, request_size - 10);
	fixture_events();
	assert_ptr_equal(clients_ready(), c[1]);
	fixture_expect(c[1], request, request_size);
}

/* Those that were answered and only have to close go first, those that send a head go last. */
static void test_order_of_eviction(void **state)
{
	struct client *c;
	int idle = connect_idle(NULL), partial = connect_peer(NULL), fresh = connect_peer(NULL);
	int drained = connect_idle(&c);
	const int order[] = {drained, idle, fresh, partial};

	(void)state;
	fixture_send(partial, request, 10);
	fixture_events();
	clients_unlist(c);
	c->phase = CLIENT_SERVED;
	clients_drain(c);
	for (int i = 0; i < ENTRIES; i++) {
		int peer;

		for (int k = 0; k < ENTRIES; k++)
			assert_int_equal(fixture_is_open(order[k]), k >= i);
		/* It stays: a request waits. */
		peer = connect_peer(NULL);
		send_request(peer);
		fixture_events();
	}
	assert_false(fixture_is_open(partial));
	for (int i = 0; i < ENTRIES; i++)
		assert_non_null(clients_ready());
}

/* Nobody that waits for an answer is thrown out for a new one, nor is the one being served. */
static void test_full_of_requests(void **state)
{
	struct client *c[ENTRIES], *refused;
	int peer;

	(void)state;
	for (int i = 0; i < ENTRIES; i++)
		send_request(connect_peer(&c[i]));
	fixture_events();
	assert_ptr_equal(clients_ready(), c[0]);
	c[0]->phase = CLIENT_SERVED;
	peer = connect_peer(&refused);
	assert_null(refused);
	assert_false(fixture_is_open(peer));
	for (int i = 0; i < ENTRIES; i++)
		assert_true(fixture_is_open(peers[i]));
	assert_int_equal(fixture_held(), ENTRIES);
	clients_drop(c[0]);
	peer = connect_peer(&refused);
	assert_non_null(refused);
	assert_true(fixture_is_open(peer));
}

/* An entry that is used again has nothing of its predecessor. */
static void test_entries_are_used_again(void **state)
{
	uint64_t serial = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct client *c;
		int peer = fixture_connect(&c);

		assert_non_null(c);
		assert_true(c->serial > serial);
		serial = c->serial;
		assert_false(c->begun);
		assert_false(c->more);
		fixture_send(peer, request, i % 2 ? 20 : request_size);
		fixture_events();
		assert_int_equal(clients_have_ready(), i % 2 == 0);
		(void)close(peer);
		if (i % 2 == 0)
			clients_drop(clients_ready());
		fixture_events();
		assert_int_equal(fixture_held(), 0);
	}
}

/* What a peer still sends after its answer is thrown away until it closes. */
static void test_drain(void **state)
{
	static uint8_t junk[100000];
	struct client *c;
	int peer = connect_idle(&c);

	(void)state;
	clients_unlist(c);
	c->phase = CLIENT_SERVED;
	clients_drain(c);
	assert_int_equal(c->phase, CLIENT_DRAIN);
	for (int i = 0; i < 20; i++) {
		fixture_send(peer, junk, sizeof(junk));
		fixture_events();
		assert_int_equal(client_pending(c), 0);
	}
	/* A request is no request any more. */
	send_request(peer);
	fixture_events();
	assert_false(clients_have_ready());
	assert_int_equal(fixture_held(), 1);
	(void)shutdown(peer, SHUT_WR);
	fixture_events();
	assert_int_equal(fixture_held(), 0);
	assert_false(fixture_is_open(peer));
}

static void test_drain_has_an_end(void **state)
{
	struct client *c;
	int peer = connect_idle(&c), left;

	(void)state;
	clients_unlist(c);
	c->phase = CLIENT_SERVED;
	clients_drain(c);
	left = clients_expire();
	assert_in_range(left, 1, 10000);
	fixture_now_ms += (uint64_t)left;
	assert_int_equal(clients_expire(), -1);
	assert_int_equal(fixture_held(), 0);
	assert_false(fixture_is_open(peer));
}

/* More of an old body than is read in one go, and behind it a request: no further event comes. */
static void test_long_rest(void **state)
{
	const size_t body = 3U * 1024 * 1024;
	const int room = 64 << 20;
	static uint8_t bytes[4U * 1024 * 1024];
	size_t size = fixture_request(bytes, 0, 0) - 8, head = size;
	struct client *c;
	int peer = connect_idle(&c);

	(void)state;
	/* Only root may have a socket take so much. */
	if (setsockopt(peer, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) == -1)
		skip();
	while (size < body)
		size = model_put(bytes, size, FCGI_STDIN, 1, 65000, 0);
	size = model_put(bytes, size, FCGI_STDIN, 1, 0, 0);
	fixture_send(peer, bytes, head + 8);
	fixture_events();
	assert_ptr_equal(clients_ready(), c);
	fixture_send(peer, bytes + head + 8, size - head - 8);
	send_request(peer);
	fixture_park(c, head);
	fixture_events();
	assert_ptr_equal(clients_ready(), c);
	fixture_expect(c, request, request_size);
}

/* The program may hold another descriptor of the socket; its events are nobody's. */
static void test_dropped_is_not_watched(void **state)
{
	struct client *c;
	int peer = connect_idle(&c), copy = dup(c->fd);

	(void)state;
	assert_int_not_equal(copy, -1);
	clients_drop(c);
	send_request(peer);
	assert_false(fixture_event());
	(void)close(copy);
}

static void test_unshare(void **state)
{
	struct client *c;
	int peer = connect_peer(&c), old = c->fd;

	(void)state;
	assert_int_equal(clients_unshare(c), 0);
	assert_int_not_equal(c->fd, old);
	assert_true(c->fd >= 64);
	assert_true(fcntl(c->fd, F_GETFD) & FD_CLOEXEC);
	(void)close(old);
	assert_true(fixture_is_open(peer));
	send_request(peer);
	fixture_events();
	assert_ptr_equal(clients_ready(), c);
}

/* A script's copy of the worker forgets all; the worker goes on as if nothing had been. */
static void test_abandoned_in_a_copy(void **state)
{
	struct client *c;
	int peer = connect_idle(&c), status;
	pid_t pid = fork();

	(void)state;
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		clients_abandon();
		_exit(clients_ready() || clients_parked() || fcntl(c->fd, F_GETFD) != -1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(fixture_is_open(peer));
	send_request(peer);
	fixture_events();
	assert_ptr_equal(clients_ready(), c);
	fixture_expect(c, request, request_size);
}

static void test_errno_is_kept(void **state)
{
	struct client *c;

	(void)state;
	(void)connect_peer(&c);
	errno = EXDEV;
	clients_read(c);
	assert_int_equal(errno, EXDEV);
}

/* A full buffer is not asked for more; the rest is there when the program wants it. */
static void test_full_buffer(void **state)
{
	static uint8_t bytes[3 * 66000];
	struct client *c;
	int peer = connect_peer(&c);
	size_t size = model_put(bytes, 0, FCGI_BEGIN_REQUEST, 1, 8, 0), sent = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		size = model_put(bytes, size, FCGI_PARAMS, 1, 65000, 200);
	size = model_put(bytes, size, FCGI_PARAMS, 1, 10000, 0);
	while (sent < size) {
		size_t n = size - sent < 50000 ? size - sent : 50000;

		fixture_send(peer, bytes + sent, n);
		sent += n;
		fixture_events();
	}
	assert_ptr_equal(clients_ready(), c);
	fixture_expect(c, bytes, CLIENT_BUFFER_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_ready, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_byte_by_byte, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_oldest_ready_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pipelined_requests_take_turns, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_closed_by_peer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_header_timeout, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_header_time_starts_with_head, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_header_time_starts_behind_rest, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_keepalive_timeout, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_limits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fresh_grows_old, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_oldest_idle_is_evicted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_evicts_none_with_input, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order_of_eviction, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_of_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_entries_are_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drain_has_an_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_rest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dropped_is_not_watched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unshare, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abandoned_in_a_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errno_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_buffer, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
