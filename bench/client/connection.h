/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection to a responder, which carries one request at a time. */
#ifndef BENCH_CLIENT_CONNECTION_H
#define BENCH_CLIENT_CONNECTION_H

#include "bench/client/endpoint.h"
#include "bench/client/failure.h"
#include "bench/client/response.h"
#include "bench/client/transport.h"

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_thread;

enum connection_state {
	CONNECTION_IDLE = 0,   /* no request; the connection may be open */
	CONNECTION_RETRY,      /* waits to try connect() again: the accept queue was full */
	CONNECTION_CONNECTING, /* connect() is under way */
	CONNECTION_BUSY,       /* the request is being sent, or its answer is awaited */
};

/**
 * struct connection - set up by connection_init()
 * @readable:	Watches for an answer
 * @writable:	Watches for room for the rest of a request, or for the end of connect()
 * @retry:	See CONNECTION_RETRY
 * @thread:	Owner
 * @endpoint:	Where it goes to
 * @link:	Open connection
 * @state:	State
 * @sent:	Bytes of the request that were sent
 * @intended_ns: When the request was due
 * @start_ns:	When it was begun
 * @first_ns:	When the answer's first byte came, 0 = not yet
 * @answers:	Answers that came on this connection since it was opened
 * @behind:	Pipes: bytes of an older request that have to be sent before ours
 * @owed:	Pipes: answers to requests that were given up, still to come before ours
 * @send_failure: The rest of the request can't be sent; an answer may come all the same
 * @response:	Answer
 */
struct connection {
	ev_io readable;
	ev_io writable;
	ev_timer retry;
	struct load_thread *thread;
	const struct endpoint *endpoint;
	struct transport_link link;
	enum connection_state state;
	size_t sent;
	uint64_t intended_ns;
	uint64_t start_ns;
	uint64_t first_ns;
	uint64_t answers;
	size_t behind;
	unsigned int owed;
	enum failure send_failure;
	struct response response;
};

/**
 * connection_init() - set up, nothing is opened
 * @connection:	Set
 * @thread:	Owner; its loop is there already
 * @endpoint:	Where it goes to
 */
void connection_init(struct connection *connection, struct load_thread *thread,
		     const struct endpoint *endpoint);

/**
 * connection_done() - close it
 * @connection:	Connection, initialised or all zero
 */
void connection_done(struct connection *connection);

/**
 * connection_begin() - begin a request; ends in load_thread_finished(), maybe before it returns
 * @connection:	Idle connection
 * @intended_ns: When it was due
 * @now_ns:	The time
 */
void connection_begin(struct connection *connection, uint64_t intended_ns, uint64_t now_ns);

/**
 * connection_awaits() - does the connection wait for an answer and for nothing else
 * @connection:	Connection
 *
 * Return: true if so
 */
bool connection_awaits(struct connection *connection);

/**
 * connection_receive() - read what came, and begin the next request if that was the answer
 * @connection:	Connection that awaits an answer
 * @wait:	Wait until something comes or a signal does; the thread is alone
 *
 * Return: 0, -EAGAIN or -EINTR if nothing came
 */
int connection_receive(struct connection *connection, bool wait);

/**
 * connection_check() - end the request if it has taken too long
 * @connection:	Connection
 * @now_ns:	The time
 * @timeout_ns:	Longest time
 */
void connection_check(struct connection *connection, uint64_t now_ns, uint64_t timeout_ns);

/**
 * connection_abort() - end the request as FAILURE_DEADLINE
 * @connection:	Connection
 * @now_ns:	The time
 */
void connection_abort(struct connection *connection, uint64_t now_ns);

/**
 * load_thread_finished() - a request has ended (load_thread.c)
 * @thread:	Owner
 * @connection:	Idle again
 * @failure:	FAILURE_NONE: it has been answered well
 * @now_ns:	The time
 */
void load_thread_finished(struct load_thread *thread, struct connection *connection,
			  enum failure failure, uint64_t now_ns);

#endif
