/* SPDX-License-Identifier: BSD-2-Clause */
/* The physical limit: blocking ping-pong of the same bytes, in interleaved rounds. */

#include "floor.h"

#include "bench/client/rng.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_BYTES	 64
#define DEFAULT_ROUNDS	 11
#define DEFAULT_SLICE_NS UINT64_C(20000000)

const char *floor_kind_name(enum floor_kind kind)
{
	static const char *const names[] = {
		[FLOOR_PIPE] = "pipe",	     [FLOOR_UNIX] = "unix kept",
		[FLOOR_TCP] = "tcp kept",    [FLOOR_UNIX_NEW] = "unix new",
		[FLOOR_TCP_NEW] = "tcp new",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == FLOOR_KINDS, "a name each");
	return names[kind];
}

double floor_rtt_us(const struct floor_result *result, enum transport transport, bool keep)
{
	static const enum floor_kind kinds[TRANSPORTS][2] = {
		[TRANSPORT_TCP] = {FLOOR_TCP_NEW, FLOOR_TCP},
		[TRANSPORT_UNIX] = {FLOOR_UNIX_NEW, FLOOR_UNIX},
		[TRANSPORT_PIPE] = {FLOOR_PIPE, FLOOR_PIPE},
	};

	if (result == NULL || result->rounds == 0)
		return NAN;
	return result->line[kinds[transport][keep]].rtt_us.median;
}

static bool stopped(const struct floor_options *options)
{
	return options->stop != NULL && *options->stop != 0;
}

static void shuffle(struct rng *rng, enum floor_kind *order, size_t count)
{
	for (size_t i = count - 1; i > 0; i--) {
		const size_t j = rng_below(rng, i + 1);
		const enum floor_kind kind = order[i];

		order[i] = order[j];
		order[j] = kind;
	}
}

static void summarise(struct floor_result *result)
{
	double values[3][FLOOR_ROUNDS_MAX];

	for (size_t kind = 0; result->rounds > 0 && kind < FLOOR_KINDS; kind++) {
		struct floor_line *line = &result->line[kind];

		for (size_t i = 0; i < result->rounds; i++) {
			values[0][i] = line->samples[i].rtt_us;
			values[1][i] = line->samples[i].client_cpu_us;
			values[2][i] = line->samples[i].server_cpu_us;
		}
		line->rtt_us = statistics_median_interval(values[0], result->rounds);
		line->client_cpu_us = statistics_median_interval(values[1], result->rounds);
		line->server_cpu_us = statistics_median_interval(values[2], result->rounds);
	}
}

static int run_rounds(const struct floor_options *options, struct floor_echo *echoes,
		      struct floor_result *result, enum floor_kind *ret_kind)
{
	enum floor_kind order[FLOOR_KINDS];
	struct rng rng = rng_seed(options->seed);

	for (size_t i = 0; i < FLOOR_KINDS; i++)
		order[i] = (enum floor_kind)i;
	for (unsigned int round = 0; round < options->rounds; round++) {
		shuffle(&rng, order, FLOOR_KINDS);
		for (size_t i = 0; i < FLOOR_KINDS; i++) {
			const enum floor_kind kind = order[i];
			int status;

			if (stopped(options))
				return 0;
			*ret_kind = kind;
			status = floor_echo_slice(&echoes[kind], options->slice_ns,
						  &result->line[kind].samples[round]);
			if (status < 0)
				return status;
		}
		result->rounds = round + 1;
	}
	return 0;
}

static struct floor_options fill_defaults(const struct floor_options *given)
{
	struct floor_options options = *given;

	if (options.request_bytes == 0)
		options.request_bytes = DEFAULT_BYTES;
	if (options.answer_bytes == 0)
		options.answer_bytes = DEFAULT_BYTES;
	if (options.rounds == 0)
		options.rounds = DEFAULT_ROUNDS;
	if (options.rounds > FLOOR_ROUNDS_MAX)
		options.rounds = FLOOR_ROUNDS_MAX;
	if (options.slice_ns == 0)
		options.slice_ns = DEFAULT_SLICE_NS;
	return options;
}

int floor_run(const struct floor_options *options, struct floor_result *ret_result, char *error,
	      size_t size)
{
	const struct floor_options filled = fill_defaults(options);
	struct floor_echo echoes[FLOOR_KINDS] = {{.pid = 0}};
	enum floor_kind kind = FLOOR_PIPE;
	cpu_set_t before;
	int status = 0;

	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->request_bytes = filled.request_bytes;
	ret_result->answer_bytes = filled.answer_bytes;
	if (sched_getaffinity(0, sizeof(before), &before) == -1)
		return -errno;
	for (size_t i = 0; i < FLOOR_KINDS && status == 0; i++) {
		kind = (enum floor_kind)i;
		status = floor_echo_start(kind, &filled, &echoes[i]);
	}
	if (status == 0 && filled.plan != NULL)
		(void)sched_setaffinity(0, sizeof(filled.plan->client), &filled.plan->client);
	if (status == 0)
		status = run_rounds(&filled, echoes, ret_result, &kind);
	for (size_t i = 0; i < FLOOR_KINDS; i++)
		floor_echo_stop(&echoes[i]);
	(void)sched_setaffinity(0, sizeof(before), &before);
	if (status < 0)
		(void)snprintf(error, size, "ping-pong over %s: %s", floor_kind_name(kind),
			       strerror(-status));
	summarise(ret_result);
	return status;
}
