/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of verdicts_make() share. */
#ifndef BENCH_COMPARE_VERDICT_INTERNAL_H
#define BENCH_COMPARE_VERDICT_INTERNAL_H

#include "bench/compare/verdict.h"

/**
 * verdict_take_notes() - what a reader has to know of the figures
 * @rounds:	What was measured
 * @verdicts:	Its notes are filled in
 */
void verdict_take_notes(const struct rounds *rounds, struct verdicts *verdicts);

/**
 * verdict_sum_up() - the answer to the question
 * @rounds:	What was measured
 * @verdicts:	Its summary is filled in; its list is there
 */
void verdict_sum_up(const struct rounds *rounds, struct verdicts *verdicts);

/**
 * verdict_of_target() - which target a cell is of, where that has to be said
 * @rounds:	What was measured
 * @cell:	One of its cells
 * @buffer:	Set to ", php-fpm", or to "" if there is but one target
 * @size:	Bytes of @buffer
 *
 * Return: @buffer
 */
const char *verdict_of_target(const struct rounds *rounds, const struct cell *cell, char *buffer,
			      size_t size);

/**
 * verdict_interval_text() - "2.05x [2.03, 2.06]"
 * @interval:	Interval of a ratio
 * @buffer:	Set
 * @size:	Bytes of @buffer
 */
void verdict_interval_text(const struct statistics_interval *interval, char *buffer, size_t size);

#endif
