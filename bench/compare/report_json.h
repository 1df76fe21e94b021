/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the JSON report. What memory does not suffice for is missing in the document. */
#ifndef BENCH_COMPARE_REPORT_JSON_H
#define BENCH_COMPARE_REPORT_JSON_H

#include "bench/compare/rounds.h"
#include "bench/compare/statistics.h"
#include "bench/compare/verdict.h"

#include <stdint.h>

#include <jansson.h>

/**
 * report_json_number() - a number, null for NAN and infinity
 * @value:	Value
 *
 * Return: new reference
 */
json_t *report_json_number(double value);

/**
 * report_json_integer() - a whole number
 * @value:	Value
 *
 * Return: new reference
 */
json_t *report_json_integer(uint64_t value);

/**
 * report_json_text() - a text
 * @text:	Text, may be NULL; bytes that are no UTF-8, which JSON can't have, become '?'
 *
 * Return: new reference, null for NULL
 */
json_t *report_json_text(const char *text);

/**
 * report_json_interval() - a median and its interval
 * @interval:	Interval
 *
 * Return: new reference
 */
json_t *report_json_interval(const struct statistics_interval *interval);

/**
 * report_json_cells() - all cells, with their rounds and histograms
 * @rounds:	What was measured
 *
 * Return: new reference
 */
json_t *report_json_cells(const struct rounds *rounds);

/**
 * report_json_comparisons() - all pairs
 * @rounds:	What was measured
 * @verdicts:	What it means
 *
 * Return: new reference
 */
json_t *report_json_comparisons(const struct rounds *rounds, const struct verdicts *verdicts);

/**
 * report_json_verdicts() - summary and notes
 * @verdicts:	What it means
 *
 * Return: new reference
 */
json_t *report_json_verdicts(const struct verdicts *verdicts);

/**
 * report_json_verdict_word() - what a verdict is called
 * @verdict:	Verdict
 *
 * Return: "faster", "slower", "same" or "unknown"
 */
const char *report_json_verdict_word(enum statistics_verdict verdict);

struct diff;
struct ramp;

/**
 * report_json_ramp() - a ramp
 * @ramp:	Ramp
 *
 * Return: new reference
 */
json_t *report_json_ramp(const struct ramp *ramp);

/**
 * report_json_diff() - two saved runs
 * @diff:	Their comparison
 *
 * Return: new reference
 */
json_t *report_json_diff(const struct diff *diff);

#endif
