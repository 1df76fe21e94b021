/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench-responder: the null responder, on sockets or named pipes. */
#include "responder.h"

#include "bench/client/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_USAGE    100
#define EXIT_SYSTEM   111
#define WORKERS_MAX   10000
#define BACKLOG_USUAL 511

static const char usage[] =
	"usage: berth-bench-responder --listen ADDRESS [--workers N] [--backlog N]\n"
	"           [--body-size BYTES] [--delay-ms MS,MS,...] [--stall-once-ms MS]\n"
	"           [--stall-after N] [--end-with-parent]\n"
	"\n"
	"Answers FastCGI requests at once. ADDRESS is /PATH, @NAME, HOST:PORT or pipe:/PATH "
	"(named\n"
	"pipes PATH.in and PATH.out). With %n in it, or +%n behind the port, each worker has one "
	"of\n"
	"its own. The query \"size=N\" of a request asks for another size of the body.\n";

/* What is served: a listening socket, or both ends of a pair of pipes. */
struct place {
	bool pipe;
	int in;
	int out;
};

struct settings {
	const char *listen;
	unsigned int workers;
	int backlog;
	bool end_with_parent;
	struct responder_options options;
};

static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret_number)
{
	char *end;
	uint64_t number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number < least ||
	    number > most)
		return false;
	*ret_number = number;
	return true;
}

static bool read_delays(char *text, struct responder_options *options)
{
	char *rest = text;
	char *word;

	while ((word = strsep(&rest, ",")) != NULL) {
		if (options->delay_count == RESPONDER_DELAYS_MAX ||
		    !read_number(word, 0, 3600000, &options->delays_ms[options->delay_count]))
			return false;
		options->delay_count++;
	}
	return true;
}

static bool read_option(int option, char *value, struct settings *settings)
{
	uint64_t number;

	switch (option) {
	case 'l':
		settings->listen = value;
		return true;
	case 'w':
		if (!read_number(value, 1, WORKERS_MAX, &number))
			return false;
		settings->workers = (unsigned int)number;
		return true;
	case 'k':
		if (!read_number(value, 0, 65535, &number))
			return false;
		settings->backlog = (int)number;
		return true;
	case 'b':
		return read_number(value, 0, RESPONDER_BODY_MAX, &settings->options.body_size);
	case 'd':
		return read_delays(value, &settings->options);
	case 's':
		return read_number(value, 0, 3600000, &settings->options.stall_ms);
	case 'a':
		return read_number(value, 0, UINT64_MAX, &settings->options.stall_after);
	case 'e':
		settings->end_with_parent = true;
		return true;
	default:
		return false;
	}
}

static bool read_settings(int argc, char **argv, struct settings *settings)
{
	static const struct option known[] = {
		{"listen", required_argument, NULL, 'l'},
		{"workers", required_argument, NULL, 'w'},
		{"backlog", required_argument, NULL, 'k'},
		{"body-size", required_argument, NULL, 'b'},
		{"delay-ms", required_argument, NULL, 'd'},
		{"stall-once-ms", required_argument, NULL, 's'},
		{"stall-after", required_argument, NULL, 'a'},
		{"end-with-parent", no_argument, NULL, 'e'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (!read_option(option, optarg, settings)) {
			if (option != '?')
				(void)fprintf(stderr, "berth-bench-responder: bad value: %s\n",
					      optarg);
			return false;
		}
	}
	return settings->listen != NULL && optind == argc;
}

static int open_listener(const struct endpoint *endpoint, int backlog, struct place *ret_place)
{
	const struct address_socket *socket_address = &endpoint->socket;
	const bool tcp = endpoint->transport == TRANSPORT_TCP;
	const int fd = socket(socket_address->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd == -1)
		return -errno;
	if (!tcp && socket_address->addr.un.sun_path[0] != '\0')
		(void)unlink(socket_address->addr.un.sun_path);
	/* Accepted sockets inherit it, so libfcgi need not know. */
	if (tcp && (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1 ||
		    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1))
		return -errno;
	if (bind(fd, &socket_address->addr.sa, socket_address->len) == -1 ||
	    listen(fd, backlog) == -1)
		return -errno;
	*ret_place = (struct place){.in = fd, .out = -1};
	return 0;
}

/* Both ends are open here, so that clients may come and go without an end of file. */
static int open_fifo(const char *path, const char *suffix)
{
	char name[sizeof(((struct endpoint *)NULL)->path) + 8];
	int fd;

	(void)snprintf(name, sizeof(name), "%s%s", path, suffix);
	(void)unlink(name);
	if (mkfifo(name, 0600) == -1)
		return -errno;
	fd = open(name, O_RDWR | O_CLOEXEC);
	return fd == -1 ? -errno : fd;
}

static int open_place(const struct endpoint *endpoint, int backlog, struct place *ret_place)
{
	struct place place = {.pipe = true};

	if (endpoint->transport != TRANSPORT_PIPE)
		return open_listener(endpoint, backlog, ret_place);
	place.out = open_fifo(endpoint->path, ".out");
	if (place.out < 0)
		return place.out;
	place.in = open_fifo(endpoint->path, ".in");
	if (place.in < 0)
		return place.in;
	*ret_place = place;
	return 0;
}

static int serve(const struct settings *settings, const struct place *place)
{
	int rc;

	/* Delays are to be what was asked for. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	if (place->pipe)
		rc = responder_serve_pipe(&settings->options, place->in, place->out);
	else
		rc = responder_serve_socket(&settings->options, place->in);
	(void)fprintf(stderr, "berth-bench-responder: %s\n", strerror(-rc));
	return EXIT_SYSTEM;
}

/* Workers end with us, whatever ends us; the first one that ends by itself is an error. */
static int serve_all(const struct settings *settings, const struct place *places, size_t count)
{
	const pid_t parent = getpid();

	for (unsigned int i = 0; i < settings->workers; i++) {
		const pid_t pid = fork();

		if (pid == -1)
			return EXIT_SYSTEM;
		if (pid > 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_SYSTEM);
		_exit(serve(settings, &places[i % count]));
	}
	(void)wait(NULL);
	return EXIT_SYSTEM;
}

static int run(const struct settings *settings)
{
	struct endpoint *endpoints = NULL;
	struct place *places = NULL;
	char error[256];
	size_t count;
	int rc;

	rc = endpoint_parse(settings->listen, settings->workers, &endpoints, &count, error,
			    sizeof(error));
	if (rc < 0) {
		(void)fprintf(stderr, "berth-bench-responder: %s: %s\n", settings->listen, error);
		return EXIT_USAGE;
	}
	places = calloc(count, sizeof(*places));
	rc = places != NULL ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = open_place(&endpoints[i], settings->backlog, &places[i]);
		if (rc < 0)
			(void)fprintf(stderr, "berth-bench-responder: %s: %s\n", endpoints[i].text,
				      strerror(-rc));
	}
	free(endpoints);
	if (rc < 0)
		rc = EXIT_SYSTEM;
	else if (settings->workers == 1)
		rc = serve(settings, &places[0]);
	else
		rc = serve_all(settings, places, count);
	free(places);
	return rc;
}

int main(int argc, char **argv)
{
	const pid_t parent = getppid();
	struct settings settings = {.workers = 1, .backlog = BACKLOG_USUAL};

	if (!read_settings(argc, argv, &settings)) {
		(void)fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (settings.end_with_parent) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			return EXIT_SYSTEM;
	}
	return run(&settings);
}
