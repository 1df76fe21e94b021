/* SPDX-License-Identifier: BSD-2-Clause */
/* Records: header, fixed-size bodies, and the cutting of streams into records. */
#include "wire.h"

#include <assert.h>
#include <string.h>

#define REQUEST_ID_MAX 0xffffU
#define PADDING_MAX    0xffU
#define ALIGNMENT      8U

static_assert(sizeof(FCGI_Header) == FCGI_HEADER_LEN, "header has no holes");
static_assert(sizeof(FCGI_BeginRequestBody) == WIRE_BODY_SIZE, "BEGIN_REQUEST has no holes");
static_assert(sizeof(FCGI_EndRequestBody) == WIRE_BODY_SIZE, "END_REQUEST has no holes");
static_assert(sizeof(FCGI_UnknownTypeBody) == WIRE_BODY_SIZE, "UNKNOWN_TYPE has no holes");

static const char *const status_texts[] = {
	[WIRE_OK] = "success",
	[WIRE_MORE] = "more input needed",
	[WIRE_E_SPACE] = "output buffer too small",
	[WIRE_E_RANGE] = "number too large for its field",
	[WIRE_E_VERSION] = "unsupported protocol version",
	[WIRE_E_LENGTH] = "wrong content length for this record type",
	[WIRE_E_LIMIT] = "name-value pair too long",
	[WIRE_E_TRUNCATED] = "input ends in the middle",
};
static_assert(sizeof(status_texts) / sizeof(status_texts[0]) == WIRE_STATUS_MAX,
	      "each status has its text");

const char *wire_strerror(enum wire_status status)
{
	if ((unsigned int)status >= WIRE_STATUS_MAX)
		return "unknown status";
	return status_texts[status];
}

uint8_t *wire_buffer_take(struct wire_buffer *out, size_t size)
{
	uint8_t *start;

	if (out->used > out->size || out->size - out->used < size || out->data == NULL)
		return NULL;
	start = out->data + out->used;
	out->used += size;
	return start;
}

enum wire_status wire_header_encode(const struct wire_header *header,
				    uint8_t ret_bytes[FCGI_HEADER_LEN])
{
	const FCGI_Header raw = {
		.version = FCGI_VERSION_1,
		.type = header->type,
		.requestIdB1 = (uint8_t)(header->request_id >> 8),
		.requestIdB0 = (uint8_t)header->request_id,
		.contentLengthB1 = (uint8_t)(header->content_length >> 8),
		.contentLengthB0 = (uint8_t)header->content_length,
		.paddingLength = (uint8_t)header->padding_length,
	};

	if (header->request_id > REQUEST_ID_MAX || header->content_length > FCGI_MAX_LENGTH ||
	    header->padding_length > PADDING_MAX)
		return WIRE_E_RANGE;
	memcpy(ret_bytes, &raw, sizeof(raw));
	return WIRE_OK;
}

enum wire_status wire_header_decode(const uint8_t bytes[FCGI_HEADER_LEN],
				    struct wire_header *ret_header)
{
	FCGI_Header raw;

	memcpy(&raw, bytes, sizeof(raw));
	*ret_header = (struct wire_header){
		.version = raw.version,
		.type = raw.type,
		.request_id = (unsigned int)raw.requestIdB1 << 8 | raw.requestIdB0,
		.content_length = (size_t)raw.contentLengthB1 << 8 | raw.contentLengthB0,
		.padding_length = raw.paddingLength,
	};
	return raw.version == FCGI_VERSION_1 ? WIRE_OK : WIRE_E_VERSION;
}

void wire_begin_encode(const struct wire_begin *begin, uint8_t ret_body[WIRE_BODY_SIZE])
{
	const FCGI_BeginRequestBody raw = {
		.roleB1 = (uint8_t)(begin->role >> 8),
		.roleB0 = (uint8_t)begin->role,
		.flags = begin->flags,
	};

	memcpy(ret_body, &raw, sizeof(raw));
}

enum wire_status wire_begin_decode(const uint8_t *body, size_t size, struct wire_begin *ret_begin)
{
	FCGI_BeginRequestBody raw;

	if (size != sizeof(raw))
		return WIRE_E_LENGTH;
	memcpy(&raw, body, sizeof(raw));
	ret_begin->role = (uint16_t)(raw.roleB1 << 8 | raw.roleB0);
	ret_begin->flags = raw.flags;
	return WIRE_OK;
}

void wire_end_encode(const struct wire_end *end, uint8_t ret_body[WIRE_BODY_SIZE])
{
	const FCGI_EndRequestBody raw = {
		.appStatusB3 = (uint8_t)(end->app_status >> 24),
		.appStatusB2 = (uint8_t)(end->app_status >> 16),
		.appStatusB1 = (uint8_t)(end->app_status >> 8),
		.appStatusB0 = (uint8_t)end->app_status,
		.protocolStatus = end->protocol_status,
	};

	memcpy(ret_body, &raw, sizeof(raw));
}

enum wire_status wire_end_decode(const uint8_t *body, size_t size, struct wire_end *ret_end)
{
	FCGI_EndRequestBody raw;

	if (size != sizeof(raw))
		return WIRE_E_LENGTH;
	memcpy(&raw, body, sizeof(raw));
	ret_end->app_status = (uint32_t)raw.appStatusB3 << 24 | (uint32_t)raw.appStatusB2 << 16 |
			      (uint32_t)raw.appStatusB1 << 8 | raw.appStatusB0;
	ret_end->protocol_status = raw.protocolStatus;
	return WIRE_OK;
}

void wire_unknown_encode(uint8_t type, uint8_t ret_body[WIRE_BODY_SIZE])
{
	const FCGI_UnknownTypeBody raw = {.type = type};

	memcpy(ret_body, &raw, sizeof(raw));
}

enum wire_status wire_unknown_decode(const uint8_t *body, size_t size, uint8_t *ret_type)
{
	FCGI_UnknownTypeBody raw;

	if (size != sizeof(raw))
		return WIRE_E_LENGTH;
	memcpy(&raw, body, sizeof(raw));
	*ret_type = raw.type;
	return WIRE_OK;
}

enum wire_status wire_put_record(struct wire_buffer *out, const struct wire_header *header,
				 const void *content)
{
	uint8_t bytes[FCGI_HEADER_LEN];
	enum wire_status status = wire_header_encode(header, bytes);
	uint8_t *to;

	if (status != WIRE_OK)
		return status;
	to = wire_buffer_take(out, sizeof(bytes) + header->content_length + header->padding_length);
	if (to == NULL)
		return WIRE_E_SPACE;
	memcpy(to, bytes, sizeof(bytes));
	to += sizeof(bytes);
	if (header->content_length > 0)
		memcpy(to, content, header->content_length);
	memset(to + header->content_length, 0, header->padding_length);
	return WIRE_OK;
}

/* A record with one of the fixed-size bodies, which need no padding. */
static enum wire_status put_body(struct wire_buffer *out, uint8_t type, unsigned int request_id,
				 const uint8_t body[WIRE_BODY_SIZE])
{
	const struct wire_header header = {
		.type = type,
		.request_id = request_id,
		.content_length = WIRE_BODY_SIZE,
	};

	return wire_put_record(out, &header, body);
}

enum wire_status wire_put_begin(struct wire_buffer *out, unsigned int request_id,
				const struct wire_begin *begin)
{
	uint8_t body[WIRE_BODY_SIZE];

	wire_begin_encode(begin, body);
	return put_body(out, FCGI_BEGIN_REQUEST, request_id, body);
}

enum wire_status wire_put_end(struct wire_buffer *out, unsigned int request_id,
			      const struct wire_end *end)
{
	uint8_t body[WIRE_BODY_SIZE];

	wire_end_encode(end, body);
	return put_body(out, FCGI_END_REQUEST, request_id, body);
}

enum wire_status wire_put_unknown(struct wire_buffer *out, uint8_t type)
{
	uint8_t body[WIRE_BODY_SIZE];

	wire_unknown_encode(type, body);
	return put_body(out, FCGI_UNKNOWN_TYPE, FCGI_NULL_REQUEST_ID, body);
}

static size_t stream_max_content(const struct wire_stream *stream)
{
	return stream->max_content > 0 ? stream->max_content : FCGI_MAX_LENGTH;
}

static unsigned int stream_padding(const struct wire_stream *stream, size_t content_length)
{
	if (!stream->pad)
		return 0;
	return (unsigned int)((ALIGNMENT - content_length % ALIGNMENT) % ALIGNMENT);
}

enum wire_status wire_stream_header(const struct wire_stream *stream, size_t left,
				    struct wire_header *ret_header)
{
	size_t max_content = stream_max_content(stream);
	size_t content_length = left < max_content ? left : max_content;

	if (max_content > FCGI_MAX_LENGTH || stream->request_id > REQUEST_ID_MAX)
		return WIRE_E_RANGE;
	*ret_header = (struct wire_header){
		.version = FCGI_VERSION_1,
		.type = stream->type,
		.request_id = stream->request_id,
		.content_length = content_length,
		.padding_length = stream_padding(stream, content_length),
	};
	return WIRE_OK;
}

enum wire_status wire_stream_size(const struct wire_stream *stream, size_t size, size_t *ret_size)
{
	size_t max_content = stream_max_content(stream);
	size_t full = size / max_content;
	size_t rest = size % max_content;
	size_t total;

	if (max_content > FCGI_MAX_LENGTH || stream->request_id > REQUEST_ID_MAX)
		return WIRE_E_RANGE;
	if (__builtin_mul_overflow(
		    full, FCGI_HEADER_LEN + max_content + stream_padding(stream, max_content),
		    &total))
		return WIRE_E_RANGE;
	if (rest > 0 &&
	    __builtin_add_overflow(total, FCGI_HEADER_LEN + rest + stream_padding(stream, rest),
				   &total))
		return WIRE_E_RANGE;
	*ret_size = total;
	return WIRE_OK;
}

enum wire_status wire_put_stream(struct wire_buffer *out, const struct wire_stream *stream,
				 const void *data, size_t size)
{
	struct wire_buffer records = {.used = 0};
	const uint8_t *from = data;
	enum wire_status status;

	status = wire_stream_size(stream, size, &records.size);
	if (status != WIRE_OK || size == 0)
		return status;
	/* All or nothing: taken at once, so that no record can be the one that fails. */
	records.data = wire_buffer_take(out, records.size);
	if (records.data == NULL)
		return WIRE_E_SPACE;
	while (size > 0 && status == WIRE_OK) {
		struct wire_header header = {.content_length = 0};

		status = wire_stream_header(stream, size, &header);
		if (status == WIRE_OK)
			status = wire_put_record(&records, &header, from);
		from += header.content_length;
		size -= header.content_length;
	}
	return status;
}

enum wire_status wire_put_stream_end(struct wire_buffer *out, const struct wire_stream *stream)
{
	struct wire_header header;
	enum wire_status status = wire_stream_header(stream, 0, &header);

	return status == WIRE_OK ? wire_put_record(out, &header, NULL) : status;
}
