/* SPDX-License-Identifier: BSD-2-Clause */
/* A run that was saved by --json. */
#ifndef BENCH_COMPARE_SAVED_H
#define BENCH_COMPARE_SAVED_H

#include "bench/compare/cell.h"

#include <stdbool.h>
#include <stddef.h>

/* More cells than a run has. */
#define SAVED_CELLS_MAX 400
#define SAVED_FACTS_MAX 64

/**
 * struct saved_cell - a cell
 * @name:	Name, as struct cell has it
 * @target:	What answered
 * @control:	It is another cell once more
 * @keep:	Kept connections
 * @connections: Concurrency
 * @p50_us:	Median times of its rounds, as far as these have one
 * @count:	Entries
 * @noise:	How far from 1 the control got that is most like it; NAN if there is none
 */
struct saved_cell {
	char name[64];
	char target[64];
	bool control;
	bool keep;
	unsigned int connections;
	double p50_us[CELL_ROUNDS_MAX];
	size_t count;
	double noise;
};

/**
 * struct saved_fact - something that figures depend on
 * @name:	Name
 * @value:	Value
 */
struct saved_fact {
	char name[40];
	char value[192];
};

/**
 * struct saved - a saved run
 * @path:	Its file
 * @command:	How it was made, may be empty
 * @placement:	"same", "split", "free"; empty if it is not known
 * @facts:	Environment and options
 * @fact_count:	Entries
 * @cells:	What was measured (owned)
 * @cell_count:	Entries
 */
struct saved {
	const char *path;
	char command[512];
	char placement[16];
	struct saved_fact facts[SAVED_FACTS_MAX];
	size_t fact_count;
	struct saved_cell *cells;
	size_t cell_count;
};

/**
 * saved_read() - read a report of run or compare
 * @path:	File, stays in use
 * @ret_saved:	Set on success, to be released by saved_done()
 * @error:	On failure: the file, and what is wrong or missing
 * @size:	Bytes of @error
 *
 * Return: 0, -EINVAL (no such report, or a damaged one), or what reading the file returned
 */
int saved_read(const char *path, struct saved *ret_saved, char *error, size_t size);

/**
 * saved_fact() - a fact by its name
 * @saved:	Run
 * @name:	Name
 *
 * Return: its value, NULL if the run has none
 */
const char *saved_fact(const struct saved *saved, const char *name);

/**
 * saved_done() - release
 * @saved:	Run, may be all zero
 */
void saved_done(struct saved *saved);

#endif
