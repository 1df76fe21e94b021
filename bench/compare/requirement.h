/* SPDX-License-Identifier: BSD-2-Clause */
/* Thresholds: --require 'p99<5ms'. */
#ifndef BENCH_COMPARE_REQUIREMENT_H
#define BENCH_COMPARE_REQUIREMENT_H

#include "bench/client/failure.h"
#include "bench/compare/cell.h"

#include <stdbool.h>
#include <stddef.h>

enum requirement_figure {
	REQUIREMENT_QUANTILE = 0, /* "p50", "p99.9": of all answers of a cell */
	REQUIREMENT_MEAN,	  /* "mean" */
	REQUIREMENT_MAX,	  /* "max" */
	REQUIREMENT_RATE,	  /* "rate": good answers a second */
	REQUIREMENT_FAILURES,	  /* "failures", or the name of a class: number or share */
	REQUIREMENT_CPU,	  /* "cpu": the server's CPU time a request */
};

enum requirement_operator {
	REQUIREMENT_LESS = 0,
	REQUIREMENT_AT_MOST,
	REQUIREMENT_MORE,
	REQUIREMENT_AT_LEAST,
	REQUIREMENT_EQUAL,
};

/**
 * struct requirement - one threshold
 * @text:	As written
 * @figure:	What is looked at
 * @share:	REQUIREMENT_QUANTILE: 0..1
 * @failure:	REQUIREMENT_FAILURES: class, FAILURE_NONE = all of them
 * @percent:	REQUIREMENT_FAILURES: @value is a share of all requests, 0..1
 * @operator:	How it is compared
 * @value:	Nanoseconds, a rate, a number or a share
 */
struct requirement {
	char text[64];
	enum requirement_figure figure;
	double share;
	enum failure failure;
	bool percent;
	enum requirement_operator operator;
	double value;
};

/**
 * requirement_parse() - read a threshold
 * @text:	"p99<5ms", "failures=0", "failures<0.1%", "rate>1000", "starved=0", "cpu<=50us":
 *		times need a unit (ns, us, ms, s); operators < <= > >= =; blanks do not matter
 * @ret_requirement: Set on success
 * @error:	On failure: what is wrong and what is accepted, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or -EINVAL
 */
int requirement_parse(const char *text, struct requirement *ret_requirement, char *error,
		      size_t size);

/**
 * requirement_holds() - check it
 * @requirement: Threshold
 * @cell:	What was measured
 * @seen:	Set to what was seen, e.g. "tcp new c=1 100 B: 7.31 ms (required: p99<5ms)"
 * @size:	Bytes of @seen
 *
 * A figure that is not known (no answer, no pid) does not hold.
 *
 * Return: true if it holds
 */
bool requirement_holds(const struct requirement *requirement, const struct cell *cell, char *seen,
		       size_t size);

#endif
