/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of a round that programs read. */

#include "report_internal.h"

const struct report_figure report_figures[REPORT_FIGURES] = {
	{"rate", CELL_RATE},
	{"p50_us", CELL_P50},
	{"p90_us", CELL_P90},
	{"p99_us", CELL_P99},
	{"p999_us", CELL_P999},
	{"server_cpu_us", CELL_SERVER_CPU},
	{"client_cpu_us", CELL_CLIENT_CPU},
	{"machine_cpu_us", CELL_MACHINE_CPU},
	{"client_share", CELL_CLIENT_SHARE},
	{"switches", CELL_SWITCHES},
	{"queue_mean", CELL_QUEUE_MEAN},
};
