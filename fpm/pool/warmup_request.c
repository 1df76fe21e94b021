/* SPDX-License-Identifier: BSD-2-Clause */
/* A warm-up's request as bytes, and what its answer says. No I/O. */

#include "fpm/pool/warmup_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_ID 1

/* Bytes of text that is not ended by a NUL. */
struct text {
	const char *start;
	size_t size;
};

static struct text text_of(const char *string)
{
	return (struct text){string, strlen(string)};
}

/* The room is enough for whatever is put in, so a failure is noted once, at the end. */
static void put(struct wire_buffer *params, bool *ok, const char *name, struct text value)
{
	const struct wire_pair pair = {.name = name,
				       .name_size = strlen(name),
				       .value = value.start,
				       .value_size = value.size};

	*ok = *ok && wire_put_pair(params, &pair) == WIRE_OK;
}

/* What a web server would say of a plain GET from this machine. */
static bool put_constants(struct wire_buffer *params)
{
	static const char *const pairs[][2] = {
		{"REQUEST_METHOD", "GET"},
		{"GATEWAY_INTERFACE", "CGI/1.1"},
		{"SERVER_PROTOCOL", "HTTP/1.1"},
		{"SERVER_SOFTWARE", "berth/" BERTH_VERSION},
		{"SERVER_NAME", "localhost"},
		{"SERVER_ADDR", "127.0.0.1"},
		{"SERVER_PORT", "80"},
		{"REMOTE_ADDR", "127.0.0.1"},
		{"REMOTE_PORT", "0"},
		{"HTTP_HOST", "localhost"},
		{"HTTP_USER_AGENT", "berth-warmup"},
		{"CONTENT_TYPE", ""},
		{"CONTENT_LENGTH", ""},
		{"REDIRECT_STATUS", "200"},
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		put(params, &ok, pairs[i][0], text_of(pairs[i][1]));
	return ok;
}

/* The script's folder is its document root. */
static bool put_params(struct wire_buffer *params, const char *target)
{
	const struct text path = {target, strcspn(target, "?")};
	const char *name = memrchr(target, '/', path.size);
	const char *query = target[path.size] == '?' ? target + path.size + 1 : "";
	bool ok = put_constants(params) && name;

	if (!ok)
		return false;
	put(params, &ok, "SCRIPT_FILENAME", path);
	put(params, &ok, "DOCUMENT_ROOT",
	    name == target ? text_of("/") : (struct text){target, (size_t)(name - target)});
	put(params, &ok, "SCRIPT_NAME", (struct text){name, (size_t)(target + path.size - name)});
	put(params, &ok, "DOCUMENT_URI", (struct text){name, (size_t)(target + path.size - name)});
	put(params, &ok, "REQUEST_URI", text_of(name));
	put(params, &ok, "QUERY_STRING", text_of(query));
	return ok;
}

int warmup_request_write(const char *target, struct wire_buffer *out)
{
	static const struct wire_begin begin = {.role = FCGI_RESPONDER};
	struct wire_stream stream = {.type = FCGI_PARAMS, .request_id = REQUEST_ID};
	uint8_t bytes[WARMUP_REQUEST_SIZE];
	struct wire_buffer params = {.data = bytes, .size = sizeof(bytes)};

	if (strlen(target) > WARMUP_TARGET_MAX || !put_params(&params, target) ||
	    wire_put_begin(out, REQUEST_ID, &begin) != WIRE_OK ||
	    wire_put_stream(out, &stream, params.data, params.used) != WIRE_OK ||
	    wire_put_stream_end(out, &stream) != WIRE_OK)
		return -E2BIG;
	stream.type = FCGI_STDIN;
	return wire_put_stream_end(out, &stream) == WIRE_OK ? 0 : -E2BIG;
}

static void take_head(struct warmup_answer *a, const uint8_t *data, size_t size)
{
	size_t room = WARMUP_HEAD_MAX - a->head_size;
	size_t taken = size < room ? size : room;

	memcpy(a->head + a->head_size, data, taken);
	a->head_size += taken;
}

/* PHP's stack traces tell where, not what. */
static bool is_continuation(const char *line)
{
	return line[0] == '\0' || line[0] == '#' || isspace((unsigned char)line[0]) ||
	       strncmp(line, "Stack trace:", strlen("Stack trace:")) == 0;
}

static void take_complaint(struct warmup_answer *a, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] != '\n' && data[i] != '\r') {
			if (a->line_size < sizeof(a->line) - 1)
				a->line[a->line_size++] = (char)data[i];
			continue;
		}
		a->line[a->line_size] = '\0';
		a->line_size = 0;
		if (!is_continuation(a->line))
			memcpy(a->complaint, a->line, sizeof(a->line));
	}
}

/* Return: as warmup_answer_take() */
static int end_record(struct warmup_answer *a)
{
	struct wire_end end;

	if (a->parser.header.type != FCGI_END_REQUEST)
		return 0;
	if (wire_end_decode(a->parser.body, a->parser.header.content_length, &end) != WIRE_OK)
		return -EPROTO;
	a->app_status = end.app_status;
	return 1;
}

int warmup_answer_take(struct warmup_answer *answer, const void *data, size_t size)
{
	struct warmup_answer *a = answer;
	const uint8_t *at = data;
	enum wire_status status;
	struct wire_event event;
	size_t used;
	int result;

	while ((status = wire_parser_next(&a->parser, at, size, &used, &event)) == WIRE_OK) {
		at += used;
		size -= used;
		if (event.type == WIRE_EVENT_CONTENT && a->parser.header.type == FCGI_STDOUT)
			take_head(a, event.content, event.size);
		if (event.type == WIRE_EVENT_CONTENT && a->parser.header.type == FCGI_STDERR)
			take_complaint(a, event.content, event.size);
		result = event.type == WIRE_EVENT_END ? end_record(a) : 0;
		if (result != 0)
			return result;
	}
	return status == WIRE_MORE ? 0 : -EPROTO;
}

/* The value of the header's "Status" line, which need not end in a NUL; NULL if there is none. */
static const char *find_status(const char *head)
{
	static const char name[] = "Status:";

	while (*head != '\0' && *head != '\r' && *head != '\n') {
		if (strncasecmp(head, name, strlen(name)) == 0)
			return head + strlen(name) + strspn(head + strlen(name), " \t");
		head += strcspn(head, "\n");
		head += *head == '\n';
	}
	return NULL;
}

/* What a script writes goes into the log as far as it can be printed. */
static void copy_printable(char *to, size_t size, const char *from)
{
	size_t i = 0;

	for (; i < size - 1 && from[i] != '\0' && from[i] != '\r' && from[i] != '\n'; i++)
		to[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	to[i] = '\0';
}

bool warmup_answer_judge(const struct warmup_answer *answer, char *why, size_t size)
{
	const char *status = find_status(answer->head);
	char line[80] = "", complaint[WARMUP_COMPLAINT_SIZE];
	const char *between;

	if (status)
		copy_printable(line, sizeof(line), status);
	if (strtoul(line, NULL, 10) < 400 && answer->app_status == 0)
		return true;
	copy_printable(complaint, sizeof(complaint), answer->complaint);
	between = complaint[0] != '\0' ? ": " : "";
	if (strtoul(line, NULL, 10) >= 400)
		(void)snprintf(why, size, "status %s%s%s", line, between, complaint);
	else
		(void)snprintf(why, size, "exit status %u%s%s", answer->app_status, between,
			       complaint);
	return false;
}
