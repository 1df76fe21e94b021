/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits and attributes of a pool's processes: setters of their keys, and who can have them. */
#include "fpm/conf/conf_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Return: the bytes that a suffix stands for, 0 if there is no such suffix */
static int64_t find_unit(const char *suffix)
{
	static const struct {
		const char *suffix;
		int64_t bytes;
	} units[] = {{"", 1}, {"k", 1LL << 10}, {"m", 1LL << 20}, {"g", 1LL << 30}};

	for (size_t i = 0; i < COUNT(units); i++) {
		if (strcasecmp(suffix, units[i].suffix) == 0)
			return units[i].bytes;
	}
	return 0;
}

/* Return: false if @text is not a number of bytes */
static bool parse_size(const char *text, uint64_t *ret_bytes)
{
	int64_t number;
	int64_t unit;

	if (!conf_parse_digits(&text, 10, CONF_SIZE_MAX, &number))
		return false;
	unit = find_unit(text);
	if (unit == 0 || number > CONF_SIZE_MAX / unit)
		return false;
	*ret_bytes = (uint64_t)(number * unit);
	return true;
}

void conf_set_size(const struct conf_setting *setting)
{
	if (!parse_size(setting->value, conf_target(setting)))
		conf_refuse(setting,
			    "a number of bytes, such as 134217728, 131072K, 128M or 1G; 0 is none");
}

void conf_set_rlimit_size(const struct conf_setting *setting)
{
	struct attributes_rlimit *const limit = conf_target(setting);
	uint64_t bytes = RLIM_INFINITY;

	if (strcmp(setting->value, "unlimited") != 0 && !parse_size(setting->value, &bytes)) {
		conf_refuse(setting, "a number of bytes, such as 134217728, 131072K, 128M or 1G, "
				     "or unlimited");
		return;
	}
	*limit = (struct attributes_rlimit){.set = true, .value = bytes};
}

void conf_set_rlimit_count(const struct conf_setting *setting)
{
	struct attributes_rlimit *const limit = conf_target(setting);
	const char *text = setting->value;
	int64_t number;

	if (conf_parse_digits(&text, 10, setting->key->max, &number) && *text == '\0' &&
	    number >= setting->key->min)
		*limit = (struct attributes_rlimit){.set = true, .value = (rlim_t)number};
	else
		conf_refuse(setting, setting->key->accepted);
}

void conf_set_priority(const struct conf_setting *setting)
{
	struct attributes_priority *const priority = conf_target(setting);
	const bool negative = *setting->value == '-';
	const char *text = setting->value + negative;
	int64_t number;

	if (conf_parse_digits(&text, 10, negative ? 20 : 19, &number) && *text == '\0')
		*priority = (struct attributes_priority){
			.set = true, .value = (int)(negative ? -number : number)};
	else
		conf_refuse(setting, "a whole number from -20 (first) to 19 (last)");
}

void conf_set_umask(const struct conf_setting *setting)
{
	const char *text = setting->value;
	int64_t mask;

	if (conf_parse_digits(&text, 8, 0777, &mask) && *text == '\0')
		setting->section->pool->attributes.umask = (mode_t)mask;
	else
		conf_refuse(setting, "an octal mask from 0000 to 0777, such as 0027");
}

/* What berth does inside of its own workers, or by what they tell, is not there with spawn = exec. */
static void check_executed(struct conf_builder *builder, const struct conf_section *section)
{
	const struct conf_pool *const pool = section->pool;
	const struct {
		const char *key;
		bool used;
		const char *why;
	} keys[] = {
		{"request_terminate_timeout", pool->request_terminate_timeout_ms > 0,
		 "where nobody tells when a request began"},
		{"pm.max_worker_memory", pool->max_worker_memory > 0,
		 "where a worker can't be replaced between two requests"},
		{"pm.max_worker_lifetime", pool->max_worker_lifetime_ms > 0,
		 "where a worker can't be replaced between two requests"},
		{"process.dumpable", !pool->dumpable,
		 "where the kernel makes every process that it executes dumpable"},
		{"chroot", pool->chroot != NULL,
		 "where the program would have to be inside, with all that it needs"},
	};

	for (size_t i = 0; i < COUNT(keys); i++) {
		const struct conf_place *const place = conf_place_find(section, keys[i].key, NULL);

		if (place != NULL && keys[i].used)
			conf_report(
				builder, CONF_ERROR, &place->origin, place->label,
				"is not accepted with spawn = exec, %s; spawn = template has it",
				keys[i].why);
	}
}

static void warn_ignored(struct conf_builder *builder, const struct conf_section *section,
			 const char *key)
{
	const struct conf_place *const place = conf_place_find(section, key, NULL);

	if (place != NULL)
		conf_report(builder, CONF_WARNING, &place->origin, place->label,
			    "ignored: not started as root");
}

/* As with `user`: a configuration made for root works all the same. */
static void check_as_user(struct conf_builder *builder, const struct conf_section *section)
{
	struct conf_pool *const pool = section->pool;

	if (pool->chroot != NULL)
		warn_ignored(builder, section, "chroot");
	free(pool->chroot);
	pool->chroot = NULL;
	if (pool->attributes.priority.set && pool->attributes.priority.value < 0) {
		warn_ignored(builder, section, "process.priority");
		pool->attributes.priority.set = false;
	}
}

void conf_check_limits(struct conf_builder *builder, struct conf_section *section,
		       const struct conf_rules *rules)
{
	struct conf_pool *const pool = section->pool;

	if (!pool->attributes.priority.set)
		pool->attributes.priority = builder->conf->priority;
	if (pool->spawn == CONF_SPAWN_EXEC)
		check_executed(builder, section);
	if (rules->euid != 0)
		check_as_user(builder, section);
}

void conf_check_global_limits(struct conf_builder *builder, const struct conf_rules *rules)
{
	struct conf *const conf = builder->conf;

	if (rules->euid == 0 || !conf->priority.set || conf->priority.value >= 0)
		return;
	warn_ignored(builder, &builder->global, "process.priority");
	conf->priority.set = false;
}
