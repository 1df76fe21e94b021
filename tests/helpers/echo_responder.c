/* SPDX-License-Identifier: BSD-2-Clause */
/* A FastCGI responder on libfcgi that tells its pid: a program that is not PHP. */

#include <fcgiapp.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	FCGX_Request request;

	if (FCGX_Init() != 0 || FCGX_InitRequest(&request, 0, 0) != 0)
		return 1;
	while (FCGX_Accept_r(&request) == 0) {
		const char *nap = FCGX_GetParam("NAP_MS", request.envp);

		if (nap)
			(void)usleep((useconds_t)atoi(nap) * 1000);
		(void)FCGX_FPrintF(request.out, "Content-Type: text/plain\r\n\r\n%d\n", getpid());
		FCGX_Finish_r(&request);
	}
	return 0;
}
