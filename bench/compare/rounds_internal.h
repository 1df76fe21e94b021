/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of rounds_run() share. */
#ifndef BENCH_COMPARE_ROUNDS_INTERNAL_H
#define BENCH_COMPARE_ROUNDS_INTERNAL_H

#include "bench/compare/rounds.h"

/**
 * struct runner_cell - what is known of a cell while it is measured
 * @speed:	Answers a nanosecond during the warm-up, 0 = none came
 * @silent:	Rounds in a row without an answer
 * @requests:	Answers of a slice that are recorded
 * @owes:	A dirty slice of it is to be measured once more
 * @again:	It is in the extra round that is due: it owes something, or is compared with one that does
 * @paid:	Dirty slices that were measured once more
 */
struct runner_cell {
	double speed;
	unsigned int silent;
	uint64_t requests;
	bool owes;
	bool again;
	unsigned int paid;
};

/**
 * struct runner - a run of rounds_run()
 * @rounds:	What is filled in
 * @cells:	One for each cell
 * @result:	Of the present slice
 * @start_ns:	CLOCK_MONOTONIC at the start
 * @threads:	Of the client
 * @planned:	Rounds planned so far
 * @error:	What was wrong when a load could not be made
 */
struct runner {
	struct rounds *rounds;
	struct runner_cell *cells;
	struct load_result *result;
	uint64_t start_ns;
	unsigned int threads;
	unsigned int planned;
	char error[160];
};

/**
 * rounds_clock_ns() - CLOCK_MONOTONIC
 *
 * Return: nanoseconds
 */
uint64_t rounds_clock_ns(void);

/**
 * rounds_stopped() - does somebody want us to stop
 * @runner:	Run
 *
 * Return: true if so
 */
bool rounds_stopped(const struct runner *runner);

/**
 * rounds_tell() - call the progress callback
 * @runner:	Run
 * @phase:	What goes on
 * @round:	Round, from 1; 0 during the warm-up
 * @cell:	Index of the cell
 * @position:	Position in the round
 */
void rounds_tell(const struct runner *runner, enum rounds_phase phase, unsigned int round,
		 size_t cell, size_t position);

/**
 * rounds_warm_up() - put load on each cell until it is steady
 * @runner:	Run
 *
 * Return: 0, or the negative errno of the last cell if no load could be made on any
 */
int rounds_warm_up(struct runner *runner);

/**
 * rounds_warm_up_again() - put load on each cell for a moment, after its target was started anew
 * @runner:	Run
 */
void rounds_warm_up_again(struct runner *runner);

/**
 * rounds_size_slices() - decide how many answers make a slice of each cell
 * @runner:	Run, after the warm-up
 */
void rounds_size_slices(struct runner *runner);

/**
 * rounds_slice() - measure a cell and file it
 * @runner:	Run
 * @index:	Index of the cell
 * @round:	Round, from 0
 */
void rounds_slice(struct runner *runner, size_t index, unsigned int round);

/**
 * rounds_retry_plan() - what an extra round has to measure
 * @runner:	Run; @owes and @again of its cells are set
 *
 * Return: number of cells in it, 0 if no extra round is due
 */
size_t rounds_retry_plan(struct runner *runner);

/**
 * rounds_retry_file() - a cell was measured in an extra round
 * @runner:	Run
 * @index:	Index of the cell
 * @round:	Round, from 0
 */
void rounds_retry_file(struct runner *runner, size_t index, unsigned int round);

#endif
