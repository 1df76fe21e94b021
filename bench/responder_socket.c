/* SPDX-License-Identifier: BSD-2-Clause */
/* The null responder on TCP and unix sockets: an ordinary program on libfcgi. */
#include "responder.h"

#include <errno.h>
#include <fcgiapp.h>
#include <signal.h>
#include <string.h>

/* A body that nobody reads would be taken for the next request of a kept connection. */
static void read_body(FCGX_Stream *in)
{
	char buffer[8192];

	while (FCGX_GetStr(buffer, sizeof(buffer), in) > 0)
		;
}

static void answer(const struct responder_options *options, FCGX_Request *request)
{
	const char *query = FCGX_GetParam("QUERY_STRING", request->envp);
	uint64_t left = responder_body_size(options, query, query != NULL ? strlen(query) : 0);
	size_t most;
	const char *body = responder_body(&most);

	(void)FCGX_PutStr(RESPONDER_HEAD, (int)strlen(RESPONDER_HEAD), request->out);
	while (left > 0) {
		const int bytes = (int)(left < most ? left : most);

		if (FCGX_PutStr(body, bytes, request->out) == -1)
			break;
		left -= (uint64_t)bytes;
	}
}

int responder_serve_socket(const struct responder_options *options, int listener)
{
	FCGX_Request request;

	if (FCGX_Init() != 0 || FCGX_InitRequest(&request, listener, 0) != 0)
		return -EIO;
	/* libfcgi would end its wait for a connection, which looks like an error. */
	(void)signal(SIGTERM, SIG_DFL);
	for (uint64_t number = 0; FCGX_Accept_r(&request) == 0; number++) {
		read_body(request.in);
		responder_wait(options, number);
		answer(options, &request);
		FCGX_Finish_r(&request);
	}
	return -EIO;
}
