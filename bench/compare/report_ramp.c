/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of a ramp. */

#include "report_internal.h"

#include "bench/compare/ramp.h"
#include "bench/compare/ramp_say.h"
#include "bench/compare/units.h"

#include <math.h>
#include <string.h>

static void write_plan(FILE *out, const struct ramp *ramp)
{
	const struct ramp_options *options = &ramp->options;
	char rate[UNITS_TEXT_MAX];
	char text[320];

	(void)snprintf(
		text, sizeof(text),
		"open loop, %s, at most %u in flight and %s/s, seed %llu; %zu steps of %.2g s "
		"in %.1f s",
		options->load.arrivals == LOAD_CONSTANT ? "constant" : "Poisson",
		options->load.connections, units_count(rate, sizeof(rate), options->max_rate),
		(unsigned long long)options->seed, ramp->step_count, (double)ramp->step_ns / 1e9,
		(double)ramp->elapsed_ns / 1e9);
	report_wrap(out, "  measured        ", "                  ", text);
}

static void write_slo(FILE *out, const struct ramp_target *target)
{
	char text[4][UNITS_TEXT_MAX];
	char line[240];

	(void)snprintf(line, sizeof(line), "%s: unloaded p50 %s, p99 %s; p99 that passes: %s",
		       transport_name(target->target->endpoints[0].transport),
		       units_time(text[0], sizeof(text[0]), target->unloaded_us * 1e3),
		       units_time(text[1], sizeof(text[1]), target->unloaded_p99_us * 1e3),
		       units_time(text[2], sizeof(text[2]), target->slo_us * 1e3));
	report_wrap(out, "  ", "    ", line);
}

static void write_step(FILE *out, const struct ramp *ramp, const struct ramp_step *step)
{
	const struct target *target = ramp->targets[step->target].target;
	char text[5][UNITS_TEXT_MAX];
	char queue[32];

	(void)snprintf(queue, sizeof(queue), "%llu+%u", (unsigned long long)step->waiting,
		       step->queue);
	(void)fprintf(out, "  %-4s %2u %9s %9s %9s %9s %9s %7s  %s\n",
		      transport_name(target->endpoints[0].transport), step->bracket + 1,
		      units_count(text[0], sizeof(text[0]), step->offered),
		      units_count(text[1], sizeof(text[1]), step->achieved),
		      units_time(text[2], sizeof(text[2]), step->p50_us * 1e3),
		      units_time(text[3], sizeof(text[3]), step->p99_us * 1e3), queue,
		      units_share(text[4], sizeof(text[4]), step->server_cpu),
		      ramp_reason_name(step->reason));
}

int report_ramp(FILE *out, const struct report *report)
{
	const struct ramp *ramp = report->ramp;
	char text[RAMP_SENTENCE_MAX];

	report_head(out, report);
	write_plan(out, ramp);
	(void)fputs("\n", out);
	for (size_t i = 0; i < ramp->target_count; i++)
		write_slo(out, &ramp->targets[i]);
	(void)fprintf(out, "\n  %-7s %9s %9s %9s %9s %9s %7s\n", "Steps", "offered/s", "achieved",
		      "p50", "p99", "queue", "CPU");
	for (size_t i = 0; i < ramp->step_count; i++)
		write_step(out, ramp, &ramp->steps[i]);
	(void)fputs("Response times. queue: most that waited in the client + in an accept queue.\n"
		    "CPU: what the server used, in CPUs.\n\nSo\n",
		    out);
	for (size_t i = 0; ramp_say(ramp, i, text, sizeof(text)); i++)
		report_wrap(out, "- ", "  ", text);
	return report_finish(out);
}
