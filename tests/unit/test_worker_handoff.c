/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fpm/worker/handoff.c: connections go to another worker with all that belongs to them. */
#include "fpm/worker/handoff.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client_model.h"
#include "fpm/worker/abi.h"
#include "fpm/worker/template.h"
#include "fpm/worker/transfer.h"
#include "worker_fixture.h"

enum {
	ENTRIES = 100,
	BODY = 3000,
	LARGE = 60000,
};

static uint8_t request[LARGE + 2048];
static size_t request_size;
static int peers[ENTRIES];
static unsigned int peer_count;
static int slot_pair[2], pool_pair[2];

static void open_pairs(bool rescue)
{
	struct template_worker worker = {.message.rescue =
						 rescue ? ABI_RESCUE_ALL : ABI_RESCUE_NONE};
	int *fds = worker.fds;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, slot_pair), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pool_pair), 0);
	fds[ABI_SPAWN_FD_HANDOFF_IN] = slot_pair[0];
	fds[ABI_SPAWN_FD_HANDOFF_OUT] = slot_pair[1];
	fds[ABI_SPAWN_FD_FRESH_IN] = pool_pair[0];
	fds[ABI_SPAWN_FD_FRESH_OUT] = pool_pair[1];
	handoff_init(&worker);
}

static int set_up(void **state)
{
	(void)state;
	request_size = fixture_request(request, 200, BODY);
	peer_count = 0;
	fixture_open(ENTRIES, (struct clients_limits){0, 0});
	open_pairs(true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (peer_count > 0)
		(void)close(peers[--peer_count]);
	handoff_abandon();
	fixture_close();
	return 0;
}

static int connect_peer(struct client **ret_client)
{
	return peers[peer_count++] = fixture_connect(ret_client);
}

/* Peers whose requests can be told from each other by a byte of PARAMS. */
static void connect_ready(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		request[16 + 8] = (uint8_t)i;
		fixture_send(connect_peer(NULL), request, request_size);
		fixture_events();
	}
}

static void expect_ready(unsigned int number)
{
	struct client *c = clients_ready();

	request[16 + 8] = (uint8_t)number;
	fixture_expect(c, request, request_size);
	clients_drop(c);
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Takes all messages, as the watch set tells a worker to. */
static unsigned int receive_all(int in, void (*receive)(void))
{
	unsigned int messages = 0;

	for (; is_readable(in); messages++)
		receive();
	return messages;
}

/* Nobody is in the table, and no peer has noticed. */
static void expect_all_away(void)
{
	assert_int_equal(fixture_held(), 0);
	for (unsigned int i = 0; i < peer_count; i++)
		assert_true(fixture_is_open(peers[i]));
}

static void test_nobody_to_send(void **state)
{
	(void)state;
	handoff_send_all();
	handoff_send_fresh();
	handoff_send_ready();
	assert_false(is_readable(slot_pair[0]));
	assert_false(is_readable(pool_pair[0]));
	handoff_receive();
	handoff_receive_fresh();
	assert_int_equal(fixture_held(), 0);
}

/* Wherever a head was cut, it goes on where it was. */
static void test_half_a_head(void **state)
{
	(void)state;
	for (size_t cut = 0; cut <= request_size; cut += cut < 250 ? 1 : 97) {
		struct client *c;
		int peer = fixture_connect(&c);

		if (cut > 0)
			fixture_send(peer, request, cut);
		fixture_events();
		handoff_send_all();
		assert_int_equal(fixture_held(), 0);
		assert_true(fixture_is_open(peer));
		/* What comes while nobody has it is there for whoever gets it. */
		if (cut % 2)
			fixture_send(peer, request + cut, request_size - cut);
		handoff_receive();
		assert_int_equal(fixture_held(), 1);
		if (cut % 2 == 0 && cut < request_size)
			fixture_send(peer, request + cut, request_size - cut);
		fixture_events();
		c = clients_ready();
		assert_non_null(c);
		/* The successor may not have had a reason to read on behind the head. */
		assert_true(client_pending(c) >= cut);
		fixture_expect(c, request, client_pending(c));
		clients_drop(c);
		assert_false(fixture_is_open(peer));
		(void)close(peer);
	}
}

/* An old body of which the program took a part goes on being passed over, wherever it was cut. */
static void test_rest_of_a_body(void **state)
{
	(void)state;
	for (size_t came = 300; came < request_size; came += came < 360 ? 1 : 131) {
		const size_t taken = came - came % 40;
		struct client *c;
		int peer = fixture_connect(&c);

		fixture_send(peer, request, came);
		fixture_events();
		assert_ptr_equal(clients_ready(), c);
		fixture_park(c, taken);
		assert_int_equal(c->phase, CLIENT_REST);
		handoff_send_all();
		assert_int_equal(fixture_held(), 0);
		handoff_receive();
		fixture_send(peer, request + came, request_size - came);
		fixture_send(peer, request, request_size);
		fixture_events();
		c = clients_ready();
		fixture_expect(c, request, request_size);
		clients_drop(c);
		(void)close(peer);
	}
}

static void test_peer_address(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/tmp/somebody"};
	struct client *c;

	(void)state;
	(void)connect_peer(&c);
	memcpy(&c->peer, &address, sizeof(address));
	c->peer_len = sizeof(address);
	c->born_ms = fixture_now_ms - 7;
	handoff_send_all();
	memset(&c->peer, 0, sizeof(c->peer));
	handoff_receive();
	c = clients_parked();
	assert_non_null(c);
	assert_int_equal(c->peer_len, sizeof(address));
	assert_memory_equal(&c->peer, &address, sizeof(address));
	assert_true(c->born_ms == fixture_now_ms - 7);
	assert_true(c->fresh);
	assert_ptr_equal(clients_fresh(), c);
	assert_true(fcntl(c->fd, F_GETFD) & FD_CLOEXEC);
}

/* One of each kind; a client whose request is complete is served at once. */
static void test_every_queue(void **state)
{
	struct client *c;
	int ready = connect_peer(&c), partial = connect_peer(NULL), idle = connect_peer(NULL);
	int fresh = connect_peer(NULL);

	(void)state;
	fixture_send(idle, request, request_size);
	fixture_events();
	fixture_park(clients_ready(), request_size);
	fixture_send(partial, request, 50);
	fixture_send(ready, request, request_size);
	fixture_events();
	handoff_send_all();
	expect_all_away();
	assert_int_equal(receive_all(slot_pair[0], handoff_receive), 1);
	assert_int_equal(fixture_held(), 4);
	fixture_expect(clients_ready(), request, request_size);
	assert_null(clients_ready());
	assert_non_null(clients_fresh());
	fixture_send(fresh, request, request_size);
	fixture_events();
	fixture_send(idle, request, request_size);
	fixture_events();
	fixture_send(partial, request + 50, request_size - 50);
	fixture_events();
	for (int i = 0; i < 3; i++)
		fixture_expect(clients_ready(), request, request_size);
	assert_null(clients_ready());
	assert_null(clients_fresh());
}

/* More than one message takes; their order is that in which they became ready. */
static void test_many(void **state)
{
	(void)state;
	/* Small ones: all of them are to fit the socket. */
	request_size = fixture_request(request, 40, 0);
	connect_ready(ENTRIES);
	handoff_send_all();
	expect_all_away();
	assert_in_range(receive_all(slot_pair[0], handoff_receive), 2, ENTRIES);
	assert_int_equal(fixture_held(), ENTRIES);
	for (unsigned int i = 0; i < ENTRIES; i++)
		expect_ready(i);
}

/* As many unread bytes as a buffer holds, of several clients. */
static void test_large_heads(void **state)
{
	static uint8_t full[CLIENT_BUFFER_SIZE];
	size_t full_size = model_put(full, 0, FCGI_BEGIN_REQUEST, 1, 8, 0);
	struct client *c;
	int peer;

	(void)state;
	full_size = model_put(full, full_size, FCGI_PARAMS, 1, 65000, 0);
	(void)model_put(full, full_size, FCGI_PARAMS, 1, sizeof(full) - full_size - 8, 0);
	request_size = fixture_request(request, LARGE, 0);
	connect_ready(3);
	peer = connect_peer(NULL);
	for (size_t sent = 0; sent < sizeof(full); sent += sizeof(full) / 4) {
		fixture_send(peer, full + sent, sizeof(full) / 4);
		fixture_events();
	}
	handoff_send_all();
	expect_all_away();
	assert_in_range(receive_all(slot_pair[0], handoff_receive), 1, 4);
	for (unsigned int i = 0; i < 3; i++)
		expect_ready(i);
	c = clients_ready();
	fixture_expect(c, full, sizeof(full));
}

/* Only new ones that have sent nothing go to the others when the program gets busy. */
static void test_fresh(void **state)
{
	struct client *old, *c;
	int idle = connect_peer(NULL);

	(void)state;
	fixture_send(idle, request, request_size);
	fixture_events();
	fixture_park(clients_ready(), request_size);
	(void)connect_peer(&old);
	fixture_now_ms += CLIENT_FRESH_MS;
	fixture_send(connect_peer(NULL), request, 10);
	connect_ready(1);
	(void)connect_peer(NULL);
	(void)connect_peer(NULL);
	handoff_send_fresh();
	assert_int_equal(fixture_held(), 4);
	assert_false(is_readable(slot_pair[0]));
	assert_int_equal(receive_all(pool_pair[0], handoff_receive_fresh), 1);
	assert_int_equal(fixture_held(), 6);
	c = clients_fresh();
	assert_non_null(c);
	assert_true(c->fresh);
	assert_false(old->fresh);
}

/* A busy worker passes requests on as well, and keeps those who have none. */
static void test_ready(void **state)
{
	int idle = connect_peer(NULL);

	(void)state;
	fixture_send(idle, request, request_size);
	fixture_events();
	fixture_park(clients_ready(), request_size);
	connect_ready(3);
	handoff_send_ready();
	assert_int_equal(fixture_held(), 1);
	assert_false(clients_have_ready());
	assert_true(fixture_is_open(idle));
	assert_int_equal(receive_all(pool_pair[0], handoff_receive_fresh), 1);
	for (unsigned int i = 0; i < 3; i++)
		expect_ready(i);
}

/* A late end of an old request, which the first worker would have passed over. */
static void test_late_records(void **state)
{
	static const uint8_t types[] = {FCGI_STDIN, FCGI_ABORT_REQUEST};

	(void)state;
	for (size_t i = 0; i < sizeof(types); i++) {
		uint8_t late[16];
		struct client *c;
		int peer = fixture_connect(&c);

		fixture_send(peer, request, request_size);
		fixture_events();
		fixture_park(clients_ready(), request_size);
		handoff_send_all();
		handoff_receive();
		fixture_send(peer, late, model_put(late, 0, types[i], 1, 0, 0));
		fixture_events();
		assert_null(clients_ready());
		fixture_send(peer, request, request_size);
		fixture_events();
		c = clients_ready();
		fixture_expect(c, request, request_size);
		clients_drop(c);
		(void)close(peer);
	}
}

/* Without pm.rescue nothing is offered to other workers; a successor gets all the same. */
static void test_no_rescue(void **state)
{
	(void)state;
	handoff_abandon();
	open_pairs(false);
	(void)connect_peer(NULL);
	handoff_send_fresh();
	assert_int_equal(fixture_held(), 1);
	assert_false(is_readable(pool_pair[0]));
	handoff_send_all();
	expect_all_away();
}

/* Fills a socket, without descriptors: such messages are of no known kind. */
static unsigned int fill(int out)
{
	static const uint8_t junk[20000];
	unsigned int count = 0;

	while (send(out, junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL) != -1)
		count++;
	assert_int_equal(errno, EAGAIN);
	return count;
}

/* Nobody takes them: they stay, in their order, and are served here. */
static void test_full_socket(void **state)
{
	unsigned int junk;

	(void)state;
	connect_ready(10);
	junk = fill(pool_pair[1]);
	handoff_send_ready();
	assert_int_equal(fixture_held(), 10);
	assert_int_equal(receive_all(pool_pair[0], handoff_receive_fresh), junk);
	assert_int_equal(fixture_held(), 10);
	for (unsigned int i = 0; i < 10; i++) {
		assert_true(fixture_is_open(peers[i]));
		expect_ready(i);
	}
}

/* Also if they are more than one message takes. */
static void test_full_socket_keeps_the_order(void **state)
{
	(void)state;
	connect_ready(50);
	(void)fill(pool_pair[1]);
	handoff_send_ready();
	assert_int_equal(fixture_held(), 50);
	for (unsigned int i = 0; i < 50; i++)
		expect_ready(i);
}

/* New ones that nobody could take are not offered again at each request. */
static void test_full_socket_and_fresh(void **state)
{
	unsigned int junk;

	(void)state;
	for (int i = 0; i < 5; i++)
		(void)connect_peer(NULL);
	junk = fill(pool_pair[1]);
	handoff_send_fresh();
	assert_int_equal(fixture_held(), 5);
	assert_null(clients_fresh());
	assert_int_equal(receive_all(pool_pair[0], handoff_receive_fresh), junk);
	fixture_send(peers[3], request, request_size);
	fixture_events();
	fixture_expect(clients_ready(), request, request_size);
}

/* A part of them fits: each is either in the socket or in the table, never in both or none. */
static void test_socket_becomes_full(void **state)
{
	const int small = 1;
	unsigned int kept;

	(void)state;
	assert_int_equal(setsockopt(slot_pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	connect_ready(ENTRIES);
	handoff_send_all();
	kept = fixture_held();
	for (unsigned int i = 0; i < ENTRIES; i++)
		assert_true(fixture_is_open(peers[i]));
	(void)receive_all(slot_pair[0], handoff_receive);
	assert_int_equal(fixture_held(), ENTRIES);
	assert_true(kept > 0);
}

/* There is no successor, and never will be: they are kept, and no signal ends the process. */
static void test_closed_socket(void **state)
{
	(void)state;
	connect_ready(3);
	(void)connect_peer(NULL);
	assert_int_equal(shutdown(slot_pair[0], SHUT_RDWR), 0);
	assert_int_equal(shutdown(pool_pair[0], SHUT_RDWR), 0);
	handoff_send_all();
	handoff_send_ready();
	assert_int_equal(fixture_held(), 4);
	for (unsigned int i = 0; i < 3; i++)
		expect_ready(i);
	handoff_receive();
	handoff_receive_fresh();
}

/* Messages that are not ours, with a descriptor: none is leaked, nothing is taken from them. */
static void test_foreign_messages(void **state)
{
	static const size_t sizes[] = {1, 8, 100, 60000};
	static uint8_t junk[60000];

	(void)state;
	memset(junk, 0xff, sizeof(junk));
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		union {
			struct cmsghdr align;
			char room[CMSG_SPACE(sizeof(int))];
		} control = {0};
		struct iovec iov = {.iov_base = junk, .iov_len = sizes[i / 2]};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		int pair[2];

		/* With the right version and a count it is only too short. */
		if (i % 2)
			memcpy(junk, (const uint32_t[]){ABI_VERSION, 1}, 8);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS,
				      .cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(c), &pair[0], sizeof(int));
		assert_int_equal(sendmsg(slot_pair[1], &msg, MSG_DONTWAIT), sizes[i / 2]);
		(void)close(pair[0]);
		handoff_receive();
		assert_int_equal(fixture_held(), 0);
		assert_false(fixture_is_open(pair[1]));
		(void)close(pair[1]);
	}
}

/* A library of another version, or a message that says of itself what is not true. */
static void test_messages_that_lie(void **state)
{
	static const struct {
		uint32_t abi;
		uint32_t pending;
		uint32_t peer_len;
		bool taken;
	} cases[] = {
		{ABI_VERSION, 50, 16, true},
		{ABI_VERSION + 1, 50, 16, false},
		{0, 50, 16, false},
		{ABI_VERSION, 51, 16, false},
		{ABI_VERSION, 49, 16, false},
		{ABI_VERSION, UINT32_MAX, 16, false},
		{ABI_VERSION, 50, 4096, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct transfer message;
		int pair[2];

		message = (struct transfer){.abi = cases[i].abi, .count = 1};
		message.entries[0].pending = cases[i].pending;
		message.entries[0].peer_len = cases[i].peer_len;
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(transfer_send(slot_pair[1], &message, request, 50, pair, 0), 0);
		(void)close(pair[0]);
		handoff_receive();
		assert_int_equal(fixture_held(), cases[i].taken);
		assert_int_equal(fixture_is_open(pair[1]), cases[i].taken);
		if (cases[i].taken)
			clients_drop(clients_parked());
		(void)close(pair[1]);
	}
}

/* The receiver has too few descriptors left: those that it can't take are closed, all of them. */
static void test_too_few_descriptors(void **state)
{
	struct rlimit before, small;
	int first_free;

	(void)state;
	connect_ready(20);
	handoff_send_all();
	first_free = dup(slot_pair[0]);
	(void)close(first_free);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	small = before;
	small.rlim_cur = (rlim_t)first_free + 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	handoff_receive();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned int i = fixture_held(); i < 20; i++)
		assert_false(fixture_is_open(peers[i]));
	assert_false(is_readable(slot_pair[0]));
}

static void answer(struct client *c)
{
	uint8_t record[64];
	size_t size = model_put(record, 0, FCGI_END_REQUEST, 1, 8, 0);

	record[8] = c->buffer[c->start + 16 + 8];
	fixture_send(c->fd, record, size);
	clients_drop(c);
}

/* The successor is another process, and the predecessor is gone before it has read anything. */
static void test_another_process(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	connect_ready(40);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		handoff_send_all();
		_exit(fixture_held() != 0);
	}
	/* Ours are copies of the predecessor's table, which the successor has nothing of. */
	clients_abandon();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (unsigned int i = 0; i < 40; i++)
		assert_true(fixture_is_open(peers[i]));
	(void)receive_all(slot_pair[0], handoff_receive);
	for (unsigned int i = 0; i < 40; i++) {
		uint8_t record[16];

		answer(clients_ready());
		assert_int_equal(recv(peers[i], record, sizeof(record), MSG_DONTWAIT), 16);
		assert_int_equal(record[8], i);
		assert_false(fixture_is_open(peers[i]));
	}
	assert_null(clients_ready());
}

/* A script's copy closes its sockets; the worker's are as they were. */
static void test_abandoned_in_a_copy(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	connect_ready(1);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		clients_abandon();
		handoff_abandon();
		_exit(fcntl(slot_pair[1], F_GETFD) != -1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	handoff_send_all();
	handoff_receive();
	expect_ready(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_to_send, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_half_a_head, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rest_of_a_body, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_peer_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_queue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_heads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fresh, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ready, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_rescue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_socket, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_socket_keeps_the_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_full_socket_and_fresh, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_socket_becomes_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed_socket, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_foreign_messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_messages_that_lie, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_few_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abandoned_in_a_copy, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
