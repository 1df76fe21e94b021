/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration's builder: reports, sections, settings, and what is handed out at the end. */
#include "fpm/conf/conf.h"
#include "fpm/conf/conf_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest piece of the user's text that a message repeats. */
#define LABEL_BYTES_MAX 160

#define POOL_VARIABLE "$pool"
#define NAME_RULE                                                                             \
	"accepted are up to 64 letters, digits and any of \"_-.@+\", with a letter, a digit " \
	"or '_' at the start"

static const struct conf_origin command_line = {.file = CONF_COMMAND_LINE};

void conf_free(struct conf *conf)
{
	struct conf_pool *next;

	if (conf == NULL)
		return;
	for (struct conf_pool *pool = conf->pools; pool != NULL; pool = next) {
		next = pool->next;
		conf_pool_free(pool);
	}
	for (size_t i = 0; i < conf->files_count; i++)
		free(conf->files[i]);
	free(conf->files);
	free(conf->error_log);
	free(conf->control);
	free(conf->pid);
	free(conf);
}

struct conf_builder *conf_builder_new(conf_report_fn report, void *data)
{
	struct conf_builder *builder = calloc(1, sizeof(*builder));
	struct conf *conf = calloc(1, sizeof(*conf));

	if (builder == NULL || conf == NULL) {
		free(builder);
		free(conf);
		return NULL;
	}
	conf->log_level = LOG_LEVEL_NOTICE;
	conf->process_control_timeout_ms = CONF_CONTROL_TIMEOUT_MS_DEFAULT;
	builder->report = report;
	builder->data = data;
	builder->conf = conf;
	builder->current = &builder->global;
	return builder;
}

const char *conf_builder_control(const struct conf_builder *builder)
{
	return builder->conf->control;
}

void conf_builder_free(struct conf_builder *builder)
{
	struct conf_section *next;

	if (builder == NULL)
		return;
	for (struct conf_section *section = builder->pools; section != NULL; section = next) {
		next = section->next;
		conf_section_done(section);
		free(section);
	}
	conf_section_done(&builder->global);
	conf_free(builder->conf);
	free(builder);
}

/* A value may hold anything, but a message is one line on somebody's terminal. */
static void hide_controls(char *text)
{
	for (; *text != '\0'; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
	}
}

static void send_report(struct conf_builder *builder, enum conf_severity severity,
			const struct conf_origin *origin, const char *label, const char *message)
{
	char line[16] = "";
	char *text = NULL;

	if (origin->line > 0)
		(void)snprintf(line, sizeof(line), ":%u", origin->line);
	if (asprintf(&text, "%s%s: %.*s%s%s", origin->file, line, LABEL_BYTES_MAX,
		     label != NULL ? label : "", label != NULL ? ": " : "", message) == -1) {
		builder->report(builder->data, severity, "out of memory");
		return;
	}
	hide_controls(text);
	builder->report(builder->data, severity, text);
	free(text);
}

void conf_report(struct conf_builder *builder, enum conf_severity severity,
		 const struct conf_origin *origin, const char *label, const char *format, ...)
{
	const bool is_error = severity == CONF_ERROR;
	unsigned int *const count = is_error ? &builder->errors : &builder->warnings;
	char *message = NULL;
	va_list args;

	if (*count > CONF_REPORTS_MAX)
		return;
	if ((*count)++ == CONF_REPORTS_MAX) {
		builder->report(builder->data, severity,
				is_error ? "too many errors, the rest is not shown"
					 : "too many warnings, the rest is not shown");
		return;
	}
	va_start(args, format);
	if (vasprintf(&message, format, args) == -1)
		message = NULL;
	va_end(args);
	send_report(builder, severity, origin, label, message != NULL ? message : "out of memory");
	free(message);
}

void conf_report_memory(struct conf_builder *builder)
{
	builder->errors++;
	builder->report(builder->data, CONF_ERROR, "out of memory");
}

bool conf_stopped(const struct conf_builder *builder)
{
	return builder->errors > CONF_REPORTS_MAX;
}

const char *conf_file_name(struct conf_builder *builder, const char *name)
{
	struct conf *const conf = builder->conf;
	char **files = reallocarray(conf->files, conf->files_count + 1, sizeof(*files));

	if (files == NULL) {
		conf_report_memory(builder);
		return NULL;
	}
	conf->files = files;
	files[conf->files_count] = strdup(name);
	if (files[conf->files_count] == NULL) {
		conf_report_memory(builder);
		return NULL;
	}
	return files[conf->files_count++];
}

/*
 * Replaces "$pool" by the pool's name. "$$pool" stands for the characters "$pool", so that there
 * is a way to write each value, and so that the dump can.
 */
static char *expand_pool(const char *text, const char *name)
{
	const size_t length = strlen(POOL_VARIABLE);
	char *expanded = NULL;
	size_t size = 0;
	FILE *out;

	if (strstr(text, POOL_VARIABLE) == NULL)
		return strdup(text);
	out = open_memstream(&expanded, &size);
	if (out == NULL)
		return NULL;
	while (*text != '\0') {
		if (*text == '$' && strncmp(text + 1, POOL_VARIABLE, length) == 0) {
			(void)fputs(POOL_VARIABLE, out);
			text += length + 1;
		} else if (strncmp(text, POOL_VARIABLE, length) == 0) {
			(void)fputs(name, out);
			text += length;
		} else {
			(void)fputc(*text++, out);
		}
	}
	/* A memory stream that ran out of memory says so in the end, if not before. */
	if (fclose(out) == EOF) {
		free(expanded);
		return NULL;
	}
	return expanded;
}

/* Return: false with the error reported if the key or its index is not accepted here */
static bool check_key(const struct conf_setting *setting, const char *name)
{
	const enum conf_scope scope =
		setting->section->pool != NULL ? CONF_SCOPE_POOL : CONF_SCOPE_GLOBAL;
	const bool listed = setting->key != NULL && setting->key->array &&
			    (setting->index == NULL || *setting->index == '\0');
	char text[256] = "";

	if (setting->key == NULL)
		conf_key_explain(name, scope, text, sizeof(text));
	else if (setting->index == NULL && setting->key->index != NULL)
		(void)snprintf(text, sizeof(text), "a name in brackets is missing: %s[%s]", name,
			       setting->key->index);
	else if (setting->key->array && !listed)
		(void)snprintf(text, sizeof(text), "takes nothing in its brackets: %s[] = VALUE",
			       name);
	else if (!listed && setting->index != NULL && setting->key->index == NULL)
		(void)snprintf(text, sizeof(text), "takes no name in brackets: %s = VALUE", name);
	if (text[0] == '\0')
		return true;
	conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label, "%s", text);
	return false;
}

void conf_apply(struct conf_builder *builder, struct conf_section *section, const char *name,
		const char *index, const char *value, const char *option,
		const struct conf_origin *origin)
{
	const bool in_pool = section->pool != NULL;
	struct conf_setting setting = {
		.builder = builder,
		.section = section,
		.key = conf_key_find(name, in_pool ? CONF_SCOPE_POOL : CONF_SCOPE_GLOBAL),
		.index = index,
		.origin = *origin,
	};
	char label[LABEL_BYTES_MAX];
	char *expanded;

	if (option != NULL)
		(void)snprintf(label, sizeof(label), "%s", option);
	else if (index != NULL)
		(void)snprintf(label, sizeof(label), "%.64s[%.64s]", name, index);
	else
		(void)snprintf(label, sizeof(label), "%.64s", name);
	setting.label = label;
	if (!check_key(&setting, name))
		return;
	expanded = in_pool ? expand_pool(value, section->pool->name) : strdup(value);
	if (expanded == NULL) {
		conf_report_memory(builder);
		return;
	}
	setting.value = expanded;
	if (conf_place_add(&setting))
		setting.key->set(&setting);
	free(expanded);
}

void conf_builder_set(struct conf_builder *builder, const char *pool, const char *option,
		      const char *key, const char *value)
{
	struct conf_section *section = conf_section_command(builder, pool);
	char *name = strdup(key);
	char *index = NULL;
	size_t length;

	if (section == NULL)
		goto out;
	if (name == NULL) {
		conf_report_memory(builder);
		goto out;
	}
	if (strchr(value, '\n') != NULL) {
		conf_report(builder, CONF_ERROR, &command_line, option,
			    "a newline in the value is not accepted");
		goto out;
	}
	index = strchr(name, '[');
	length = strlen(name);
	if (index != NULL && name[length - 1] != ']') {
		conf_report(builder, CONF_ERROR, &command_line, option,
			    "']' is missing behind the key; accepted is KEY[NAME]=VALUE");
		goto out;
	}
	if (index != NULL) {
		name[length - 1] = '\0';
		*index++ = '\0';
	}
	conf_apply(builder, section, name, index, value, option, &command_line);
out:
	free(name);
}

void conf_builder_program(struct conf_builder *builder, const char *pool, char *const argv[])
{
	struct conf_setting setting = {
		.builder = builder,
		.section = conf_section_command(builder, pool),
		.key = conf_key_find("program", CONF_SCOPE_POOL),
		.value = "",
		.label = "--",
		.origin = command_line,
	};

	if (setting.section != NULL && conf_place_add(&setting))
		conf_set_argv(&setting, argv);
}

/* Moves the pools out of their sections. */
static void hand_out(struct conf_builder *builder, struct conf **ret_conf)
{
	struct conf_pool **end = &builder->conf->pools;

	for (struct conf_section *section = builder->pools; section != NULL;
	     section = section->next) {
		*end = section->pool;
		end = &section->pool->next;
		section->pool = NULL;
	}
	*ret_conf = builder->conf;
	builder->conf = NULL;
}

/* In the background standard error is nobody's. */
static void check_global(struct conf_builder *builder)
{
	const struct conf_place *place = conf_place_find(&builder->global, "daemonize", NULL);

	if (place != NULL && builder->conf->daemonize && builder->conf->error_log == NULL)
		conf_report(builder, CONF_ERROR, &place->origin, place->label,
			    "needs error_log = PATH, as there is no standard error in the "
			    "background");
}

int conf_builder_finish(struct conf_builder *builder, const struct conf_rules *rules,
			struct conf **ret_conf)
{
	const struct conf *const conf = builder->conf;
	const struct conf_origin origin = {
		.file = conf->files_count > 0 ? conf->files[0] : CONF_COMMAND_LINE,
	};

	if (builder->pools == NULL && !builder->unreadable)
		conf_report(builder, CONF_ERROR, &origin, NULL,
			    "there is no pool; at least one section [NAME] with listen and "
			    "pm.max_children is needed");
	conf_check_global_limits(builder, rules);
	for (struct conf_section *section = builder->pools; section != NULL;
	     section = section->next) {
		if (!section->spoiled)
			conf_check_pool(builder, section, rules);
	}
	conf_check_process_max(builder);
	conf_check_claims(builder);
	check_global(builder);
	if (builder->errors > 0)
		return -EINVAL;
	hand_out(builder, ret_conf);
	return 0;
}

bool conf_has_pipes(const struct conf_pool *pool)
{
	return pool->listen_count > 0 && pool->listen[0].address.kind == ADDRESS_PIPE;
}
