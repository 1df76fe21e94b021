/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures cells in rounds: each round has every cell once, in an order of its own. */
#ifndef BENCH_COMPARE_ROUNDS_H
#define BENCH_COMPARE_ROUNDS_H

#include "bench/compare/cell.h"
#include "bench/compare/pair.h"
#include "bench/server/placement.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer rounds have no interval that covers a median with 95 %. */
#define ROUNDS_LEAST 6

enum rounds_phase {
	ROUNDS_WARM_UP = 0,
	ROUNDS_MEASURE,
};

/**
 * struct rounds_progress - for a live line
 * @phase:	What goes on
 * @round:	Present round, from 1; 0 during the warm-up
 * @rounds:	Rounds planned so far: grows if the precision is not reached
 * @cell:	Cell that is about to be measured
 * @position:	Its position in the round, from 0
 * @cells:	Cells in a round
 * @elapsed_ns:	Since the start
 * @budget_ns:	See struct rounds_options
 * @half_width:	Worst half-width of a ratio so far, e.g. 0.04; NAN if not known yet
 */
struct rounds_progress {
	enum rounds_phase phase;
	unsigned int round;
	unsigned int rounds;
	const struct cell *cell;
	size_t position;
	size_t cells;
	uint64_t elapsed_ns;
	uint64_t budget_ns;
	double half_width;
};

/**
 * struct rounds_options - how to measure; 0 means the default that is named
 * @load:	Template of the load: threads (0 = 1), arrivals, rate, timeout, eagain, nodelay,
 *		quickack, cpus; endpoints, request, expect, connections, keep, seed, duration,
 *		requests, skip, stop and progress are set by rounds_run()
 * @rounds:	Rounds at least: 15
 * @rounds_max:	Rounds at most: 31, or @rounds if that is more; at most CELL_ROUNDS_MAX
 * @precision:	Stop when each ratio's half-width is at most this: 0.02
 * @budget_ns:	No round is begun that would not fit into this time, the warm-up included:
 *		no limit
 * @slice_requests: Answers of a slice that are recorded: 300
 * @slice_ns:	Longest time of a slice: 2 s
 * @slice_least_ns: A slice takes about that time at least, whatever @slice_requests says, unless half
 *		of the budget is too little for that: none. rounds_run() sets it to what was used
 * @warm_up_ns:	Longest warm-up of all cells together: 10 s, at most a quarter of the budget
 * @retry_dirty: What was dirty is measured once more in extra rounds, as soon as @rounds rounds are done
 * @plan:	Where client and server run: the threads' CPUs unless @load has some, and whether
 *		pressure on a CPU is somebody else's; NULL = not known
 * @seed:	Of the order, the schedules, the bootstrap
 * @restart_every: Before each so many rounds but the first, @restart is called: never
 * @restart:	Starts all targets anew; a cell whose target is gone has to be @dead then
 * @stop:	Set by a signal handler: finish with what there is; may be NULL
 * @progress:	Called before each slice, may be NULL
 * @data:	Passed to it and to @restart
 */
struct rounds_options {
	struct load_options load;
	unsigned int rounds;
	unsigned int rounds_max;
	double precision;
	uint64_t budget_ns;
	uint64_t slice_requests;
	uint64_t slice_ns;
	uint64_t slice_least_ns;
	uint64_t warm_up_ns;
	bool retry_dirty;
	const struct placement_plan *plan;
	uint64_t seed;
	unsigned int restart_every;
	void (*restart)(void *data);
	const volatile sig_atomic_t *stop;
	void (*progress)(const struct rounds_progress *progress, void *data);
	void *data;
};

enum rounds_end {
	ROUNDS_PRECISE = 0, /* the asked precision was reached */
	ROUNDS_MAXIMUM,	    /* rounds_max rounds did not reach it */
	ROUNDS_BUDGET,	    /* the time was over */
	ROUNDS_INTERRUPTED, /* somebody stopped it */
	ROUNDS_DEAD,	    /* no target is left */
};

/**
 * struct rounds - what was measured
 * @cells:	The cells that were given
 * @cell_count:	Entries
 * @options:	As used: defaults filled in
 * @pairs:	What is compared with what
 * @pair_count:	Entries
 * @done:	Whole rounds
 * @partial:	A further round was begun and not finished; what it measured counts
 * @end:	Why it ended
 * @half_width:	Worst half-width that was reached, NAN without any
 * @dirty:	Slices during which the machine was busy with something else
 * @slices:	All slices
 * @extra:	Whole extra rounds, which are not part of @done
 * @retried:	Dirty slices that were measured once more
 * @restarts:	How often all targets were started anew
 * @elapsed_ns:	Time that it took, warm-up included
 * @not_reached: What was asked for and not reached, in a sentence; empty if all was
 */
struct rounds {
	struct cell *cells;
	size_t cell_count;
	struct rounds_options options;
	struct pair pairs[PAIRS_MAX];
	size_t pair_count;
	unsigned int done;
	bool partial;
	enum rounds_end end;
	double half_width;
	unsigned int dirty;
	unsigned int slices;
	unsigned int extra;
	unsigned int retried;
	unsigned int restarts;
	uint64_t elapsed_ns;
	char not_reached[240];
};

/**
 * rounds_run() - measure
 * @cells:	Cells that cell_init() has set up, with running targets
 * @count:	Entries, 1 or more
 * @options:	How
 * @ret_rounds:	Set on success, also if it was interrupted or a target died
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * A target that dies is said in its cell's @note; the other cells go on.
 *
 * Return: 0, or negative errno if no load could be made at all
 */
int rounds_run(struct cell *cells, size_t count, const struct rounds_options *options,
	       struct rounds *ret_rounds, char *error, size_t size);

/**
 * struct ceiling_options - how to find out what the client can do
 * @load:	Template of the load, as in struct rounds_options
 * @plan:	Where client and responder run, NULL = anywhere
 * @requests:	Answers of a slice: 2000
 * @slice_ns:	Longest time of one: 300 ms
 * @stop:	See there
 */
struct ceiling_options {
	struct load_options load;
	const struct placement_plan *plan;
	uint64_t requests;
	uint64_t slice_ns;
	const volatile sig_atomic_t *stop;
};

/**
 * ceilings_measure() - the client's limit of each cell, by the null responder
 * @cells:	Cells; their @ceiling is set where it could be measured
 * @count:	Entries
 * @options:	How
 * @error:	On failure: what is wrong; the comparison is still possible, client-bound cells
 *		are not recognised then
 * @size:	Bytes of @error
 *
 * Null responders are started and stopped as needed. Nothing is measured if client and server share
 * a CPU: there the client's CPU time a request is what to look at.
 *
 * Return: 0 or negative errno
 */
int ceilings_measure(struct cell *cells, size_t count, const struct ceiling_options *options,
		     char *error, size_t size);

#endif
