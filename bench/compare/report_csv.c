/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for spreadsheets: a line for each cell and round. */

#include "report_internal.h"

#include <math.h>

/* Quoted whatever it is: names may hold commas. */
static void write_text(FILE *out, const char *text)
{
	(void)fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			(void)fputc('"', out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

static void write_number(FILE *out, double value)
{
	if (isfinite(value))
		(void)fprintf(out, ",%.6g", value);
	else
		(void)fputc(',', out);
}

static void write_round(FILE *out, const struct cell *cell, size_t number)
{
	const struct cell_round *round = &cell->rounds[number];

	write_text(out, cell->name);
	(void)fputc(',', out);
	write_text(out, cell->target->name);
	(void)fprintf(out, ",%s,%d,%u,%zu,%d,%zu,%d,%llu,%u,%llu", transport_name(cell->transport),
		      cell->keep, cell->connections, cell->body_size, cell->control, number + 1,
		      round->dirty, (unsigned long long)round->failures, round->queue_deepest,
		      (unsigned long long)round->overflows);
	for (size_t i = 0; i < REPORT_FIGURES; i++)
		write_number(out, cell_figure(round, report_figures[i].figure));
	(void)fputc('\n', out);
}

static void write_cells(FILE *out, const struct rounds *rounds)
{
	(void)fputs("cell,target,transport,keep,connections,body_size,control,round,dirty,failures,"
		    "queue_deepest,overflows",
		    out);
	for (size_t i = 0; i < REPORT_FIGURES; i++)
		(void)fprintf(out, ",%s", report_figures[i].name);
	(void)fputc('\n', out);
	for (size_t i = 0; i < rounds->cell_count; i++) {
		for (size_t round = 0; round < CELL_ROUNDS_MAX; round++) {
			if (rounds->cells[i].rounds[round].done)
				write_round(out, &rounds->cells[i], round);
		}
	}
}

static void write_floor(FILE *out, const struct floor_result *floor)
{
	(void)fputs("kind,round,trips,rtt_us,client_cpu_us,server_cpu_us\n", out);
	for (unsigned int kind = 0; kind < FLOOR_KINDS; kind++) {
		for (unsigned int round = 0; round < floor->rounds; round++) {
			const struct floor_sample *sample = &floor->line[kind].samples[round];

			write_text(out, floor_kind_name((enum floor_kind)kind));
			(void)fprintf(out, ",%u,%llu", round + 1,
				      (unsigned long long)sample->trips);
			write_number(out, sample->rtt_us);
			write_number(out, sample->client_cpu_us);
			write_number(out, sample->server_cpu_us);
			(void)fputc('\n', out);
		}
	}
}

int report_csv(FILE *out, const struct report *report)
{
	if (report->rounds != NULL)
		write_cells(out, report->rounds);
	else if (report->floor != NULL)
		write_floor(out, report->floor);
	return report_finish(out);
}
