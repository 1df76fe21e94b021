/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's table of connections, with peers over real sockets and a clock that is set by hand. */
#include "worker_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client_model.h"
#include "fpm/worker/libc.h"

uint64_t fixture_now_ms;

static int epoll = -1;
static uint32_t held_before;
static unsigned int descriptors_before;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	(void)clock;
	ret_now->tv_sec = (time_t)(fixture_now_ms / 1000);
	ret_now->tv_nsec = (long)(fixture_now_ms % 1000) * 1000000;
	return 0;
}

static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

void fixture_open(unsigned int entries, struct clients_limits limits)
{
	struct rlimit before, small;

	libc_bind();
	descriptors_before = count_descriptors();
	held_before = clients_held();
	fixture_now_ms = 1000000;
	epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_not_equal(epoll, -1);
	/* The table has half as many entries as there may be descriptors. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	small = before;
	small.rlim_cur = (rlim_t)entries * 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	assert_int_equal(clients_init(epoll, &limits), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

void fixture_close(void)
{
	clients_abandon();
	(void)close(epoll);
	assert_int_equal(count_descriptors(), descriptors_before);
}

uint32_t fixture_held(void)
{
	return clients_held() - held_before;
}

int fixture_connect(struct client **ret_client)
{
	struct client *c;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	c = clients_add(pair[0]);
	if (ret_client)
		*ret_client = c;
	if (!c)
		return pair[1];
	assert_int_equal(c->phase, CLIENT_HEAD);
	assert_int_equal(client_pending(c), 0);
	c->fresh = true;
	c->born_ms = clients_now_ms();
	clients_read(c);
	return pair[1];
}

bool fixture_event(void)
{
	struct epoll_event event;
	int n = epoll_wait(epoll, &event, 1, 0);

	assert_int_not_equal(n, -1);
	if (n == 1)
		clients_read(event.data.ptr);
	return n == 1;
}

void fixture_events(void)
{
	unsigned int left = 10000;

	while (fixture_event())
		assert_true(left-- > 0);
}

void fixture_park(struct client *client, size_t take)
{
	uint8_t answer[FCGI_HEADER_LEN + WIRE_BODY_SIZE];
	const size_t size = model_put(answer, 0, FCGI_END_REQUEST, 1, WIRE_BODY_SIZE, 0);

	client->phase = CLIENT_SERVED;
	client->fresh = false;
	assert_int_equal(client_take(client, client->buffer + client->start, take), take);
	client->start += (uint32_t)take;
	assert_int_equal(client_wrote(client, answer, size), 1);
	assert_true(client_is_answered(client));
	(void)client_next(client);
	if (client->more && client->phase != CLIENT_READY)
		clients_read(client);
	else
		clients_wait(client);
}

size_t fixture_request(uint8_t *bytes, size_t params, size_t body)
{
	size_t size = model_put(bytes, 0, FCGI_BEGIN_REQUEST, 1, 8, 0);

	if (params > 0)
		size = model_put(bytes, size, FCGI_PARAMS, 1, params, 0);
	size = model_put(bytes, size, FCGI_PARAMS, 1, 0, 0);
	if (body > 0)
		size = model_put(bytes, size, FCGI_STDIN, 1, body, 0);
	return model_put(bytes, size, FCGI_STDIN, 1, 0, 0);
}

void fixture_send(int peer, const void *bytes, size_t size)
{
	assert_int_equal(send(peer, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL), size);
}

bool fixture_is_open(int peer)
{
	char byte;
	ssize_t n = recv(peer, &byte, 1, MSG_DONTWAIT);

	assert_int_not_equal(n, 1);
	return n == -1 && errno == EAGAIN;
}

void fixture_expect(const struct client *client, const void *bytes, size_t size)
{
	assert_non_null(client);
	assert_int_equal(client_pending(client), size);
	assert_memory_equal(client->buffer + client->start, bytes, size);
}
