/* SPDX-License-Identifier: BSD-2-Clause */
/* Setters of keys that collect several values: listen, env, PHP's settings, the program. */
#include "fpm/conf/conf_internal.h"
#include "fpm/pool/warmup_request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

/*
 * What a `listen` line means depends on pm.max_children, which may follow later; the line waits in
 * the section's places.
 */
void conf_set_listen(const struct conf_setting *setting)
{
	(void)setting;
}

static bool is_name(const char *name, const char *others)
{
	for (; *name != '\0'; name++) {
		const unsigned char c = (unsigned char)*name;

		if (c >= 0x80 || (!isalnum(c) && strchr(others, c) == NULL))
			return false;
	}
	return true;
}

bool conf_is_variable(const char *name)
{
	return *name != '\0' && !isdigit((unsigned char)*name) && is_name(name, "_");
}

/*
 * Return: the manager's variable that a value stands for, NULL if it is a plain value. @value is
 * moved past the first '$' of "$$NAME", which stands for "$NAME" itself.
 */
static const char *find_source(const char **value)
{
	const char *name = *value;

	if (*name != '$')
		return NULL;
	while (*name == '$')
		name++;
	if (!conf_is_variable(name))
		return NULL;
	if (name == *value + 1)
		return name;
	(*value)++;
	return NULL;
}

static bool check_variable(const struct conf_setting *setting)
{
	const char *const name = setting->index;

	if (!conf_is_variable(name))
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "'%.64s' is no name for a variable; accepted are letters, digits and "
			    "'_', with no digit at the start",
			    name);
	else if (strcmp(name, "LD_PRELOAD") == 0 || strncmp(name, "BERTH_", 6) == 0)
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "berth sets this variable itself; accepted is any but LD_PRELOAD and "
			    "BERTH_...");
	else
		return true;
	return false;
}

void conf_set_env(const struct conf_setting *setting)
{
	struct conf_pool *const pool = setting->section->pool;
	const char *value = setting->value;
	const char *const source = find_source(&value);
	struct conf_env *list;
	struct conf_env *env;

	if (!check_variable(setting))
		return;
	if (source != NULL)
		value = getenv(source);
	if (value == NULL) {
		conf_report(setting->builder, CONF_WARNING, &setting->origin, setting->label,
			    "%.64s is not set in berth's environment, so this is empty", source);
		value = "";
	}
	list = reallocarray(pool->env, pool->env_count + 1, sizeof(*list));
	if (list == NULL) {
		conf_report_memory(setting->builder);
		return;
	}
	pool->env = list;
	env = &list[pool->env_count++];
	env->name = strdup(setting->index);
	env->value = strdup(value);
	env->source = source != NULL ? strdup(source) : NULL;
	if (env->name == NULL || env->value == NULL || (source != NULL && env->source == NULL))
		conf_report_memory(setting->builder);
}

/* A PHP setting has one value, whichever of the four keys gives it; extensions add up. */
static bool check_php_repetition(const struct conf_setting *setting)
{
	const struct conf_section *const section = setting->section;
	const struct conf_place *first = section->places;

	if (strcmp(setting->index, "extension") == 0 ||
	    strcmp(setting->index, "zend_extension") == 0)
		return true;
	while (strncmp(first->key->name, "php_", 4) != 0 ||
	       strcmp(first->index, setting->index) != 0)
		first++;
	/* The last place is this setting's own. */
	if (first == &section->places[section->places_count - 1])
		return true;
	if (first->origin.line > 0)
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "is given twice, first as %s at %s:%u; it is accepted once",
			    first->label, first->origin.file, first->origin.line);
	else
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "is given twice, first as %s; it is accepted once", first->label);
	return false;
}

static void add_php(const struct conf_setting *setting, const char *value, bool admin)
{
	struct conf_pool *const pool = setting->section->pool;
	struct conf_php *list;
	struct conf_php *php;

	if (*setting->index == '\0' || !is_name(setting->index, "_.-")) {
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "'%.64s' is no name for a PHP setting; accepted are letters, digits "
			    "and any of \"_.-\"",
			    setting->index);
		return;
	}
	if (!check_php_repetition(setting))
		return;
	list = reallocarray(pool->php, pool->php_count + 1, sizeof(*list));
	if (list == NULL) {
		conf_report_memory(setting->builder);
		return;
	}
	pool->php = list;
	php = &list[pool->php_count++];
	php->name = strdup(setting->index);
	php->value = strdup(value);
	php->admin = admin;
	if (php->name == NULL || php->value == NULL)
		conf_report_memory(setting->builder);
}

static void add_php_flag(const struct conf_setting *setting, bool admin)
{
	bool on;

	if (conf_parse_bool(setting->value, &on))
		add_php(setting, on ? "1" : "0", admin);
	else
		conf_refuse(setting, "one of on, off, yes, no, true, false, 1, 0");
}

void conf_set_php_value(const struct conf_setting *setting)
{
	add_php(setting, setting->value, false);
}

void conf_set_php_admin_value(const struct conf_setting *setting)
{
	add_php(setting, setting->value, true);
}

void conf_set_php_flag(const struct conf_setting *setting)
{
	add_php_flag(setting, false);
}

void conf_set_php_admin_flag(const struct conf_setting *setting)
{
	add_php_flag(setting, true);
}

void conf_set_warmup(const struct conf_setting *setting)
{
	struct conf_pool *const pool = setting->section->pool;
	const char *const value = setting->value;
	char **list;

	/* A path that ends in a slash names no script. */
	if (*value != '/' || strcspn(value, "?") < 2 || value[strcspn(value, "?") - 1] == '/') {
		conf_refuse(setting, "the absolute path of a script, with ?QUERY behind it or not");
		return;
	}
	if (strlen(value) > WARMUP_TARGET_MAX) {
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "is too long; accepted are " CONF_TEXT(WARMUP_TARGET_MAX) " bytes");
		return;
	}
	list = reallocarray(pool->warmup, pool->warmup_count + 1, sizeof(*list));
	if (list == NULL) {
		conf_report_memory(setting->builder);
		return;
	}
	pool->warmup = list;
	list[pool->warmup_count] = strdup(value);
	if (list[pool->warmup_count] == NULL)
		conf_report_memory(setting->builder);
	else
		pool->warmup_count++;
}

void conf_argv_free(char **argv)
{
	for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
		free(argv[i]);
	free(argv);
}

char **conf_argv_new(char *const argv[])
{
	size_t count = 0;
	char **copy;

	while (argv[count] != NULL)
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy != NULL && i < count; i++) {
		copy[i] = strdup(argv[i]);
		if (copy[i] == NULL) {
			conf_argv_free(copy);
			return NULL;
		}
	}
	return copy;
}

/*
 * True for "php-cgi -n" as the name of a program: more likely the quotes are one pair too many than
 * that such a program is meant, which can be given by its path.
 */
static bool is_quoted_command(const char *name)
{
	const char *const first = strpbrk(name, "/" BLANKS);

	return first != NULL && *first != '/';
}

void conf_set_argv(const struct conf_setting *setting, char *const argv[])
{
	struct conf_pool *const pool = setting->section->pool;
	char **copy;

	if (argv[0] == NULL || *argv[0] == '\0') {
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "the program's name is empty; accepted is a program and its "
			    "arguments");
		return;
	}
	if (is_quoted_command(argv[0])) {
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "'%.64s' is one word because of its quotes; write it without them",
			    argv[0]);
		return;
	}
	copy = conf_argv_new(argv);
	if (copy == NULL) {
		conf_report_memory(setting->builder);
		return;
	}
	conf_argv_free(pool->argv);
	pool->argv = copy;
}

/*
 * Copies what stands between the quotes at @from to @to and moves both. In double quotes \" and \\
 * are the characters behind the backslash and \n is a newline, which has no other way into a line.
 *
 * Return: false if the quote is not closed
 */
static bool copy_quoted(const char **from, char **to)
{
	const char quote = *(*from)++;

	while (**from != quote) {
		char c = *(*from)++;

		if (c == '\0')
			return false;
		if (quote == '"' && c == '\\' && **from != '\0' && strchr("\"\\n", **from) != NULL)
			c = *(*from)++ == 'n' ? '\n' : (*from)[-1];
		*(*to)++ = c;
	}
	(*from)++;
	return true;
}

/*
 * Cuts @text into words at blanks outside of quotes. @words is as long as @text and its NUL, which
 * is enough because no word gets longer.
 *
 * Return: NULL, or what is wrong
 */
static const char *split_words(const char *text, char *words, char *argv[CONF_ARGS_MAX + 1])
{
	size_t count = 0;

	for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS)) {
		if (count == CONF_ARGS_MAX)
			return "a program with less than " CONF_TEXT(CONF_ARGS_MAX) " arguments";
		argv[count++] = words;
		while (*text != '\0' && strchr(BLANKS, *text) == NULL) {
			if (*text != '"' && *text != '\'')
				*words++ = *text++;
			else if (!copy_quoted(&text, &words))
				return "a program and its arguments, each quote closed";
		}
		*words++ = '\0';
	}
	argv[count] = NULL;
	return NULL;
}

void conf_set_program(const struct conf_setting *setting)
{
	char *argv[CONF_ARGS_MAX + 1];
	char *words = malloc(strlen(setting->value) + 1);
	const char *accepted;

	if (words == NULL) {
		conf_report_memory(setting->builder);
		return;
	}
	accepted = split_words(setting->value, words, argv);
	if (accepted == NULL)
		conf_set_argv(setting, argv);
	else
		conf_refuse(setting, accepted);
	free(words);
}
