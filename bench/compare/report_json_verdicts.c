/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON report: what was compared, and what it means. */

#include "report_json.h"

static const char *const kinds[] = {[PAIR_CONTROL] = "control",
				    [PAIR_TRANSPORT] = "transport",
				    [PAIR_TARGET] = "target",
				    [PAIR_KEEP] = "keep"};

static const char *const words[] = {[VERDICT_FASTER] = "faster",
				    [VERDICT_SLOWER] = "slower",
				    [VERDICT_SAME] = "same",
				    [VERDICT_UNKNOWN] = "unknown"};

const char *report_json_verdict_word(enum statistics_verdict verdict)
{
	return words[verdict];
}

static json_t *make_comparison(const struct pair *pair, const struct verdict *verdict)
{
	const bool control = pair->kind == PAIR_CONTROL;
	json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
				   kinds[pair->kind], "a", (json_int_t)pair->a, "b",
				   (json_int_t)pair->b, "rounds", (json_int_t)verdict->ratio.rounds,
				   "latency", report_json_interval(&verdict->ratio.latency), "rate",
				   report_json_interval(&verdict->ratio.rate), "cpu",
				   report_json_interval(&verdict->ratio.cpu), "bootstrap",
				   report_json_interval(&verdict->ratio.bootstrap), "noise",
				   report_json_number(verdict->noise), "sentence",
				   report_json_text(verdict->sentence));

	/* A control is measured, not judged. */
	(void)json_object_set_new(object, "verdict",
				  control ? json_null() : json_string(words[verdict->verdict]));
	return object;
}

json_t *report_json_comparisons(const struct rounds *rounds, const struct verdicts *verdicts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < verdicts->count; i++)
		(void)json_array_append_new(list,
					    make_comparison(&rounds->pairs[i], &verdicts->list[i]));
	return list;
}

json_t *report_json_verdicts(const struct verdicts *verdicts)
{
	json_t *summary = json_array();
	json_t *notes = json_array();

	for (size_t i = 0; i < verdicts->summary_count; i++)
		(void)json_array_append_new(summary, report_json_text(verdicts->summary[i]));
	for (size_t i = 0; i < verdicts->note_count; i++)
		(void)json_array_append_new(notes, report_json_text(verdicts->notes[i]));
	return json_pack("{s:b, s:o, s:b, s:o, s:o, s:o}", "refused", (int)verdicts->refused,
			 "refusal", report_json_text(verdicts->refusal), "control_holds",
			 (int)verdicts->control_holds, "delta", report_json_number(verdicts->delta),
			 "summary", summary, "notes", notes);
}
