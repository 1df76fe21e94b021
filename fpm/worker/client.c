/* SPDX-License-Identifier: BSD-2-Clause */
/* The connections that a worker holds: bytes read ahead, and where requests begin and end in them. */

#include "client.h"

#include <string.h>

/*
 * Theory of operation
 *
 *	HEAD --head complete--> READY --program gets it--> SERVED --answered, asks again--> HEAD
 *	                                                     \--some input was not taken--> REST --> HEAD
 *
 * Nothing here does I/O, and nothing here is guessed from timing: the end of a request is the
 * empty STDIN record on the way in and END_REQUEST on the way out, each found by its length. A
 * connection may be lent to another client only when the answer is out as a whole; "the input
 * has ended" alone would give one client the rest of another's answer.
 *
 * The program never gets a byte behind its request's input, whatever it asks for. So one that
 * reads ahead on its own (libfcgi) loses nothing of the next request, and one that took less of a
 * body than there was (php-cgi with a CONTENT_LENGTH that is too short) does not take the rest
 * for a record.
 */

/* Takes one record's header from the buffer; false if it is not there as a whole. */
static bool peek(const struct client *c, uint32_t at, struct wire_header *ret_header)
{
	if (c->end - at < FCGI_HEADER_LEN)
		return false;
	/* Another version is the program's affair; it has the same layout. */
	(void)!wire_header_decode(c->buffer + at, ret_header);
	return true;
}

static uint32_t record_size(const struct wire_header *header)
{
	return (uint32_t)(FCGI_HEADER_LEN + header->content_length + header->padding_length);
}

void client_start(struct client *client, int fd)
{
	uint8_t *buffer = client->buffer;

	*client = (struct client){.fd = fd, .answers = -1, .phase = CLIENT_HEAD, .buffer = buffer};
}

static void ready(struct client *c)
{
	c->phase = CLIENT_READY;
	c->begun = false;
	c->took_begin = false;
	c->input_ended = false;
	c->answered = false;
	wire_parser_init(&c->in);
	wire_parser_init(&c->out);
}

/*
 * A record of a request that is over: the end of an input comes twice, or an abort too late.
 * Nobody needs to look at it. At the start of a connection only an empty STDIN is passed over, as
 * php-cgi does it; anything else there is for the program to refuse.
 */
static bool is_late(const struct client *c, const struct wire_header *header)
{
	if (header->type == FCGI_STDIN && header->content_length == 0)
		return true;
	return c->was_served && (header->type == FCGI_STDIN || header->type == FCGI_DATA ||
				 header->type == FCGI_ABORT_REQUEST);
}

static bool look_for_head(struct client *c)
{
	struct wire_header header;

	while (peek(c, c->scan, &header)) {
		bool whole = c->end - c->scan >= record_size(&header);

		if (c->begun) {
			/* php-cgi takes any record that is no PARAMS for their end. */
			if (header.type != FCGI_PARAMS || header.content_length == 0) {
				ready(c);
				return true;
			}
		} else if (is_late(c, &header)) {
			if (!whole)
				break;
			c->start = c->scan + record_size(&header);
		} else if (header.type != FCGI_BEGIN_REQUEST) {
			if (header.type != FCGI_GET_VALUES || whole) {
				ready(c);
				return true;
			}
		} else if (whole) {
			c->begun = true;
		}
		if (!whole)
			break;
		c->scan += record_size(&header);
	}
	if (c->end - c->start < CLIENT_BUFFER_SIZE)
		return false;
	ready(c);
	return true;
}

static void took_begin(struct client *c)
{
	struct wire_begin begin = {.role = FCGI_RESPONDER};

	(void)!wire_begin_decode(c->in.body, c->in.header.content_length, &begin);
	c->took_begin = true;
	c->request_id = c->in.header.request_id;
	c->last_stream = begin.role == FCGI_FILTER ? FCGI_DATA : FCGI_STDIN;
}

static void took_record(struct client *c)
{
	uint8_t type = c->in.header.type;

	if (type == FCGI_BEGIN_REQUEST && !c->took_begin)
		took_begin(c);
	/* A management record outside of a request is one of its own. */
	if ((c->took_begin && type == c->last_stream && c->in.header.content_length == 0) ||
	    (type == FCGI_GET_VALUES && !c->took_begin))
		c->input_ended = true;
}

/* Passes over the record that the program left in its middle. */
static bool finish_record(struct client *c)
{
	while (!wire_parser_is_between(&c->in)) {
		struct wire_event event;
		size_t used;
		enum wire_status status = wire_parser_next(&c->in, c->buffer + c->start,
							   client_pending(c), &used, &event);

		c->start += (uint32_t)used;
		if (status == WIRE_E_VERSION)
			wire_parser_accept(&c->in);
		else if (status != WIRE_OK)
			return false;
		if (status == WIRE_OK && event.type == WIRE_EVENT_END)
			took_record(c);
	}
	return true;
}

/* Passes over what is left of the request's STDIN; true when the next request may begin. */
static bool pass_rest(struct client *c)
{
	struct wire_header header;

	while (!c->input_ended) {
		if (!finish_record(c))
			return false;
		if (c->input_ended)
			break;
		if (!peek(c, c->start, &header))
			return false;
		/* A client may leave the empty record out and begin the next request. */
		if (header.type != FCGI_STDIN && header.type != FCGI_DATA &&
		    header.type != FCGI_ABORT_REQUEST)
			break;
		/* Its bytes are passed over as they come. */
		wire_parser_init(&c->in);
		{
			struct wire_event event;
			size_t used;

			(void)!wire_parser_next(&c->in, c->buffer + c->start, FCGI_HEADER_LEN,
						&used, &event);
			c->start += FCGI_HEADER_LEN;
			wire_parser_accept(&c->in);
		}
	}
	c->phase = CLIENT_HEAD;
	c->scan = c->start;
	c->begun = false;
	return true;
}

bool client_look(struct client *client)
{
	if (client->phase == CLIENT_REST && !pass_rest(client))
		return false;
	return client->phase == CLIENT_HEAD && look_for_head(client);
}

/*
 * A client may leave the end of STDIN out and begin the next request. One of another id is another
 * matter: that is multiplexing, which the program refuses by itself.
 */
static bool begins_next(const struct client *c, const uint8_t *data, size_t size)
{
	struct wire_header header;

	return c->took_begin && wire_parser_is_between(&c->in) && size >= FCGI_HEADER_LEN &&
	       wire_header_decode(data, &header) == WIRE_OK && header.type == FCGI_BEGIN_REQUEST &&
	       header.request_id == c->request_id;
}

size_t client_take(struct client *client, const uint8_t *data, size_t size)
{
	struct client *c = client;
	size_t taken = 0;

	while (!c->input_ended) {
		struct wire_event event;
		size_t used;
		enum wire_status status;

		if (begins_next(c, data + taken, size - taken)) {
			c->input_ended = true;
			break;
		}
		status = wire_parser_next(&c->in, data + taken, size - taken, &used, &event);
		taken += used;
		if (status == WIRE_E_VERSION) {
			wire_parser_accept(&c->in);
			continue;
		}
		if (status != WIRE_OK)
			break;
		if (event.type == WIRE_EVENT_END)
			took_record(c);
	}
	return taken;
}

/* A client may multiplex, or ask for values in between: only its own request's end counts. */
static bool wrote_record(struct client *c)
{
	const struct wire_header *header = &c->out.header;

	if (header->type == FCGI_GET_VALUES_RESULT && !c->took_begin)
		c->answered = true;
	if (header->type != FCGI_END_REQUEST || !c->took_begin ||
	    header->request_id != c->request_id)
		return false;
	c->answered = true;
	c->was_served = true;
	return true;
}

unsigned int client_wrote(struct client *client, const uint8_t *data, size_t size)
{
	unsigned int ends = 0;

	for (;;) {
		struct wire_event event;
		size_t used;
		enum wire_status status = wire_parser_next(&client->out, data, size, &used, &event);

		data += used;
		size -= used;
		if (status != WIRE_OK)
			return ends;
		if (event.type == WIRE_EVENT_END && wrote_record(client))
			ends++;
	}
}

bool client_is_answered(const struct client *client)
{
	return client->answered && wire_parser_is_between(&client->out);
}

bool client_next(struct client *client)
{
	client->phase = CLIENT_REST;
	return client_look(client);
}

size_t client_room(struct client *client, uint8_t **ret_at)
{
	struct client *c = client;

	if (c->start > 0) {
		/* Mostly nothing is left to move. */
		memmove(c->buffer, c->buffer + c->start, client_pending(c));
		c->end -= c->start;
		c->scan -= c->phase == CLIENT_HEAD ? c->start : c->scan;
		c->start = 0;
	}
	*ret_at = c->buffer + c->end;
	return CLIENT_BUFFER_SIZE - c->end;
}
