/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections while they are read: pools with their defaults, and where each setting was written. */
#include "fpm/conf/conf_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAME_RULE                                                                             \
	"accepted are up to 64 letters, digits and any of \"_-.@+\", with a letter, a digit " \
	"or '_' at the start"

void conf_pool_free(struct conf_pool *pool)
{
	if (pool == NULL)
		return;
	for (size_t i = 0; i < pool->listen_count; i++)
		address_done(&pool->listen[i].address);
	for (size_t i = 0; i < pool->env_count; i++) {
		free(pool->env[i].name);
		free(pool->env[i].value);
		free(pool->env[i].source);
	}
	for (size_t i = 0; i < pool->php_count; i++) {
		free(pool->php[i].name);
		free(pool->php[i].value);
	}
	for (size_t i = 0; i < pool->warmup_count; i++)
		free(pool->warmup[i]);
	free(pool->warmup);
	conf_argv_free(pool->argv);
	free(pool->listen);
	free(pool->env);
	free(pool->php);
	free(pool->name);
	free(pool->listen_owner);
	free(pool->listen_group);
	free(pool->allowed_uids);
	peers_done(&pool->peers);
	free(pool->user);
	free(pool->group);
	free(pool->chdir);
	free(pool->chroot);
	free(pool->attributes.cgroup);
	free(pool);
}

static struct conf_pool *pool_new(const char *name, const struct conf_origin *origin)
{
	char program[] = CONF_PROGRAM_DEFAULT;
	char *const argv[] = {program, NULL};
	struct conf_pool *pool = malloc(sizeof(*pool));

	if (pool == NULL)
		return NULL;
	*pool = (struct conf_pool){
		.origin = *origin,
		.backlog = CONF_BACKLOG_DEFAULT,
		.listen_uid = (uid_t)-1,
		.listen_gid = (gid_t)-1,
		.listen_mode = CONF_LISTEN_MODE_DEFAULT,
		.identity = {.uid = (uid_t)-1, .gid = (gid_t)-1},
		.pm = CONF_PM_STATIC,
		.max_spawn_rate = CONF_SPAWN_RATE_DEFAULT,
		.process_idle_timeout_ms = CONF_IDLE_TIMEOUT_MS_DEFAULT,
		.clear_env = true,
		.dumpable = false,
		.attributes = {.umask = (mode_t)-1},
		.rescue = true,
		.request_header_timeout_ms = CONF_HEADER_TIMEOUT_MS_DEFAULT,
		.process_start_timeout_ms = CONF_START_TIMEOUT_MS_DEFAULT,
		.warmup_timeout_ms = CONF_WARMUP_TIMEOUT_MS_DEFAULT,
		.spawn = CONF_SPAWN_TEMPLATE,
	};
	pool->name = strdup(name);
	pool->argv = conf_argv_new(argv);
	if (pool->name == NULL || pool->argv == NULL) {
		conf_pool_free(pool);
		return NULL;
	}
	return pool;
}

void conf_section_done(struct conf_section *section)
{
	for (size_t i = 0; i < section->places_count; i++) {
		free(section->places[i].index);
		free(section->places[i].label);
		free(section->places[i].value);
	}
	free(section->places);
	conf_pool_free(section->pool);
}

/* The name becomes part of paths and of a process title. */
static bool is_pool_name(const char *name)
{
	const size_t length = strlen(name);

	if (length == 0 || length > CONF_POOL_NAME_MAX || strchr("-.@+", name[0]) != NULL)
		return false;
	for (; *name != '\0'; name++) {
		const unsigned char c = (unsigned char)*name;

		if (c >= 0x80 || (!isalnum(c) && strchr("_-.@+", c) == NULL))
			return false;
	}
	return true;
}

static struct conf_section *pool_find(const struct conf_builder *builder, const char *name,
				      struct conf_section **ret_last, size_t *ret_count)
{
	struct conf_section *found = NULL;

	*ret_last = NULL;
	*ret_count = 0;
	for (struct conf_section *section = builder->pools; section != NULL;
	     section = section->next) {
		if (found == NULL && !section->spoiled && strcmp(section->pool->name, name) == 0)
			found = section;
		*ret_last = section;
		(*ret_count)++;
	}
	return found;
}

/* Return: a section at the end of the list, behind @last, or NULL with the error reported */
static struct conf_section *pool_add(struct conf_builder *builder, struct conf_section *last,
				     const char *name, const struct conf_origin *origin)
{
	struct conf_section *section = calloc(1, sizeof(*section));

	if (section == NULL)
		goto fail;
	section->origin = *origin;
	section->pool = pool_new(name, origin);
	if (section->pool == NULL)
		goto fail;
	if (last != NULL)
		last->next = section;
	else
		builder->pools = section;
	return section;
fail:
	free(section);
	conf_report_memory(builder);
	return NULL;
}

struct conf_section *conf_section_open(struct conf_builder *builder, const char *name,
				       const struct conf_origin *origin)
{
	const bool named = is_pool_name(name);
	struct conf_section *first;
	struct conf_section *last;
	struct conf_section *section;
	size_t count;

	if (strcasecmp(name, "global") == 0)
		return &builder->global;
	first = pool_find(builder, name, &last, &count);
	if (count == CONF_POOLS_MAX) {
		conf_report(builder, CONF_ERROR, origin, NULL,
			    "more than %d sections are not accepted", CONF_POOLS_MAX);
		return NULL;
	}
	if (!named)
		conf_report(builder, CONF_ERROR, origin, NULL,
			    "[%.64s] is no name for a pool; " NAME_RULE, name);
	else if (first != NULL)
		conf_report(builder, CONF_ERROR, origin, NULL,
			    "[%s] is there twice, first at %s:%u; a pool has one section", name,
			    first->origin.file, first->origin.line);
	section = pool_add(builder, last, named ? name : "unnamed", origin);
	if (section != NULL)
		section->spoiled = !named || first != NULL;
	return section;
}

const struct conf_place *conf_place_find(const struct conf_section *section, const char *name,
					 const char *index)
{
	for (size_t i = 0; i < section->places_count; i++) {
		const struct conf_place *place = &section->places[i];

		if (strcmp(place->key->name, name) != 0)
			continue;
		if (index == NULL ? place->index == NULL
				  : place->index != NULL && strcmp(place->index, index) == 0)
			return place;
	}
	return NULL;
}

/* Return: false with the error reported if the key may not be given once more */
static bool check_repetition(const struct conf_setting *setting)
{
	const struct conf_place *first;

	if (setting->section->places_count == CONF_PLACES_MAX) {
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "more than %d settings in one section are not accepted",
			    CONF_PLACES_MAX);
		return false;
	}
	if (setting->key->list)
		return true;
	first = conf_place_find(setting->section, setting->key->name, setting->index);
	if (first == NULL)
		return true;
	if (first->origin.line > 0)
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "is given twice, first at %s:%u; it is accepted once",
			    first->origin.file, first->origin.line);
	else
		conf_report(setting->builder, CONF_ERROR, &setting->origin, setting->label,
			    "is given twice, first as %s; it is accepted once", first->label);
	return false;
}

bool conf_place_add(const struct conf_setting *setting)
{
	struct conf_section *const section = setting->section;
	struct conf_place *places;
	struct conf_place *place;

	if (!check_repetition(setting))
		return false;
	places = reallocarray(section->places, section->places_count + 1, sizeof(*places));
	if (places == NULL)
		goto fail;
	section->places = places;
	place = &places[section->places_count++];
	*place = (struct conf_place){.key = setting->key, .origin = setting->origin};
	place->label = strdup(setting->label);
	place->value = strdup(setting->value);
	if (setting->index != NULL)
		place->index = strdup(setting->index);
	if (place->label == NULL || place->value == NULL ||
	    (setting->index != NULL && place->index == NULL))
		goto fail;
	return true;
fail:
	conf_report_memory(setting->builder);
	return false;
}

struct conf_section *conf_section_command(struct conf_builder *builder, const char *pool)
{
	static const struct conf_origin command_line = {.file = CONF_COMMAND_LINE};
	struct conf_section *last;
	struct conf_section *section;
	size_t count;

	if (pool == NULL)
		return &builder->global;
	section = pool_find(builder, pool, &last, &count);
	if (section != NULL)
		return section;
	/* A bad name is an error once, not for each option. */
	if (last != NULL && last->spoiled && last->origin.line == 0)
		return last;
	if (is_pool_name(pool) && strcasecmp(pool, "global") != 0)
		return pool_add(builder, last, pool, &command_line);
	conf_report(builder, CONF_ERROR, &command_line, "--name",
		    "'%.64s' is no name for a pool; " NAME_RULE, pool);
	section = pool_add(builder, last, "unnamed", &command_line);
	if (section != NULL)
		section->spoiled = true;
	return section;
}
