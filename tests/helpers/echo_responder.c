/* SPDX-License-Identifier: BSD-2-Clause */
/* A FastCGI responder on libfcgi that tells its pid, or a TOKEN and what the body was. */

#include <fcgiapp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads the body, or so many bytes of it; returns how many they were. */
static long read_body(FCGX_Stream *in, const char *limit)
{
	long most = limit ? atol(limit) : -1, count = 0;

	while ((most == -1 || count < most) && FCGX_GetChar(in) != EOF)
		count++;
	return count;
}

int main(void)
{
	FCGX_Request request;

	if (FCGX_Init() != 0 || FCGX_InitRequest(&request, 0, 0) != 0)
		return 1;
	while (FCGX_Accept_r(&request) == 0) {
		const char *nap = FCGX_GetParam("NAP_MS", request.envp);
		const char *token = FCGX_GetParam("TOKEN", request.envp);
		const char *limit = FCGX_GetParam("READ", request.envp);

		if (nap)
			(void)usleep((useconds_t)atoi(nap) * 1000);
		(void)FCGX_FPrintF(request.out, "Content-Type: text/plain\r\n\r\n");
		if (token)
			(void)FCGX_FPrintF(request.out, "%s %ld\n", token,
					   read_body(request.in, limit));
		else
			(void)FCGX_FPrintF(request.out, "%d\n", getpid());
		FCGX_Finish_r(&request);
	}
	return 0;
}
