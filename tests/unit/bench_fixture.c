/* SPDX-License-Identifier: BSD-2-Clause */
/* Responders of all manners, in threads of the test, for tests of the client's load. */
#include "bench_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fcgi/wire.h"

#define BACKLOG 511

static pthread_mutex_t closing = PTHREAD_MUTEX_INITIALIZER;

static bool read_all(int in, uint8_t *data, size_t size)
{
	while (size > 0) {
		const ssize_t bytes = read(in, data, size);

		if (bytes <= 0)
			return false;
		data += bytes;
		size -= (size_t)bytes;
	}
	return true;
}

/* Record by record, so that what follows the request is left to the next call. */
bool fixture_read_request(struct fixture_server *server, int in)
{
	uint8_t content[FCGI_MAX_LENGTH + 255];
	uint8_t bytes[FCGI_HEADER_LEN];
	struct wire_header header;

	do {
		if (!read_all(in, bytes, sizeof(bytes)) ||
		    wire_header_decode(bytes, &header) != WIRE_OK ||
		    !read_all(in, content, header.content_length + header.padding_length))
			return false;
	} while (header.type != FCGI_STDIN || header.content_length > 0);
	(void)atomic_fetch_add(&server->requests, 1);
	return true;
}

bool fixture_write(int out, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0) {
		const ssize_t written = write(out, bytes, size);

		if (written <= 0)
			return false;
		bytes += written;
		size -= (size_t)written;
	}
	return true;
}

void fixture_write_records(int out, uint8_t type, const char *content, size_t size)
{
	const struct wire_stream stream = {.type = type, .request_id = 1};
	struct wire_buffer buffer = {.size = size + size / 60000 * 16 + 64};

	buffer.data = malloc(buffer.size);
	if (buffer.data != NULL && wire_put_stream(&buffer, &stream, content, size) == WIRE_OK)
		(void)fixture_write(out, buffer.data, buffer.used);
	free(buffer.data);
}

void fixture_write_end(int out, uint32_t app_status, uint8_t protocol_status)
{
	const struct wire_end end = {app_status, protocol_status};
	uint8_t bytes[64];
	struct wire_buffer buffer = {.data = bytes, .size = sizeof(bytes)};

	if (wire_put_end(&buffer, 1, &end) == WIRE_OK)
		(void)fixture_write(out, bytes, buffer.used);
}

void fixture_wait_for_end(int in)
{
	char buffer[65536];

	while (read(in, buffer, sizeof(buffer)) > 0)
		;
}

void fixture_sleep_ms(unsigned int ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) == -1)
		;
}

void fixture_serve_well(struct fixture_server *server, int in, int out)
{
	while (fixture_read_request(server, in)) {
		fixture_write_records(out, FCGI_STDOUT, FIXTURE_HEAD "body",
				      strlen(FIXTURE_HEAD "body"));
		fixture_write_end(out, 0, FCGI_REQUEST_COMPLETE);
	}
}

static void *client_run(void *data)
{
	struct fixture_client *client = data;
	const int fd = atomic_load(&client->fd);

	client->server->serve(client->server, fd, fd);
	/* shut_clients() must not meet the number when it is that of another descriptor. */
	(void)pthread_mutex_lock(&closing);
	atomic_store(&client->fd, -1);
	(void)close(fd);
	(void)pthread_mutex_unlock(&closing);
	return NULL;
}

/* Ends when fixture_stop() shuts the listener down. */
static void *acceptor_run(void *data)
{
	struct fixture_server *server = data;

	for (;;) {
		const int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
		const unsigned int number = atomic_load(&server->clients);
		struct fixture_client *client = &server->client[number];

		if (fd == -1 || number == FIXTURE_CLIENTS || atomic_load(&server->stopping)) {
			if (fd != -1)
				(void)close(fd);
			return NULL;
		}
		client->server = server;
		atomic_store(&client->fd, fd);
		atomic_store(&server->clients, number + 1);
		/* fixture_stop() may have looked just before. */
		if (atomic_load(&server->stopping))
			(void)shutdown(fd, SHUT_RDWR);
		if (pthread_create(&client->thread, NULL, client_run, client) != 0)
			abort();
		if (server->one_by_one)
			(void)pthread_join(client->thread, NULL);
	}
}

static void *pipe_run(void *data)
{
	struct fixture_server *server = data;

	server->serve(server, server->pipe_in, server->pipe_out);
	return NULL;
}

static void start_pipe(struct fixture_server *server)
{
	struct endpoint *endpoint = &server->endpoint;
	char name[128];

	endpoint->transport = TRANSPORT_PIPE;
	(void)snprintf(endpoint->path, sizeof(endpoint->path), "/tmp/berth-bench-%d",
		       (int)getpid());
	(void)snprintf(endpoint->text, sizeof(endpoint->text), "pipe:%s", endpoint->path);
	(void)snprintf(name, sizeof(name), "%s.in", endpoint->path);
	assert_int_equal(mkfifo(name, 0600), 0);
	server->pipe_in = open(name, O_RDWR | O_CLOEXEC);
	(void)snprintf(name, sizeof(name), "%s.out", endpoint->path);
	assert_int_equal(mkfifo(name, 0600), 0);
	server->pipe_out = open(name, O_RDWR | O_CLOEXEC);
	assert_true(server->pipe_in != -1 && server->pipe_out != -1);
	assert_int_equal(pthread_create(&server->acceptor, NULL, pipe_run, server), 0);
	server->has_acceptor = true;
}

static void start_listener(struct fixture_server *server, bool tcp)
{
	static int number;
	struct address_socket *address = &server->endpoint.socket;

	server->endpoint.transport = tcp ? TRANSPORT_TCP : TRANSPORT_UNIX;
	if (tcp) {
		struct sockaddr_in in = {
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};

		memcpy(&address->addr, &in, sizeof(in));
		address->len = sizeof(in);
	} else {
		address->addr.un.sun_family = AF_UNIX;
		address->len =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)snprintf(address->addr.un.sun_path + 1, 64,
						     "berth-bench-%d-%d", (int)getpid(), number++));
	}
	server->listener = socket(address->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(server->listener != -1);
	/* Inherited by accepted sockets: answers are several writes. Fails on unix sockets. */
	(void)setsockopt(server->listener, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	assert_int_equal(bind(server->listener, &address->addr.sa, address->len), 0);
	assert_int_equal(listen(server->listener, server->backlog != 0 ? server->backlog : BACKLOG),
			 0);
	address->len = sizeof(address->addr);
	assert_int_equal(getsockname(server->listener, &address->addr.sa, &address->len), 0);
	(void)address_format(address, server->endpoint.text, sizeof(server->endpoint.text));
	if (server->serve == NULL)
		return;
	assert_int_equal(pthread_create(&server->acceptor, NULL, acceptor_run, server), 0);
	server->has_acceptor = true;
}

void fixture_start(struct fixture_server *server, enum transport transport)
{
	(void)signal(SIGPIPE, SIG_IGN);
	server->listener = -1;
	server->pipe_in = -1;
	if (transport == TRANSPORT_PIPE)
		start_pipe(server);
	else
		start_listener(server, transport == TRANSPORT_TCP);
}

static void stop_pipe(struct fixture_server *server)
{
	char name[128];
	char rest[65536];

	/* No record begins like this, so the server's read is the last one. */
	(void)fcntl(server->pipe_out, F_SETFL, O_NONBLOCK);
	while (read(server->pipe_out, rest, sizeof(rest)) > 0)
		;
	memset(rest, '!', sizeof(rest));
	(void)fixture_write(server->pipe_in, rest, 4096);
	(void)pthread_join(server->acceptor, NULL);
	(void)close(server->pipe_in);
	(void)close(server->pipe_out);
	(void)snprintf(name, sizeof(name), "%s.in", server->endpoint.path);
	(void)unlink(name);
	(void)snprintf(name, sizeof(name), "%s.out", server->endpoint.path);
	(void)unlink(name);
}

static void shut_clients(struct fixture_server *server)
{
	(void)pthread_mutex_lock(&closing);
	for (unsigned int i = 0; i < atomic_load(&server->clients); i++) {
		const int fd = atomic_load(&server->client[i].fd);

		if (fd != -1)
			(void)shutdown(fd, SHUT_RDWR);
	}
	(void)pthread_mutex_unlock(&closing);
}

void fixture_stop(struct fixture_server *server)
{
	if (server->pipe_in != -1) {
		stop_pipe(server);
		return;
	}
	atomic_store(&server->stopping, true);
	(void)shutdown(server->listener, SHUT_RDWR);
	shut_clients(server);
	if (server->has_acceptor)
		(void)pthread_join(server->acceptor, NULL);
	shut_clients(server);
	for (unsigned int i = 0; i < atomic_load(&server->clients); i++) {
		if (!server->one_by_one)
			(void)pthread_join(server->client[i].thread, NULL);
	}
	(void)close(server->listener);
}

const struct request *fixture_request(size_t body_size)
{
	static struct request request;
	struct request_options options = {.script = "/srv/index.php", .body_size = body_size};
	void *body = calloc(1, body_size + 1);

	assert_non_null(body);
	options.body = body;
	request_done(&request);
	assert_int_equal(request_make(&options, &request), 0);
	free(body);
	return &request;
}

struct load_options fixture_options(const struct fixture_server *server)
{
	static const struct response_expect expect;

	return (struct load_options){
		.endpoints = &server->endpoint,
		.endpoint_count = 1,
		.request = fixture_request(0),
		.expect = &expect,
		.threads = 1,
		.connections = 1,
		.keep = true,
		.timeout_ns = 10000 * MS,
	};
}

struct load_result *fixture_load(const struct load_options *options)
{
	struct load_result *result = test_calloc(1, sizeof(*result));
	char error[256] = "";

	assert_non_null(result);
	if (load_run(options, result, error, sizeof(error)) < 0)
		fail_msg("no load: %s", error);
	return result;
}

/* The classes that should not be there come first: they tell more than the one that is missing. */
void fixture_assert_failures(const struct load_result *result, enum failure failure, uint64_t least,
			     uint64_t most)
{
	for (enum failure i = FAILURE_NONE; i < FAILURE_CLASSES; i++) {
		const uint64_t count = result->failures.count[i];

		if (i != failure && count > 0)
			fail_msg("%llu of %s, wanted %s", (unsigned long long)count,
				 failure_name(i), failure_name(failure));
	}
	assert_in_range(result->failures.count[failure], least, most);
}
