/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench's command line. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench/client/load.h"
#include "bench/client/request.h"
#include "bench/compare/requirement.h"
#include "bench/server/placement.h"
#include "bench/server/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses. */
enum options_exit {
	OPTIONS_EXIT_OK = 0,
	OPTIONS_EXIT_FAILED = 1,  /* requests failed, a threshold was missed, output is not whole */
	OPTIONS_EXIT_USAGE = 2,	  /* wrong usage */
	OPTIONS_EXIT_REFUSED = 3, /* the measurement does not carry a verdict */
};

enum options_command {
	COMMAND_COMPARE = 0, /* the default */
	COMMAND_RUN,
	COMMAND_FLOOR,
	COMMAND_SELFTEST,
	COMMAND_DIFF,
	COMMAND_RAMP,
	COMMAND_HELP,
	COMMAND_VERSION,
	COMMANDS,
};

#define OPTIONS_LIST_MAX 16
#define OPTIONS_PARAMS	 64

/* Most workers of a responder that is started. */
#define OPTIONS_WORKERS_MAX 1000

/**
 * struct options - all options of all commands
 * @command:	What to do
 * @about:	COMMAND_HELP: the command that help is wanted for, COMMAND_HELP = all of them
 * @address:	run, ramp: where the responder is, NULL with @start
 * @files:	diff: the saved runs
 * @start:	run: responder to start
 * @starts:	@start was given
 * @transport:	run: transport of @start
 * @size:	run: body size of @start
 * @threads:	Client threads
 * @connections: run: concurrency
 * @keep:	run: kept connections
 * @duration_ns: run: 0 = not given
 * @requests:	run: 0 = not given
 * @load:	What else goes into struct load_options: rate, arrivals, max_queue, timeout, eagain,
 *		nodelay, quickack
 * @request:	What to send; @request_file says more
 * @params:	Entries of @request.params
 * @request_file: File with a request, NULL = none
 * @data:	--data: text, or @FILE
 * @expect:	What is a good answer
 * @placement:	Placement
 * @server_pid:	Root of the server's processes, 0 = find it
 * @workers:	Workers of a responder; 0 with compare = options_workers(), with an address = 1
 * @backlog:	Length of its accept queue, 0 = 511
 * @seed:	Seed
 * @requirements: Thresholds
 * @requirement_count: Entries
 * @json:	File for the JSON report, "-" = standard output, NULL = none
 * @csv:	Likewise
 * @targets:	compare: kinds, @target_count of them
 * @transports:	compare: transports
 * @modes:	compare: true = kept, false = new
 * @concurrencies: compare: numbers of connections
 * @sizes:	compare: body sizes
 * @rounds:	compare, floor, selftest: 0 = default
 * @precision:	compare: 0 = default
 * @delta:	compare: 0 = default
 * @budget_ns:	compare: time that all may take
 * @retry_dirty: compare: what was dirty is measured once more
 * @slo_ns:	ramp: p99 that passes, 0 = default
 * @max_rate:	ramp: highest rate, 0 = default
 * @restart_every: compare: rounds between two starts of the targets, 0 = they are started once
 * @quickack_both: compare: each TCP cell once without and once with TCP_QUICKACK
 * @strict:	compare: a control that does not hold refuses the verdict
 */
struct options {
	enum options_command command;
	enum options_command about;
	const char *address;
	const char *files[2];
	enum target_kind start;
	bool starts;
	enum transport transport;
	size_t size;
	unsigned int threads;
	unsigned int connections;
	bool keep;
	uint64_t duration_ns;
	uint64_t requests;
	struct load_options load;
	struct request_options request;
	struct request_param params[OPTIONS_PARAMS];
	const char *request_file;
	const char *data;
	struct response_expect expect;
	enum placement placement;
	int server_pid;
	unsigned int workers;
	unsigned int backlog;
	uint64_t seed;
	struct requirement requirements[OPTIONS_LIST_MAX];
	size_t requirement_count;
	const char *json;
	const char *csv;
	enum target_kind targets[TARGET_KINDS];
	size_t target_count;
	enum transport transports[TRANSPORTS];
	size_t transport_count;
	bool modes[2];
	size_t mode_count;
	unsigned int concurrencies[OPTIONS_LIST_MAX];
	size_t concurrency_count;
	size_t sizes[OPTIONS_LIST_MAX];
	size_t size_count;
	unsigned int rounds;
	double precision;
	double delta;
	uint64_t budget_ns;
	bool quickack_both;
	bool retry_dirty;
	unsigned int restart_every;
	uint64_t slo_ns;
	double max_rate;
	bool strict;
};

/**
 * options_parse() - read the command line
 * @argc:	Words
 * @argv:	Words, kept in use; the first is the program
 * @ret_options: Set on success
 * @error:	On failure: the option, what is wrong, what is accepted; without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or -EINVAL
 */
int options_parse(int argc, char *argv[], struct options *ret_options, char *error, size_t size);

/**
 * options_workers() - how many workers a responder has unless it is told
 * @connections: Most connections at a time
 *
 * Return: as many, so that no kept connection starves, but OPTIONS_WORKERS_MAX at most
 */
unsigned int options_workers(unsigned int connections);

/**
 * options_help() - print how a command is used
 * @out:	Stream
 * @command:	Command, COMMAND_HELP = all of them in short
 */
void options_help(FILE *out, enum options_command command);

/**
 * options_command_name() - as it is written
 * @command:	Command
 *
 * Return: a static string
 */
const char *options_command_name(enum options_command command);

#endif
