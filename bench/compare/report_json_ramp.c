/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON report: a ramp. */

#include "report_json.h"

#include "bench/compare/ramp.h"
#include "bench/compare/ramp_say.h"

static json_t *make_step(const struct ramp_step *step)
{
	json_t *object =
		json_pack("{s:i, s:i, s:s}", "target", (int)step->target, "bracket",
			  (int)step->bracket + 1, "result", ramp_reason_name(step->reason));
	const struct {
		const char *name;
		double value;
	} figures[] = {
		{"rate", step->rate},
		{"offered", step->offered},
		{"achieved", step->achieved},
		{"p50_us", step->p50_us},
		{"p99_us", step->p99_us},
		{"failed_share", step->failures},
		{"server_cpus", step->server_cpu},
		{"client_cpus", step->client_cpu},
		{"send_lag_p99_us", step->lag_us},
		{"duration_s", (double)step->duration_ns / 1e9},
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		(void)json_object_set_new(object, figures[i].name,
					  report_json_number(figures[i].value));
	(void)json_object_set_new(object, "waiting", report_json_integer(step->waiting));
	(void)json_object_set_new(object, "queue_deepest", report_json_integer(step->queue));
	return object;
}

static json_t *make_target(const struct ramp_target *target)
{
	json_t *brackets = json_array();
	json_t *object;

	for (unsigned int i = 0; i < target->bracket_count; i++) {
		const struct ramp_bracket *bracket = &target->brackets[i];

		(void)json_array_append_new(
			brackets,
			json_pack("{s:o, s:o, s:o, s:o, s:b, s:s}", "low",
				  report_json_number(bracket->low), "high",
				  report_json_number(bracket->high), "sustained",
				  report_json_number(bracket->sustained), "failed",
				  report_json_number(bracket->failed), "done", (int)bracket->done,
				  "why", ramp_reason_name(bracket->why)));
	}
	object = json_pack("{s:o, s:s, s:o, s:o}", "target", report_json_text(target->target->name),
			   "transport", transport_name(target->target->endpoints[0].transport),
			   "brackets", brackets, "knee", report_json_number(ramp_knee(target)));
	(void)json_object_set_new(object, "unloaded_p50_us",
				  report_json_number(target->unloaded_us));
	(void)json_object_set_new(object, "unloaded_p99_us",
				  report_json_number(target->unloaded_p99_us));
	(void)json_object_set_new(object, "slo_us", report_json_number(target->slo_us));
	return object;
}

json_t *report_json_ramp(const struct ramp *ramp)
{
	json_t *targets = json_array();
	json_t *steps = json_array();
	json_t *ratios = json_array();
	json_t *summary = json_array();
	char text[RAMP_SENTENCE_MAX];

	for (size_t i = 0; i < ramp->target_count; i++)
		(void)json_array_append_new(targets, make_target(&ramp->targets[i]));
	for (size_t i = 1; i < ramp->target_count; i++) {
		const struct statistics_interval ratio =
			ramp_ratio(&ramp->targets[i], &ramp->targets[0]);

		(void)json_array_append_new(ratios, report_json_interval(&ratio));
	}
	for (size_t i = 0; i < ramp->step_count; i++)
		(void)json_array_append_new(steps, make_step(&ramp->steps[i]));
	for (size_t i = 0; ramp_say(ramp, i, text, sizeof(text)); i++)
		(void)json_array_append_new(summary, report_json_text(text));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b}", "targets", targets,
			 "steps", steps, "ratios", ratios, "summary", summary, "max_rate",
			 report_json_number(ramp->options.max_rate), "step_s",
			 report_json_number((double)ramp->step_ns / 1e9), "elapsed_s",
			 report_json_number((double)ramp->elapsed_ns / 1e9), "interrupted",
			 (int)ramp->interrupted, "over_budget", (int)ramp->over_budget, "refused",
			 (int)ramp_refused(ramp));
}
