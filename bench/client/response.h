/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and judges an answer, as its bytes come. No I/O, no allocation. */
#ifndef BENCH_CLIENT_RESPONSE_H
#define BENCH_CLIENT_RESPONSE_H

#include "bench/client/failure.h"
#include "fcgi/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest head (up to the empty line) that is taken. */
#define RESPONSE_HEAD_MAX 131072

/**
 * struct response_expect - what a good answer looks like; all zero: status 200, any body
 * @status:	HTTP status, 0 = 200, -1 = any
 * @check_length: The body must have @length bytes
 * @length:	See there
 * @check_hash:	The body's FNV-1a hash must be @hash
 * @hash:	See there
 */
struct response_expect {
	int status;
	bool check_length;
	bool check_hash;
	uint64_t length;
	uint64_t hash;
};

enum response_result {
	RESPONSE_MORE = 0, /* all bytes used, the answer goes on */
	RESPONSE_DONE,	   /* END_REQUEST was read and all is as expected */
	RESPONSE_FAILED,   /* see @failure; the connection can't be used again unless @whole */
};

/**
 * struct response - one answer; set up by response_start()
 * @failure:	After RESPONSE_FAILED: its class
 * @whole:	END_REQUEST was read, so the connection is at a boundary
 * @status:	HTTP status, 0 if no head was read yet; 200 if the head has no Status:
 * @body_length: Bytes of body
 * @body_hash:	FNV-1a (64 bits) of the body, if asked for
 * @stderr_length: Bytes on STDERR
 * @bytes:	Bytes read, all records
 * @app_status:	Of END_REQUEST
 * The rest is for response.c alone.
 */
struct response {
	enum failure failure;
	bool whole;
	int status;
	uint64_t body_length;
	uint64_t body_hash;
	uint64_t stderr_length;
	uint64_t bytes;
	uint32_t app_status;
	/* private */
	struct wire_parser parser;
	const struct response_expect *expect;
	uint32_t head_length;
	uint32_t line_length;
	char line[32]; /* start of the head's present line */
	bool in_body;
	bool has_status;
	bool closed; /* the empty record that ends STDOUT was read */
	bool hash;
};

/**
 * response_start() - get ready for an answer
 * @response:	Set up
 * @expect:	What is expected; must stay where it is
 * @hash:	Compute the body's hash
 */
void response_start(struct response *response, const struct response_expect *expect, bool hash);

/**
 * response_take() - read bytes
 * @response:	Answer
 * @data:	Bytes, cut anywhere
 * @size:	How many
 * @ret_used:	How many belong to this answer; the rest is what came behind it
 *
 * Return: see there
 */
enum response_result response_take(struct response *response, const uint8_t *data, size_t size,
				   size_t *ret_used);

/**
 * response_eof() - the peer has closed
 * @response:	Answer that is not done
 *
 * Return: FAILURE_EOF_EMPTY or FAILURE_EOF_SHORT
 */
enum failure response_eof(const struct response *response);

#endif
