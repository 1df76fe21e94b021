/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the 40 ms that Nagle's algorithm and a delayed acknowledgement cost together. */
#ifndef BENCH_COMPARE_STALL_H
#define BENCH_COMPARE_STALL_H

#include "bench/compare/cell.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * struct stall - what a cell's times say
 * @found:	There is a heap of answers around 40 ms that slowness does not explain
 * @share:	Share of the answers in it, 0..1
 * @typical_us:	Median time of those
 */
struct stall {
	bool found;
	double share;
	double typical_us;
};

/**
 * stall_find() - judge a cell
 * @cells:	All cells: another transport with the same heap clears the cell
 * @count:	Entries
 * @cell:	Index of the cell
 * @ret_stall:	Set
 */
void stall_find(const struct cell *cells, size_t count, size_t cell, struct stall *ret_stall);

/**
 * stall_text() - the finding and its cause, for a reader
 * @cell:	Cell
 * @stall:	Finding with @found set
 * @buffer:	Set
 * @size:	Bytes of @buffer, 600 is enough
 */
void stall_text(const struct cell *cell, const struct stall *stall, char *buffer, size_t size);

#endif
