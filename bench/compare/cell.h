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
 * @dirty:	The machine was busy with something else; set by rounds_run()
 * @again:	It is in an extra round, see @retry_dirty of struct rounds_options; set likewise
 * @rate:	Good answers a second
 * @p50_us:	Percentiles of service time, microseconds (response time in an open loop);
 *		NAN with less than 3 values, and with less than 10 beyond p90 and the further ones
 * @p90_us:	Likewise
 * @p99_us:	Likewise
 * @p999_us:	Likewise
 * @failures:	Failed requests
 * @server_cpu_us: Server's CPU time a request, NAN if not known
 * @client_cpu_us: Client's CPU time a request
 * @machine_cpu_us: Whole machine's CPU time a request
 * @client_share: Client's CPU time as a share of the time that its threads had, 0..1
 * @switches:	Context switches of the server a request, NAN if not known
 * @queue_mean:	Mean depth of the accept queues
 * @queue_deepest: Deepest
 * @overflows:	ListenOverflows + ListenDrops during the slice
 */
struct cell_round {
	bool done;
	bool dirty;
	bool again;
	double rate;
	double p50_us;
	double p90_us;
	double p99_us;
	double p999_us;
	uint64_t failures;
	double server_cpu_us;
	double client_cpu_us;
	double machine_cpu_us;
	double client_share;
	double switches;
	double queue_mean;
	unsigned int queue_deepest;
	uint64_t overflows;
};

/**
 * struct cell - one way to do it
 * @name:	"unix kept c=4 100 B", set by cell_init()
 * @transport:	Transport
 * @keep:	Kept connections
 * @quickack:	TCP: this cell, unlike its sibling, sets TCP_QUICKACK on the client's side
 * @connections: Concurrency
 * @body_size:	Bytes of body of an answer
 * @target:	Where it is measured
 * @request:	What is sent
 * @expect:	What is expected
 * @control:	It is the baseline once more: its ratio to the baseline is the noise
 * @dead:	The target died, or no answer came in several rounds; not measured any more
 * @steady:	The warm-up reached a steady state
 * @note:	What went wrong, a sentence without a full stop; empty if nothing did
 * @rounds:	What each round measured
 * @total:	Sum of all rounds, with pooled histograms (owned)
 * @pss_kib:	Memory of the server's tree at the end, 0 = not known
 * @queue_limit: Length of the accept queue as the kernel has it, 0 = not known
 * @ceiling:	Rate of the null responder in the same place, 0 = not measured
 */
struct cell {
	char name[64];
	enum transport transport;
	bool keep;
	bool quickack;
	unsigned int connections;
	size_t body_size;
	const struct target *target;
	const struct request *request;
	struct response_expect expect;
	bool control;
	bool dead;
	bool steady;
	char note[200];
	struct cell_round rounds[CELL_ROUNDS_MAX];
	struct load_result *total;
	uint64_t pss_kib;
	unsigned int queue_limit;
	double ceiling;
};

/* What a round's figures are looked up by. */
enum cell_figure {
	CELL_RATE = 0,
	CELL_P50,
	CELL_P90,
	CELL_P99,
	CELL_P999,
	CELL_SERVER_CPU,
	CELL_CLIENT_CPU,
	CELL_MACHINE_CPU,
	CELL_BOTH_CPU, /* client and server, exact where the machine's comes in ticks */
	CELL_CLIENT_SHARE,
	CELL_SWITCHES,
	CELL_QUEUE_MEAN,
	CELL_FIGURES,
};

/**
 * cell_init() - set up a cell
 * @cell:	Set up; @transport, @keep, @quickack, @connections, @body_size, @target, @request, @expect and
 *		@control as the caller has set them before; everything else is cleared
 *
 * The name says transport, kept or new, concurrency and body size. The target is not part of it.
 *
 * Return: 0 or -ENOMEM
 */
int cell_init(struct cell *cell);

/**
 * cell_transport_name() - what sentences call a cell's transport
 * @cell:	Cell
 *
 * Return: as transport_name(), or "tcp+quickack"
 */
const char *cell_transport_name(const struct cell *cell);

/**
 * cell_done() - release what cell_init() allocated
 * @cell:	Cell, may be all zero
 */
void cell_done(struct cell *cell);

/**
 * cell_take() - file what a slice measured
 * @cell:	Cell
 * @round:	Number of the round, from 0
 * @result:	Of the load
 * @used:	Of server and machine during the slice, as usage_since() made it
 * @threads:	Threads of the client
 * @skipped:	Answers that came during the slice and were not recorded
 *
 * Queue figures are the caller's to set. Whoever measures without rounds takes it as round 0.
 */
void cell_take(struct cell *cell, unsigned int round, const struct load_result *result,
	       const struct usage *used, unsigned int threads, uint64_t skipped);

/**
 * cell_figure() - a figure of a round
 * @round:	Round
 * @figure:	Which
 *
 * Return: value, NAN if it is not known or the round was not measured
 */
double cell_figure(const struct cell_round *round, enum cell_figure figure);

/**
 * cell_median() - median over the rounds that have this figure
 * @cell:	Cell
 * @figure:	Which
 *
 * Return: median, NAN if no round has it
 */
double cell_median(const struct cell *cell, enum cell_figure figure);

/**
 * cell_rounds() - how many rounds were measured
 * @cell:	Cell
 *
 * Return: number
 */
unsigned int cell_rounds(const struct cell *cell);

/**
 * cell_times() - the pooled histogram of a cell's times
 * @cell:	Cell
 *
 * Return: response times of an open loop, service times of a closed one
 */
const struct histogram *cell_times(const struct cell *cell);

/**
 * cell_client_bound() - was the client what was measured
 * @cell:	Cell
 *
 * Return: true if its rate is more than half of what the client does against a responder that
 * answers at once; false also if the ceiling is not known
 */
bool cell_client_bound(const struct cell *cell);

#endif
