/* SPDX-License-Identifier: BSD-2-Clause */
/* What the reports share. */
#ifndef BENCH_COMPARE_REPORT_INTERNAL_H
#define BENCH_COMPARE_REPORT_INTERNAL_H

#include "bench/compare/report.h"

#define REPORT_FIGURES 11

/**
 * struct report_figure - what JSON and CSV say of a round
 * @name:	Key, or heading of the column
 * @figure:	Figure
 */
struct report_figure {
	const char *name;
	enum cell_figure figure;
};
extern const struct report_figure report_figures[REPORT_FIGURES];

/**
 * report_wrap() - write a text in lines of at most REPORT_WIDTH columns
 * @out:	Where to
 * @first:	In front of the first line
 * @rest:	In front of further lines
 * @text:	One line; a word that is too long for a line stays whole
 */
void report_wrap(FILE *out, const char *first, const char *rest, const char *text);

/**
 * report_finish() - everything must be written by now
 * @out:	Where it went
 *
 * Return: 0 or negative errno
 */
int report_finish(FILE *out);

/**
 * report_head() - command, environment, placement
 * @out:	Where to
 * @report:	Report
 */
void report_head(FILE *out, const struct report *report);

/**
 * report_failures() - the table of failures by transport, nothing without any
 * @out:	Where to
 * @rounds:	What was measured
 */
void report_failures(FILE *out, const struct rounds *rounds);

/**
 * report_times() - the distribution of all times of a plain run
 * @out:	Where to
 * @report:	Report with one cell
 */
void report_times(FILE *out, const struct report *report);

#endif
