/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON report: two saved runs. */

#include "report_json.h"

#include "bench/compare/diff.h"

static json_t *make_cell(const struct diff_cell *cell)
{
	json_t *object = json_pack("{s:o, s:o, s:o}", "name", report_json_text(cell->a->name),
				   "first_target", report_json_text(cell->a->target),
				   "second_target", report_json_text(cell->b->target));

	(void)json_object_set_new(object, "first_us", report_json_number(cell->a_us));
	(void)json_object_set_new(object, "second_us", report_json_number(cell->b_us));
	(void)json_object_set_new(object, "first_rounds", report_json_integer(cell->a->count));
	(void)json_object_set_new(object, "second_rounds", report_json_integer(cell->b->count));
	(void)json_object_set_new(object, "ratio", report_json_interval(&cell->ratio));
	(void)json_object_set_new(object, "p", report_json_number(cell->p));
	(void)json_object_set_new(object, "first_noise", report_json_number(cell->a->noise));
	(void)json_object_set_new(object, "second_noise", report_json_number(cell->b->noise));
	(void)json_object_set_new(object, "verdict",
				  json_string(report_json_verdict_word(cell->verdict)));
	(void)json_object_set_new(object, "sentence", report_json_text(cell->sentence));
	return object;
}

json_t *report_json_diff(const struct diff *diff)
{
	json_t *facts = json_array();
	json_t *cells = json_array();

	for (size_t i = 0; i < diff->fact_count; i++)
		(void)json_array_append_new(
			facts,
			json_pack("{s:o, s:o, s:o}", "name", report_json_text(diff->facts[i].name),
				  "first", report_json_text(diff->facts[i].a), "second",
				  report_json_text(diff->facts[i].b)));
	for (size_t i = 0; i < diff->cell_count; i++)
		(void)json_array_append_new(cells, make_cell(&diff->cells[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:b, s:o}", "first",
			 report_json_text(diff->a->path), "second", report_json_text(diff->b->path),
			 "differences", facts, "cells", cells, "only_first", (int)diff->only_a,
			 "only_second", (int)diff->only_b, "delta", report_json_number(diff->delta),
			 "refused", (int)diff->refused, "refusal", report_json_text(diff->refusal));
}
