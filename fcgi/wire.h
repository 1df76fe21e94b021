/* SPDX-License-Identifier: BSD-2-Clause */
/* The FastCGI wire format: records, name-value pairs, incremental parsers. No I/O, no allocation. */
#ifndef FCGI_WIRE_H
#define FCGI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fastcgi.h>

/*
 * Theory of operation
 *
 * Types, roles, flags and sizes are those of <fastcgi.h> (FCGI_STDIN, FCGI_KEEP_CONN, ...).
 *
 * Encoding appends to a struct wire_buffer over the caller's memory. An append that fails leaves
 * the buffer as it was, so the caller may flush it and try again.
 *
 * Decoding is done by two pull parsers. Both take input that is cut anywhere, tell how much of it
 * they used, and copy no content:
 *
 *	struct wire_parser	bytes of a connection	-> header, content chunks, end of record
 *	struct wire_params	content of PARAMS	-> name-value pairs
 *
 * Each is called with what is left of the input until it says WIRE_MORE, which it says only after
 * it used everything:
 *
 *	while ((status = wire_parser_next(p, data, size, &used, &event)) == WIRE_OK) {
 *		data += used;
 *		size -= used;
 *		... the event; leave the loop after WIRE_EVENT_END to stop behind one record
 *	}
 *
 * The loop must not end because size is 0: the end of an empty record is an event that needs no
 * further byte. What is delivered does not depend on the cuts, but for the borders between content
 * chunks. An error stays until the caller says how to go on, so a loop can't spin on it.
 */

/* What became of a call; everything from WIRE_E_SPACE on is a failure. */
enum wire_status {
	WIRE_OK = 0,
	WIRE_MORE,	  /* all input used, nothing to deliver yet */
	WIRE_E_SPACE,	  /* the output buffer is too small */
	WIRE_E_RANGE,	  /* a number does not fit its field */
	WIRE_E_VERSION,	  /* the header's version is not FCGI_VERSION_1 */
	WIRE_E_LENGTH,	  /* a fixed-size body has another size */
	WIRE_E_LIMIT,	  /* a name-value pair is longer than the caller's limit */
	WIRE_E_TRUNCATED, /* the input ended inside a record or a pair */
	WIRE_STATUS_MAX,
};

#define WIRE_CHECKED __attribute__((warn_unused_result))

/* Size of the bodies of BEGIN_REQUEST, END_REQUEST and UNKNOWN_TYPE. */
#define WIRE_BODY_SIZE 8

/* Longest name or value that a pair can carry: the length's top bit tells its form. */
#define WIRE_PAIR_LENGTH_MAX 0x7fffffffU

/**
 * struct wire_buffer - memory that is filled from the start
 * @data:	The caller's memory
 * @size:	Bytes of @data
 * @used:	Bytes filled
 */
struct wire_buffer {
	uint8_t *data;
	size_t size;
	size_t used;
};

/**
 * struct wire_header - a record's header
 * @version:		As received; encoding ignores it and writes FCGI_VERSION_1
 * @type:		FCGI_BEGIN_REQUEST ...
 * @request_id:		0..65535, FCGI_NULL_REQUEST_ID for management records
 * @content_length:	0..65535
 * @padding_length:	0..255
 *
 * The numbers are wider than their fields, so that one that is too large is refused, not cut.
 */
struct wire_header {
	uint8_t version;
	uint8_t type;
	unsigned int request_id;
	size_t content_length;
	unsigned int padding_length;
};

/**
 * struct wire_begin - body of BEGIN_REQUEST
 * @role:	FCGI_RESPONDER ...
 * @flags:	FCGI_KEEP_CONN or 0
 */
struct wire_begin {
	uint16_t role;
	uint8_t flags;
};

/**
 * struct wire_end - body of END_REQUEST
 * @app_status:		Exit status of the application
 * @protocol_status:	FCGI_REQUEST_COMPLETE ...
 */
struct wire_end {
	uint32_t app_status;
	uint8_t protocol_status;
};

/**
 * struct wire_stream - how the bytes of a stream are put into records
 * @type:		FCGI_PARAMS, FCGI_STDIN ...
 * @request_id:		0..65535
 * @max_content:	Most content bytes of a record, at most FCGI_MAX_LENGTH; 0 = that
 * @pad:		Pad each record to a multiple of 8 bytes
 */
struct wire_stream {
	uint8_t type;
	unsigned int request_id;
	size_t max_content;
	bool pad;
};

/**
 * struct wire_pair - a name-value pair, neither part ends in a NUL
 * @name:	Name, may be NULL if @name_size is 0; never NULL when decoded
 * @name_size:	Bytes of @name
 * @value:	Value, likewise
 * @value_size:	Bytes of @value
 */
struct wire_pair {
	const char *name;
	size_t name_size;
	const char *value;
	size_t value_size;
};

/**
 * wire_strerror() - a status in words
 * @status:	Status
 *
 * Return: a static string
 */
const char *wire_strerror(enum wire_status status);

/*
 * Encoding: record.c, and wire_put_pair() in params.c
 */

/**
 * wire_buffer_take() - reserve bytes behind those filled
 * @out:	Buffer
 * @size:	Bytes that the caller is going to fill
 *
 * Return: where they start, or NULL with nothing changed if there is no room
 */
WIRE_CHECKED uint8_t *wire_buffer_take(struct wire_buffer *out, size_t size);

/**
 * wire_header_encode() - the bytes of a header
 * @header:	Header
 * @ret_bytes:	Set on success
 *
 * Return: WIRE_OK or WIRE_E_RANGE
 */
WIRE_CHECKED enum wire_status wire_header_encode(const struct wire_header *header,
						 uint8_t ret_bytes[FCGI_HEADER_LEN]);

/**
 * wire_header_decode() - read a header
 * @bytes:	Its bytes
 * @ret_header:	Set also if the version is a wrong one
 *
 * Return: WIRE_OK or WIRE_E_VERSION
 */
WIRE_CHECKED enum wire_status wire_header_decode(const uint8_t bytes[FCGI_HEADER_LEN],
						 struct wire_header *ret_header);

/**
 * wire_begin_encode() - the body of BEGIN_REQUEST
 * @begin:	Values
 * @ret_body:	Set
 */
void wire_begin_encode(const struct wire_begin *begin, uint8_t ret_body[WIRE_BODY_SIZE]);

/**
 * wire_begin_decode() - read the body of BEGIN_REQUEST
 * @body:	Content of the record
 * @size:	Its content length
 * @ret_begin:	Set on success; neither role nor flags are judged
 *
 * Return: WIRE_OK or WIRE_E_LENGTH
 */
WIRE_CHECKED enum wire_status wire_begin_decode(const uint8_t *body, size_t size,
						struct wire_begin *ret_begin);

/**
 * wire_end_encode() - the body of END_REQUEST
 * @end:	Values
 * @ret_body:	Set
 */
void wire_end_encode(const struct wire_end *end, uint8_t ret_body[WIRE_BODY_SIZE]);

/**
 * wire_end_decode() - read the body of END_REQUEST
 * @body:	Content of the record
 * @size:	Its content length
 * @ret_end:	Set on success; the protocol status is not judged
 *
 * Return: WIRE_OK or WIRE_E_LENGTH
 */
WIRE_CHECKED enum wire_status wire_end_decode(const uint8_t *body, size_t size,
					      struct wire_end *ret_end);

/**
 * wire_unknown_encode() - the body of UNKNOWN_TYPE
 * @type:	Record type that is not understood
 * @ret_body:	Set
 */
void wire_unknown_encode(uint8_t type, uint8_t ret_body[WIRE_BODY_SIZE]);

/**
 * wire_unknown_decode() - read the body of UNKNOWN_TYPE
 * @body:	Content of the record
 * @size:	Its content length
 * @ret_type:	Record type that was not understood, set on success
 *
 * Return: WIRE_OK or WIRE_E_LENGTH
 */
WIRE_CHECKED enum wire_status wire_unknown_decode(const uint8_t *body, size_t size,
						  uint8_t *ret_type);

/**
 * wire_put_record() - append a whole record, padded with zeros
 * @out:	Buffer
 * @header:	Header
 * @content:	Content, header->content_length bytes; may be NULL if that is 0
 *
 * Return: WIRE_OK, WIRE_E_RANGE or WIRE_E_SPACE
 */
WIRE_CHECKED enum wire_status
wire_put_record(struct wire_buffer *out, const struct wire_header *header, const void *content);

/**
 * wire_put_begin() - append a BEGIN_REQUEST record
 * @out:	Buffer
 * @request_id:	0..65535
 * @begin:	Body
 *
 * Return: WIRE_OK, WIRE_E_RANGE or WIRE_E_SPACE
 */
WIRE_CHECKED enum wire_status wire_put_begin(struct wire_buffer *out, unsigned int request_id,
					     const struct wire_begin *begin);

/**
 * wire_put_end() - append an END_REQUEST record
 * @out:	Buffer
 * @request_id:	0..65535
 * @end:	Body
 *
 * Return: WIRE_OK, WIRE_E_RANGE or WIRE_E_SPACE
 */
WIRE_CHECKED enum wire_status wire_put_end(struct wire_buffer *out, unsigned int request_id,
					   const struct wire_end *end);

/**
 * wire_put_unknown() - append an UNKNOWN_TYPE record, which is a management record
 * @out:	Buffer
 * @type:	Record type that is not understood
 *
 * Return: WIRE_OK or WIRE_E_SPACE
 */
WIRE_CHECKED enum wire_status wire_put_unknown(struct wire_buffer *out, uint8_t type);

/**
 * wire_stream_header() - the header of a stream's next record, to send its content from where it is
 * @stream:	Stream
 * @left:	Bytes of the stream that are still to be sent; 0 gives the record that closes it
 * @ret_header:	Set on success, with as much content as a record takes
 *
 * Return: WIRE_OK or WIRE_E_RANGE
 */
WIRE_CHECKED enum wire_status wire_stream_header(const struct wire_stream *stream, size_t left,
						 struct wire_header *ret_header);

/**
 * wire_stream_size() - what wire_put_stream() needs
 * @stream:	Stream
 * @size:	Bytes to be put into records
 * @ret_size:	Bytes of those records, set on success
 *
 * Return: WIRE_OK or WIRE_E_RANGE
 */
WIRE_CHECKED enum wire_status wire_stream_size(const struct wire_stream *stream, size_t size,
					       size_t *ret_size);

/**
 * wire_put_stream() - append bytes of a stream, in as few records as it takes
 * @out:	Buffer
 * @stream:	Stream
 * @data:	Bytes, may be NULL if @size is 0
 * @size:	Bytes of @data; 0 appends nothing, as an empty record would close the stream
 *
 * Return: WIRE_OK, WIRE_E_RANGE or WIRE_E_SPACE
 */
WIRE_CHECKED enum wire_status wire_put_stream(struct wire_buffer *out,
					      const struct wire_stream *stream, const void *data,
					      size_t size);

/**
 * wire_put_stream_end() - append the empty record that closes a stream
 * @out:	Buffer
 * @stream:	Stream
 *
 * Return: WIRE_OK, WIRE_E_RANGE or WIRE_E_SPACE
 */
WIRE_CHECKED enum wire_status wire_put_stream_end(struct wire_buffer *out,
						  const struct wire_stream *stream);

/**
 * wire_pair_size() - what wire_put_pair() needs
 * @pair:	Pair, only its sizes are read
 * @ret_size:	Bytes, set on success
 *
 * Return: WIRE_OK, or WIRE_E_RANGE if a part is longer than WIRE_PAIR_LENGTH_MAX
 */
WIRE_CHECKED enum wire_status wire_pair_size(const struct wire_pair *pair, size_t *ret_size);

/**
 * wire_put_pair() - append a pair: lengths up to 127 take one byte, others four
 * @out:	Buffer for the content of PARAMS, GET_VALUES or GET_VALUES_RESULT
 * @pair:	Pair
 *
 * Return: WIRE_OK, WIRE_E_RANGE or WIRE_E_SPACE
 */
WIRE_CHECKED enum wire_status wire_put_pair(struct wire_buffer *out, const struct wire_pair *pair);

/*
 * Name-value decoder: params.c
 */

/* Where a name-value decoder stands. */
enum wire_params_state {
	WIRE_PARAMS_LENGTHS = 0, /* collects the two lengths */
	WIRE_PARAMS_DATA,	 /* collects name and value */
	WIRE_PARAMS_REFUSED,	 /* said WIRE_E_LIMIT */
	WIRE_PARAMS_SKIP,	 /* passes over the refused pair */
};

/**
 * struct wire_params - incremental decoder of name-value pairs; opaque but for its size
 * @scratch:		The caller's memory, where a pair is put together that was cut
 * @limit:		Bytes of @scratch: most bytes of a name and its value
 * @state:		Where it stands
 * @lengths:		Bytes of the lengths of this pair so far
 * @lengths_have:	Number of them
 * @name_size:		Length of this pair's name, valid outside WIRE_PARAMS_LENGTHS
 * @value_size:		Length of its value, likewise
 * @have:		Bytes of name and value that are in @scratch, or were skipped
 */
struct wire_params {
	uint8_t *scratch;
	size_t limit;
	enum wire_params_state state;
	uint8_t lengths[8];
	unsigned int lengths_have;
	uint32_t name_size;
	uint32_t value_size;
	uint64_t have;
};

/**
 * wire_params_init() - start on a stream of pairs
 * @p:		Decoder
 * @scratch:	Memory of the caller, to be kept as long as the decoder is used
 * @size:	Its size, which is also the limit for the bytes of a name and its value together,
 *		whether the pair is cut or not. Nothing is ever allocated for a length that lies.
 */
void wire_params_init(struct wire_params *p, void *scratch, size_t size);

/**
 * wire_params_next() - the next pair
 * @p:		Decoder
 * @data:	What follows the bytes used so far; may be NULL if @size is 0
 * @size:	Bytes of @data
 * @ret_used:	Bytes taken from @data, always set
 * @ret_pair:	Set if WIRE_OK. It points into @data if the pair's name and value lie there whole,
 *		else into the scratch memory, where it stays until the next call.
 *
 * Return: WIRE_OK, WIRE_MORE, or WIRE_E_LIMIT once both lengths of a pair that is too long were
 * read, and again until wire_params_skip()
 */
WIRE_CHECKED enum wire_status wire_params_next(struct wire_params *p, const void *data, size_t size,
					       size_t *ret_used, struct wire_pair *ret_pair);

/**
 * wire_params_skip() - pass over the pair that WIRE_E_LIMIT was said of
 * @p:		Decoder, nothing happens in any other state
 */
void wire_params_skip(struct wire_params *p);

/**
 * wire_params_end() - the stream of pairs ends here
 * @p:		Decoder
 *
 * Return: WIRE_OK, or WIRE_E_TRUNCATED if that is inside a pair
 */
WIRE_CHECKED enum wire_status wire_params_end(const struct wire_params *p);

/**
 * wire_pair_is() - compare a pair's name
 * @pair:	Pair
 * @name:	Name, e.g. "REQUEST_METHOD"
 *
 * Return: true if it is that
 */
bool wire_pair_is(const struct wire_pair *pair, const char *name);

/*
 * Record parser: parser.c
 */

/* Where a record parser stands. */
enum wire_parser_state {
	WIRE_PARSER_HEADER = 0, /* collects a header; without a byte of it: between two records */
	WIRE_PARSER_REFUSED,	/* said WIRE_E_VERSION */
	WIRE_PARSER_ACCEPTED,	/* told to go on, the header is still to be delivered */
	WIRE_PARSER_RECORD,	/* in content or padding */
};

/* What is delivered, in this order for each record. */
enum wire_event_type {
	WIRE_EVENT_HEADER = 0, /* the header is complete, see wire_parser.header */
	WIRE_EVENT_CONTENT,    /* some content; never empty, so an empty record has none of these */
	WIRE_EVENT_END,	       /* content and padding are over */
};

/**
 * struct wire_event - something delivered by a record parser
 * @type:	What it is
 * @content:	WIRE_EVENT_CONTENT: bytes, inside the caller's input; else NULL
 * @size:	Bytes of @content
 */
struct wire_event {
	enum wire_event_type type;
	const uint8_t *content;
	size_t size;
};

/**
 * struct wire_parser - incremental record parser; the caller may read @header and @body
 * @header:		This record's header, valid from WIRE_EVENT_HEADER or WIRE_E_VERSION on
 *			until the next record's is complete
 * @body:		The first bytes of the content, valid from WIRE_EVENT_END until the next
 *			call: with @header.content_length what wire_begin_decode() and its like
 *			take, however the body was cut. (Before that: the bytes of the header.)
 * @state:		Where it stands
 * @body_have:		Bytes in @body
 * @content_left:	Content bytes to come
 * @padding_left:	Padding bytes to come
 */
struct wire_parser {
	struct wire_header header;
	uint8_t body[WIRE_BODY_SIZE];
	enum wire_parser_state state;
	size_t body_have;
	size_t content_left;
	size_t padding_left;
};

/**
 * wire_parser_init() - start on a connection
 * @p:		Parser; one that is all zero needs no init
 */
void wire_parser_init(struct wire_parser *p);

/**
 * wire_parser_next() - the next event
 * @p:		Parser
 * @data:	What follows the bytes used so far; may be NULL if @size is 0
 * @size:	Bytes of @data
 * @ret_used:	Bytes taken from @data, always set; never one that is behind the event
 * @ret_event:	Set if WIRE_OK
 *
 * Return: WIRE_OK, WIRE_MORE, or WIRE_E_VERSION once a header of another version was read, and
 * again until wire_parser_accept()
 */
WIRE_CHECKED enum wire_status wire_parser_next(struct wire_parser *p, const void *data, size_t size,
					       size_t *ret_used, struct wire_event *ret_event);

/**
 * wire_parser_accept() - go on with the record that WIRE_E_VERSION was said of
 * @p:		Parser, nothing happens in any other state
 */
void wire_parser_accept(struct wire_parser *p);

/**
 * wire_parser_is_between() - whether the parser stands between two records
 * @p:		Parser
 *
 * Return: true if no byte of a record was used whose WIRE_EVENT_END was not delivered yet
 */
bool wire_parser_is_between(const struct wire_parser *p);

/**
 * wire_parser_end() - the input ends here
 * @p:		Parser
 *
 * Return: WIRE_OK, or WIRE_E_TRUNCATED if that is inside a record
 */
WIRE_CHECKED enum wire_status wire_parser_end(const struct wire_parser *p);

#endif
