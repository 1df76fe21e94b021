/* SPDX-License-Identifier: BSD-2-Clause */
/* A FastCGI responder on libfcgi that dies as a file says: the workers that tests need. */

#include <fcgiapp.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: moody-responder [-t] FILE\n"
	"\n"
	"While FILE holds a number, each worker ends with that status as soon as it exists\n"
	"(forked or executed), says so on standard error and adds a byte to FILE.starts.\n"
	"A request that has a parameter DIE ends it unanswered, with the parameter's value as\n"
	"status; others get the pid.\n"
	"  -t  have a second thread\n";

static const char *mood;

static void note_start(void)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s.starts", mood);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd == -1)
		return;
	if (write(fd, "x", 1) == -1)
		_exit(1);
	(void)close(fd);
}

static void begin(void)
{
	static const char words[] = "moody: I do not feel like it\n";
	char text[16] = "";
	int fd = open(mood, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0) {
		note_start();
		if (write(STDERR_FILENO, words, strlen(words)) == -1)
			_exit(1);
		_exit((int)strtol(text, NULL, 10));
	}
	(void)close(fd);
}

static void *wait_for_ever(void *data)
{
	for (;;)
		(void)pause();
	return data;
}

int main(int argc, char *argv[])
{
	FCGX_Request request;
	bool threaded = argc == 3 && strcmp(argv[1], "-t") == 0;
	pthread_t thread;

	if (argc != 2 && !threaded) {
		(void)fputs(usage, stderr);
		return 2;
	}
	mood = argv[argc - 1];
	begin();
	(void)pthread_atfork(NULL, NULL, begin);
	if (threaded && pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
		return 1;
	if (FCGX_Init() != 0 || FCGX_InitRequest(&request, 0, 0) != 0)
		return 1;
	while (FCGX_Accept_r(&request) == 0) {
		const char *status = FCGX_GetParam("DIE", request.envp);

		if (status)
			_exit((int)strtol(status, NULL, 10));
		(void)FCGX_FPrintF(request.out, "Content-Type: text/plain\r\n\r\n%d\n", getpid());
		FCGX_Finish_r(&request);
	}
	return 0;
}
