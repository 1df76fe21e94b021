/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of the floor and of the self-test. */

#include "report_internal.h"

static void write_interval(FILE *out, const struct statistics_interval *interval)
{
	char text[40];

	if (interval->coverage > 0)
		(void)snprintf(text, sizeof(text), "[%.1f, %.1f]", interval->low, interval->high);
	else
		(void)snprintf(text, sizeof(text), "no interval");
	(void)fprintf(out, "%9.2f %-16s", interval->median, text);
}

int report_floor(FILE *out, const struct report *report)
{
	const struct floor_result *floor = report->floor;
	const double base = floor->line[FLOOR_UNIX].rtt_us.median;

	report_head(out, report);
	(void)fprintf(
		out, "\nBlocking ping-pong: %zu bytes there, %zu bytes back, median of %u rounds\n",
		floor->request_bytes, floor->answer_bytes, floor->rounds);
	(void)fprintf(out, "\n%-10s %9s %-16s %10s %10s %12s\n", "", "trip, us", "[95 %]",
		      "CPU asking", "answering", "x unix kept");
	for (unsigned int i = 0; floor->rounds > 0 && i < FLOOR_KINDS; i++) {
		const struct floor_line *line = &floor->line[i];

		(void)fprintf(out, "%-10s ", floor_kind_name((enum floor_kind)i));
		write_interval(out, &line->rtt_us);
		(void)fprintf(out, " %10.2f %10.2f %12.2f\n", line->client_cpu_us.median,
			      line->server_cpu_us.median, line->rtt_us.median / base);
	}
	return report_finish(out);
}

int report_selftest(FILE *out, const struct selftest *selftest)
{
	static const char *const grades[] = {
		[SELFTEST_OK] = "ok    ", [SELFTEST_WARN] = "WARN  ", [SELFTEST_FAIL] = "FAIL  "};

	for (size_t i = 0; i < selftest->count; i++) {
		const struct selftest_check *check = &selftest->checks[i];
		char text[sizeof(check->name) + sizeof(check->text) + 4];

		(void)snprintf(text, sizeof(text), "%s: %s", check->name, check->text);
		report_wrap(out, grades[check->grade], "      ", text);
	}
	(void)fprintf(out, "%zu checks, %u warnings, %u failures\n", selftest->count,
		      selftest->warnings, selftest->failures);
	return report_finish(out);
}
