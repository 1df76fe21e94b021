/* SPDX-License-Identifier: BSD-2-Clause */
/* How much load a responder sustains: a ladder of rates, then bisection. */
#ifndef BENCH_COMPARE_RAMP_H
#define BENCH_COMPARE_RAMP_H

#include "bench/client/load.h"
#include "bench/compare/statistics.h"
#include "bench/server/placement.h"
#include "bench/server/target.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAMP_TARGETS_MAX  4
#define RAMP_BRACKETS_MAX 12
#define RAMP_STEPS_MAX	  1000

/* Why a step has failed. */
enum ramp_reason {
	RAMP_PASS = 0,
	RAMP_BEHIND,   /* less than 98 % of what was offered was achieved */
	RAMP_LATE,     /* p99 of the response times is above the SLO */
	RAMP_FAILURES, /* more than 0.1 % failed */
	RAMP_GROWING,  /* ever more requests are in flight */
	RAMP_CLIENT,   /* the client was at its limit, so nothing is known of the responder */
	RAMP_REASONS,
};

/**
 * ramp_reason_name() - in a word
 * @reason:	Reason
 *
 * Return: "pass", "behind", "p99", "failures", "growing" or "client"
 */
const char *ramp_reason_name(enum ramp_reason reason);

/**
 * struct ramp_step - one rate for some time
 * @target:	Index of the target
 * @bracket:	Which of its brackets, from 0
 * @rate:	What was asked for, requests a second
 * @offered:	Arrivals a second as the schedule had them
 * @achieved:	Good answers a second
 * @p50_us:	Median response time
 * @p99_us:	See there
 * @failures:	Share of the arrivals that failed
 * @waiting:	Most arrivals that waited in the client
 * @queue:	Deepest accept queue
 * @server_cpu:	CPUs that the server used, NAN if not known
 * @client_cpu:	CPUs that the client used
 * @lag_us:	p99 of the send lag
 * @duration_ns: How long arrivals came
 * @reason:	RAMP_PASS, or what has failed first
 */
struct ramp_step {
	size_t target;
	unsigned int bracket;
	double rate;
	double offered;
	double achieved;
	double p50_us;
	double p99_us;
	double failures;
	uint64_t waiting;
	unsigned int queue;
	double server_cpu;
	double client_cpu;
	double lag_us;
	uint64_t duration_ns;
	enum ramp_reason reason;
};

/**
 * struct ramp_bracket - where the knee is
 * @low:	Highest rate that has passed, 0 = none has
 * @high:	Lowest rate that has failed, INFINITY = none has: the bound was not found
 * @sustained:	What was offered at @low: few arrivals at random are some more or less than asked for
 * @failed:	What was offered at @high
 * @done:	They are as close as was asked for, or one of them will never be found
 * @why:	What failed at @high
 */
struct ramp_bracket {
	double low;
	double high;
	double sustained;
	double failed;
	bool done;
	enum ramp_reason why;
};

/**
 * struct ramp_target - what is loaded
 * @target:	Responder, set by the caller
 * @request:	What is sent, likewise
 * @expect:	What is expected, likewise
 * @unloaded_us: Median time of one request at a time
 * @unloaded_p99_us: Its p99
 * @slo_us:	p99 that a step may have
 * @brackets:	One for each repetition
 * @bracket_count: Entries
 */
struct ramp_target {
	const struct target *target;
	const struct request *request;
	struct response_expect expect;
	double unloaded_us;
	double unloaded_p99_us;
	double slo_us;
	struct ramp_bracket brackets[RAMP_BRACKETS_MAX];
	unsigned int bracket_count;
};

/**
 * struct ramp_options - how; 0 means the default that is named
 * @load:	Template of the load, with threads, connections, keep, timeout (1 s or
 *		4 times the SLO) ...
 * @slo_us:	p99 that a step may have: 5 times the unloaded one
 * @max_rate:	Highest rate that is tried: 100000
 * @brackets:	Repetitions: 6, or as many as the budget allows
 * @budget_ns:	Time for all of it: no limit
 * @plan:	Placement
 * @seed:	Of arrivals and order
 * @stop:	Set by a signal handler, may be NULL
 * @progress:	Called before each step, may be NULL
 * @data:	Passed to it
 */
struct ramp_options {
	struct load_options load;
	double slo_us;
	double max_rate;
	unsigned int brackets;
	uint64_t budget_ns;
	const struct placement_plan *plan;
	uint64_t seed;
	const volatile sig_atomic_t *stop;
	void (*progress)(const struct ramp_target *target, unsigned int bracket, double rate,
			 void *data);
	void *data;
};

/**
 * struct ramp - what came of it
 * @options:	As used
 * @targets:	What was loaded
 * @target_count: Entries
 * @steps:	All steps in their order
 * @step_count:	Entries
 * @step_ns:	How long a step is; one with fewer than 1000 requests is longer if the budget allows
 * @elapsed_ns:	Time that it took
 * @interrupted: Somebody stopped it
 * @over_budget: The time ended before all brackets were done
 */
struct ramp {
	struct ramp_options options;
	struct ramp_target *targets;
	size_t target_count;
	struct ramp_step steps[RAMP_STEPS_MAX];
	size_t step_count;
	uint64_t step_ns;
	uint64_t elapsed_ns;
	bool interrupted;
	bool over_budget;
};

/* The time that a step should have at least, and what the budget may make of it. */
#define RAMP_STEP_NS UINT64_C(5000000000)

/* Brackets are closed when both ends are as near as this. */
#define RAMP_GRAIN 1.03

/**
 * ramp_run() - find the knee of each target
 * @targets:	Targets
 * @count:	1 to RAMP_TARGETS_MAX
 * @options:	How
 * @ret_ramp:	Set on success, also if it was interrupted
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0; -ENODATA if a target does not answer even one request at a time; or another negative
 * errno
 */
int ramp_run(struct ramp_target *targets, size_t count, const struct ramp_options *options,
	     struct ramp *ret_ramp, char *error, size_t size);

/**
 * ramp_bracket_whole() - does a bracket tell where the knee is
 * @bracket:	Bracket
 *
 * Return: true if both ends were found and as close as was asked for, and it was not the client
 * that had no more to give
 */
bool ramp_bracket_whole(const struct ramp_bracket *bracket);

/**
 * ramp_knee() - median of what was sustained at the highest rates that have passed
 * @target:	Target
 *
 * Return: requests a second, NAN if no bracket has both ends
 */
double ramp_knee(const struct ramp_target *target);

/**
 * ramp_ratio() - knee of a target over that of another one, paired by bracket
 * @a:		Target
 * @b:		Target
 *
 * Return: interval; its coverage is 0 with fewer than 6 brackets, its median NAN without any
 */
struct statistics_interval ramp_ratio(const struct ramp_target *a, const struct ramp_target *b);

#endif
