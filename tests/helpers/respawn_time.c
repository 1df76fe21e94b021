/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures how long a killed worker is missed: kills the one that answers, and asks again. */

#include "fcgi/wire.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: respawn-time COUNT SOCKET SCRIPT\n"
	"\n"
	"SCRIPT, at a FastCGI application that listens on the unix socket SOCKET, answers its\n"
	"pid. COUNT times, kills the process that answers and asks again. Prints lines of two\n"
	"numbers, in microseconds: from the signal to the answer of the successor, and from the\n"
	"start of a request to its answer without a kill.\n";

/* A slot starts ten workers a second at most; what was started before must be older than that. */
#define PAUSE_US 200000

static uint8_t request[4096];
static size_t request_size;

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool make_request(const char *script)
{
	const struct wire_begin begin = {.role = FCGI_RESPONDER};
	const struct wire_stream params = {.type = FCGI_PARAMS, .request_id = 1};
	const struct wire_stream in = {.type = FCGI_STDIN, .request_id = 1};
	const char *const list[][2] = {{"REQUEST_METHOD", "GET"},
				       {"SCRIPT_FILENAME", script},
				       {"SCRIPT_NAME", script},
				       {"REDIRECT_STATUS", "200"}};
	uint8_t room[2048];
	struct wire_buffer pairs = {.data = room, .size = sizeof(room)};
	struct wire_buffer out = {.data = request, .size = sizeof(request)};
	bool ok = true;

	for (size_t i = 0; ok && i < sizeof(list) / sizeof(list[0]); i++) {
		const struct wire_pair pair = {.name = list[i][0],
					       .name_size = strlen(list[i][0]),
					       .value = list[i][1],
					       .value_size = strlen(list[i][1])};

		ok = wire_put_pair(&pairs, &pair) == WIRE_OK;
	}
	ok = ok && wire_put_begin(&out, 1, &begin) == WIRE_OK &&
	     wire_put_stream(&out, &params, room, pairs.used) == WIRE_OK &&
	     wire_put_stream_end(&out, &params) == WIRE_OK &&
	     wire_put_stream_end(&out, &in) == WIRE_OK;
	request_size = out.used;
	return ok;
}

/* Returns the pid that the application answers, 0 if it does not. */
static pid_t ask(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char answer[4096];
	size_t got = 0;
	ssize_t n = 0;
	const char *body = NULL;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (fd == -1)
		return 0;
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0 &&
	    send(fd, request, request_size, MSG_NOSIGNAL) == (ssize_t)request_size) {
		/* A small answer comes whole, in one record; its head starts with a letter. */
		while (!body && got < sizeof(answer) - 1 &&
		       (n = read(fd, answer + got, sizeof(answer) - 1 - got)) > 0) {
			got += (size_t)n;
			answer[got] = '\0';
			body = memmem(answer, got, "\r\n\r\n", 4);
		}
	}
	(void)close(fd);
	return body ? (pid_t)strtol(body + 4, NULL, 10) : 0;
}

int main(int argc, char *argv[])
{
	if (argc != 4 || !make_request(argv[3])) {
		(void)fputs(usage, stderr);
		return 2;
	}
	for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
		double start, plain, respawn;
		pid_t old, new;

		start = now_us();
		old = ask(argv[2]);
		plain = now_us() - start;
		if (old <= 1) {
			(void)fprintf(stderr, "respawn-time: %s does not answer a pid\n", argv[2]);
			return 1;
		}
		(void)usleep(PAUSE_US);
		start = now_us();
		if (kill(old, SIGKILL) == -1) {
			perror("respawn-time: kill");
			return 1;
		}
		/* One that is about to die may take a connection with it: ask once more then. */
		do
			new = ask(argv[2]);
		while ((new == 0 || new == old) && now_us() - start < 1e7);
		respawn = now_us() - start;
		(void)printf("%.0f %.0f\n", respawn, plain);
	}
	return 0;
}
