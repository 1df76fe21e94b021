/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON report: cells. */

#include "report_internal.h"
#include "report_json.h"

#include "bench/compare/stall.h"

static json_t *make_histogram(const struct histogram *histogram)
{
	json_t *buckets = json_array();

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (histogram->buckets[i] > 0)
			(void)json_array_append_new(
				buckets,
				json_pack("[o, o]", report_json_integer(histogram_bucket_low(i)),
					  report_json_integer(histogram->buckets[i])));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count",
			 report_json_integer(histogram->count), "min_ns",
			 report_json_integer(histogram->count > 0 ? histogram->min : 0), "max_ns",
			 report_json_integer(histogram->max), "sum_ns",
			 report_json_integer(histogram->sum), "buckets", buckets);
}

static json_t *make_histograms(const struct load_result *total)
{
	const struct {
		const char *name;
		const struct histogram *histogram;
	} all[] = {
		{"service", &total->service},	    {"response", &total->response},
		{"connect", &total->connect},	    {"first_byte", &total->first_byte},
		{"send_lag", &total->send_lag},	    {"close_lag", &total->close_lag},
		{"failed", &total->failures.times},
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].histogram->count > 0)
			(void)json_object_set_new(object, all[i].name,
						  make_histogram(all[i].histogram));
	}
	return object;
}

static json_t *make_failures(const struct failures *failures)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < FAILURE_CLASSES; i++) {
		if (failures->count[i] == 0)
			continue;
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o}", "class", failure_name((enum failure)i),
				  "count", report_json_integer(failures->count[i]), "first_s",
				  report_json_number((double)failures->first_ns[i] / 1e9), "last_s",
				  report_json_number((double)failures->last_ns[i] / 1e9)));
	}
	return list;
}

static json_t *make_total(const struct load_result *total)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"answered", total->answered},
		{"failed", failures_total(&total->failures)},
		{"wrong_body", total->wrong_body},
		{"body_length", total->body_length},
		{"bytes_in", total->bytes_in},
		{"bytes_out", total->bytes_out},
		{"stderr_bytes", total->stderr_bytes},
		{"connections_made", total->connections_made},
		{"source_changes", total->source_changes},
		{"arrivals", total->arrivals},
		{"queue_max", total->queue_max},
		{"in_flight", total->in_flight},
		{"client_switches", total->client_switches},
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		(void)json_object_set_new(object, counts[i].name,
					  report_json_integer(counts[i].value));
	(void)json_object_set_new(object, "elapsed_s",
				  report_json_number((double)total->elapsed_ns / 1e9));
	(void)json_object_set_new(object, "client_cpu_s",
				  report_json_number((double)total->client_cpu_ns / 1e9));
	(void)json_object_set_new(object, "failures", make_failures(&total->failures));
	(void)json_object_set_new(object, "histograms", make_histograms(total));
	return object;
}

static json_t *make_round(const struct cell_round *round, size_t number)
{
	json_t *object = json_pack("{s:i, s:b, s:b, s:o, s:i, s:o}", "round", (int)number, "dirty",
				   (int)round->dirty, "again", (int)round->again, "failures",
				   report_json_integer(round->failures), "queue_deepest",
				   (int)round->queue_deepest, "overflows",
				   report_json_integer(round->overflows));

	for (size_t i = 0; i < REPORT_FIGURES; i++)
		(void)json_object_set_new(
			object, report_figures[i].name,
			report_json_number(cell_figure(round, report_figures[i].figure)));
	return object;
}

static json_t *make_rounds(const struct cell *cell)
{
	json_t *list = json_array();

	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++) {
		if (cell->rounds[i].done)
			(void)json_array_append_new(list, make_round(&cell->rounds[i], i + 1));
	}
	return list;
}

static json_t *make_endpoints(const struct target *target)
{
	json_t *list = json_array();

	for (size_t i = 0; i < target->endpoint_count; i++)
		(void)json_array_append_new(list, report_json_text(target->endpoints[i].text));
	return list;
}

static bool uses_quickack(const struct rounds *rounds, const struct cell *cell)
{
	return cell->transport == TRANSPORT_TCP &&
	       (cell->quickack || rounds->options.load.quickack);
}

static json_t *make_cell(const struct rounds *rounds, size_t index)
{
	const struct cell *cell = &rounds->cells[index];
	json_t *object;
	struct stall stall;

	object = json_pack("{s:s, s:o, s:o, s:i, s:o, s:s, s:b, s:i, s:o, s:b, s:b, s:b, s:o}",
			   "name", cell->name, "target", report_json_text(cell->target->name),
			   "target_version", report_json_text(cell->target->version), "workers",
			   (int)cell->target->workers, "endpoints", make_endpoints(cell->target),
			   "transport", transport_name(cell->transport), "keep", (int)cell->keep,
			   "connections", (int)cell->connections, "body_size",
			   report_json_integer(cell->body_size), "control", (int)cell->control,
			   "dead", (int)cell->dead, "steady", (int)cell->steady, "note",
			   report_json_text(cell->note));
	stall_find(rounds->cells, rounds->cell_count, index, &stall);
	(void)json_object_set_new(object, "quickack", json_boolean(uses_quickack(rounds, cell)));
	(void)json_object_set_new(
		object, "stall",
		stall.found ? json_pack("{s:o, s:o}", "share", report_json_number(stall.share),
					"typical_us", report_json_number(stall.typical_us))
			    : json_null());
	(void)json_object_set_new(object, "ceiling",
				  cell->ceiling > 0 ? report_json_number(cell->ceiling)
						    : json_null());
	(void)json_object_set_new(object, "client_bound", json_boolean(cell_client_bound(cell)));
	(void)json_object_set_new(object, "pss_kib", report_json_integer(cell->pss_kib));
	(void)json_object_set_new(object, "queue_limit", report_json_integer(cell->queue_limit));
	(void)json_object_set_new(object, "rounds", make_rounds(cell));
	(void)json_object_set_new(object, "total", make_total(cell->total));
	return object;
}

json_t *report_json_cells(const struct rounds *rounds)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rounds->cell_count; i++)
		(void)json_array_append_new(list, make_cell(rounds, i));
	return list;
}
