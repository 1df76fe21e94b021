/* SPDX-License-Identifier: BSD-2-Clause */
/* Is the instrument all right: clocks, counts, bands that sane machines are in. */

#include "selftest_internal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DEFAULT_ROUNDS 15
#define CLOCK_READINGS 100000

void selftest_note(struct selftest *selftest, enum selftest_grade grade, const char *name,
		   const char *format, ...)
{
	struct selftest_check *check;
	va_list args;

	if (selftest->count == SELFTEST_CHECKS_MAX)
		return;
	check = &selftest->checks[selftest->count++];
	check->grade = grade;
	(void)snprintf(check->name, sizeof(check->name), "%s", name);
	va_start(args, format);
	(void)vsnprintf(check->text, sizeof(check->text), format, args);
	va_end(args);
	selftest->warnings += grade == SELFTEST_WARN;
	selftest->failures += grade == SELFTEST_FAIL;
}

void selftest_band(struct selftest *selftest, const char *name, double value, double low,
		   double high)
{
	const bool inside = value >= low && value <= high;

	selftest_note(selftest, inside ? SELFTEST_OK : SELFTEST_WARN, name,
		      "%.2f, usual is %.2f-%.2f", value, low, high);
}

void selftest_check_load(struct selftest *selftest, const struct load_result *result,
			 uint64_t requests, uint64_t body)
{
	const struct histogram *times = &result->service;
	const uint64_t points[] = {
		times->min,
		histogram_quantile(times, 0.5),
		histogram_quantile(times, 0.9),
		histogram_quantile(times, 0.99),
		histogram_quantile(times, 0.999),
		times->max,
	};
	bool monotone = true;
	bool right;

	right = result->answered == requests && times->count == requests &&
		failures_total(&result->failures) == 0;
	selftest_note(selftest, right ? SELFTEST_OK : SELFTEST_FAIL, "counts",
		      "%llu requests, %llu answers, %llu times, %llu failures",
		      (unsigned long long)requests, (unsigned long long)result->answered,
		      (unsigned long long)times->count,
		      (unsigned long long)failures_total(&result->failures));
	for (size_t i = 1; i < sizeof(points) / sizeof(points[0]); i++)
		monotone &= points[i - 1] <= points[i];
	selftest_note(selftest, monotone ? SELFTEST_OK : SELFTEST_FAIL, "percentiles rise",
		      "min %llu, p50 %llu, p99 %llu, max %llu ns", (unsigned long long)points[0],
		      (unsigned long long)points[1], (unsigned long long)points[3],
		      (unsigned long long)points[5]);
	right = result->body_length == body && result->bytes_in >= result->answered * body;
	selftest_note(selftest, right ? SELFTEST_OK : SELFTEST_FAIL, "bytes",
		      "bodies of %llu bytes, %llu bytes in all",
		      (unsigned long long)result->body_length,
		      (unsigned long long)result->bytes_in);
}

static uint64_t read_clock(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void check_clock(struct selftest *selftest)
{
	const uint64_t start = read_clock();
	struct timespec resolution = {0};
	uint64_t before = start;
	bool backwards = false;
	double cost;

	for (int i = 0; i < CLOCK_READINGS; i++) {
		const uint64_t now = read_clock();

		backwards |= now < before;
		before = now;
	}
	cost = (double)(before - start) / CLOCK_READINGS;
	selftest_note(selftest, backwards ? SELFTEST_FAIL : SELFTEST_OK, "clock goes forward",
		      "%d readings", CLOCK_READINGS);
	selftest_note(selftest, cost < 1000 ? SELFTEST_OK : SELFTEST_WARN,
		      "cost of a clock reading", "%.0f ns, usual is 20-60 ns", cost);
	if (clock_getres(CLOCK_MONOTONIC, &resolution) == -1 || resolution.tv_sec > 0 ||
	    resolution.tv_nsec > 1000)
		selftest_note(selftest, SELFTEST_FAIL, "clock resolution",
			      "coarser than a microsecond");
}

static double rtt(const struct selftest *selftest, enum floor_kind kind)
{
	return selftest->floor.line[kind].rtt_us.median;
}

static void check_floor(struct selftest *selftest, const struct placement_plan *plan)
{
	const struct floor_line *kept = &selftest->floor.line[FLOOR_UNIX];
	bool positive = true;

	for (size_t i = 0; i < FLOOR_KINDS; i++)
		positive &= rtt(selftest, (enum floor_kind)i) > 0;
	selftest_note(selftest, positive ? SELFTEST_OK : SELFTEST_FAIL, "ping-pong",
		      "unix %.1f us, tcp %.1f us, pipe %.1f us a round trip",
		      rtt(selftest, FLOOR_UNIX), rtt(selftest, FLOOR_TCP),
		      rtt(selftest, FLOOR_PIPE));
	if (!positive)
		return;
	selftest_band(selftest, "tcp / unix, kept",
		      rtt(selftest, FLOOR_TCP) / rtt(selftest, FLOOR_UNIX), 1.3, 1.9);
	selftest_band(selftest, "pipe / unix",
		      rtt(selftest, FLOOR_PIPE) / rtt(selftest, FLOOR_UNIX), 0.5, 1.1);
	selftest_band(selftest, "tcp / unix, new connections",
		      rtt(selftest, FLOOR_TCP_NEW) / rtt(selftest, FLOOR_UNIX_NEW), 1.6, 2.3);
	if (plan == NULL || plan->placement != PLACEMENT_SAME)
		return;
	selftest_band(selftest, "new / kept, unix",
		      rtt(selftest, FLOOR_UNIX_NEW) / rtt(selftest, FLOOR_UNIX), 2.4, 2.9);
	selftest_band(selftest, "new / kept, tcp",
		      rtt(selftest, FLOOR_TCP_NEW) / rtt(selftest, FLOOR_TCP), 3.2, 4.8);
	/* One CPU does nothing but this, so its time is the wall clock's. */
	selftest_band(selftest, "CPU time / wall time, unix kept",
		      (kept->client_cpu_us.median + kept->server_cpu_us.median) /
			      kept->rtt_us.median,
		      0.85, 1.25);
}

int selftest_run(const struct selftest_options *options, struct selftest *ret_selftest, char *error,
		 size_t size)
{
	struct selftest_options filled = *options;
	const struct floor_options floor_options = {
		.plan = options->plan, .seed = options->seed, .stop = options->stop};
	int status;

	if (filled.rounds == 0)
		filled.rounds = DEFAULT_ROUNDS;
	if (filled.rounds > FLOOR_ROUNDS_MAX)
		filled.rounds = FLOOR_ROUNDS_MAX;
	memset(ret_selftest, 0, sizeof(*ret_selftest));
	check_clock(ret_selftest);
	if (filled.progress != NULL)
		filled.progress("ping-pong", 0, 1, filled.data);
	status = floor_run(&floor_options, &ret_selftest->floor, error, size);
	if (status < 0)
		return status;
	if (filled.stop != NULL && *filled.stop != 0)
		return -EINTR;
	check_floor(ret_selftest, filled.plan);
	return selftest_null(&filled, ret_selftest, error, size);
}
