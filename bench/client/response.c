/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and judges an answer, as its bytes come. */
#include "response.h"

#include <string.h>
#include <strings.h>

/*
 * Theory of operation
 *
 * The record parser cuts the bytes into events; STDOUT's content is first the head, line by line,
 * then the body, of which only length and hash are kept. The judgement must not depend on how the
 * bytes are cut: whatever is concluded is concluded from whole headers, whole lines or END_REQUEST.
 *
 * Accepted is what a web server's client would accept: STDOUT, STDERR and END_REQUEST of request 1.
 * We asked for no management record, so every other one is a bad record.
 */

#define REQUEST_ID 1

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

void response_start(struct response *response, const struct response_expect *expect, bool hash)
{
	/* Member by member: the line's buffer needs no clearing, and this is the hot path. */
	response->failure = FAILURE_NONE;
	response->whole = false;
	response->status = 0;
	response->body_length = 0;
	response->body_hash = FNV_BASIS;
	response->stderr_length = 0;
	response->bytes = 0;
	response->app_status = 0;
	wire_parser_init(&response->parser);
	response->expect = expect;
	response->head_length = 0;
	response->line_length = 0;
	response->in_body = false;
	response->has_status = false;
	response->closed = false;
	response->hash = hash;
}

static enum response_result fail(struct response *response, enum failure failure)
{
	response->failure = failure;
	return RESPONSE_FAILED;
}

/* Length of the name if the line starts with it, whatever the case of its letters, else 0. */
static size_t starts_with(const struct response *response, const char *name)
{
	const size_t length = strlen(name);

	return response->line_length >= length && strncasecmp(response->line, name, length) == 0
		       ? length
		       : 0;
}

/* "Status: 404 Not Found"; what is no number of three digits is a status that nobody expects. */
static int read_status(const struct response *response, size_t from)
{
	const size_t length = response->line_length < sizeof(response->line)
				      ? response->line_length
				      : sizeof(response->line);
	int status = 0;
	int digits = 0;

	while (from < length && (response->line[from] == ' ' || response->line[from] == '\t'))
		from++;
	for (; from < length && response->line[from] >= '0' && response->line[from] <= '9';
	     from++) {
		if (++digits > 3)
			return 0;
		status = status * 10 + (response->line[from] - '0');
	}
	return digits == 3 ? status : 0;
}

static void end_line(struct response *response)
{
	size_t from;

	if (response->line_length == 0 ||
	    (response->line_length == 1 && response->line[0] == '\r')) {
		response->in_body = true;
		if (!response->has_status && response->status == 0)
			response->status = 200;
	} else if ((from = starts_with(response, "status:")) > 0) {
		response->status = read_status(response, from);
		response->has_status = true;
	} else if (!response->has_status && starts_with(response, "location:") > 0) {
		/* A web server makes a redirection of it. */
		response->status = 302;
	}
	response->line_length = 0;
}

/* Takes the head's part of some content; returns its size, or more than @size on overflow. */
static size_t take_head(struct response *response, const uint8_t *data, size_t size)
{
	size_t used = 0;

	while (used < size && !response->in_body) {
		const uint8_t *end = memchr(data + used, '\n', size - used);
		size_t length = end != NULL ? (size_t)(end - data) - used : size - used;
		size_t have = response->line_length;

		if (have < sizeof(response->line)) {
			size_t room = sizeof(response->line) - have;

			memcpy(response->line + have, data + used, length < room ? length : room);
		}
		if (length + 1 > RESPONSE_HEAD_MAX - response->head_length)
			return size + 1;
		response->line_length += (uint32_t)length;
		response->head_length += (uint32_t)length + (end != NULL ? 1 : 0);
		used += length;
		if (end != NULL) {
			end_line(response);
			used++;
		}
	}
	return used;
}

static void take_body(struct response *response, const uint8_t *data, size_t size)
{
	uint64_t hash = response->body_hash;

	response->body_length += size;
	if (!response->hash)
		return;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * FNV_PRIME;
	response->body_hash = hash;
}

static enum response_result take_content(struct response *response, const uint8_t *data,
					 size_t size)
{
	size_t used = 0;

	if (response->parser.header.type == FCGI_STDERR)
		response->stderr_length += size;
	if (response->parser.header.type != FCGI_STDOUT)
		return RESPONSE_MORE;
	if (!response->in_body)
		used = take_head(response, data, size);
	if (used > size)
		return fail(response, FAILURE_OVERFLOW);
	take_body(response, data + used, size - used);
	return RESPONSE_MORE;
}

/* What a header says that can't be is known before any of the content is read. */
static enum response_result take_header(struct response *response)
{
	const struct wire_header *header = &response->parser.header;
	bool good;

	if (header->type == FCGI_END_REQUEST)
		good = header->content_length == WIRE_BODY_SIZE;
	else if (header->type == FCGI_STDOUT)
		good = !response->closed || header->content_length == 0;
	else
		good = header->type == FCGI_STDERR;
	if (!good || header->request_id != REQUEST_ID)
		return fail(response, FAILURE_BAD_RECORD);
	if (header->type == FCGI_STDOUT && header->content_length == 0)
		response->closed = true;
	return RESPONSE_MORE;
}

static enum failure judge_protocol(const struct wire_end *end)
{
	switch (end->protocol_status) {
	case FCGI_REQUEST_COMPLETE:
		return end->app_status == 0 ? FAILURE_NONE : FAILURE_APP_STATUS;
	case FCGI_CANT_MPX_CONN:
		return FAILURE_CANT_MPX;
	case FCGI_OVERLOADED:
		return FAILURE_OVERLOADED;
	default:
		return FAILURE_ROLE;
	}
}

static enum failure judge_content(const struct response *response)
{
	const struct response_expect *expect = response->expect;
	const int status = expect->status == 0 ? 200 : expect->status;

	if (!response->in_body)
		return FAILURE_NO_HEAD;
	if (status != -1 && response->status != status)
		return FAILURE_STATUS;
	if (expect->check_length && response->body_length != expect->length)
		return FAILURE_LENGTH;
	if (expect->check_hash && response->hash && response->body_hash != expect->hash)
		return FAILURE_CONTENT;
	return FAILURE_NONE;
}

static enum response_result take_end(struct response *response)
{
	struct wire_end end;
	enum failure failure;

	if (response->parser.header.type != FCGI_END_REQUEST)
		return RESPONSE_MORE;
	if (wire_end_decode(response->parser.body, WIRE_BODY_SIZE, &end) != WIRE_OK)
		return fail(response, FAILURE_BAD_RECORD);
	response->whole = true;
	response->app_status = end.app_status;
	failure = judge_protocol(&end);
	if (failure == FAILURE_NONE)
		failure = judge_content(response);
	return failure == FAILURE_NONE ? RESPONSE_DONE : fail(response, failure);
}

static enum response_result take_event(struct response *response, const struct wire_event *event)
{
	switch (event->type) {
	case WIRE_EVENT_HEADER:
		return take_header(response);
	case WIRE_EVENT_CONTENT:
		return take_content(response, event->content, event->size);
	case WIRE_EVENT_END:
		return take_end(response);
	}
	return RESPONSE_MORE;
}

enum response_result response_take(struct response *response, const uint8_t *data, size_t size,
				   size_t *ret_used)
{
	enum response_result result = RESPONSE_MORE;
	enum wire_status status = WIRE_OK;
	size_t used = 0;

	while (result == RESPONSE_MORE && status == WIRE_OK) {
		struct wire_event event;
		size_t taken;

		status = wire_parser_next(&response->parser, data + used, size - used, &taken,
					  &event);
		used += taken;
		if (status == WIRE_OK)
			result = take_event(response, &event);
		else if (status != WIRE_MORE)
			result = fail(response, FAILURE_BAD_RECORD);
	}
	response->bytes += used;
	*ret_used = used;
	return result;
}

enum failure response_eof(const struct response *response)
{
	return response->bytes == 0 ? FAILURE_EOF_EMPTY : FAILURE_EOF_SHORT;
}
