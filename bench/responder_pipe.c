/* SPDX-License-Identifier: BSD-2-Clause */
/* The null responder on a pair of named pipes, which libfcgi can't serve: the wire library. */
#include "responder.h"

#include "fcgi/wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What is known of the request that is being read. */
struct request_state {
	struct wire_params params;
	char scratch[8192];
	unsigned int id;
	uint64_t body_size;
};

/* Gathers records, so that a small answer is one write, as with libfcgi. */
struct output {
	int fd;
	size_t used;
	uint8_t bytes[16384];
};

static int flush(struct output *output)
{
	size_t done = 0;

	while (done < output->used) {
		const ssize_t bytes = write(output->fd, output->bytes + done, output->used - done);

		if (bytes == -1 && errno != EINTR)
			return -errno;
		if (bytes > 0)
			done += (size_t)bytes;
	}
	output->used = 0;
	return 0;
}

static int put(struct output *output, const struct wire_header *header, const void *content)
{
	struct wire_buffer buffer = {output->bytes, sizeof(output->bytes), output->used};
	enum wire_status status = wire_put_record(&buffer, header, content);
	int rc = 0;

	if (status == WIRE_E_SPACE) {
		rc = flush(output);
		buffer.used = 0;
		status = wire_put_record(&buffer, header, content);
	}
	output->used = buffer.used;
	return rc == 0 && status != WIRE_OK ? -EINVAL : rc;
}

static int put_body(struct output *output, unsigned int id, uint64_t left)
{
	/* As much as libfcgi puts into one, so that both make the same records. */
	const size_t most = 8184;
	size_t available;
	const char *body = responder_body(&available);
	int rc = 0;

	while (rc == 0 && left > 0) {
		const struct wire_header header = {
			.type = FCGI_STDOUT,
			.request_id = id,
			.content_length = left < most ? (size_t)left : most,
		};

		rc = put(output, &header, body);
		left -= header.content_length;
	}
	return rc;
}

static int answer(const struct request_state *state, struct output *output)
{
	const struct wire_header head = {
		.type = FCGI_STDOUT,
		.request_id = state->id,
		.content_length = strlen(RESPONDER_HEAD),
	};
	const struct wire_header closed = {.type = FCGI_STDOUT, .request_id = state->id};
	const struct wire_header end = {
		.type = FCGI_END_REQUEST,
		.request_id = state->id,
		.content_length = WIRE_BODY_SIZE,
	};
	const uint8_t end_body[WIRE_BODY_SIZE] = {0};
	int rc = put(output, &head, RESPONDER_HEAD);

	if (rc == 0)
		rc = put_body(output, state->id, state->body_size);
	if (rc == 0)
		rc = put(output, &closed, NULL);
	if (rc == 0)
		rc = put(output, &end, end_body);
	return rc == 0 ? flush(output) : rc;
}

static void read_params(const struct responder_options *options, struct request_state *state,
			const struct wire_event *event)
{
	const uint8_t *data = event->content;
	size_t size = event->size;
	struct wire_pair pair;
	enum wire_status status;
	size_t used;

	for (;;) {
		status = wire_params_next(&state->params, data, size, &used, &pair);
		data += used;
		size -= used;
		if (status == WIRE_OK && wire_pair_is(&pair, "QUERY_STRING"))
			state->body_size =
				responder_body_size(options, pair.value, pair.value_size);
		else if (status == WIRE_E_LIMIT)
			wire_params_skip(&state->params);
		else if (status != WIRE_OK)
			return;
	}
}

static void begin(const struct responder_options *options, struct request_state *state,
		  unsigned int id)
{
	wire_params_init(&state->params, state->scratch, sizeof(state->scratch));
	state->id = id;
	state->body_size = options->body_size;
}

/* Returns true when the request is complete. */
static bool take(const struct responder_options *options, struct request_state *state,
		 const struct wire_parser *parser, const struct wire_event *event)
{
	const struct wire_header *header = &parser->header;

	if (event->type == WIRE_EVENT_HEADER && header->type == FCGI_BEGIN_REQUEST)
		begin(options, state, header->request_id);
	else if (event->type == WIRE_EVENT_CONTENT && header->type == FCGI_PARAMS)
		read_params(options, state, event);
	return event->type == WIRE_EVENT_END && header->type == FCGI_STDIN &&
	       header->content_length == 0;
}

static int serve_bytes(const struct responder_options *options, struct request_state *state,
		       struct wire_parser *parser, const uint8_t *data, size_t size,
		       struct output *output, uint64_t *number)
{
	struct wire_event event;
	enum wire_status status;
	size_t used;
	int rc = 0;

	while (rc == 0) {
		status = wire_parser_next(parser, data, size, &used, &event);
		data += used;
		size -= used;
		if (status == WIRE_MORE)
			return 0;
		if (status != WIRE_OK)
			return -EPROTO;
		if (!take(options, state, parser, &event))
			continue;
		responder_wait(options, (*number)++);
		rc = answer(state, output);
	}
	return rc;
}

int responder_serve_pipe(const struct responder_options *options, int in, int out)
{
	struct wire_parser parser;
	struct request_state state;
	struct output output = {.fd = out};
	uint8_t buffer[8192];
	uint64_t number = 0;
	int rc = 0;

	wire_parser_init(&parser);
	begin(options, &state, 0);
	while (rc == 0) {
		const ssize_t bytes = read(in, buffer, sizeof(buffer));

		if (bytes == -1 && errno != EINTR)
			return -errno;
		if (bytes == 0)
			return -EPIPE;
		if (bytes > 0)
			rc = serve_bytes(options, &state, &parser, buffer, (size_t)bytes, &output,
					 &number);
	}
	return rc;
}
