/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows what was measured: a table, JSON, CSV. */
#ifndef BENCH_COMPARE_REPORT_H
#define BENCH_COMPARE_REPORT_H

#include "bench/compare/floor.h"
#include "bench/compare/requirement.h"
#include "bench/compare/rounds.h"
#include "bench/compare/selftest.h"
#include "bench/compare/verdict.h"
#include "bench/server/environment.h"
#include "bench/server/placement.h"

#include <stddef.h>
#include <stdio.h>

/* Of the JSON document; raised when a key changes its meaning or goes. */
#define REPORT_SCHEMA_VERSION 1

/* Widest line of a table. */
#define REPORT_WIDTH 80

struct diff;
struct ramp;

/**
 * struct report - everything a report may show; what is NULL is left out
 * @command:	The command line, for whoever wants to do it again
 * @environment: Facts
 * @placement:	Where client and server ran
 * @rounds:	What was measured. A plain run is one cell with one round and no pairs: see
 *		report_wrap_run()
 * @verdicts:	What it means; NULL for a plain run
 * @floor:	Physical limit
 * @ramp:	How much is sustained
 * @diff:	Two saved runs against each other
 * @requirements: Thresholds
 * @requirement_count: Entries
 */
struct report {
	const char *command;
	const struct environment *environment;
	const struct placement_plan *placement;
	const struct rounds *rounds;
	const struct verdicts *verdicts;
	const struct floor_result *floor;
	const struct ramp *ramp;
	const struct diff *diff;
	const struct requirement *requirements;
	size_t requirement_count;
};

/**
 * report_wrap_run() - make a plain run look like a comparison of one cell
 * @cell:	Cell with one round taken
 * @load:	What was asked for
 * @seed:	Seed
 * @ret_rounds:	Set
 */
void report_wrap_run(struct cell *cell, const struct load_options *load, uint64_t seed,
		     struct rounds *ret_rounds);

/*
 * Each of these returns 0, or a negative errno if not everything could be written: a full disk
 * (-ENOSPC) or a closed pipe (-EPIPE, if SIGPIPE is ignored) must not look like success.
 */

/**
 * report_table() - for people, in 80 columns
 * @out:	Where to
 * @report:	What
 *
 * Return: see above
 */
int report_table(FILE *out, const struct report *report);

/**
 * report_json() - for programs; docs/berth-bench-json.md describes it
 * @out:	Where to
 * @report:	What
 *
 * Return: see above, or -ENOMEM
 */
int report_json(FILE *out, const struct report *report);

/**
 * report_csv() - a line for each cell and round
 * @out:	Where to
 * @report:	What
 *
 * Return: see above
 */
int report_csv(FILE *out, const struct report *report);

/**
 * report_floor() - the floor alone, for people
 * @out:	Where to
 * @report:	@floor must be set; environment and placement are shown if they are
 *
 * report_json() and report_csv() show a floor without rounds, too.
 *
 * Return: see above
 */
int report_floor(FILE *out, const struct report *report);

/**
 * report_ramp() - a ramp, for people
 * @out:	Where to
 * @report:	@ramp must be set
 *
 * Return: see above
 */
int report_ramp(FILE *out, const struct report *report);

/**
 * report_diff() - two saved runs, for people
 * @out:	Where to
 * @report:	@diff must be set
 *
 * Return: see above
 */
int report_diff(FILE *out, const struct report *report);

/**
 * report_selftest() - a line for each check
 * @out:	Where to
 * @selftest:	Checks
 *
 * Return: see above
 */
int report_selftest(FILE *out, const struct selftest *selftest);

#endif
