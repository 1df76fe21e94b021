/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison's cells and what each round measured in them. */
#ifndef BENCH_COMPARE_CELL_H
#define BENCH_COMPARE_CELL_H

#include "bench/client/load.h"
#include "bench/server/target.h"
#include "bench/server/usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CELL_ROUNDS_MAX 101

/**
 * struct cell_round - one slice
 * @done:	It was measured; the rest is 0 otherwise
 * @dirty:	The machine was busy with something else: steal, load or pressure
 * @rate:	Good answers a second
 * @p50_us:	Percentiles of service time, microseconds (response time in an open loop);
 *		a percentile with less than 10 values beyond it is NAN
 * @p90_us:	Likewise
 * @p99_us:	Likewise
 * @p999_us:	Likewise
 * @failures:	Failed requests
 * @server_cpu_us: Server's CPU time a request, NAN if not known
 * @client_cpu_us: Client's CPU time a request
 * @machine_cpu_us: Whole machine's CPU time a request
 * @switches:	Context switches of the server a request, NAN if not known
 * @queue_mean:	Mean depth of the accept queues
 * @queue_deepest: Deepest
 * @overflows:	ListenOverflows + ListenDrops during the slice
 */
struct cell_round {
	bool done;
	bool dirty;
	double rate;
	double p50_us;
	double p90_us;
	double p99_us;
	double p999_us;
	uint64_t failures;
	double server_cpu_us;
	double client_cpu_us;
	double machine_cpu_us;
	double switches;
	double queue_mean;
	unsigned int queue_deepest;
	uint64_t overflows;
};

/**
 * struct cell - one way to do it
 * @name:	"unix kept c=4"
 * @transport:	Transport
 * @keep:	Kept connections
 * @connections: Concurrency
 * @body_size:	Bytes of body of an answer
 * @target:	Where it is measured
 * @request:	What is sent
 * @expect:	What is expected
 * @control:	It is the baseline once more: its ratio to the baseline is the noise
 * @rounds:	What each round measured
 * @total:	Sum of all rounds, with pooled histograms
 * @pss_kib:	Memory of the server's tree at the end, 0 = not known
 * @ceiling:	Rate of the null responder in the same place, 0 = not measured
 */
struct cell {
	char name[64];
	enum transport transport;
	bool keep;
	unsigned int connections;
	size_t body_size;
	const struct target *target;
	const struct request *request;
	struct response_expect expect;
	bool control;
	struct cell_round rounds[CELL_ROUNDS_MAX];
	struct load_result *total;
	uint64_t pss_kib;
	double ceiling;
};

#endif
