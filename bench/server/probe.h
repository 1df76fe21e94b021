/* SPDX-License-Identifier: BSD-2-Clause */
/* One FastCGI request, to see whether somebody answers and what it says. */
#ifndef BENCH_SERVER_PROBE_H
#define BENCH_SERVER_PROBE_H

#include "bench/client/endpoint.h"

#include <stddef.h>
#include <stdint.h>

/**
 * struct probe_answer - what came back
 * @head:	The answer's head, cut to fit
 * @body:	Start of its body, with a NUL
 * @body_size:	Bytes of the whole body
 * @complaint:	Start of what came on STDERR
 */
struct probe_answer {
	char head[512];
	char body[512];
	size_t body_size;
	char complaint[256];
};

/**
 * probe_request() - ask for a script
 * @endpoint:	Where
 * @script:	SCRIPT_FILENAME
 * @query:	QUERY_STRING
 * @deadline_ms: When to give up, in time of clock_ms()
 * @ret_answer:	Set on success
 *
 * Return: 0 if a whole answer came, good or bad; -ETIMEDOUT, -EPROTO, -ECONNRESET (it was cut), or
 * what connecting or writing says
 */
int probe_request(const struct endpoint *endpoint, const char *script, const char *query,
		  uint64_t deadline_ms, struct probe_answer *ret_answer);

#endif
