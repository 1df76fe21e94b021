/* SPDX-License-Identifier: BSD-2-Clause */
/* A request in a text file: parameters, an empty line, and the body. */
#ifndef BENCH_REQUEST_FILE_H
#define BENCH_REQUEST_FILE_H

#include "bench/client/request.h"

#include <stddef.h>

#define REQUEST_FILE_PARAMS 128

/* Most parameters that request_file_apply() takes from elsewhere. */
#define REQUEST_FILE_FURTHER 64

/**
 * struct request_file - a file that was read
 * @memory:	Its bytes (owned)
 * @params:	Parameters, in the order of the file; behind them those of a command line
 * @param_count: Entries
 * @body:	What stands behind the first empty line; NULL if there is none
 * @body_size:	Bytes of it
 */
struct request_file {
	char *memory;
	struct request_param params[REQUEST_FILE_PARAMS + REQUEST_FILE_FURTHER];
	size_t param_count;
	const char *body;
	size_t body_size;
};

/**
 * request_file_read() - read a file
 * @path:	File: lines "NAME=VALUE", where '#' begins a comment line; an empty line; the body,
 *		byte by byte
 * @ret_file:	Set on success, to be released by request_file_done()
 * @error:	On failure: "file:line: what is wrong", without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int request_file_read(const char *path, struct request_file *ret_file, char *error, size_t size);

/**
 * request_file_apply() - fill in what a request does not say itself
 * @file:	File, must stay where it is; takes in the request's parameters
 * @request:	Changed: the file's SCRIPT_FILENAME, REQUEST_METHOD, QUERY_STRING and body are its
 *		own where it has none; its parameters, at most REQUEST_FILE_FURTHER, stand behind the
 *		file's, which they replace if the names are the same
 */
void request_file_apply(struct request_file *file, struct request_options *request);

/**
 * request_file_done() - release
 * @file:	File, may be all zero
 */
void request_file_done(struct request_file *file);

/**
 * request_file_read_all() - a whole file in memory
 * @path:	File
 * @ret_memory:	Its bytes, a NUL behind them; to be freed
 * @ret_size:	Their number, at most 1 GiB
 *
 * Return: 0, or negative errno with errno set
 */
int request_file_read_all(const char *path, char **ret_memory, size_t *ret_size);

#endif
