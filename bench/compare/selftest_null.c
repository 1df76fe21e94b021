/* SPDX-License-Identifier: BSD-2-Clause */
/* The null responder beside ping-pong of the same bytes, all in interleaved rounds. */

#include "selftest_internal.h"

#include "bench/client/rng.h"
#include "bench/server/target.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_BYTES     100
#define MANY	       16
#define SLICE_REQUESTS 1000
#define SLICE_NS       UINT64_C(5000000000)
#define ECHO_NS	       UINT64_C(30000000)
#define SKIP	       100

/* A client that is built well costs this much of what two system calls cost. */
#define COST_ONE  1.3
#define COST_MANY 1.0
#define RATE_ONE  0.9

/* An interval excludes 1 in one of thirty good runs; then it is near. */
#define NEAR 0.01

enum slice {
	SLICE_ONE = 0, /* one connection */
	SLICE_AGAIN,   /* the same once more */
	SLICE_MANY,    /* many connections */
	SLICE_ECHO,    /* ping-pong */
	SLICES,
};

/* @time: median of a slice, us; @cpu: client's time a request, us */
struct bench {
	const struct selftest_options *options;
	struct selftest *selftest;
	struct target target;
	struct request request;
	struct floor_echo echo;
	struct load_result *result;
	double time[SLICES][FLOOR_ROUNDS_MAX];
	double cpu[SLICES][FLOOR_ROUNDS_MAX];
	char *error;
	size_t size;
};

static bool is_pinned(const struct bench *bench)
{
	const struct placement_plan *plan = bench->options->plan;

	return plan != NULL && plan->placement != PLACEMENT_FREE;
}

static int load_slice(struct bench *bench, unsigned int connections)
{
	const struct response_expect expect = {.check_length = true, .length = BODY_BYTES};
	const struct load_options load = {
		.endpoints = bench->target.endpoints,
		.endpoint_count = bench->target.endpoint_count,
		.request = &bench->request,
		.expect = &expect,
		.threads = 1,
		.connections = connections,
		.keep = true,
		.requests = SLICE_REQUESTS,
		.duration_ns = SLICE_NS,
		.skip = SKIP,
		.cpus = is_pinned(bench) ? &bench->options->plan->client : NULL,
		.stop = bench->options->stop,
	};

	memset(bench->result, 0, sizeof(*bench->result));
	return load_run(&load, bench->result, bench->error, bench->size);
}

static int run_slice(struct bench *bench, enum slice slice, unsigned int round)
{
	struct floor_sample sample = {0};
	int status;

	if (slice == SLICE_ECHO) {
		status = floor_echo_slice(&bench->echo, ECHO_NS, &sample);
		bench->time[slice][round] = sample.rtt_us;
		bench->cpu[slice][round] = sample.client_cpu_us;
		return status;
	}
	status = load_slice(bench, slice == SLICE_MANY ? MANY : 1);
	if (status == 0 && bench->result->answered > 0) {
		bench->time[slice][round] =
			(double)histogram_quantile(&bench->result->service, 0.5) / 1e3;
		bench->cpu[slice][round] = (double)bench->result->client_cpu_ns / 1e3 /
					   (double)bench->result->answered;
	} else if (status == 0) {
		(void)snprintf(bench->error, bench->size, "the null responder does not answer");
		status = -EIO;
	}
	return status;
}

static int run_rounds(struct bench *bench)
{
	const struct selftest_options *options = bench->options;
	enum slice order[SLICES] = {SLICE_ONE, SLICE_AGAIN, SLICE_MANY, SLICE_ECHO};
	struct rng rng = rng_seed(options->seed);

	for (unsigned int round = 0; round < options->rounds; round++) {
		if (options->progress != NULL)
			options->progress("null responder", round, options->rounds, options->data);
		for (size_t i = SLICES - 1; i > 0; i--) {
			const size_t j = rng_below(&rng, i + 1);
			const enum slice slice = order[i];

			order[i] = order[j];
			order[j] = slice;
		}
		for (size_t i = 0; i < SLICES; i++) {
			const int status = run_slice(bench, order[i], round);

			if (options->stop != NULL && *options->stop != 0)
				return -EINTR;
			if (status < 0)
				return status;
		}
	}
	return 0;
}

static void judge_control(struct bench *bench)
{
	const struct statistics_interval ratio = statistics_ratio(
		bench->time[SLICE_AGAIN], bench->time[SLICE_ONE], bench->options->rounds);
	enum selftest_grade grade = SELFTEST_OK;

	if (ratio.coverage == 0 || ratio.low > 1 || ratio.high < 1)
		grade = SELFTEST_WARN;
	if (ratio.coverage > 0 && (ratio.low > 1 + NEAR || ratio.high < 1 - NEAR))
		grade = SELFTEST_FAIL;
	selftest_note(bench->selftest, grade, "the same twice, null responder",
		      ratio.coverage > 0 ? "%.3f [%.3f, %.3f], has to contain 1"
					 : "%.3f [%.3f, %.3f], too few rounds for an interval",
		      ratio.median, ratio.low, ratio.high);
}

static void judge_cost(struct bench *bench, const char *name, double ratio, bool good,
		       const char *wanted)
{
	selftest_note(bench->selftest, good ? SELFTEST_OK : SELFTEST_WARN, name,
		      "%.2f, wanted is %s", ratio, wanted);
}

static void judge(struct bench *bench)
{
	const unsigned int rounds = bench->options->rounds;
	double ratio;

	judge_control(bench);
	ratio = statistics_ratio(bench->cpu[SLICE_ONE], bench->cpu[SLICE_ECHO], rounds).median;
	judge_cost(bench, "client's CPU / ping-pong's, c=1", ratio, ratio <= COST_ONE,
		   "at most 1.30");
	ratio = statistics_ratio(bench->cpu[SLICE_MANY], bench->cpu[SLICE_ECHO], rounds).median;
	judge_cost(bench, "client's CPU / ping-pong's, c=16", ratio, ratio < COST_MANY,
		   "less than 1.00");
	ratio = statistics_ratio(bench->time[SLICE_ECHO], bench->time[SLICE_ONE], rounds).median;
	judge_cost(bench, "client's rate / ping-pong's, c=1", ratio, ratio >= RATE_ONE,
		   "at least 0.90");
}

/* One slice that is judged by its counts; it also tells how many bytes an answer has. */
static int look_once(struct bench *bench)
{
	struct floor_options echo = {.plan = bench->options->plan,
				     .request_bytes = bench->request.size};
	int status = load_slice(bench, 1);

	if (status < 0)
		return status;
	selftest_check_load(bench->selftest, bench->result, SLICE_REQUESTS, BODY_BYTES);
	echo.answer_bytes = bench->result->bytes_in / (SLICE_REQUESTS + SKIP);
	return floor_echo_start(FLOOR_UNIX, &echo, &bench->echo);
}

static int start(struct bench *bench)
{
	const struct request_options request = {.script = "/selftest.php"};
	const struct target_options target = {
		.kind = TARGET_NULL,
		.transport = TRANSPORT_UNIX,
		.workers = MANY,
		.body_size = BODY_BYTES,
		.cpus = is_pinned(bench) ? &bench->options->plan->server : NULL,
	};
	int status;

	bench->result = calloc(1, sizeof(*bench->result));
	if (bench->result == NULL)
		return -ENOMEM;
	status = request_make(&request, &bench->request);
	if (status == 0)
		status = target_start(&target, &bench->target, bench->error, bench->size);
	return status;
}

int selftest_null(const struct selftest_options *options, struct selftest *selftest, char *error,
		  size_t size)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	cpu_set_t before;
	int status;

	if (bench == NULL || sched_getaffinity(0, sizeof(before), &before) == -1) {
		free(bench);
		return -ENOMEM;
	}
	bench->options = options;
	bench->selftest = selftest;
	bench->error = error;
	bench->size = size;
	status = start(bench);
	if (status == 0)
		status = look_once(bench);
	if (status == 0) {
		/* Ping-pong runs in this thread. */
		if (is_pinned(bench))
			(void)sched_setaffinity(0, sizeof(options->plan->client),
						&options->plan->client);
		status = run_rounds(bench);
		(void)sched_setaffinity(0, sizeof(before), &before);
	}
	if (status == 0)
		judge(bench);
	floor_echo_stop(&bench->echo);
	target_stop(&bench->target);
	request_done(&bench->request);
	free(bench->result);
	free(bench);
	return status;
}
