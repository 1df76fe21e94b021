/* SPDX-License-Identifier: BSD-2-Clause */
/* The physical limit: blocking ping-pong of the same bytes, without FastCGI. */
#ifndef BENCH_COMPARE_FLOOR_H
#define BENCH_COMPARE_FLOOR_H

#include "bench/client/endpoint.h"
#include "bench/compare/statistics.h"
#include "bench/server/placement.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum floor_kind {
	FLOOR_PIPE = 0,
	FLOOR_UNIX,
	FLOOR_TCP,
	FLOOR_UNIX_NEW,
	FLOOR_TCP_NEW,
	FLOOR_KINDS,
};

/**
 * floor_kind_name() - for reports
 * @kind:	Kind
 *
 * Return: "pipe", "unix kept", "tcp kept", "unix new" or "tcp new"
 */
const char *floor_kind_name(enum floor_kind kind);

/**
 * struct floor_options - 0 means the default that is named
 * @plan:	Where both sides run; NULL = anywhere
 * @request_bytes: Size of a message there: 64
 * @answer_bytes: Size of a message back: 64
 * @rounds:	Rounds, each of which has every kind once: 11; at most FLOOR_ROUNDS_MAX
 * @slice_ns:	Time of a slice: 20 ms
 * @seed:	Of the order
 * @stop:	Set by a signal handler, may be NULL
 */
struct floor_options {
	const struct placement_plan *plan;
	size_t request_bytes;
	size_t answer_bytes;
	unsigned int rounds;
	uint64_t slice_ns;
	uint64_t seed;
	const volatile sig_atomic_t *stop;
};

#define FLOOR_ROUNDS_MAX 101

/**
 * struct floor_sample - a slice
 * @trips:	Round trips (with connect and close, if new)
 * @rtt_us:	Median of their times
 * @client_cpu_us: CPU time of the asking side a round trip
 * @server_cpu_us: CPU time of the answering side
 */
struct floor_sample {
	uint64_t trips;
	double rtt_us;
	double client_cpu_us;
	double server_cpu_us;
};

/**
 * struct floor_line - one kind
 * @samples:	Of each round
 * @rtt_us:	Median over rounds, with its interval
 * @client_cpu_us: Likewise
 * @server_cpu_us: Likewise
 */
struct floor_line {
	struct floor_sample samples[FLOOR_ROUNDS_MAX];
	struct statistics_interval rtt_us;
	struct statistics_interval client_cpu_us;
	struct statistics_interval server_cpu_us;
};

/**
 * struct floor_result - of all kinds
 * @rounds:	Whole rounds; less than asked for if it was stopped
 * @request_bytes: Sizes of the messages
 * @answer_bytes: Likewise
 * @line:	Indexed by enum floor_kind
 */
struct floor_result {
	unsigned int rounds;
	size_t request_bytes;
	size_t answer_bytes;
	struct floor_line line[FLOOR_KINDS];
};

/**
 * floor_run() - measure all kinds in interleaved rounds
 * @options:	How
 * @ret_result:	Set on success; some dozens of kilobytes
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * SIGPIPE should be ignored. The caller's CPU affinity is put back at the end.
 *
 * Return: 0 or negative errno
 */
int floor_run(const struct floor_options *options, struct floor_result *ret_result, char *error,
	      size_t size);

/**
 * floor_rtt_us() - the limit of a cell
 * @result:	Floor, may be NULL
 * @transport:	Transport
 * @keep:	Kept connections
 *
 * Return: median round trip, NAN if it is not known
 */
double floor_rtt_us(const struct floor_result *result, enum transport transport, bool keep);

/*
 * The parts, for whoever interleaves ping-pong with something else.
 */

/**
 * struct floor_echo - the answering side of a kind
 * @kind:	Kind
 * @pid:	Its process, 0 = none
 * @in:		Kept kinds: where answers are read
 * @out:	Kept kinds: where requests are written, the same as @in but for pipes
 * @request_bytes: Size of a message there
 * @answer_bytes: Size of a message back
 * @address:	New kinds: where it listens
 * @buffer:	For a message (owned)
 */
struct floor_echo {
	enum floor_kind kind;
	pid_t pid;
	int in;
	int out;
	size_t request_bytes;
	size_t answer_bytes;
	struct address_socket address;
	uint8_t *buffer;
};

/**
 * floor_echo_start() - start it
 * @kind:	Kind
 * @options:	How
 * @ret_echo:	Set on success, to be released by floor_echo_stop()
 *
 * Return: 0 or negative errno
 */
int floor_echo_start(enum floor_kind kind, const struct floor_options *options,
		     struct floor_echo *ret_echo);

/**
 * floor_echo_slice() - ping-pong for a while
 * @echo:	Other side
 * @duration_ns: Time
 * @ret_sample:	Set on success
 *
 * The caller has the CPU affinity that it wants.
 *
 * Return: 0 or negative errno
 */
int floor_echo_slice(struct floor_echo *echo, uint64_t duration_ns,
		     struct floor_sample *ret_sample);

/**
 * floor_echo_stop() - end it
 * @echo:	Other side, may be all zero
 */
void floor_echo_stop(struct floor_echo *echo);

#endif
