/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds FastCGI connections open in every state that a client can leave them in. */

#include "fcgi_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: fcgi-hold [-t SECONDS] SOCKET SCRIPT\n"
	"\n"
	"Takes commands from standard input and answers each with one line:\n"
	"  open COUNT   connect that many times more: \"open N\"\n"
	"  send WHAT    on every connection: \"sent N\"; WHAT is header (4 bytes of one), begin\n"
	"               (BEGIN_REQUEST), params (and half of PARAMS), request or kept (a whole)\n"
	"  read         an answer on every connection: \"answered N, wrong N, failed N: BODY\"\n"
	"  ask          send kept, and read\n"
	"  post BYTES MILLISECONDS\n"
	"               likewise with a body of 16 pieces and a pause before each\n"
	"  script PATH  ask for that one from now on: \"script PATH\"\n"
	"  half         shut our side down: \"half N\"\n"
	"  state        which ones did the peer end? \"open N, ended N\"\n"
	"  close        close all: \"closed N\"\n"
	"An answer's body has to begin with its request's TOKEN; BODY is the rest of the first\n"
	"that does.\n";

/* Of a body. */
#define PIECES 16

static struct {
	int timeout_ms;
	const char *path;
	char script[4096];
	struct fcgi_client *clients;
	unsigned int count;
	unsigned int serial; /* of the token that was sent last */
} self = {.timeout_ms = 20000};

static void make_token(unsigned int client, char token[64])
{
	(void)snprintf(token, 64, "<%d.%u.%u>", (int)getpid(), client, self.serial);
}

static void open_more(unsigned int more)
{
	struct fcgi_client *grown =
		realloc(self.clients, (self.count + more) * sizeof(*self.clients));
	unsigned int opened = 0;

	if (!grown)
		exit(2);
	self.clients = grown;
	for (unsigned int i = 0; i < more; i++) {
		fcgi_client_connect(&self.clients[self.count], self.path);
		if (self.clients[self.count].fd == -1)
			break;
		self.count++;
		opened++;
	}
	(void)printf("open %u\n", opened);
}

/* Sends a piece, or the whole, of a request; false if that failed. */
static bool send_one(unsigned int index, const char *what)
{
	uint8_t buffer[8192];
	char token[64];
	const struct fcgi_request request = {
		.script = self.script, .token = token, .keep = strcmp(what, "kept") == 0};
	size_t size;

	make_token(index, token);
	size = fcgi_request_head(&request, buffer, sizeof(buffer));
	if (strcmp(what, "header") == 0)
		size = 4;
	else if (strcmp(what, "begin") == 0)
		size = 16;
	else if (strcmp(what, "params") == 0)
		size = 16 + (size - 16) / 2;
	else
		size += fcgi_request_body(0, buffer + size, sizeof(buffer) - size);
	return fcgi_client_send(&self.clients[index], buffer, size);
}

static unsigned int send_all(const char *what)
{
	unsigned int sent = 0;

	self.serial++;
	for (unsigned int i = 0; i < self.count; i++)
		sent += send_one(i, what);
	return sent;
}

static void read_all(void)
{
	unsigned int answered = 0, wrong = 0, failed = 0;
	char first[4096] = "";

	for (unsigned int i = 0; i < self.count; i++) {
		struct fcgi_answer answer;
		const char *body;
		char token[64];

		make_token(i, token);
		if (!fcgi_client_read(&self.clients[i], self.timeout_ms, &answer)) {
			failed++;
			continue;
		}
		body = fcgi_answer_body(&answer, token);
		if (!body) {
			wrong++;
			continue;
		}
		if (answered++ == 0)
			(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(body, "\n"),
				       body);
	}
	(void)printf("answered %u, wrong %u, failed %u: %s\n", answered, wrong, failed, first);
}

/* A part of a body, and its end after the last part. */
static void send_body(size_t bytes, bool last)
{
	size_t size = bytes + bytes / 1000 + 64, used;
	uint8_t *buffer = malloc(size);

	if (!buffer)
		exit(2);
	used = bytes > 0 ? fcgi_request_body(bytes, buffer, size) : 0;
	if (last)
		used += fcgi_request_body(0, buffer + used, size - used);
	for (unsigned int i = 0; i < self.count; i++)
		(void)fcgi_client_send(&self.clients[i], buffer, used);
	free(buffer);
}

static void post(size_t bytes, long pause_ms)
{
	const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000L};

	self.serial++;
	for (unsigned int i = 0; i < self.count; i++) {
		uint8_t buffer[8192];
		char token[64];
		const struct fcgi_request request = {
			.script = self.script, .token = token, .keep = true, .body_size = bytes};

		make_token(i, token);
		(void)fcgi_client_send(&self.clients[i], buffer,
				       fcgi_request_head(&request, buffer, sizeof(buffer)));
	}
	for (unsigned int i = 0; i < PIECES; i++) {
		(void)nanosleep(&pause, NULL);
		send_body(bytes / PIECES + (i == 0 ? bytes % PIECES : 0), i == PIECES - 1);
	}
	read_all();
}

static void print_state(void)
{
	unsigned int ended = 0;

	for (unsigned int i = 0; i < self.count; i++) {
		char byte;
		ssize_t n = recv(self.clients[i].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

		ended += n == 0 || (n == -1 && errno != EAGAIN);
	}
	(void)printf("open %u, ended %u\n", self.count - ended, ended);
}

static void obey(char *line)
{
	char what[32] = "", argument[32] = "";
	char *newline = strchr(line, '\n');
	unsigned long number = 0;
	long pause_ms = 0;

	if (newline)
		*newline = '\0';
	(void)sscanf(line, "%31s %31s %ld", what, argument, &pause_ms);
	number = strtoul(argument, NULL, 10);
	if (strcmp(what, "open") == 0) {
		open_more((unsigned int)number);
	} else if (strcmp(what, "send") == 0) {
		(void)printf("sent %u\n", send_all(argument));
	} else if (strcmp(what, "read") == 0) {
		read_all();
	} else if (strcmp(what, "ask") == 0) {
		(void)send_all("kept");
		read_all();
	} else if (strcmp(what, "post") == 0) {
		post(number, pause_ms);
	} else if (strcmp(what, "script") == 0) {
		(void)snprintf(self.script, sizeof(self.script), "%.*s",
			       (int)sizeof(self.script) - 1, line + strlen("script "));
		(void)printf("script %s\n", self.script);
	} else if (strcmp(what, "half") == 0) {
		for (unsigned int i = 0; i < self.count; i++)
			(void)shutdown(self.clients[i].fd, SHUT_WR);
		(void)printf("half %u\n", self.count);
	} else if (strcmp(what, "state") == 0) {
		print_state();
	} else if (strcmp(what, "close") == 0) {
		for (unsigned int i = 0; i < self.count; i++)
			fcgi_client_close(&self.clients[i]);
		(void)printf("closed %u\n", self.count);
		self.count = 0;
	} else {
		(void)printf("unknown command\n");
	}
}

int main(int argc, char *argv[])
{
	struct rlimit nofile;
	char line[4096 + 64];
	int option;

	while ((option = getopt(argc, argv, "t:")) != -1) {
		if (option != 't') {
			(void)fputs(usage, stderr);
			return 2;
		}
		self.timeout_ms = atoi(optarg) * 1000;
	}
	if (argc - optind != 2) {
		(void)fputs(usage, stderr);
		return 2;
	}
	self.path = argv[optind];
	(void)snprintf(self.script, sizeof(self.script), "%s", argv[optind + 1]);
	if (getrlimit(RLIMIT_NOFILE, &nofile) == 0) {
		nofile.rlim_cur = nofile.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &nofile);
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	free(self.clients);
	return 0;
}
