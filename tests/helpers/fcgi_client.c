/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests' programs for many clients share: requests with a token, and their answers. */

#include "fcgi_client.h"

#include "fcgi/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void note_failure(struct fcgi_client *client, const char *call, int error)
{
	client->call = call;
	client->error = error;
}

void fcgi_client_connect(struct fcgi_client *client, const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	client->rest_size = 0;
	client->got = 0;
	note_failure(client, NULL, 0);
	client->fd = -1;
	if (strlen(path) >= sizeof(un.sun_path))
		return;
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)strcpy(un.sun_path, path);
	if (client->fd != -1 && connect(client->fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
		note_failure(client, "connect", errno);
		fcgi_client_close(client);
	}
}

void fcgi_client_close(struct fcgi_client *client)
{
	if (client->fd != -1)
		(void)close(client->fd);
	client->fd = -1;
	client->rest_size = 0;
}

bool fcgi_client_send(struct fcgi_client *client, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t n = send(client->fd, data, size, MSG_NOSIGNAL);

		if (n <= 0) {
			note_failure(client, "send", errno);
			return false;
		}
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool put(struct wire_buffer *out, const char *name, const char *value)
{
	const struct wire_pair pair = {name, strlen(name), value, strlen(value)};

	return wire_put_pair(out, &pair) == WIRE_OK;
}

size_t fcgi_request_head(const struct fcgi_request *request, uint8_t *buffer, size_t size)
{
	const struct wire_begin begin = {.role = FCGI_RESPONDER,
					 .flags = request->keep ? FCGI_KEEP_CONN : 0};
	const struct wire_stream params = {.type = FCGI_PARAMS, .request_id = 1};
	struct wire_buffer out = {.data = buffer, .size = size};
	uint8_t pairs[2048];
	struct wire_buffer p = {.data = pairs, .size = sizeof(pairs)};
	char length[24];

	(void)snprintf(length, sizeof(length), "%zu", request->body_size);
	if (!put(&p, "REQUEST_METHOD", request->body_size > 0 ? "POST" : "GET") ||
	    !put(&p, "CONTENT_LENGTH", length) || !put(&p, "SCRIPT_FILENAME", request->script) ||
	    !put(&p, "QUERY_STRING", "") || !put(&p, "TOKEN", request->token) ||
	    wire_put_begin(&out, 1, &begin) != WIRE_OK ||
	    wire_put_stream(&out, &params, pairs, p.used) != WIRE_OK ||
	    wire_put_stream_end(&out, &params) != WIRE_OK)
		return 0;
	return out.used;
}

size_t fcgi_request_body(size_t bytes, uint8_t *buffer, size_t size)
{
	const struct wire_stream in = {.type = FCGI_STDIN, .request_id = 1};
	struct wire_buffer out = {.data = buffer, .size = size};
	uint8_t *body;
	bool done;

	if (bytes == 0)
		return wire_put_stream_end(&out, &in) == WIRE_OK ? out.used : 0;
	body = malloc(bytes);
	if (!body)
		return 0;
	memset(body, 'x', bytes);
	done = wire_put_stream(&out, &in, body, bytes) == WIRE_OK;
	free(body);
	return done ? out.used : 0;
}

static void take(struct fcgi_answer *answer, const struct wire_event *event)
{
	size_t room = sizeof(answer->text) - 1 - answer->size;
	size_t n = event->size < room ? event->size : room;

	memcpy(answer->text + answer->size, event->content, n);
	answer->size += n;
	answer->text[answer->size] = '\0';
}

/* Takes what is in @client->rest; returns 1 at END_REQUEST, 0 for more, -1 for nonsense. */
static int parse(struct fcgi_client *client, struct wire_parser *parser, struct fcgi_answer *answer)
{
	uint8_t *at = client->rest;

	for (;;) {
		struct wire_event event;
		size_t used;
		enum wire_status status =
			wire_parser_next(parser, at, client->rest_size, &used, &event);

		at += used;
		client->rest_size -= used;
		if (status == WIRE_MORE)
			return 0;
		if (status != WIRE_OK)
			return -1;
		if (event.type == WIRE_EVENT_CONTENT && parser->header.type == FCGI_STDOUT)
			take(answer, &event);
		if (event.type == WIRE_EVENT_END && parser->header.type == FCGI_END_REQUEST) {
			memmove(client->rest, at, client->rest_size);
			return 1;
		}
	}
}

bool fcgi_client_read(struct fcgi_client *client, int timeout_ms, struct fcgi_answer *answer)
{
	struct wire_parser parser;

	wire_parser_init(&parser);
	answer->size = 0;
	client->got = 0;
	answer->text[0] = '\0';
	for (;;) {
		struct pollfd p = {.fd = client->fd, .events = POLLIN};
		int parsed = parse(client, &parser, answer);
		ssize_t n;

		if (parsed == -1)
			note_failure(client, "answer", 0);
		if (parsed != 0)
			return parsed == 1;
		if (poll(&p, 1, timeout_ms) != 1) {
			note_failure(client, "poll", 0);
			return false;
		}
		n = recv(client->fd, client->rest, sizeof(client->rest), 0);
		if (n <= 0) {
			note_failure(client, "recv", n == 0 ? 0 : errno);
			return false;
		}
		client->got += (size_t)n;
		client->rest_size = (size_t)n;
	}
}

const char *fcgi_answer_body(const struct fcgi_answer *answer, const char *token)
{
	const char *body = strstr(answer->text, "\r\n\r\n");

	if (!body || strncmp(body + 4, token, strlen(token)) != 0)
		return NULL;
	return body + 4 + strlen(token);
}
