/* SPDX-License-Identifier: BSD-2-Clause */
/* The null responder: answers at once, or with delays that are known, so that it can be compared. */
#ifndef BENCH_RESPONDER_H
#define BENCH_RESPONDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONDER_DELAYS_MAX 256
#define RESPONDER_BODY_MAX   (UINT64_C(1) << 30)

/* The head of every answer. */
#define RESPONDER_HEAD "Content-Type: text/plain\r\n\r\n"

/**
 * struct responder_options - how requests are answered
 * @body_size:	Bytes of body, unless the query has "size=N"
 * @delays_ms:	Before the first answer of a worker, the second ..., over and over
 * @delay_count: Entries of @delays_ms
 * @stall_ms:	One answer of each worker takes that much longer
 * @stall_after: Answers before that one
 */
struct responder_options {
	uint64_t body_size;
	uint64_t delays_ms[RESPONDER_DELAYS_MAX];
	size_t delay_count;
	uint64_t stall_ms;
	uint64_t stall_after;
};

/**
 * responder_wait() - wait as long as is asked for before an answer
 * @options:	Options
 * @number:	Answers that this worker has given before
 */
void responder_wait(const struct responder_options *options, uint64_t number);

/**
 * responder_body_size() - how long a body a query asks for
 * @options:	Options
 * @query:	QUERY_STRING without its end, may be NULL
 * @size:	Bytes of @query
 *
 * Return: bytes, at most RESPONDER_BODY_MAX
 */
uint64_t responder_body_size(const struct responder_options *options, const char *query,
			     size_t size);

/**
 * responder_body() - bytes for bodies
 * @ret_size:	How many there are at the returned address; longer bodies repeat them
 *
 * Return: bytes
 */
const char *responder_body(size_t *ret_size);

/**
 * responder_serve_socket() - answer on a listening socket, by libfcgi; never returns but on failure
 * @options:	Options
 * @listener:	Listening socket
 *
 * Return: negative errno
 */
int responder_serve_socket(const struct responder_options *options, int listener);

/**
 * responder_serve_pipe() - answer on a pair of named pipes, by the wire library
 * @options:	Options
 * @in:		Requests
 * @out:	Answers
 *
 * Return: negative errno
 */
int responder_serve_pipe(const struct responder_options *options, int in, int out);

#endif
