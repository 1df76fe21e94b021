/* SPDX-License-Identifier: BSD-2-Clause */
/* Incremental record parser: finds headers, content and record ends in a byte stream. */
#include "wire.h"

#include <assert.h>
#include <string.h>

/* The parser's eight bytes hold first the header, then the start of the content. */
static_assert(WIRE_BODY_SIZE == FCGI_HEADER_LEN, "header and fixed-size bodies share memory");

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void wire_parser_init(struct wire_parser *p)
{
	*p = (struct wire_parser){.state = WIRE_PARSER_HEADER};
}

/* Copy what there is room for. */
static size_t body_fill(struct wire_parser *p, const uint8_t *data, size_t size)
{
	const size_t take = smaller(sizeof(p->body) - p->body_have, size);

	if (take > 0)
		memcpy(p->body + p->body_have, data, take);
	p->body_have += take;
	return take;
}

static enum wire_status deliver_header(struct wire_parser *p, struct wire_event *ret_event)
{
	p->state = WIRE_PARSER_RECORD;
	*ret_event = (struct wire_event){.type = WIRE_EVENT_HEADER};
	return WIRE_OK;
}

static enum wire_status take_header(struct wire_parser *p, const uint8_t *data, size_t size,
				    size_t *ret_used, struct wire_event *ret_event)
{
	enum wire_status status;

	*ret_used = body_fill(p, data, size);
	if (p->body_have < sizeof(p->body))
		return WIRE_MORE;
	status = wire_header_decode(p->body, &p->header);
	p->body_have = 0;
	p->content_left = p->header.content_length;
	p->padding_left = p->header.padding_length;
	if (status != WIRE_OK) {
		p->state = WIRE_PARSER_REFUSED;
		return status;
	}
	return deliver_header(p, ret_event);
}

static enum wire_status take_content(struct wire_parser *p, const uint8_t *data, size_t size,
				     size_t *ret_used, struct wire_event *ret_event)
{
	const size_t take = smaller(p->content_left, size);

	if (take == 0)
		return WIRE_MORE;
	(void)body_fill(p, data, take);
	p->content_left -= take;
	*ret_used = take;
	*ret_event = (struct wire_event){
		.type = WIRE_EVENT_CONTENT,
		.content = data,
		.size = take,
	};
	return WIRE_OK;
}

static enum wire_status take_padding(struct wire_parser *p, size_t size, size_t *ret_used,
				     struct wire_event *ret_event)
{
	*ret_used = smaller(p->padding_left, size);
	p->padding_left -= *ret_used;
	if (p->padding_left > 0)
		return WIRE_MORE;
	p->state = WIRE_PARSER_HEADER;
	p->body_have = 0;
	*ret_event = (struct wire_event){.type = WIRE_EVENT_END};
	return WIRE_OK;
}

enum wire_status wire_parser_next(struct wire_parser *p, const void *data, size_t size,
				  size_t *ret_used, struct wire_event *ret_event)
{
	*ret_used = 0;
	if (p->state == WIRE_PARSER_HEADER)
		return take_header(p, data, size, ret_used, ret_event);
	if (p->state == WIRE_PARSER_REFUSED)
		return WIRE_E_VERSION;
	if (p->state == WIRE_PARSER_ACCEPTED)
		return deliver_header(p, ret_event);
	if (p->content_left > 0)
		return take_content(p, data, size, ret_used, ret_event);
	return take_padding(p, size, ret_used, ret_event);
}

void wire_parser_accept(struct wire_parser *p)
{
	if (p->state == WIRE_PARSER_REFUSED)
		p->state = WIRE_PARSER_ACCEPTED;
}

bool wire_parser_is_between(const struct wire_parser *p)
{
	return p->state == WIRE_PARSER_HEADER && p->body_have == 0;
}

enum wire_status wire_parser_end(const struct wire_parser *p)
{
	return wire_parser_is_between(p) ? WIRE_OK : WIRE_E_TRUNCATED;
}
