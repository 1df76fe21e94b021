/* SPDX-License-Identifier: BSD-2-Clause */
/* Is the instrument all right: clocks, counts, bands that sane machines are in. */
#ifndef BENCH_COMPARE_SELFTEST_H
#define BENCH_COMPARE_SELFTEST_H

#include "bench/compare/floor.h"
#include "bench/server/placement.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define SELFTEST_CHECKS_MAX 48

enum selftest_grade {
	SELFTEST_OK = 0,
	SELFTEST_WARN, /* outside of what was seen on other machines */
	SELFTEST_FAIL, /* broken: do not believe what this machine measures */
};

/**
 * struct selftest_check - one check
 * @grade:	Outcome
 * @name:	What was checked
 * @text:	What was seen, and what is usual
 */
struct selftest_check {
	enum selftest_grade grade;
	char name[48];
	char text[160];
};

/**
 * struct selftest_options - 0 means the default that is named
 * @plan:	Where client and responder run
 * @rounds:	Rounds: 15
 * @seed:	Of the order
 * @stop:	Set by a signal handler, may be NULL
 * @progress:	Called now and then with what is going on, may be NULL
 * @data:	Passed to it
 */
struct selftest_options {
	const struct placement_plan *plan;
	unsigned int rounds;
	uint64_t seed;
	const volatile sig_atomic_t *stop;
	void (*progress)(const char *what, unsigned int done, unsigned int of, void *data);
	void *data;
};

/**
 * struct selftest - outcome
 * @checks:	Checks in the order they were made
 * @count:	Entries
 * @warnings:	How many are SELFTEST_WARN
 * @failures:	How many are SELFTEST_FAIL
 * @floor:	What the floor was
 */
struct selftest {
	struct selftest_check checks[SELFTEST_CHECKS_MAX];
	size_t count;
	unsigned int warnings;
	unsigned int failures;
	struct floor_result floor;
};

/**
 * selftest_run() - check
 * @options:	How
 * @ret_selftest: Set on success; some dozens of kilobytes
 * @error:	On failure (not of a check): what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0, -EINTR (stopped), or another negative errno
 */
int selftest_run(const struct selftest_options *options, struct selftest *ret_selftest, char *error,
		 size_t size);

#endif
