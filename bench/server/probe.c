/* SPDX-License-Identifier: BSD-2-Clause */
/* One FastCGI request, to see whether somebody answers and what it says. */

#include "probe.h"

#include "bench/client/request.h"
#include "fcgi/wire.h"
#include "fpm/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/**
 * struct probe - a request under way
 * @in:		Where answers come from
 * @out:	Where requests go; the same one for a socket
 * @deadline_ms: When to give up
 * @parser:	Of the answer's records
 * @answer:	What came so far
 * @head_size:	Bytes of STDOUT before the body, as far as they came
 * @in_body:	The head is over
 */
struct probe {
	int in;
	int out;
	uint64_t deadline_ms;
	struct wire_parser parser;
	struct probe_answer answer;
	size_t head_size;
	bool in_body;
};

static int wait_for(const struct probe *probe, int fd, short events)
{
	struct pollfd wanted = {.fd = fd, .events = events};

	for (;;) {
		uint64_t now = clock_ms();
		int n;

		if (now >= probe->deadline_ms)
			return -ETIMEDOUT;
		n = poll(&wanted, 1, (int)(probe->deadline_ms - now));
		if (n == 1)
			return 0;
		if (n == -1 && errno != EINTR)
			return -errno;
	}
}

static int open_pipe(const char *path, const char *suffix, int flags)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s%s", path, suffix);
	return open(name, flags | O_NONBLOCK | O_CLOEXEC);
}

static int connect_socket(struct probe *probe, const struct address_socket *address)
{
	int error = 0, ret;
	socklen_t size = sizeof(error);

	probe->in =
		socket(address->addr.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	probe->out = probe->in;
	if (probe->in == -1)
		return -errno;
	if (connect(probe->in, &address->addr.sa, address->len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	ret = wait_for(probe, probe->in, POLLOUT);
	if (ret < 0)
		return ret;
	(void)getsockopt(probe->in, SOL_SOCKET, SO_ERROR, &error, &size);
	return -error;
}

static int connect_endpoint(struct probe *probe, const struct endpoint *endpoint)
{
	if (endpoint->transport != TRANSPORT_PIPE)
		return connect_socket(probe, &endpoint->socket);
	probe->in = open_pipe(endpoint->path, ".out", O_RDONLY);
	if (probe->in == -1)
		return -errno;
	probe->out = open_pipe(endpoint->path, ".in", O_WRONLY);
	return probe->out == -1 ? -errno : 0;
}

/* A pipe that nobody reads any more raises a signal that a socket can leave out. */
static ssize_t write_pipe(int fd, const void *data, size_t size)
{
	const struct timespec now = {0};
	sigset_t broken, before;
	int saved;
	ssize_t n;

	(void)sigemptyset(&broken);
	(void)sigaddset(&broken, SIGPIPE);
	(void)pthread_sigmask(SIG_BLOCK, &broken, &before);
	n = write(fd, data, size);
	saved = errno;
	if (n == -1 && saved == EPIPE)
		(void)sigtimedwait(&broken, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return n;
}

static int send_all(const struct probe *probe, const uint8_t *data, size_t size)
{
	bool is_socket = probe->in == probe->out;

	while (size > 0) {
		ssize_t n = is_socket ? send(probe->out, data, size, MSG_NOSIGNAL)
				      : write_pipe(probe->out, data, size);
		int ret = 0;

		if (n == -1 && errno == EAGAIN)
			ret = wait_for(probe, probe->out, POLLOUT);
		else if (n == -1 && errno != EINTR)
			ret = -errno;
		if (ret < 0)
			return ret;
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* Appends what fits in front of the NUL. */
static void append(char *text, size_t size, const uint8_t *data, size_t count)
{
	size_t have = strlen(text);

	if (count > size - 1 - have)
		count = size - 1 - have;
	memcpy(text + have, data, count);
	text[have + count] = '\0';
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* A byte at a time, as the head may be cut anywhere; there are few of them. */
static void take_output(struct probe *probe, const uint8_t *data, size_t size)
{
	struct probe_answer *answer = &probe->answer;

	for (; size > 0 && !probe->in_body; data++, size--) {
		append(answer->head, sizeof(answer->head), data, 1);
		probe->head_size++;
		probe->in_body = probe->head_size == sizeof(answer->head) ||
				 ends_with(answer->head, "\r\n\r\n") ||
				 ends_with(answer->head, "\n\n");
	}
	append(answer->body, sizeof(answer->body), data, size);
	answer->body_size += size;
}

/* Return: 1 at the end of the answer, 0 if it goes on, or -EPROTO */
static int take(struct probe *probe, const uint8_t *data, size_t size)
{
	const struct wire_header *header = &probe->parser.header;
	enum wire_status status;
	struct wire_event event;
	size_t used;

	while ((status = wire_parser_next(&probe->parser, data, size, &used, &event)) == WIRE_OK) {
		data += used;
		size -= used;
		if (event.type == WIRE_EVENT_CONTENT && header->type == FCGI_STDOUT)
			take_output(probe, event.content, event.size);
		else if (event.type == WIRE_EVENT_CONTENT && header->type == FCGI_STDERR)
			append(probe->answer.complaint, sizeof(probe->answer.complaint),
			       event.content, event.size);
		else if (event.type == WIRE_EVENT_END && header->type == FCGI_END_REQUEST)
			return 1;
	}
	return status == WIRE_MORE ? 0 : -EPROTO;
}

static int receive(struct probe *probe)
{
	uint8_t data[8192];
	int ret = 0;

	while (ret == 0) {
		ssize_t n;

		ret = wait_for(probe, probe->in, POLLIN);
		if (ret < 0)
			break;
		n = read(probe->in, data, sizeof(data));
		if (n > 0)
			ret = take(probe, data, (size_t)n);
		else if (n == 0)
			ret = -ECONNRESET;
		else if (errno != EAGAIN && errno != EINTR)
			ret = -errno;
	}
	return ret < 0 ? ret : 0;
}

int probe_request(const struct endpoint *endpoint, const char *script, const char *query,
		  uint64_t deadline_ms, struct probe_answer *ret_answer)
{
	const struct request_options options = {.script = script, .query = query};
	struct probe probe = {.in = -1, .out = -1, .deadline_ms = deadline_ms};
	bool kept = endpoint->transport == TRANSPORT_PIPE;
	struct request request = {0};
	int ret = request_make(&options, &request);

	if (ret < 0)
		return ret;
	wire_parser_init(&probe.parser);
	ret = connect_endpoint(&probe, endpoint);
	if (ret == 0)
		ret = send_all(&probe, kept ? request.kept : request.once, request.size);
	if (ret == 0)
		ret = receive(&probe);
	if (probe.out != -1 && probe.out != probe.in)
		(void)close(probe.out);
	if (probe.in != -1)
		(void)close(probe.in);
	request_done(&request);
	if (ret == 0)
		*ret_answer = probe.answer;
	return ret;
}
