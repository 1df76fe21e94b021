/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison's cells and what each round measured in them. */

#include "cell.h"

#include "bench/compare/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With fewer values beyond it, a percentile is chance. */
#define LEAST_BEYOND 10

/* A median is less so, and that of slow answers would never be known: a slice has only a few. */
#define LEAST_FOR_MEDIAN 3

int cell_init(struct cell *cell)
{
	cell->dead = false;
	cell->steady = false;
	cell->note[0] = '\0';
	cell->pss_kib = 0;
	cell->queue_limit = 0;
	cell->ceiling = 0;
	memset(cell->rounds, 0, sizeof(cell->rounds));
	(void)snprintf(cell->name, sizeof(cell->name), "%s%s %s c=%u %zu B",
		       transport_name(cell->transport), cell->quickack ? "+qa" : "",
		       cell->keep ? "kept" : "new", cell->connections, cell->body_size);
	cell->total = calloc(1, sizeof(*cell->total));
	return cell->total != NULL ? 0 : -ENOMEM;
}

const char *cell_transport_name(const struct cell *cell)
{
	return cell->quickack ? "tcp+quickack" : transport_name(cell->transport);
}

void cell_done(struct cell *cell)
{
	free(cell->total);
	cell->total = NULL;
}

static double median_us(const struct histogram *times)
{
	return times->count < LEAST_FOR_MEDIAN ? NAN : (double)histogram_quantile(times, 0.5) / 1e3;
}

static double quantile_us(const struct histogram *times, double share)
{
	/* 1 - 0.99 is a little more than 0.01. */
	if ((double)times->count * (1 - share) < LEAST_BEYOND - 1e-6)
		return NAN;
	return (double)histogram_quantile(times, share) / 1e3;
}

static const struct histogram *result_times(const struct load_result *result)
{
	return result->response.count > 0 ? &result->response : &result->service;
}

static void take_cpu(struct cell_round *round, const struct load_result *result,
		     const struct usage *used, uint64_t skipped)
{
	const double recorded =
		(double)result->answered + (double)failures_total(&result->failures);
	const double requests = recorded + (double)skipped;
	const bool known = used->processes > 0 && requests > 0;

	round->server_cpu_us = known ? (double)used->cpu_ns / 1e3 / requests : NAN;
	round->switches = known ? (double)(used->voluntary + used->involuntary) / requests : NAN;
	round->machine_cpu_us = requests > 0 ? (double)used->machine_ns / 1e3 / requests : NAN;
	/* The client's own clock starts after what was skipped. */
	round->client_cpu_us = recorded > 0 ? (double)result->client_cpu_ns / 1e3 / recorded : NAN;
}

void cell_take(struct cell *cell, unsigned int round, const struct load_result *result,
	       const struct usage *used, unsigned int threads, uint64_t skipped)
{
	const struct histogram *times = result_times(result);
	const double elapsed = (double)result->elapsed_ns;
	struct cell_round *line = &cell->rounds[round];

	*line = (struct cell_round){
		.done = true,
		.rate = elapsed > 0 ? (double)result->answered * 1e9 / elapsed : 0,
		.p50_us = median_us(times),
		.p90_us = quantile_us(times, 0.9),
		.p99_us = quantile_us(times, 0.99),
		.p999_us = quantile_us(times, 0.999),
		.failures = failures_total(&result->failures),
		.overflows = used->overflows,
	};
	take_cpu(line, result, used, skipped);
	if (elapsed > 0)
		line->client_share = (double)result->client_cpu_ns / elapsed / threads;
	load_merge(cell->total, result);
}

double cell_figure(const struct cell_round *round, enum cell_figure figure)
{
	const double figures[] = {
		[CELL_RATE] = round->rate,
		[CELL_P50] = round->p50_us,
		[CELL_P90] = round->p90_us,
		[CELL_P99] = round->p99_us,
		[CELL_P999] = round->p999_us,
		[CELL_SERVER_CPU] = round->server_cpu_us,
		[CELL_CLIENT_CPU] = round->client_cpu_us,
		[CELL_MACHINE_CPU] = round->machine_cpu_us,
		[CELL_BOTH_CPU] = round->server_cpu_us + round->client_cpu_us,
		[CELL_CLIENT_SHARE] = round->client_share,
		[CELL_SWITCHES] = round->switches,
		[CELL_QUEUE_MEAN] = round->queue_mean,
	};

	_Static_assert(sizeof(figures) / sizeof(figures[0]) == CELL_FIGURES, "a figure each");
	return round->done ? figures[figure] : NAN;
}

double cell_median(const struct cell *cell, enum cell_figure figure)
{
	double values[CELL_ROUNDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++) {
		const double value = cell_figure(&cell->rounds[i], figure);

		if (!isnan(value))
			values[count++] = value;
	}
	return count > 0 ? statistics_median(values, count) : NAN;
}

unsigned int cell_rounds(const struct cell *cell)
{
	unsigned int count = 0;

	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++)
		count += cell->rounds[i].done;
	return count;
}

const struct histogram *cell_times(const struct cell *cell)
{
	return result_times(cell->total);
}

bool cell_client_bound(const struct cell *cell)
{
	return cell->ceiling > 0 && cell_median(cell, CELL_RATE) > cell->ceiling / 2;
}
