/* SPDX-License-Identifier: BSD-2-Clause */
/* A FastCGI request as bytes, made once and sent many times. */
#ifndef BENCH_CLIENT_REQUEST_H
#define BENCH_CLIENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct request_param - one of a request's parameters; later ones replace earlier ones of a name
 * @name:	Name
 * @value:	Value
 */
struct request_param {
	const char *name;
	const char *value;
};

/**
 * struct request_options - what to ask for
 * @script:	SCRIPT_FILENAME; SCRIPT_NAME, DOCUMENT_ROOT and REQUEST_URI are derived from it
 * @method:	REQUEST_METHOD, NULL: POST if there is a body, else GET
 * @query:	QUERY_STRING, may be NULL
 * @params:	Further parameters, or others in place of the usual ones
 * @param_count: Entries of @params
 * @body:	Body, may be NULL
 * @body_size:	Bytes of @body
 * @split_params: Most bytes of content of a PARAMS record, 0 = 65535. Only a pair that is longer
 *		is cut between records, which PHP does not take
 * @split_stdin: Most bytes of content of a STDIN record, 0 = 65535
 * @pad:	Pad each record to a multiple of 8 bytes, as nginx does
 */
struct request_options {
	const char *script;
	const char *method;
	const char *query;
	const struct request_param *params;
	size_t param_count;
	const void *body;
	size_t body_size;
	size_t split_params;
	size_t split_stdin;
	bool pad;
};

/**
 * struct request - made bytes; the request id is 1
 * @kept:	With FCGI_KEEP_CONN
 * @once:	Without
 * @size:	Bytes of each
 */
struct request {
	uint8_t *kept;
	uint8_t *once;
	size_t size;
};

/**
 * request_make() - make the bytes
 * @options:	What to ask for
 * @ret_request: Set on success, to be released by request_done()
 *
 * The usual parameters are those of nginx's fastcgi_params.
 *
 * Return: 0, -ENOMEM, or -EINVAL (no script)
 */
int request_make(const struct request_options *options, struct request *ret_request);

/**
 * request_done() - release
 * @request:	Request, may be all zero
 */
void request_done(struct request *request);

#endif
