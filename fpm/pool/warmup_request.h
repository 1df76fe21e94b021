/* SPDX-License-Identifier: BSD-2-Clause */
/* A warm-up's request as bytes, and what its answer says. No I/O. */
#ifndef FPM_WARMUP_REQUEST_H
#define FPM_WARMUP_REQUEST_H

#include "fcgi/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest "PATH[?QUERY]" of a script. */
#define WARMUP_TARGET_MAX 4095

/* Room for the request of the longest one. */
#define WARMUP_REQUEST_SIZE (8 * WARMUP_TARGET_MAX)

/* Bytes of an answer's header that are looked at; php-cgi begins with the status. */
#define WARMUP_HEAD_MAX 4096

/* Room for a line of what the script's program complains about. */
#define WARMUP_COMPLAINT_SIZE 256

/**
 * struct warmup_answer - what is known of an answer; all zero = nothing yet
 * @parser:		Of its records
 * @head:		Its first bytes, @head_size of them
 * @line:		The present line of FCGI_STDERR, @line_size bytes of it
 * @complaint:		The last whole line of it that says what is wrong, "" if there is none
 * @app_status:		Exit status of the script, once the answer is whole
 */
struct warmup_answer {
	struct wire_parser parser;
	char head[WARMUP_HEAD_MAX + 1];
	size_t head_size;
	char line[WARMUP_COMPLAINT_SIZE];
	size_t line_size;
	char complaint[WARMUP_COMPLAINT_SIZE];
	uint32_t app_status;
};

/**
 * warmup_request_write() - a GET of a script
 * @target:	Its path, with "?QUERY" behind it if it has one
 * @out:	Buffer with room for WARMUP_REQUEST_SIZE bytes
 *
 * Return: 0, or -E2BIG if @target is longer than WARMUP_TARGET_MAX
 */
int warmup_request_write(const char *target, struct wire_buffer *out);

/**
 * warmup_answer_take() - read on
 * @answer:	Answer
 * @data:	Bytes, cut anywhere
 * @size:	Number of them
 *
 * Return: 1 if the answer is whole, 0 if not yet, -EPROTO if that is no FastCGI
 */
int warmup_answer_take(struct warmup_answer *answer, const void *data, size_t size);

/**
 * warmup_answer_judge() - did the script do its work
 * @answer:	A whole answer
 * @why:	If it did not: what is wrong
 * @size:	Bytes of @why
 *
 * Return: false if its HTTP status is 400 or more, or its exit status is not 0
 */
bool warmup_answer_judge(const struct warmup_answer *answer, char *why, size_t size);

#endif
