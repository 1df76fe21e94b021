/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison that nobody measured: cells with made rounds. */

#include "compare_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void fixture_slice(struct cell *cell, unsigned int round, uint64_t ns, unsigned int count)
{
	struct load_result *result = calloc(1, sizeof(*result));
	const struct usage used = {.cpu_ns = count * UINT64_C(20000),
				   .machine_ns = count * UINT64_C(30000),
				   .voluntary = count,
				   .processes = 2};

	assert_non_null(result);
	for (unsigned int i = 0; i < count; i++) {
		histogram_add(&result->service, ns + i % 7);
		histogram_add(&result->first_byte, 20000);
	}
	result->answered = count;
	result->elapsed_ns = ns * count;
	result->client_cpu_ns = count * UINT64_C(10000);
	result->body_length = cell->body_size;
	result->bytes_in = count * (cell->body_size + 60);
	result->bytes_out = count * UINT64_C(700);
	cell_take(cell, round, result, &used, 1, 0);
	free(result);
}

static void make_cell(struct compare_fixture *fixture, size_t index, enum transport transport,
		      bool keep, bool control)
{
	struct cell *cell = &fixture->cells[index];

	cell->transport = transport;
	cell->keep = keep;
	cell->control = control;
	cell->connections = 1;
	cell->body_size = 100;
	cell->target = &fixture->target;
	assert_int_equal(cell_init(cell), 0);
	cell->steady = true;
	cell->pss_kib = 11500;
	cell->queue_limit = 511;
}

struct compare_fixture *fixture_make(unsigned int rounds, double factor, double noise)
{
	struct compare_fixture *fixture = calloc(1, sizeof(*fixture));
	struct rounds *run;

	assert_non_null(fixture);
	run = &fixture->rounds;
	(void)strcpy(fixture->target.name, "php-cgi (berth)");
	(void)strcpy(fixture->target.version, "PHP 8.2.36, cgi-fcgi, opcache on");
	fixture->target.workers = 1;
	for (size_t half = 0; half < 2; half++) {
		make_cell(fixture, half * 3, TRANSPORT_UNIX, half == 1, false);
		make_cell(fixture, half * 3 + 1, TRANSPORT_UNIX, half == 1, true);
		make_cell(fixture, half * 3 + 2, TRANSPORT_TCP, half == 1, false);
	}
	for (unsigned int round = 0; round < rounds; round++) {
		/* A drift that both sides share, and a little that they don't. */
		const double drift = 1 + 0.05 * (round % 5);
		const double off = round % 2 != 0 ? 1 + noise : 1 / (1 + noise);

		for (size_t half = 0; half < 2; half++) {
			const double ns = (half == 1 ? 36000 : 54000) * drift;
			struct cell *cells = &fixture->cells[half * 3];

			fixture_slice(&cells[0], round, (uint64_t)ns, 300);
			fixture_slice(&cells[1], round, (uint64_t)(ns * off), 300);
			fixture_slice(&cells[2], round, (uint64_t)(ns * factor), 300);
		}
	}
	run->cells = fixture->cells;
	run->cell_count = FIXTURE_CELLS;
	run->pair_count = pairs_make(fixture->cells, FIXTURE_CELLS, run->pairs);
	run->done = rounds;
	run->slices = rounds * FIXTURE_CELLS;
	run->options.rounds = 15;
	run->options.rounds_max = 31;
	run->options.precision = 0.02;
	run->options.slice_requests = 300;
	run->options.slice_ns = UINT64_C(2000000000);
	run->options.seed = 42;
	run->elapsed_ns = UINT64_C(12300000000);
	return fixture;
}

void fixture_free(struct compare_fixture *fixture)
{
	for (size_t i = 0; i < FIXTURE_CELLS; i++)
		cell_done(&fixture->cells[i]);
	free(fixture);
}
