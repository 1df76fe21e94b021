/* SPDX-License-Identifier: BSD-2-Clause */
/* What the null responder answers, and when. */
#include "responder.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void sleep_ms(uint64_t ms)
{
	struct timespec left = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000 * 1000000),
	};

	while (ms > 0 && nanosleep(&left, &left) == -1)
		;
}

void responder_wait(const struct responder_options *options, uint64_t number)
{
	if (options->delay_count > 0)
		sleep_ms(options->delays_ms[number % options->delay_count]);
	if (options->stall_ms > 0 && number == options->stall_after)
		sleep_ms(options->stall_ms);
}

uint64_t responder_body_size(const struct responder_options *options, const char *query,
			     size_t size)
{
	static const char key[] = "size=";
	const size_t length = strlen(key);
	uint64_t number = 0;
	size_t at = 0;

	while (at + length <= size &&
	       !(memcmp(query + at, key, length) == 0 && (at == 0 || query[at - 1] == '&')))
		at++;
	if (at + length > size)
		return options->body_size;
	for (at += length; at < size && query[at] >= '0' && query[at] <= '9'; at++) {
		number = number * 10 + (uint64_t)(query[at] - '0');
		if (number > RESPONDER_BODY_MAX)
			return RESPONDER_BODY_MAX;
	}
	return number;
}

const char *responder_body(size_t *ret_size)
{
	static char bytes[65536];

	if (bytes[0] == '\0')
		memset(bytes, 'x', sizeof(bytes));
	*ret_size = sizeof(bytes);
	return bytes;
}
