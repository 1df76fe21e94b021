/* SPDX-License-Identifier: BSD-2-Clause */
/* Accept queues whose depth and limit are known. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/server/usage.h"
#include "listener_fixture.h"

#define BACKLOG 4
#define WAITING 3

static struct endpoint endpoint_of(const struct address_socket *socket)
{
	struct endpoint endpoint = {.socket = *socket};

	endpoint.transport = socket->addr.sa.sa_family == AF_UNIX ? TRANSPORT_UNIX : TRANSPORT_TCP;
	return endpoint;
}

/* Bound and listening; @address is set to what it is bound to. */
static int listen_at(struct address_socket *address, int backlog)
{
	int fd = socket(address->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -1;
	if (bind(fd, &address->addr.sa, address->len) == -1 || listen(fd, backlog) == -1) {
		(void)close(fd);
		return -1;
	}
	if (address->addr.sa.sa_family != AF_UNIX) {
		address->len = sizeof(address->addr);
		assert_int_equal(getsockname(fd, &address->addr.sa, &address->len), 0);
	}
	return fd;
}

static void assert_queue(const struct endpoint *endpoints, size_t count, unsigned int depth,
			 unsigned int deepest, unsigned int limit)
{
	struct queue_depth seen = {0};

	assert_int_equal(queue_read(endpoints, count, &seen), 0);
	assert_int_equal(seen.depth, depth);
	assert_int_equal(seen.deepest, deepest);
	assert_int_equal(seen.limit, limit);
}

static void connect_all(const struct address_socket *address, int clients[WAITING])
{
	for (size_t i = 0; i < WAITING; i++) {
		clients[i] = fixture_connect_to(address);
		assert_int_not_equal(clients[i], -1);
	}
}

static void close_all(const int clients[WAITING])
{
	for (size_t i = 0; i < WAITING; i++)
		(void)close(clients[i]);
}

static void check_waiting(const char *listens, const char *connects)
{
	struct address_socket address = fixture_resolve(listens), to = fixture_resolve(connects);
	struct endpoint endpoint;
	int clients[WAITING];
	int listener = listen_at(&address, BACKLOG), taken;

	if (listener == -1 && errno == EAFNOSUPPORT)
		return;
	assert_int_not_equal(listener, -1);
	/* Port 0 is the kernel's choice, and the same place in both families. */
	if (address.addr.sa.sa_family != AF_UNIX)
		memcpy((char *)&to.addr + 2, (char *)&address.addr + 2, 2);
	endpoint = endpoint_of(&to);
	assert_queue(&endpoint, 1, 0, 0, BACKLOG);
	connect_all(&to, clients);
	assert_queue(&endpoint, 1, WAITING, WAITING, BACKLOG);
	taken = accept(listener, NULL, NULL);
	assert_queue(&endpoint, 1, WAITING - 1, WAITING - 1, BACKLOG);
	(void)close(taken);
	close_all(clients);
	(void)close(listener);
	assert_queue(&endpoint, 1, 0, 0, 0);
}

static void test_waiting(void **state)
{
	char path[108];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", fixture_path_of("queue.sock"));
	check_waiting(path, path);
	(void)snprintf(path, sizeof(path), "@berth-test-queue-%ld", (long)getpid());
	check_waiting(path, path);
	check_waiting("127.0.0.1:0", "127.0.0.1:0");
	check_waiting("0.0.0.0:0", "127.0.0.1:0");
	check_waiting("[::1]:0", "[::1]:0");
	check_waiting("[::]:0", "[::1]:0");
	check_waiting("[::]:0", "127.0.0.1:0");
}

/* Whoever had the path before still listens, but nobody comes to it any more. */
static void test_replaced(void **state)
{
	struct address_socket address = fixture_resolve(fixture_path_of("replaced.sock"));
	struct endpoint endpoint = endpoint_of(&address);
	int old, new, clients[WAITING];

	(void)state;
	old = listen_at(&address, 100);
	connect_all(&address, clients);
	assert_int_equal(unlink(address.addr.un.sun_path), 0);
	new = listen_at(&address, BACKLOG);
	assert_int_not_equal(new, -1);
	assert_queue(&endpoint, 1, 0, 0, BACKLOG);
	close_all(clients);
	(void)close(old);
	(void)close(new);
}

/* A listener of one address goes before one of all addresses, and before another port. */
static void test_most_specific(void **state)
{
	struct address_socket one = fixture_resolve("127.0.0.2:0"),
			      all = fixture_resolve("0.0.0.0:0");
	struct address_socket other = fixture_resolve("127.0.0.2:0");
	struct endpoint endpoint;
	int yes = 1, fd_all, fd_one, fd_other, clients[WAITING];

	(void)state;
	/* Linux refuses the second bind() unless both sockets agree to share their port. */
	fd_all = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd_one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(setsockopt(fd_all, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)), 0);
	assert_int_equal(setsockopt(fd_one, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)), 0);
	assert_int_equal(bind(fd_all, &all.addr.sa, all.len), 0);
	all.len = sizeof(all.addr);
	assert_int_equal(getsockname(fd_all, &all.addr.sa, &all.len), 0);
	memcpy((char *)&one.addr + 2, (char *)&all.addr + 2, 2);
	assert_int_equal(bind(fd_one, &one.addr.sa, one.len), 0);
	assert_int_equal(listen(fd_one, BACKLOG), 0);
	assert_int_equal(listen(fd_all, 100), 0);
	fd_other = listen_at(&other, 50);
	endpoint = endpoint_of(&one);
	connect_all(&one, clients);
	assert_queue(&endpoint, 1, WAITING, WAITING, BACKLOG);
	close_all(clients);
	(void)close(fd_all);
	(void)close(fd_one);
	(void)close(fd_other);
}

/* One that listens on all IPv4 addresses is not who an IPv6 client comes to. */
static void test_other_family(void **state)
{
	struct address_socket four = fixture_resolve("0.0.0.0:0"), six = fixture_resolve("[::1]:0");
	int listener = listen_at(&four, BACKLOG);
	struct endpoint endpoint;

	(void)state;
	assert_int_not_equal(listener, -1);
	memcpy((char *)&six.addr + 2, (char *)&four.addr + 2, 2);
	endpoint = endpoint_of(&six);
	assert_queue(&endpoint, 1, 0, 0, 0);
	(void)close(listener);
}

/* Several endpoints of both kinds, and a pipe, which has no queue. */
static void test_sum(void **state)
{
	struct address_socket local = fixture_resolve(fixture_path_of("sum.sock"));
	struct address_socket inet = fixture_resolve("127.0.0.1:0");
	int local_fd = listen_at(&local, BACKLOG), inet_fd = listen_at(&inet, 7);
	struct endpoint endpoints[3] = {{.transport = TRANSPORT_PIPE}};
	int clients[WAITING], more;
	unsigned int deepest;
	double mean;

	(void)state;
	endpoints[1] = endpoint_of(&local);
	endpoints[2] = endpoint_of(&inet);
	connect_all(&inet, clients);
	more = fixture_connect_to(&local);
	assert_queue(endpoints, 3, WAITING + 1, WAITING, BACKLOG);
	assert_queue(endpoints, 1, 0, 0, 0);
	queue_watch_stop(queue_watch_start(endpoints, 3, 1), &mean, &deepest);
	assert_true(mean == WAITING + 1);
	assert_int_equal(deepest, WAITING);
	assert_null(queue_watch_start(endpoints, 1, 1));
	queue_watch_stop(NULL, &mean, &deepest);
	assert_true(mean == 0);
	(void)close(more);
	close_all(clients);
	(void)close(local_fd);
	(void)close(inet_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting),	      cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_most_specific), cmocka_unit_test(test_other_family),
		cmocka_unit_test(test_sum),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
