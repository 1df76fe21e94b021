/* SPDX-License-Identifier: BSD-2-Clause */
/* Setters of keys with a single value. */
#include "fpm/conf/conf_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const spawn_names[] = {
	[CONF_SPAWN_TEMPLATE] = "template",
	[CONF_SPAWN_EXEC] = "exec",
};
_Static_assert(COUNT(spawn_names) == CONF_SPAWN_MAX, "each spawn mode has a name");

static const char *const pm_names[] = {
	[CONF_PM_STATIC] = "static",
	[CONF_PM_DYNAMIC] = "dynamic",
	[CONF_PM_ONDEMAND] = "ondemand",
};
_Static_assert(COUNT(pm_names) == CONF_PM_MAX, "each way to size a pool has a name");

const char *conf_pm_name(enum conf_pm pm)
{
	return pm_names[pm];
}

const char *conf_spawn_name(enum conf_spawn spawn)
{
	return spawn_names[spawn];
}

void conf_refuse(const struct conf_setting *setting, const char *accepted)
{
	if (*setting->value == '\0')
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "the value is empty; accepted is %s", accepted);
	else
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "'%.64s' is not accepted; accepted is %s", setting->value, accepted);
}

void *conf_target(const struct conf_setting *setting)
{
	char *object = setting->section->pool != NULL ? (char *)setting->section->pool
						      : (char *)setting->builder->conf;

	return object + setting->key->offset;
}

static void store_string(const struct conf_setting *setting, char **target_string)
{
	char *copy = strdup(setting->value);

	if (copy == NULL) {
		conf_report_memory(setting->builder);
		return;
	}
	free(*target_string);
	*target_string = copy;
}

void conf_set_string(const struct conf_setting *setting)
{
	if (*setting->value == '\0')
		conf_refuse(setting, setting->key->accepted);
	else
		store_string(setting, conf_target(setting));
}

void conf_set_folder(const struct conf_setting *setting)
{
	if (*setting->value != '/')
		conf_refuse(setting, "an absolute path");
	else
		store_string(setting, conf_target(setting));
}

void conf_set_error_log(const struct conf_setting *setting)
{
	if (strcmp(setting->value, "stderr") == 0)
		return;
	if (*setting->value != '/')
		conf_refuse(setting, "an absolute path or stderr");
	else
		store_string(setting, &setting->builder->conf->error_log);
}

void conf_set_control(const struct conf_setting *setting)
{
	if (strcmp(setting->value, "none") != 0 && *setting->value != '/')
		conf_refuse(setting, "an absolute path or none");
	else if (strlen(setting->value) > CONF_SOCKET_PATH_MAX)
		conf_refuse(setting, "a path of at most 107 bytes or none");
	else
		store_string(setting, &setting->builder->conf->control);
}

void conf_set_pid(const struct conf_setting *setting)
{
	if (*setting->value != '/' || setting->value[strlen(setting->value) - 1] == '/')
		conf_refuse(setting, "the absolute path of a file");
	else
		store_string(setting, &setting->builder->conf->pid);
}

void conf_set_log_level(const struct conf_setting *setting)
{
	for (enum log_level level = LOG_LEVEL_DEBUG; level < LOG_LEVEL_MAX; level++) {
		if (strcmp(setting->value, log_level_name(level)) == 0) {
			setting->builder->conf->log_level = level;
			return;
		}
	}
	conf_refuse(setting, "one of alert, error, warning, notice, debug");
}

bool conf_parse_bool(const char *text, bool *ret_value)
{
	static const char *const yes[] = {"yes", "on", "true", "1"};
	static const char *const no[] = {"no", "off", "false", "0"};

	for (size_t i = 0; i < COUNT(yes); i++) {
		if (strcasecmp(text, yes[i]) == 0) {
			*ret_value = true;
			return true;
		}
		if (strcasecmp(text, no[i]) == 0) {
			*ret_value = false;
			return true;
		}
	}
	return false;
}

void conf_set_bool(const struct conf_setting *setting)
{
	if (!conf_parse_bool(setting->value, conf_target(setting)))
		conf_refuse(setting, "one of yes, no, on, off, true, false, 1, 0");
}

bool conf_parse_digits(const char **text, int base, int64_t max, int64_t *ret_number)
{
	const char *const start = *text;
	int64_t number = 0;

	for (; **text >= '0' && **text < '0' + base; (*text)++) {
		const int digit = **text - '0';

		if (number > (max - digit) / base)
			return false;
		number = number * base + digit;
	}
	*ret_number = number;
	return *text != start;
}

static bool parse_number(const struct conf_setting *setting, int64_t *ret_number)
{
	const struct conf_key *const key = setting->key;
	const char *text = setting->value;
	int64_t number;
	char accepted[80];

	if (conf_parse_digits(&text, 10, key->max, &number) && *text == '\0' &&
	    number >= key->min) {
		*ret_number = number;
		return true;
	}
	(void)snprintf(accepted, sizeof(accepted), "a whole number from %ld to %ld", key->min,
		       key->max);
	conf_refuse(setting, accepted);
	return false;
}

void conf_set_number(const struct conf_setting *setting)
{
	unsigned int *const to = conf_target(setting);
	int64_t number;

	if (parse_number(setting, &number))
		*to = (unsigned int)number;
}

void conf_set_backlog(const struct conf_setting *setting)
{
	int64_t number;

	/* php-fpm's way to say "whatever is usual". */
	if (strcmp(setting->value, "-1") == 0)
		return;
	if (parse_number(setting, &number))
		setting->section->pool->backlog = (int)number;
}

void conf_set_mode(const struct conf_setting *setting)
{
	const char *text = setting->value;
	int64_t mode;

	if (conf_parse_digits(&text, 8, 0777, &mode) && *text == '\0')
		setting->section->pool->listen_mode = (mode_t)mode;
	else
		conf_refuse(setting, "an octal mode from 0000 to 0777, such as 0660");
}

/* Return: the milliseconds that a suffix stands for, 0 if there is no such suffix */
static int64_t find_unit(const char *suffix)
{
	static const struct {
		const char *suffix;
		int64_t ms;
	} units[] = {
		{"", 1000},
		{"ms", 1},
		{"s", 1000},
		{"m", 60LL * 1000},
		{"h", 60LL * 60 * 1000},
		{"d", 24LL * 60 * 60 * 1000},
	};

	for (size_t i = 0; i < COUNT(units); i++) {
		if (strcmp(suffix, units[i].suffix) == 0)
			return units[i].ms;
	}
	return 0;
}

void conf_set_time(const struct conf_setting *setting)
{
	const struct conf_key *const key = setting->key;
	uint32_t *const to = conf_target(setting);
	const char *text = setting->value;
	int64_t number = 0;
	int64_t unit = 0;

	if (conf_parse_digits(&text, 10, key->max, &number))
		unit = find_unit(text);
	if (unit == 0 || number * unit < key->min || number * unit > key->max)
		conf_refuse(setting, key->accepted);
	else
		*to = (uint32_t)(number * unit);
}

void conf_set_pm(const struct conf_setting *setting)
{
	for (enum conf_pm pm = CONF_PM_STATIC; pm < CONF_PM_MAX; pm++) {
		if (strcmp(setting->value, pm_names[pm]) == 0) {
			setting->section->pool->pm = pm;
			return;
		}
	}
	conf_refuse(setting, "static, dynamic or ondemand");
}

void conf_set_spawn(const struct conf_setting *setting)
{
	for (enum conf_spawn spawn = CONF_SPAWN_TEMPLATE; spawn < CONF_SPAWN_MAX; spawn++) {
		if (strcmp(setting->value, spawn_names[spawn]) == 0) {
			setting->section->pool->spawn = spawn;
			return;
		}
	}
	conf_refuse(setting, "template or exec");
}

/* Files see to it themselves; this is for text that comes from nowhere. */
void conf_set_include(const struct conf_setting *setting)
{
	conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
		    "is accepted in a file only");
}
