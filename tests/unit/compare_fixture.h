/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison that nobody measured: cells with made rounds. */
#ifndef TESTS_COMPARE_FIXTURE_H
#define TESTS_COMPARE_FIXTURE_H

#include "bench/compare/rounds.h"

#define FIXTURE_CELLS 6

/**
 * struct compare_fixture - unix new, its control, tcp new; unix kept, its control, tcp kept
 */
struct compare_fixture {
	struct target target;
	struct cell cells[FIXTURE_CELLS];
	struct rounds rounds;
};

/**
 * fixture_make() - a run of some rounds
 * @rounds:	How many
 * @factor:	How many times as long tcp takes as unix
 * @noise:	How far the control is off in every other round, e.g. 0.01
 *
 * Return: fixture, to be released by fixture_free()
 */
struct compare_fixture *fixture_make(unsigned int rounds, double factor, double noise);

/**
 * fixture_free() - release
 * @fixture:	Fixture
 */
void fixture_free(struct compare_fixture *fixture);

/**
 * fixture_slice() - file a slice of equal times
 * @cell:	Cell
 * @round:	Round, from 0
 * @ns:		Time of each answer
 * @count:	Answers
 */
void fixture_slice(struct cell *cell, unsigned int round, uint64_t ns, unsigned int count);

#endif
