/* SPDX-License-Identifier: BSD-2-Clause */
/* A plain run: where its time went. */

#include "report_internal.h"

#include "bench/compare/units.h"

static void write_times(FILE *out, const char *name, const struct histogram *times)
{
	static const double shares[] = {0.5, 0.9, 0.99, 0.999};
	char text[UNITS_TEXT_MAX];

	if (times->count == 0)
		return;
	(void)fprintf(out, "  %-12s", name);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		(void)fprintf(out, " %10s",
			      units_time(text, sizeof(text),
					 (double)histogram_quantile(times, shares[i])));
	(void)fprintf(out, " %10s", units_time(text, sizeof(text), (double)times->max));
	(void)fprintf(out, " %10s\n", units_time(text, sizeof(text), histogram_mean(times)));
}

static void write_counts(FILE *out, const struct load_result *total)
{
	char text[UNITS_TEXT_MAX];
	const struct {
		const char *name;
		uint64_t count;
		bool always;
	} counts[] = {
		{"answers", total->answered, true},
		{"failures", failures_total(&total->failures), true},
		{"connections made", total->connections_made, true},
		{"bytes received", total->bytes_in, true},
		{"bytes sent", total->bytes_out, true},
		{"body length", total->body_length, true},
		{"bytes on STDERR", total->stderr_bytes, false},
		{"wrong bodies", total->wrong_body, false},
		{"arrivals due", total->arrivals, false},
		{"most waiting here", total->queue_max, false},
		{"unfinished", total->in_flight, false},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (counts[i].always || counts[i].count > 0)
			(void)fprintf(out, "  %-18s %18s\n", counts[i].name,
				      units_count(text, sizeof(text), (double)counts[i].count));
	}
	(void)fprintf(out, "  %-18s %18s\n", "measured for",
		      units_time(text, sizeof(text), (double)total->elapsed_ns));
}

void report_times(FILE *out, const struct report *report)
{
	const struct load_result *total = report->rounds->cells[0].total;
	const bool closed = report->rounds->options.load.arrivals == LOAD_CLOSED;

	report_wrap(
		out, "\n", "",
		closed ? "Closed loop: a connection sends its next request when it has its answer. "
			 "While the server stalls nothing is sent, so these are service times, "
			 "not what users see under load; --rate shows that."
		       : "Open loop: requests come by a schedule. The response time counts from "
			 "the moment a request was due, the service time from when it was sent.");
	(void)fprintf(out, "\n%-14s %10s %10s %10s %10s %10s %10s\n", "Times", "p50", "p90", "p99",
		      "p99.9", "max", "mean");
	write_times(out, "response", &total->response);
	write_times(out, "service", &total->service);
	write_times(out, "connect", &total->connect);
	write_times(out, "first byte", &total->first_byte);
	write_times(out, "send lag", &total->send_lag);
	write_times(out, "close lag", &total->close_lag);
	write_times(out, "failed", &total->failures.times);
	(void)fputs("\nCounts\n", out);
	write_counts(out, total);
}
