/* SPDX-License-Identifier: BSD-2-Clause */
/* A run that was saved by --json. */

#include "saved.h"

#include "bench/compare/report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* Where a complaint goes. */
struct complaint {
	const char *path;
	char *error;
	size_t size;
};

static int __attribute__((format(printf, 2, 3)))
complain(const struct complaint *complaint, const char *format, ...)
{
	int used = snprintf(complaint->error, complaint->size, "%s: ", complaint->path);
	va_list args;

	va_start(args, format);
	if (used >= 0 && (size_t)used < complaint->size)
		(void)vsnprintf(complaint->error + used, complaint->size - (size_t)used, format,
				args);
	va_end(args);
	return -EINVAL;
}

static void take_text(const json_t *object, const char *key, char *buffer, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	(void)snprintf(buffer, size, "%s", text != NULL ? text : "");
}

static void add_fact(struct saved *saved, const char *name, const json_t *value)
{
	struct saved_fact *fact = &saved->facts[saved->fact_count];

	if (saved->fact_count == SAVED_FACTS_MAX)
		return;
	(void)snprintf(fact->name, sizeof(fact->name), "%s", name);
	if (json_is_string(value))
		(void)snprintf(fact->value, sizeof(fact->value), "%s", json_string_value(value));
	else if (json_is_boolean(value))
		(void)snprintf(fact->value, sizeof(fact->value), "%s",
			       json_is_true(value) ? "yes" : "no");
	else if (json_is_number(value))
		(void)snprintf(fact->value, sizeof(fact->value), "%.6g", json_number_value(value));
	else
		return;
	saved->fact_count++;
}

/* How long it may take does not change what is measured; the load of the machine always differs. */
static bool is_telling(const char *name)
{
	static const char *const others[] = {"load_average", "budget_s",      "rounds",
					     "rounds_max",   "slice_least_s", "precision"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(name, others[i]) == 0)
			return false;
	}
	return true;
}

static void add_facts(struct saved *saved, json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (is_telling(name) && saved_fact(saved, name) == NULL)
			add_fact(saved, name, value);
	}
}

const char *saved_fact(const struct saved *saved, const char *name)
{
	for (size_t i = 0; i < saved->fact_count; i++) {
		if (strcmp(saved->facts[i].name, name) == 0)
			return saved->facts[i].value;
	}
	return NULL;
}

static int read_rounds(const json_t *object, size_t index, struct saved_cell *cell,
		       const struct complaint *complaint)
{
	const json_t *list = json_object_get(object, "rounds");

	if (!json_is_array(list))
		return complain(complaint, "\"cells[%zu].rounds\" is missing", index);
	for (size_t i = 0; i < json_array_size(list) && cell->count < CELL_ROUNDS_MAX; i++) {
		const json_t *p50 = json_object_get(json_array_get(list, i), "p50_us");

		if (p50 == NULL)
			return complain(complaint, "\"cells[%zu].rounds[%zu].p50_us\" is missing",
					index, i);
		/* A round without enough answers has null. */
		if (json_is_number(p50) && json_number_value(p50) > 0)
			cell->p50_us[cell->count++] = json_number_value(p50);
	}
	return 0;
}

static int read_cell(const json_t *object, size_t index, struct saved_cell *cell,
		     const struct complaint *complaint)
{
	static const char *const texts[] = {"name", "target"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!json_is_string(json_object_get(object, texts[i])))
			return complain(complaint, "\"cells[%zu].%s\" is missing", index, texts[i]);
	}
	take_text(object, "name", cell->name, sizeof(cell->name));
	take_text(object, "target", cell->target, sizeof(cell->target));
	cell->control = json_is_true(json_object_get(object, "control"));
	cell->keep = json_is_true(json_object_get(object, "keep"));
	cell->connections =
		(unsigned int)json_integer_value(json_object_get(object, "connections"));
	cell->noise = NAN;
	return read_rounds(object, index, cell, complaint);
}

static int read_cells(const json_t *root, struct saved *saved, const struct complaint *complaint)
{
	const json_t *list = json_object_get(root, "cells");
	const size_t count = json_array_size(list);
	int status = 0;

	if (!json_is_array(list) || count == 0)
		return complain(complaint, "\"cells\" is missing; accepted is what run or compare "
					   "have written with --json");
	if (count > SAVED_CELLS_MAX)
		return complain(complaint, "%zu cells; accepted are at most %d", count,
				SAVED_CELLS_MAX);
	saved->cells = calloc(count, sizeof(*saved->cells));
	if (saved->cells == NULL) {
		(void)complain(complaint, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; status == 0 && i < count; i++)
		status = read_cell(json_array_get(list, i), i, &saved->cells[saved->cell_count++],
				   complaint);
	return status;
}

/* The noise of the control that is most like a cell. */
static double choose_noise(const json_t *comparisons, const struct saved *saved,
			   const struct saved_cell *cell)
{
	double noise = NAN;
	int best = -1;

	for (size_t i = 0; i < json_array_size(comparisons); i++) {
		const json_t *pair = json_array_get(comparisons, i);
		const char *kind = json_string_value(json_object_get(pair, "kind"));
		const json_int_t b = json_integer_value(json_object_get(pair, "b"));
		const struct saved_cell *other;
		int score;

		if (kind == NULL || strcmp(kind, "control") != 0 || b < 0 ||
		    (size_t)b >= saved->cell_count)
			continue;
		other = &saved->cells[b];
		score = 2 * (other->keep == cell->keep) + (other->connections == cell->connections);
		if (score <= best)
			continue;
		best = score;
		noise = json_is_number(json_object_get(pair, "noise"))
				? json_number_value(json_object_get(pair, "noise"))
				: NAN;
	}
	return noise;
}

static int check_kind(const json_t *root, const struct complaint *complaint)
{
	const json_t *version = json_object_get(root, "schema_version");
	const char *schema = json_string_value(json_object_get(root, "schema"));

	if (schema == NULL)
		return complain(complaint, "\"schema\" is missing, so berth-bench has not written "
					   "it");
	if (strcmp(schema, "berth-bench") != 0)
		return complain(complaint, "\"schema\" is \"%.60s\"; accepted is \"berth-bench\"",
				schema);
	if (!json_is_integer(version))
		return complain(complaint, "\"schema_version\" is missing");
	if (json_integer_value(version) != REPORT_SCHEMA_VERSION)
		return complain(complaint, "\"schema_version\" is %lld; accepted is %d",
				(long long)json_integer_value(version), REPORT_SCHEMA_VERSION);
	return 0;
}

static int read_root(const json_t *root, struct saved *saved, const struct complaint *complaint)
{
	int status = check_kind(root, complaint);

	if (status == 0)
		status = read_cells(root, saved, complaint);
	if (status < 0)
		return status;
	take_text(root, "command", saved->command, sizeof(saved->command));
	take_text(json_object_get(root, "placement"), "mode", saved->placement,
		  sizeof(saved->placement));
	add_fact(saved, "placement", json_object_get(json_object_get(root, "placement"), "mode"));
	add_fact(saved, "berth-bench", json_object_get(root, "program_version"));
	add_facts(saved, json_object_get(root, "environment"));
	add_facts(saved, json_object_get(root, "options"));
	for (size_t i = 0; i < saved->cell_count; i++)
		saved->cells[i].noise =
			choose_noise(json_object_get(root, "comparisons"), saved, &saved->cells[i]);
	return 0;
}

int saved_read(const char *path, struct saved *ret_saved, char *error, size_t size)
{
	const struct complaint complaint = {.path = path, .error = error, .size = size};
	struct saved saved = {.path = path};
	json_error_t where;
	json_t *root = NULL;
	FILE *in = fopen(path, "re");
	int status;

	if (in == NULL) {
		status = -errno;
		(void)complain(&complaint, "%s", strerror(-status));
		return status;
	}
	root = json_loadf(in, JSON_REJECT_DUPLICATES, &where);
	(void)fclose(in);
	if (root == NULL)
		status = complain(&complaint, "it is no JSON: line %d: %s", where.line, where.text);
	else
		status = read_root(root, &saved, &complaint);
	json_decref(root);
	if (status == 0)
		*ret_saved = saved;
	else
		saved_done(&saved);
	return status;
}

void saved_done(struct saved *saved)
{
	free(saved->cells);
	saved->cells = NULL;
	saved->cell_count = 0;
}
