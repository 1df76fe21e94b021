/* SPDX-License-Identifier: BSD-2-Clause */
/* Many FastCGI clients at once, each request with a token that its answer must carry. */

#include "fcgi/wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: fcgi-load [-c CLIENTS] [-n REQUESTS] [-k] [-x] [-p] [-t SECONDS] SCRIPT SOCKET...\n"
	"\n"
	"CLIENTS threads send REQUESTS requests each, client I to the I-th SOCKET (in turn). The\n"
	"answer's body must begin with the value of the parameter TOKEN, which differs each time.\n"
	"  -k  keep the connection\n"
	"  -x  send each request cut into pieces at random places\n"
	"  -p  send two requests at once on a kept connection\n"
	"Prints \"answered N, wrong N, failed N, slowest N ms\". Exit status 0 if all were right.\n";

struct options {
	unsigned int clients;
	unsigned int requests;
	bool keep;
	bool cut;
	bool pairs;
	int timeout_ms;
	const char *script;
	char **sockets;
	unsigned int socket_count;
};

static struct options options = {.clients = 1, .requests = 1, .timeout_ms = 20000};
static atomic_ulong answered, wrong, failed, slowest_us;

struct answer {
	char body[4096];
	size_t size;
};

static unsigned long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000UL + (unsigned long)t.tv_nsec / 1000UL;
}

static int connect_to(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || strlen(path) >= sizeof(un.sun_path))
		return fd;
	(void)strcpy(un.sun_path, path);
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static bool put(struct wire_buffer *out, const char *name, const char *value)
{
	const struct wire_pair pair = {name, strlen(name), value, strlen(value)};

	return wire_put_pair(out, &pair) == WIRE_OK;
}

static size_t make_request(uint8_t *buffer, size_t size, const char *token)
{
	const struct wire_begin begin = {.role = FCGI_RESPONDER,
					 .flags = options.keep ? FCGI_KEEP_CONN : 0};
	const struct wire_stream params = {.type = FCGI_PARAMS, .request_id = 1};
	const struct wire_stream in = {.type = FCGI_STDIN, .request_id = 1};
	struct wire_buffer out = {.data = buffer, .size = size};
	uint8_t pairs[2048];
	struct wire_buffer p = {.data = pairs, .size = sizeof(pairs)};

	if (!put(&p, "REQUEST_METHOD", "GET") || !put(&p, "SCRIPT_FILENAME", options.script) ||
	    !put(&p, "QUERY_STRING", "") || !put(&p, "TOKEN", token) ||
	    wire_put_begin(&out, 1, &begin) != WIRE_OK ||
	    wire_put_stream(&out, &params, pairs, p.used) != WIRE_OK ||
	    wire_put_stream_end(&out, &params) != WIRE_OK ||
	    wire_put_stream_end(&out, &in) != WIRE_OK)
		return 0;
	return out.used;
}

static bool send_all(int fd, const uint8_t *data, size_t size, unsigned int *seed)
{
	while (size > 0) {
		size_t part = options.cut ? 1 + (size_t)rand_r(seed) % size : size;
		ssize_t n = send(fd, data, part, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static void take(struct answer *answer, const struct wire_event *event)
{
	size_t room = sizeof(answer->body) - 1 - answer->size;
	size_t n = event->size < room ? event->size : room;

	memcpy(answer->body + answer->size, event->content, n);
	answer->size += n;
	answer->body[answer->size] = '\0';
}

/* Reads up to END_REQUEST; bytes behind it stay in @rest. */
static bool read_answer(int fd, struct answer *answer, uint8_t rest[4096], size_t *rest_size)
{
	struct wire_parser parser;

	wire_parser_init(&parser);
	answer->size = 0;
	for (;;) {
		uint8_t *at = rest;
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		for (;;) {
			struct wire_event event;
			size_t used;
			enum wire_status status =
				wire_parser_next(&parser, at, *rest_size, &used, &event);

			at += used;
			*rest_size -= used;
			if (status == WIRE_MORE)
				break;
			if (status != WIRE_OK)
				return false;
			if (event.type == WIRE_EVENT_CONTENT && parser.header.type == FCGI_STDOUT)
				take(answer, &event);
			if (event.type == WIRE_EVENT_END &&
			    parser.header.type == FCGI_END_REQUEST) {
				memmove(rest, at, *rest_size);
				return true;
			}
		}
		if (poll(&p, 1, options.timeout_ms) != 1)
			return false;
		n = recv(fd, rest, 4096, 0);
		if (n <= 0)
			return false;
		*rest_size = (size_t)n;
	}
}

static bool is_right(const struct answer *answer, const char *token)
{
	const char *body = strstr(answer->body, "\r\n\r\n");

	return body && strncmp(body + 4, token, strlen(token)) == 0;
}

static void note_time(unsigned long us)
{
	unsigned long seen = atomic_load(&slowest_us);

	while (us > seen && !atomic_compare_exchange_weak(&slowest_us, &seen, us))
		;
}

static void *client(void *data)
{
	unsigned int id = (unsigned int)(uintptr_t)data;
	const char *path = options.sockets[id % options.socket_count];
	unsigned int seed = id + 1, per_turn = options.pairs ? 2 : 1;
	uint8_t request[8192], rest[4096];
	size_t rest_size = 0;
	int fd = -1;

	for (unsigned int i = 0; i < options.requests; i += per_turn) {
		char tokens[2][64];
		size_t size = 0;
		unsigned long start = now_us();
		bool good;

		for (unsigned int j = 0; j < per_turn; j++) {
			(void)snprintf(tokens[j], sizeof(tokens[j]), "<%u.%u.%u>", id, i, j);
			size += make_request(request + size, sizeof(request) - size, tokens[j]);
		}
		if (fd == -1)
			fd = connect_to(path);
		good = fd != -1 && send_all(fd, request, size, &seed);
		for (unsigned int j = 0; j < per_turn; j++) {
			struct answer answer;

			good = good && read_answer(fd, &answer, rest, &rest_size);
			if (!good)
				atomic_fetch_add(&failed, 1);
			else if (!is_right(&answer, tokens[j]))
				atomic_fetch_add(&wrong, 1);
			else
				atomic_fetch_add(&answered, 1);
		}
		note_time(now_us() - start);
		if (fd != -1 && (!options.keep || !good)) {
			(void)close(fd);
			fd = -1;
			rest_size = 0;
		}
	}
	if (fd != -1)
		(void)close(fd);
	return NULL;
}

int main(int argc, char *argv[])
{
	pthread_attr_t small;
	pthread_t *threads;
	int option;

	while ((option = getopt(argc, argv, "c:n:kxpt:")) != -1) {
		if (option == 'c') {
			options.clients = (unsigned int)strtoul(optarg, NULL, 10);
		} else if (option == 'n') {
			options.requests = (unsigned int)strtoul(optarg, NULL, 10);
		} else if (option == 't') {
			options.timeout_ms = atoi(optarg) * 1000;
		} else if (option == 'k') {
			options.keep = true;
		} else if (option == 'x') {
			options.cut = true;
		} else if (option == 'p') {
			options.pairs = true;
		} else {
			(void)fputs(usage, stderr);
			return 2;
		}
	}
	if (argc - optind < 2) {
		(void)fputs(usage, stderr);
		return 2;
	}
	options.script = argv[optind];
	options.sockets = argv + optind + 1;
	options.socket_count = (unsigned int)(argc - optind - 1);
	threads = calloc(options.clients, sizeof(*threads));
	if (!threads)
		return 2;
	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 256 * 1024);
	for (unsigned int i = 0; i < options.clients; i++)
		if (pthread_create(&threads[i], &small, client, (void *)(uintptr_t)i) != 0)
			return 2;
	for (unsigned int i = 0; i < options.clients; i++)
		(void)pthread_join(threads[i], NULL);
	(void)printf("answered %lu, wrong %lu, failed %lu, slowest %lu ms\n", answered, wrong,
		     failed, slowest_us / 1000);
	free(threads);
	return wrong + failed == 0 ? 0 : 1;
}
