/* SPDX-License-Identifier: BSD-2-Clause */
/* Responders of all manners, in threads of the test, for tests of the client's load. */
#ifndef TESTS_BENCH_FIXTURE_H
#define TESTS_BENCH_FIXTURE_H

#include "bench/client/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define MS		UINT64_C(1000000)
#define FIXTURE_CLIENTS 256
#define FIXTURE_HEAD	"Content-Type: text/plain\r\n\r\n"

struct fixture_server;

/* Serves a connection, or a pair of pipes, to its end; what it leaves open is closed behind it. */
typedef void (*fixture_serve_fn)(struct fixture_server *server, int in, int out);

/**
 * struct fixture_server - a responder; all zero but for what is set by the test
 * @serve:	How it behaves; NULL: it listens and never accepts
 * @one_by_one:	It accepts the next connection when it is done with the one before, as PHP does
 * @backlog:	Length of the accept queue, 0 = 511
 * @requests:	How many requests were read to their end
 * @clients:	How many connections were accepted
 * @endpoint:	Where it is
 */
struct fixture_server {
	fixture_serve_fn serve;
	bool one_by_one;
	int backlog;
	_Atomic unsigned int requests;
	_Atomic unsigned int clients;
	struct endpoint endpoint;
	/* private */
	int listener;
	_Atomic bool stopping;
	pthread_t acceptor;
	bool has_acceptor;
	struct fixture_client {
		struct fixture_server *server;
		_Atomic int fd;
		pthread_t thread;
	} client[FIXTURE_CLIENTS];
	int pipe_in;
	int pipe_out;
};

/* Starts it and sets its endpoint. A pipe's folder is the test's own. */
void fixture_start(struct fixture_server *server, enum transport transport);
void fixture_stop(struct fixture_server *server);

/* What servers are made of. Both are false when the client is gone. */
bool fixture_read_request(struct fixture_server *server, int in);
bool fixture_write(int out, const void *data, size_t size);
void fixture_write_records(int out, uint8_t type, const char *content, size_t size);
void fixture_write_end(int out, uint32_t app_status, uint8_t protocol_status);
/* Until the client has closed, or the fixture is stopped. */
void fixture_wait_for_end(int in);
void fixture_sleep_ms(unsigned int ms);

/* A good answer to each request. */
void fixture_serve_well(struct fixture_server *server, int in, int out);

/* A load on it: one connection, kept, closed loop, a timeout of 10 s; the result is allocated. */
struct load_options fixture_options(const struct fixture_server *server);
struct load_result *fixture_load(const struct load_options *options);

/* The request that fixture_options() sends, with a body of so many bytes; one at a time. */
const struct request *fixture_request(size_t body_size);

/* That there is one failure class only, and how often it was counted. */
void fixture_assert_failures(const struct load_result *result, enum failure failure, uint64_t least,
			     uint64_t most);

#endif
