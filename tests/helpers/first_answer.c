/* SPDX-License-Identifier: BSD-2-Clause */
/* How long one request takes that may be the first one in a while. */

#include "fcgi_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMEOUT_MS 10000

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char *argv[])
{
	struct fcgi_client client = {.fd = -1};
	struct fcgi_answer answer;
	uint8_t bytes[4096];
	size_t size;
	double start;

	if (argc != 3) {
		(void)fputs(
			"usage: first-answer SOCKET SCRIPT\n"
			"\n"
			"Prints the microseconds from connecting to the unix socket SOCKET to the\n"
			"end of the answer. SCRIPT has to print the parameter TOKEN first.\n",
			stderr);
		return 2;
	}
	size = fcgi_request_head(&(struct fcgi_request){.script = argv[2], .token = "<first>"},
				 bytes, sizeof(bytes));
	size += fcgi_request_body(0, bytes + size, sizeof(bytes) - size);
	start = now_us();
	fcgi_client_connect(&client, argv[1]);
	if (client.fd == -1 || !fcgi_client_send(&client, bytes, size) ||
	    !fcgi_client_read(&client, TIMEOUT_MS, &answer))
		return 1;
	(void)printf("%.0f\n", now_us() - start);
	fcgi_client_close(&client);
	return fcgi_answer_body(&answer, "<first>") ? 0 : 1;
}
