/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests' programs for many clients share: requests with a token, and their answers. */
#ifndef TESTS_HELPERS_FCGI_CLIENT_H
#define TESTS_HELPERS_FCGI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct fcgi_client - one connection
 * @fd:		Descriptor, -1 if there is none
 * @rest:	Bytes that came behind the last answer
 * @rest_size:	Their number
 * @call:	The call that failed last, NULL if none did
 * @error:	Its errno, 0 if there is none: an end of file, a time limit, nonsense
 * @got:	Bytes of the last answer that had come
 */
struct fcgi_client {
	int fd;
	uint8_t rest[4096];
	size_t rest_size;
	const char *call;
	int error;
	size_t got;
};

/**
 * struct fcgi_request - a request
 * @script:	SCRIPT_FILENAME
 * @token:	Value of the parameter TOKEN; the answer's body has to begin with it
 * @keep:	FCGI_KEEP_CONN
 * @body_size:	Bytes of the body that follows, 0 for a GET
 */
struct fcgi_request {
	const char *script;
	const char *token;
	bool keep;
	size_t body_size;
};

struct fcgi_answer {
	char text[4096];
	size_t size;
};

/**
 * fcgi_client_connect() - connect to a unix socket
 * @client:	Client; @fd is -1 afterwards if that failed
 * @path:	Path of the socket
 */
void fcgi_client_connect(struct fcgi_client *client, const char *path);

/**
 * fcgi_client_close() - close a connection, if there is one
 * @client:	Client
 */
void fcgi_client_close(struct fcgi_client *client);

/**
 * fcgi_client_send() - send bytes
 * @client:	Client
 * @data:	Bytes
 * @size:	Their number
 *
 * Return: true if all of them were sent
 */
bool fcgi_client_send(struct fcgi_client *client, const uint8_t *data, size_t size);

/**
 * fcgi_request_head() - BEGIN_REQUEST and PARAMS, with their end
 * @request:	Request
 * @buffer:	Where they go
 * @size:	Bytes of @buffer
 *
 * Return: number of bytes, 0 if there was no room
 */
size_t fcgi_request_head(const struct fcgi_request *request, uint8_t *buffer, size_t size);

/**
 * fcgi_request_body() - a part of STDIN
 * @bytes:	How many bytes; 0 makes the end of the stream
 * @buffer:	Where it goes
 * @size:	Bytes of @buffer
 *
 * Return: number of bytes, 0 if there was no room
 */
size_t fcgi_request_body(size_t bytes, uint8_t *buffer, size_t size);

/**
 * fcgi_client_read() - read an answer, up to its END_REQUEST
 * @client:	Client
 * @timeout_ms:	How long it is waited for, each time that there is nothing to read
 * @answer:	Its FCGI_STDOUT, cut to fit, with a NUL
 *
 * Return: true if it came to its end
 */
bool fcgi_client_read(struct fcgi_client *client, int timeout_ms, struct fcgi_answer *answer);

/**
 * fcgi_answer_body() - the answer's body
 * @answer:	Answer
 * @token:	Token of the request
 *
 * Return: what follows the token, or NULL if the body does not begin with it
 */
const char *fcgi_answer_body(const struct fcgi_answer *answer, const char *token);

#endif
