/* SPDX-License-Identifier: BSD-2-Clause */
/* A FastCGI request as bytes, made once and sent many times. */
#include "request.h"

#include "fcgi/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_ID 1

/* The usual parameters and what they are derived from. */
#define USUAL_MAX 32

struct draft {
	struct request_param params[USUAL_MAX];
	size_t count;
	char *root;	 /* DOCUMENT_ROOT */
	char *script;	 /* SCRIPT_NAME */
	char *uri;	 /* REQUEST_URI */
	char length[24]; /* CONTENT_LENGTH */
};

static void put(struct draft *draft, const char *name, const char *value)
{
	draft->params[draft->count++] = (struct request_param){.name = name, .value = value};
}

/* Cuts the script's path into the folder that is the document root, and the rest. */
static int cut_script(const struct request_options *options, struct draft *draft)
{
	const char *query = options->query != NULL ? options->query : "";
	const char *slash = strrchr(options->script, '/');
	const char *name = slash != NULL ? slash + 1 : options->script;

	draft->root =
		strndup(options->script, slash != NULL ? (size_t)(slash - options->script) : 0);
	if (asprintf(&draft->script, "/%s", name) == -1)
		draft->script = NULL;
	if (asprintf(&draft->uri, "/%s%s%s", name, *query != '\0' ? "?" : "", query) == -1)
		draft->uri = NULL;
	return draft->root != NULL && draft->script != NULL && draft->uri != NULL ? 0 : -ENOMEM;
}

/* The names and the order of nginx's fastcgi_params, and what a browser would add. */
static int draft_make(const struct request_options *options, struct draft *draft)
{
	const bool has_body = options->body_size > 0;
	int rc = cut_script(options, draft);

	if (rc < 0)
		return rc;
	if (has_body)
		(void)snprintf(draft->length, sizeof(draft->length), "%zu", options->body_size);
	put(draft, "SCRIPT_FILENAME", options->script);
	put(draft, "QUERY_STRING", options->query != NULL ? options->query : "");
	put(draft, "REQUEST_METHOD",
	    options->method != NULL ? options->method : (has_body ? "POST" : "GET"));
	put(draft, "CONTENT_TYPE", has_body ? "application/octet-stream" : "");
	put(draft, "CONTENT_LENGTH", draft->length);
	put(draft, "SCRIPT_NAME", draft->script);
	put(draft, "REQUEST_URI", draft->uri);
	put(draft, "DOCUMENT_URI", draft->script);
	put(draft, "DOCUMENT_ROOT", draft->root);
	put(draft, "SERVER_PROTOCOL", "HTTP/1.1");
	put(draft, "REQUEST_SCHEME", "http");
	put(draft, "GATEWAY_INTERFACE", "CGI/1.1");
	put(draft, "SERVER_SOFTWARE", "berth-bench/" BERTH_VERSION);
	put(draft, "REMOTE_ADDR", "127.0.0.1");
	put(draft, "REMOTE_PORT", "50000");
	put(draft, "SERVER_ADDR", "127.0.0.1");
	put(draft, "SERVER_PORT", "80");
	put(draft, "SERVER_NAME", "localhost");
	put(draft, "REDIRECT_STATUS", "200");
	put(draft, "HTTP_HOST", "localhost");
	put(draft, "HTTP_USER_AGENT", "berth-bench/" BERTH_VERSION);
	put(draft, "HTTP_ACCEPT", "*/*");
	return 0;
}

/* The value that the last one of that name has, if there is one behind @from. */
static const char *later_value(const struct request_options *options, size_t from, const char *name)
{
	for (size_t i = options->param_count; i > from; i--) {
		if (strcmp(options->params[i - 1].name, name) == 0)
			return options->params[i - 1].value;
	}
	return NULL;
}

static bool is_known(const struct request_options *options, const struct draft *draft, size_t index)
{
	const char *name = options->params[index].name;

	for (size_t i = 0; i < draft->count; i++) {
		if (strcmp(draft->params[i].name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < index; i++) {
		if (strcmp(options->params[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Appends a pair, or only adds up what it needs while there is no memory yet. */
static int add_pair(struct wire_buffer *out, const char *name, const char *value)
{
	const struct wire_pair pair = {
		.name = name,
		.name_size = strlen(name),
		.value = value,
		.value_size = strlen(value),
	};
	size_t size;

	if (out->data != NULL)
		return wire_put_pair(out, &pair) == WIRE_OK ? 0 : -EINVAL;
	if (wire_pair_size(&pair, &size) != WIRE_OK)
		return -EINVAL;
	return __builtin_add_overflow(out->size, size, &out->size) ? -EINVAL : 0;
}

static int add_pairs(const struct request_options *options, const struct draft *draft,
		     struct wire_buffer *out)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < draft->count; i++) {
		const char *other = later_value(options, 0, draft->params[i].name);

		rc = add_pair(out, draft->params[i].name,
			      other != NULL ? other : draft->params[i].value);
	}
	for (size_t i = 0; rc == 0 && i < options->param_count; i++) {
		if (!is_known(options, draft, i))
			rc = add_pair(out, options->params[i].name,
				      later_value(options, i, options->params[i].name));
	}
	return rc;
}

/* Bytes of a name's or value's length. */
static size_t length_bytes(const uint8_t *at)
{
	return (*at & 0x80U) != 0 ? 4 : 1;
}

static size_t read_length(const uint8_t *at)
{
	if (length_bytes(at) == 1)
		return *at;
	return (size_t)(at[0] & 0x7fU) << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* Where a pair ends. */
static size_t pair_end(const struct wire_buffer *pairs, size_t from)
{
	const uint8_t *name = pairs->data + from;
	const uint8_t *value = name + length_bytes(name);

	return from + length_bytes(name) + length_bytes(value) + read_length(name) +
	       read_length(value);
}

/*
 * Where the pairs end that the next record takes. PHP reads each record by itself and refuses a pair
 * that goes on in the next one, so as long as they fit they are not cut. One that does not fit has
 * records of its own.
 */
static size_t group_end(const struct wire_buffer *pairs, size_t from, size_t most)
{
	size_t end = pair_end(pairs, from);

	if (most == 0)
		most = FCGI_MAX_LENGTH;
	while (end < pairs->used && pair_end(pairs, end) - from <= most)
		end = pair_end(pairs, end);
	return end;
}

static enum wire_status put_params(const struct wire_stream *params,
				   const struct wire_buffer *pairs, struct wire_buffer *out)
{
	enum wire_status status = WIRE_OK;

	for (size_t from = 0, end; status == WIRE_OK && from < pairs->used; from = end) {
		end = group_end(pairs, from, params->max_content);
		status = wire_put_stream(out, params, pairs->data + from, end - from);
	}
	return status;
}

static int params_size(const struct wire_stream *params, const struct wire_buffer *pairs,
		       size_t *ret_size)
{
	size_t sum = 0;

	for (size_t from = 0, end; from < pairs->used; from = end) {
		size_t size;

		end = group_end(pairs, from, params->max_content);
		if (wire_stream_size(params, end - from, &size) != WIRE_OK ||
		    __builtin_add_overflow(sum, size, &sum))
			return -EINVAL;
	}
	*ret_size = sum;
	return 0;
}

static enum wire_status write_records(const struct request_options *options,
				      const struct wire_buffer *pairs, struct wire_buffer *out)
{
	const struct wire_begin begin = {.role = FCGI_RESPONDER, .flags = FCGI_KEEP_CONN};
	const struct wire_stream params = {FCGI_PARAMS, REQUEST_ID, options->split_params,
					   options->pad};
	const struct wire_stream in = {FCGI_STDIN, REQUEST_ID, options->split_stdin, options->pad};
	enum wire_status status = wire_put_begin(out, REQUEST_ID, &begin);

	if (status == WIRE_OK)
		status = put_params(&params, pairs, out);
	if (status == WIRE_OK)
		status = wire_put_stream_end(out, &params);
	if (status == WIRE_OK)
		status = wire_put_stream(out, &in, options->body, options->body_size);
	if (status == WIRE_OK)
		status = wire_put_stream_end(out, &in);
	return status;
}

static int records_size(const struct request_options *options, const struct wire_buffer *pairs,
			size_t *ret_size)
{
	const struct wire_stream params = {FCGI_PARAMS, REQUEST_ID, options->split_params,
					   options->pad};
	const struct wire_stream in = {FCGI_STDIN, REQUEST_ID, options->split_stdin, options->pad};
	/* BEGIN_REQUEST with its body, and the two empty records that close the streams. */
	size_t size = FCGI_HEADER_LEN + WIRE_BODY_SIZE + 2 * FCGI_HEADER_LEN;
	size_t for_params;
	size_t in_size;

	if (params_size(&params, pairs, &for_params) < 0 ||
	    wire_stream_size(&in, options->body_size, &in_size) != WIRE_OK ||
	    __builtin_add_overflow(size, for_params, &size) ||
	    __builtin_add_overflow(size, in_size, &size))
		return -EINVAL;
	*ret_size = size;
	return 0;
}

/* Both forms from one: they differ in the flags of BEGIN_REQUEST alone. */
static int finish(const struct request_options *options, const struct wire_buffer *pairs,
		  struct request *ret_request)
{
	const size_t flags = FCGI_HEADER_LEN + offsetof(FCGI_BeginRequestBody, flags);
	struct request request = {.size = 0};
	struct wire_buffer out;
	int rc;

	rc = records_size(options, pairs, &request.size);
	if (rc < 0)
		return rc;
	request.kept = malloc(request.size);
	request.once = malloc(request.size);
	if (request.kept == NULL || request.once == NULL) {
		rc = -ENOMEM;
		goto fail;
	}
	out = (struct wire_buffer){.data = request.kept, .size = request.size};
	if (write_records(options, pairs, &out) != WIRE_OK || out.used != request.size) {
		rc = -EINVAL;
		goto fail;
	}
	memcpy(request.once, request.kept, request.size);
	request.once[flags] = 0;
	*ret_request = request;
	return 0;
fail:
	request_done(&request);
	return rc;
}

int request_make(const struct request_options *options, struct request *ret_request)
{
	struct wire_buffer pairs = {.data = NULL};
	struct draft draft = {.count = 0};
	int rc;

	if (options->script == NULL || *options->script == '\0')
		return -EINVAL;
	rc = draft_make(options, &draft);
	if (rc == 0)
		rc = add_pairs(options, &draft, &pairs);
	if (rc == 0) {
		pairs.data = malloc(pairs.size > 0 ? pairs.size : 1);
		rc = pairs.data != NULL ? add_pairs(options, &draft, &pairs) : -ENOMEM;
	}
	if (rc == 0)
		rc = finish(options, &pairs, ret_request);
	free(pairs.data);
	free(draft.root);
	free(draft.script);
	free(draft.uri);
	return rc;
}

void request_done(struct request *request)
{
	free(request->kept);
	free(request->once);
	*request = (struct request){.size = 0};
}
