/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of failures: what failed, on which transport, how often, when. */

#include "report_internal.h"

#include "bench/compare/units.h"

static void add_cells(const struct rounds *rounds, enum transport transport, struct failures *sum,
		      uint64_t *ret_requests)
{
	for (size_t i = 0; i < rounds->cell_count; i++) {
		const struct cell *cell = &rounds->cells[i];

		if (cell->transport != transport)
			continue;
		failures_merge(sum, &cell->total->failures);
		*ret_requests += cell->total->answered;
	}
	*ret_requests += failures_total(sum);
}

static void write_class(FILE *out, enum transport transport, enum failure failure,
			const struct failures *sum, uint64_t requests)
{
	const uint64_t count = sum->count[failure];
	char number[UNITS_TEXT_MAX];
	char share[UNITS_TEXT_MAX];
	char first[UNITS_TEXT_MAX];
	char last[UNITS_TEXT_MAX];

	(void)fprintf(out, "  %-5s %-17s %11s %8s %12s %12s\n", transport_name(transport),
		      failure_name(failure), units_count(number, sizeof(number), (double)count),
		      units_share(share, sizeof(share), (double)count / (double)requests),
		      units_time(first, sizeof(first), (double)sum->first_ns[failure]),
		      units_time(last, sizeof(last), (double)sum->last_ns[failure]));
	(void)fprintf(out, "        %s\n", failure_text(failure));
}

/* No failure, but what it cost is in the times of connecting. */
static void write_sources(FILE *out, const struct rounds *rounds)
{
	uint64_t changes = 0;
	char text[160];

	for (size_t i = 0; i < rounds->cell_count; i++)
		changes += rounds->cells[i].total->source_changes;
	if (changes == 0)
		return;
	(void)snprintf(text, sizeof(text),
		       "The client's ports were used up %llu times, and it went on from another "
		       "127.0.0.x.",
		       (unsigned long long)changes);
	report_wrap(out, "", "", text);
}

void report_failures(FILE *out, const struct rounds *rounds)
{
	/* Some hundred kilobytes, and reports are written by one thread. */
	static struct failures sum;
	bool any = false;

	for (unsigned int transport = 0; transport < TRANSPORTS; transport++) {
		uint64_t requests = 0;

		sum = (struct failures){.count = {0}};
		add_cells(rounds, (enum transport)transport, &sum, &requests);
		for (unsigned int i = 0; i < FAILURE_CLASSES; i++) {
			if (sum.count[i] == 0)
				continue;
			if (!any)
				(void)fprintf(out, "\n%-25s %11s %8s %12s %12s\n", "Failures",
					      "count", "share", "first after", "last after");
			any = true;
			write_class(out, (enum transport)transport, (enum failure)i, &sum,
				    requests);
		}
	}
	if (!any)
		(void)fputs("\nNo request failed.\n", out);
	write_sources(out, rounds);
}
