/* SPDX-License-Identifier: BSD-2-Clause */
/* Many FastCGI clients at once, each request with a token that its answer must carry. */

#include "fcgi_client.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: fcgi-load [-c CLIENTS] [-n REQUESTS] [-fkxp] [-t SECONDS] SCRIPT SOCKET...\n"
	"\n"
	"CLIENTS threads send REQUESTS requests each, client I to the I-th SOCKET (in turn). The\n"
	"answer's body must begin with the value of the parameter TOKEN, which differs each time.\n"
	"  -k  keep the connection\n"
	"  -x  send each request cut into pieces at random places\n"
	"  -p  send two requests at once on a kept connection\n"
	"  -f  all stop when the first client is through\n"
	"Prints \"answered N, wrong N, failed N, slowest N ms, fewest N\", the last of the client\n"
	"that got the fewest answers. If one failed, what happened to it.\n"
	"Exit status 0 if all were right.\n";

struct options {
	unsigned int clients;
	unsigned int requests;
	bool keep;
	bool cut;
	bool pairs;
	bool first;
	int timeout_ms;
	const char *script;
	char **sockets;
	unsigned int socket_count;
};

static struct options options = {.clients = 1, .requests = 1, .timeout_ms = 20000};
static atomic_ulong answered, wrong, failed, slowest_us;
static atomic_ulong fewest = ULONG_MAX; /* answers that one client got */
static atomic_bool over;
static char first_fault[160];

static unsigned long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000UL + (unsigned long)t.tv_nsec / 1000UL;
}

static size_t make_request(uint8_t *buffer, size_t size, const char *token)
{
	const struct fcgi_request request = {
		.script = options.script, .token = token, .keep = options.keep};
	size_t head = fcgi_request_head(&request, buffer, size);

	return head + fcgi_request_body(0, buffer + head, size - head);
}

/* With -x in pieces, each a system call of its own. */
static bool send_request(struct fcgi_client *c, const uint8_t *data, size_t size,
			 unsigned int *seed)
{
	while (size > 0) {
		size_t part = options.cut ? 1 + (size_t)rand_r(seed) % size : size;

		if (!fcgi_client_send(c, data, part))
			return false;
		data += part;
		size -= part;
	}
	return true;
}

static void note_time(unsigned long us)
{
	unsigned long seen = atomic_load(&slowest_us);

	while (us > seen && !atomic_compare_exchange_weak(&slowest_us, &seen, us))
		;
}

static void note_answers(unsigned long count)
{
	unsigned long seen = atomic_load(&fewest);

	while (count < seen && !atomic_compare_exchange_weak(&fewest, &seen, count))
		;
}

/* Says what happened to the first request that failed. */
static void note_fault(const struct fcgi_client *c, unsigned int request, unsigned long us)
{
	(void)snprintf(first_fault, sizeof(first_fault),
		       ", first failure: request %u after %lu us and %zu bytes in %s: %s", request,
		       us, c->got, c->call ? c->call : "socket",
		       c->error == 0 ? "no error" : strerror(c->error));
}

static void *client(void *data)
{
	unsigned int id = (unsigned int)(uintptr_t)data;
	const char *path = options.sockets[id % options.socket_count];
	unsigned int seed = id + 1, per_turn = options.pairs ? 2 : 1, mine = 0;
	struct fcgi_client c = {.fd = -1};
	uint8_t request[8192];

	for (unsigned int i = 0; i < options.requests && !atomic_load(&over); i += per_turn) {
		char tokens[2][64];
		size_t size = 0;
		unsigned long start = now_us();
		bool good;

		for (unsigned int j = 0; j < per_turn; j++) {
			(void)snprintf(tokens[j], sizeof(tokens[j]), "<%u.%u.%u>", id, i, j);
			size += make_request(request + size, sizeof(request) - size, tokens[j]);
		}
		if (c.fd == -1)
			fcgi_client_connect(&c, path);
		good = c.fd != -1 && send_request(&c, request, size, &seed);
		for (unsigned int j = 0; j < per_turn; j++) {
			struct fcgi_answer answer;

			good = good && fcgi_client_read(&c, options.timeout_ms, &answer);
			if (!good) {
				if (atomic_fetch_add(&failed, 1) == 0)
					note_fault(&c, i, now_us() - start);
			} else if (!fcgi_answer_body(&answer, tokens[j])) {
				atomic_fetch_add(&wrong, 1);
			} else {
				atomic_fetch_add(&answered, 1);
				mine++;
			}
		}
		note_time(now_us() - start);
		if (!options.keep || !good)
			fcgi_client_close(&c);
	}
	fcgi_client_close(&c);
	if (options.first)
		atomic_store(&over, true);
	note_answers(mine);
	return NULL;
}

int main(int argc, char *argv[])
{
	pthread_attr_t small;
	pthread_t *threads;
	int option;

	while ((option = getopt(argc, argv, "c:n:fkxpt:")) != -1) {
		if (option == 'c') {
			options.clients = (unsigned int)strtoul(optarg, NULL, 10);
		} else if (option == 'n') {
			options.requests = (unsigned int)strtoul(optarg, NULL, 10);
		} else if (option == 't') {
			options.timeout_ms = atoi(optarg) * 1000;
		} else if (option == 'f') {
			options.first = true;
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
	(void)printf("answered %lu, wrong %lu, failed %lu, slowest %lu ms, fewest %lu%s\n",
		     answered, wrong, failed, slowest_us / 1000, fewest, first_fault);
	free(threads);
	return wrong + failed == 0 ? 0 : 1;
}
