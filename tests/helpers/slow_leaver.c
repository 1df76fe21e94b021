/* SPDX-License-Identifier: BSD-2-Clause */
/* A FastCGI responder on libfcgi whose end takes a while, after the last destructor has run. */

#include <fcgiapp.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static const char usage[] =
	"usage: slow-leaver FILE\n"
	"\n"
	"Answers each request with the pid. After one for the SCRIPT_FILENAME \"/leave\" it ends:\n"
	"when all destructors are done it makes FILE.leaves, and waits until FILE exists.\n";

/* What the C library flushes last is written after the destructors of all libraries. */
static ssize_t linger(void *cookie, const char *data, size_t size)
{
	const char *file = cookie;
	char leaves[4096];
	int fd;

	(void)data;
	(void)snprintf(leaves, sizeof(leaves), "%s.leaves", file);
	fd = open(leaves, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd != -1)
		(void)close(fd);
	for (int i = 0; i < 20000 && access(file, F_OK) == -1; i++)
		(void)usleep(1000);
	return (ssize_t)size;
}

int main(int argc, char *argv[])
{
	const cookie_io_functions_t slow = {.write = linger};
	FCGX_Request request;
	FILE *last;

	if (argc != 2) {
		(void)fputs(usage, stderr);
		return 2;
	}
	if (FCGX_Init() != 0 || FCGX_InitRequest(&request, 0, 0) != 0)
		return 1;
	while (FCGX_Accept_r(&request) == 0) {
		const char *script = FCGX_GetParam("SCRIPT_FILENAME", request.envp);
		int leave = script && strcmp(script, "/leave") == 0;

		(void)FCGX_FPrintF(request.out, "Content-Type: text/plain\r\n\r\n%d\n", getpid());
		FCGX_Finish_r(&request);
		if (!leave)
			continue;
		last = fopencookie(argv[1], "w", slow);
		return last && fputs("the end", last) != EOF ? 0 : 1;
	}
	return 0;
}
