/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends FastCGI requests and prints the answers: the tests' own client. */

#include "fcgi/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: fcgi-get [-k COUNT] [-n COUNT] [-sw] [-t SECONDS] [-b BYTES] ADDRESS SCRIPT\n"
	"                [NAME=VALUE]...\n"
	"\n"
	"Requests SCRIPT (a SCRIPT_FILENAME) from a FastCGI application and prints the body.\n"
	"ADDRESS is /path, @abstract, HOST:PORT, [IPv6]:PORT or pipe:/path.\n"
	"  -k COUNT    that many requests over one kept connection\n"
	"  -n COUNT    that many requests, each over a connection of its own\n"
	"  -s          print the whole answer, headers included\n"
	"  -w          don't wait for room in a unix socket's full queue: the connection fails\n"
	"  -t SECONDS  time limit of each request (default 10)\n"
	"  -b BYTES    a POST with a body of that size\n"
	"\n"
	"Exit status: 0 if every request was answered to its END_REQUEST with a status below 400,\n"
	"1 if one was not, 2 for wrong usage, 3 if the connection failed. FCGI_STDERR goes to\n"
	"standard error.\n";

struct options {
	const char *address;
	const char *script;
	char **params;
	unsigned int requests;
	bool keep;
	bool headers;
	bool hurry;
	double timeout;
	size_t body;
};

/* The same socket twice, or two pipes. */
struct peer {
	int requests;
	int answers;
};

struct answer {
	char *text;
	size_t size;
	bool ended;
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int connect_unix(const char *path, bool hurry)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	int fd;

	if (strlen(path) >= sizeof(un.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(un.sun_path, path, strlen(path));
	if (path[0] == '@')
		un.sun_path[0] = '\0';
	else
		len++;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (hurry ? SOCK_NONBLOCK : 0), 0);
	if (fd != -1 && connect(fd, (struct sockaddr *)&un, len) == -1) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static int connect_inet(const char *address)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	char *text = strdup(address);
	char *port = text ? strrchr(text, ':') : NULL;
	char *host = text;
	struct addrinfo *list = NULL;
	int fd = -1;

	errno = EINVAL;
	if (!port)
		goto out;
	*port++ = '\0';
	if (host[0] == '[') {
		host++;
		host[strcspn(host, "]")] = '\0';
	}
	if (getaddrinfo(host, port, &hints, &list) != 0)
		goto out;
	for (const struct addrinfo *a = list; a && fd == -1; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd != -1 && connect(fd, a->ai_addr, a->ai_addrlen) == -1) {
			(void)close(fd);
			fd = -1;
		}
	}
out:
	if (list)
		freeaddrinfo(list);
	free(text);
	return fd;
}

static struct peer open_pipes(const char *path)
{
	char name[256];
	struct peer peer;

	(void)snprintf(name, sizeof(name), "%s.in", path);
	peer.requests = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	(void)snprintf(name, sizeof(name), "%s.out", path);
	peer.answers = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return peer;
}

static struct peer connect_to(const struct options *o)
{
	int fd;

	if (strncmp(o->address, "pipe:", 5) == 0)
		return open_pipes(o->address + 5);
	if (o->address[0] == '/' || o->address[0] == '@')
		fd = connect_unix(o->address, o->hurry);
	else
		fd = connect_inet(o->address);
	if (fd != -1)
		(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return (struct peer){fd, fd};
}

static void disconnect(struct peer *peer)
{
	(void)close(peer->requests);
	if (peer->answers != peer->requests)
		(void)close(peer->answers);
	*peer = (struct peer){-1, -1};
}

static bool put_param(struct wire_buffer *out, const char *name, const char *value)
{
	const struct wire_pair pair = {.name = name,
				       .name_size = strlen(name),
				       .value = value,
				       .value_size = strlen(value)};

	return wire_put_pair(out, &pair) == WIRE_OK;
}

static bool put_params(struct wire_buffer *out, const struct options *o)
{
	const char *slash = strrchr(o->script, '/');
	char length[32];
	bool ok;

	(void)snprintf(length, sizeof(length), "%zu", o->body);
	ok = put_param(out, "GATEWAY_INTERFACE", "CGI/1.1") &&
	     put_param(out, "REQUEST_METHOD", o->body ? "POST" : "GET") &&
	     put_param(out, "SCRIPT_FILENAME", o->script) &&
	     put_param(out, "SCRIPT_NAME", slash ? slash : o->script) &&
	     put_param(out, "REQUEST_URI", slash ? slash : o->script) &&
	     put_param(out, "SERVER_PROTOCOL", "HTTP/1.1") && put_param(out, "QUERY_STRING", "") &&
	     put_param(out, "CONTENT_LENGTH", length) && put_param(out, "REDIRECT_STATUS", "200");
	for (char **p = o->params; ok && *p; p++) {
		char *equals = strchr(*p, '=');
		const struct wire_pair pair = {.name = *p,
					       .name_size = (size_t)(equals - *p),
					       .value = equals + 1,
					       .value_size = strlen(equals + 1)};

		ok = wire_put_pair(out, &pair) == WIRE_OK;
	}
	return ok;
}

/* The whole request in one buffer, to be freed. */
static uint8_t *make_request(const struct options *o, size_t *ret_size)
{
	const struct wire_begin begin = {.role = FCGI_RESPONDER,
					 .flags = o->keep ? FCGI_KEEP_CONN : 0};
	const struct wire_stream params = {.type = FCGI_PARAMS, .request_id = 1};
	const struct wire_stream in = {.type = FCGI_STDIN, .request_id = 1};
	size_t size = o->body + o->body / 1000 + 262144;
	struct wire_buffer out = {.data = malloc(size), .size = size};
	struct wire_buffer pairs = {.data = malloc(131072), .size = 131072};
	char *body = malloc(o->body + 1);
	bool ok = false;

	if (out.data && pairs.data && body && put_params(&pairs, o)) {
		memset(body, 'x', o->body);
		ok = wire_put_begin(&out, 1, &begin) == WIRE_OK &&
		     wire_put_stream(&out, &params, pairs.data, pairs.used) == WIRE_OK &&
		     wire_put_stream_end(&out, &params) == WIRE_OK &&
		     wire_put_stream(&out, &in, body, o->body) == WIRE_OK &&
		     wire_put_stream_end(&out, &in) == WIRE_OK;
	}
	free(body);
	free(pairs.data);
	if (!ok) {
		free(out.data);
		return NULL;
	}
	*ret_size = out.used;
	return out.data;
}

static void take_event(const struct wire_parser *parser, const struct wire_event *event,
		       struct answer *answer)
{
	if (event->type == WIRE_EVENT_END && parser->header.type == FCGI_END_REQUEST)
		answer->ended = true;
	if (event->type != WIRE_EVENT_CONTENT)
		return;
	if (parser->header.type == FCGI_STDERR) {
		(void)fwrite(event->content, 1, event->size, stderr);
	} else if (parser->header.type == FCGI_STDOUT) {
		char *grown = realloc(answer->text, answer->size + event->size + 1);

		if (!grown)
			exit(1);
		memcpy(grown + answer->size, event->content, event->size);
		answer->text = grown;
		answer->size += event->size;
		answer->text[answer->size] = '\0';
	}
}

/* Sends and reads at the same time, so that neither side can wait for the other for ever. */
static const char *exchange(struct peer peer, const uint8_t *request, size_t size, double deadline,
			    struct answer *answer)
{
	struct wire_parser parser;

	wire_parser_init(&parser);
	while (!answer->ended) {
		struct pollfd p[] = {{.fd = peer.answers, .events = POLLIN},
				     {.fd = size ? peer.requests : -1, .events = POLLOUT}};
		uint8_t input[65536], *at = input;
		double left = deadline - now();
		ssize_t n;

		if (left <= 0 || poll(p, 2, (int)(left * 1000) + 1) == 0)
			return "timeout";
		if (p[1].revents & POLLOUT) {
			n = write(peer.requests, request, size);
			if (n == -1 && errno != EAGAIN)
				return strerror(errno);
			request += n > 0 ? n : 0;
			size -= n > 0 ? (size_t)n : 0;
		}
		if (!(p[0].revents & (POLLIN | POLLHUP | POLLERR)))
			continue;
		n = read(peer.answers, input, sizeof(input));
		if (n == -1 && errno == EAGAIN)
			continue;
		if (n <= 0)
			return n == 0 ? "end of file before END_REQUEST" : strerror(errno);
		for (enum wire_status status = WIRE_OK; status == WIRE_OK && !answer->ended;) {
			struct wire_event event;
			size_t used;

			status = wire_parser_next(&parser, at, (size_t)(input + n - at), &used,
						  &event);
			at += used;
			if (status == WIRE_OK)
				take_event(&parser, &event, answer);
			else if (status != WIRE_MORE)
				return wire_strerror(status);
		}
	}
	return NULL;
}

/* Prints an answer; returns false if its Status is 400 or more. */
static bool print_answer(const struct options *o, const struct answer *answer)
{
	const char *text = answer->text ? answer->text : "";
	const char *end = strstr(text, "\r\n\r\n");
	const char *status = strcasestr(text, "Status: ");
	const char *start = end && !o->headers ? end + 4 : text;

	(void)fwrite(start, 1, answer->size - (size_t)(start - text), stdout);
	return !(status && end && status < end && atoi(status + 8) >= 400);
}

static int run(const struct options *o, const uint8_t *request, size_t size)
{
	struct peer peer = {-1, -1};
	int result = 0;

	for (unsigned int i = 0; i < o->requests; i++) {
		struct answer answer = {0};
		const char *fault;

		if (peer.answers == -1)
			peer = connect_to(o);
		if (peer.requests == -1 || peer.answers == -1) {
			(void)fprintf(stderr, "fcgi-get: %s: %s\n", o->address, strerror(errno));
			return 3;
		}
		fault = exchange(peer, request, size, now() + o->timeout, &answer);
		if (!print_answer(o, &answer))
			result = 1;
		if (fault) {
			(void)fprintf(stderr, "fcgi-get: %s: %s\n", o->address, fault);
			result = 1;
		}
		free(answer.text);
		if (!o->keep || fault)
			disconnect(&peer);
	}
	return result;
}

int main(int argc, char *argv[])
{
	struct options o = {.requests = 1, .timeout = 10};
	uint8_t *request;
	size_t size;
	int option, result;

	(void)signal(SIGPIPE, SIG_IGN);
	while ((option = getopt(argc, argv, "+k:n:swt:b:")) != -1) {
		if (option == 'k' || option == 'n') {
			o.requests = (unsigned int)strtoul(optarg, NULL, 10);
			o.keep = option == 'k';
		} else if (option == 's') {
			o.headers = true;
		} else if (option == 'w') {
			o.hurry = true;
		} else if (option == 't') {
			o.timeout = strtod(optarg, NULL);
		} else if (option == 'b') {
			o.body = strtoul(optarg, NULL, 10);
		} else {
			(void)fputs(usage, stderr);
			return 2;
		}
	}
	if (argc - optind < 2) {
		(void)fputs(usage, stderr);
		return 2;
	}
	o.address = argv[optind];
	o.script = argv[optind + 1];
	o.params = argv + optind + 2;
	for (char **p = o.params; *p; p++) {
		if (!strchr(*p, '=')) {
			(void)fprintf(stderr, "fcgi-get: %s: NAME=VALUE expected\n", *p);
			return 2;
		}
	}
	request = make_request(&o, &size);
	if (!request)
		return 2;
	result = run(&o, request, size);
	free(request);
	return result;
}
