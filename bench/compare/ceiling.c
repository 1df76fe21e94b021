/* SPDX-License-Identifier: BSD-2-Clause */
/* What the client can do at most: the rate against a responder that answers at once. */

#include "rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_REQUESTS 2000
#define DEFAULT_SLICE_NS UINT64_C(300000000)
#define SKIP		 100

static bool same_responder(const struct cell *a, const struct cell *b)
{
	return a->transport == b->transport && a->body_size == b->body_size;
}

static bool same_load(const struct cell *a, const struct cell *b)
{
	return same_responder(a, b) && a->keep == b->keep && a->connections == b->connections;
}

/* Enough processes that no kept connection waits for another one's. */
static unsigned int count_workers(const struct cell *cells, size_t count, const struct cell *cell)
{
	unsigned int workers = 1;

	for (size_t i = 0; i < count; i++) {
		if (same_responder(&cells[i], cell) && cells[i].connections > workers)
			workers = cells[i].connections;
	}
	return workers;
}

static const cpu_set_t *pinned(const struct placement_plan *plan, const cpu_set_t *cpus)
{
	return plan != NULL && plan->placement != PLACEMENT_FREE ? cpus : NULL;
}

static double rate_of(const struct load_result *result)
{
	return result->elapsed_ns > 0 ? (double)result->answered * 1e9 / (double)result->elapsed_ns
				      : 0;
}

static int measure(const struct target *target, struct cell *cells, size_t count, struct cell *cell,
		   const struct ceiling_options *options, struct load_result *result, char *error,
		   size_t size)
{
	const struct response_expect expect = {.check_length = true, .length = cell->body_size};
	struct load_options load = options->load;
	int status;

	load.endpoints = target->endpoints;
	load.endpoint_count = target->endpoint_count;
	load.request = cell->request;
	load.expect = &expect;
	load.threads = load.threads > 0 ? load.threads : 1;
	load.connections = cell->connections;
	load.keep = cell->keep;
	load.arrivals = LOAD_CLOSED;
	load.requests = options->requests > 0 ? options->requests : DEFAULT_REQUESTS;
	load.duration_ns = options->slice_ns > 0 ? options->slice_ns : DEFAULT_SLICE_NS;
	load.skip = SKIP;
	load.stop = options->stop;
	load.progress = NULL;
	if (load.cpus == NULL && options->plan != NULL)
		load.cpus = pinned(options->plan, &options->plan->client);
	memset(result, 0, sizeof(*result));
	status = load_run(&load, result, error, size);
	for (size_t i = 0; status == 0 && i < count; i++) {
		if (same_load(&cells[i], cell))
			cells[i].ceiling = rate_of(result);
	}
	return status;
}

/* Starts the responder that a cell needs, and measures all cells that need the same one. */
static int measure_alike(struct cell *cells, size_t count, const struct cell *first,
			 const struct ceiling_options *options, struct load_result *result,
			 char *error, size_t size)
{
	const struct target_options wanted = {
		.kind = TARGET_NULL,
		.transport = first->transport,
		.workers = count_workers(cells, count, first),
		.body_size = first->body_size,
		.cpus = options->plan != NULL ? pinned(options->plan, &options->plan->server)
					      : NULL,
	};
	struct target target;
	int status = target_start(&wanted, &target, error, size);

	if (status < 0)
		return status;
	for (size_t i = 0; i < count && status == 0; i++) {
		if (options->stop != NULL && *options->stop != 0)
			status = -EINTR;
		else if (same_responder(&cells[i], first) && cells[i].ceiling == 0)
			status = measure(&target, cells, count, &cells[i], options, result, error,
					 size);
	}
	target_stop(&target);
	return status;
}

static bool is_first_alike(const struct cell *cells, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (same_responder(&cells[i], &cells[index]))
			return false;
	}
	return true;
}

int ceilings_measure(struct cell *cells, size_t count, const struct ceiling_options *options,
		     char *error, size_t size)
{
	struct load_result *result;
	int status = 0;

	/* On one CPU both sides share it by construction: a rate says nothing of the client. */
	if (options->plan != NULL && options->plan->placement == PLACEMENT_SAME)
		return 0;
	result = calloc(1, sizeof(*result));
	if (result == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count && status == 0; i++) {
		if (is_first_alike(cells, i))
			status = measure_alike(cells, count, &cells[i], options, result, error,
					       size);
	}
	free(result);
	return status;
}
