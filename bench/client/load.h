/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts load on a responder and measures what comes back: one slice. */
#ifndef BENCH_CLIENT_LOAD_H
#define BENCH_CLIENT_LOAD_H

#include "bench/client/endpoint.h"
#include "bench/client/failure.h"
#include "bench/client/histogram.h"
#include "bench/client/request.h"
#include "bench/client/response.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum load_arrivals {
	LOAD_CLOSED = 0, /* each connection sends its next request when it has its answer */
	LOAD_POISSON,	 /* open loop: exponential gaps */
	LOAD_CONSTANT,	 /* open loop: equal gaps */
};

enum load_eagain {
	LOAD_EAGAIN_FAIL = 0, /* as nginx does */
	LOAD_EAGAIN_RETRY,    /* after @eagain_retry_ns, until the timeout */
	LOAD_EAGAIN_WAIT,     /* as a blocking connect() does: retried every ms until the timeout */
};

/**
 * struct load_options - what a slice is made of
 * @endpoints:	Connection I goes to endpoint I modulo @endpoint_count
 * @endpoint_count: Entries
 * @request:	What is sent
 * @expect:	What is expected
 * @threads:	1 or more; @connections are shared out among them
 * @connections: Most requests in flight
 * @keep:	Keep connections; otherwise a new one for each request. Pipes are always kept
 * @arrivals:	Closed or open loop
 * @rate:	Open loop: arrivals a second, all threads together
 * @max_queue:	Open loop: most arrivals that wait for a free connection; further ones are
 *		FAILURE_DROPPED
 * @seed:	Of the arrival schedule; the same seed gives the same arrivals
 * @duration_ns: Longest time; 0 = no limit
 * @requests:	Requests after which it ends, besides those of @skip; 0 = no limit
 * @skip:	First good answers that are not recorded (warm-up of the slice); failures always are
 * @timeout_ns:	Longest time of a request from its actual start; 0 = 10 s
 * @eagain:	What to do when a unix socket's accept queue is full
 * @eagain_retry_ns: See there
 * @nodelay:	Set TCP_NODELAY on our side
 * @quickack:	Set TCP_QUICKACK again for each answer
 * @cpus:	Where the threads run, NULL = anywhere; with as many CPUs as threads each has its own
 * @spin:	Open loop: the last 200 us before an arrival are not slept but spun, which needs CPUs
 *		that the responder does not use
 * @stop:	Set by a signal handler: finish now; may be NULL
 * @progress:	Called about five times a second from the first thread, may be NULL
 * @data:	Passed to it
 */
struct load_options {
	const struct endpoint *endpoints;
	size_t endpoint_count;
	const struct request *request;
	const struct response_expect *expect;
	unsigned int threads;
	unsigned int connections;
	bool keep;
	enum load_arrivals arrivals;
	double rate;
	uint64_t max_queue;
	uint64_t seed;
	uint64_t duration_ns;
	uint64_t requests;
	uint64_t skip;
	uint64_t timeout_ns;
	enum load_eagain eagain;
	uint64_t eagain_retry_ns;
	bool nodelay;
	bool quickack;
	const cpu_set_t *cpus;
	bool spin;
	const volatile sig_atomic_t *stop;
	void (*progress)(uint64_t answered, uint64_t failed, uint64_t elapsed_ns, void *data);
	void *data;
};

/**
 * struct load_result - what was measured; times in nanoseconds
 * @elapsed_ns:	From the first recorded moment to the last answer
 * @answered:	Good answers that were recorded
 * @service:	Of good answers: from the actual start (connect() included) to END_REQUEST
 * @response:	Open loop: from the intended start; empty in a closed loop
 * @connect:	connect() until the connection stands
 * @first_byte:	Actual start to the answer's first byte
 * @send_lag:	Open loop: actual start minus intended start of those that found a free connection
 * @close_lag:	New connections: END_REQUEST until the peer's end of file was seen, if it came
 *		before we closed; empty if we closed first
 * @failures:	Everything that went wrong
 * @wrong_body:	Answers of FAILURE_LENGTH or FAILURE_CONTENT, to be shown at once
 * @body_length: Body length of the last good answer
 * @bytes_in:	Bytes received
 * @bytes_out:	Bytes sent
 * @stderr_bytes: Bytes that came on STDERR
 * @connections_made: Successful connect() calls
 * @source_changes: How often local ports were used up and another 127.0.0.x was taken
 * @arrivals:	Open loop: arrivals of the schedule that were due
 * @queue_max:	Open loop: most arrivals that waited in the client at one time
 * @in_flight:	Unfinished when it ended (each also counts as FAILURE_DEADLINE)
 * @client_cpu_ns: CPU time of our threads
 * @client_switches: Involuntary context switches of our threads
 * @interrupted: It ended because of @stop
 */
struct load_result {
	uint64_t elapsed_ns;
	uint64_t answered;
	struct histogram service;
	struct histogram response;
	struct histogram connect;
	struct histogram first_byte;
	struct histogram send_lag;
	struct histogram close_lag;
	struct failures failures;
	uint64_t wrong_body;
	uint64_t body_length;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t stderr_bytes;
	uint64_t connections_made;
	uint64_t source_changes;
	uint64_t arrivals;
	uint64_t queue_max;
	uint64_t in_flight;
	uint64_t client_cpu_ns;
	uint64_t client_switches;
	bool interrupted;
};

/**
 * load_run() - put load on a responder
 * @options:	What, how much and for how long; at least one of duration, requests
 * @ret_result:	Filled in; some megabytes, so allocate it
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * A responder that can't be reached is not an error here: it is counted in the failures.
 *
 * Return: 0, or negative errno if no load could be made at all
 */
int load_run(const struct load_options *options, struct load_result *ret_result, char *error,
	     size_t size);

/**
 * load_merge() - add a result to another one (histograms and counters)
 * @into:	Changed
 * @from:	Left alone
 */
void load_merge(struct load_result *into, const struct load_result *from);

#endif
