/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the self-test share. */
#ifndef BENCH_COMPARE_SELFTEST_INTERNAL_H
#define BENCH_COMPARE_SELFTEST_INTERNAL_H

#include "bench/client/load.h"
#include "bench/compare/selftest.h"

#include <stdbool.h>

/**
 * selftest_note() - file a check
 * @selftest:	Changed
 * @grade:	Outcome
 * @name:	What was checked
 * @format:	As printf()
 */
void selftest_note(struct selftest *selftest, enum selftest_grade grade, const char *name,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * selftest_band() - file whether a figure is where it was on other machines
 * @selftest:	Changed
 * @name:	What it is
 * @value:	Figure
 * @low:	Band
 * @high:	Band
 */
void selftest_band(struct selftest *selftest, const char *name, double value, double low,
		   double high);

/**
 * selftest_check_load() - do a load's counts and percentiles fit together
 * @selftest:	Changed
 * @result:	Of a load against a responder that never fails
 * @requests:	What was asked for
 * @body:	Bytes of body of an answer
 */
void selftest_check_load(struct selftest *selftest, const struct load_result *result,
			 uint64_t requests, uint64_t body);

/**
 * selftest_null() - the null responder beside ping-pong of the same bytes
 * @options:	How; defaults filled in
 * @selftest:	Changed
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0, -EINTR, or another negative errno
 */
int selftest_null(const struct selftest_options *options, struct selftest *selftest, char *error,
		  size_t size);

#endif
