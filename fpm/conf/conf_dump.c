/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints a configuration as it was understood. */
#include "fpm/conf/conf_dump.h"

#include "fpm/conf/conf.h"
#include "fpm/conf/conf_internal.h"
#include "fpm/worker/abi.h"

#include <ctype.h>
#include <grp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define POOL_VARIABLE "$pool"

/*
 * Where a value is written: a pool's values have "$pool" replaced when they are read, so a '$' that
 * stands in front of "pool" needs another one.
 */
enum dump_place {
	DUMP_GLOBAL = 0,
	DUMP_POOL,
};

static bool is_plain(const char *value)
{
	for (const char *p = value; *p != '\0'; p++) {
		if (!isalnum((unsigned char)*p) && strchr("_-./:@%+,$[]", *p) == NULL)
			return false;
	}
	return *value != '\0';
}

/* Writes the character at @p, with what protects it from being taken for something else. */
static void write_character(FILE *out, const char *p, enum dump_place place, bool quoted)
{
	if (quoted && (*p == '"' || *p == '\\'))
		(void)fputc('\\', out);
	if (place == DUMP_POOL && strncmp(p, POOL_VARIABLE, strlen(POOL_VARIABLE)) == 0)
		(void)fputc('$', out);
	(void)fputc(*p, out);
}

static void write_value(FILE *out, enum dump_place place, const char *value)
{
	const bool quoted = !is_plain(value);

	if (quoted)
		(void)fputc('"', out);
	for (const char *p = value; *p != '\0'; p++)
		write_character(out, p, place, quoted);
	(void)fputs(quoted ? "\"\n" : "\n", out);
}

static void write_text(FILE *out, enum dump_place place, const char *key, const char *value)
{
	(void)fprintf(out, "%s = ", key);
	write_value(out, place, value);
}

static void write_time(FILE *out, const char *key, uint32_t ms)
{
	if (ms % 1000 != 0)
		(void)fprintf(out, "%s = %ums\n", key, ms);
	else
		(void)fprintf(out, "%s = %us\n", key, ms / 1000);
}

static void write_size(FILE *out, const char *key, uint64_t bytes)
{
	static const char units[] = {'K', 'M', 'G'};
	size_t unit = 0;

	while (unit < sizeof(units) && bytes != 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	(void)fprintf(out, "%s = %" PRIu64 "%.*s\n", key, bytes, unit > 0 ? 1 : 0,
		      unit > 0 ? &units[unit - 1] : "");
}

static void write_group(FILE *out, const char *key, gid_t gid)
{
	const struct group *const group = getgrgid(gid);

	if (group != NULL)
		write_text(out, DUMP_POOL, key, group->gr_name);
	else
		(void)fprintf(out, "%s = %u\n", key, (unsigned int)gid);
}

/* Quotes of a program's line are those of its words, and in them a newline is written as \n. */
static void write_word(FILE *out, const char *word)
{
	const bool quoted = !is_plain(word);

	if (quoted)
		(void)fputc('"', out);
	for (const char *p = word; *p != '\0'; p++) {
		if (*p == '\n')
			(void)fputs("\\n", out);
		else
			write_character(out, p, DUMP_POOL, quoted);
	}
	if (quoted)
		(void)fputc('"', out);
}

static void write_program(FILE *out, char *const argv[])
{
	(void)fputs("program =", out);
	for (size_t i = 0; argv[i] != NULL; i++) {
		(void)fputc(' ', out);
		write_word(out, argv[i]);
	}
	(void)fputc('\n', out);
}

/* True if a value without a source would be taken for the name of a variable. */
static bool looks_like_variable(const char *value)
{
	return *value == '$' && conf_is_variable(value + strspn(value, "$"));
}

static void write_env(FILE *out, const struct conf_env *env)
{
	const char *const value = env->source != NULL ? env->source : env->value;

	(void)fprintf(out, "env[%s] = ", env->name);
	if (env->source != NULL || looks_like_variable(value))
		(void)fputc('$', out);
	if (env->source != NULL && strncmp(value, "pool", 4) == 0)
		(void)fputc('$', out);
	write_value(out, DUMP_POOL, value);
}

static void write_lists(FILE *out, const struct conf_pool *pool)
{
	for (size_t i = 0; i < pool->env_count; i++)
		write_env(out, &pool->env[i]);
	for (size_t i = 0; i < pool->php_count; i++) {
		(void)fprintf(out, "php_%svalue[%s] = ", pool->php[i].admin ? "admin_" : "",
			      pool->php[i].name);
		write_value(out, DUMP_POOL, pool->php[i].value);
	}
}

static void write_sockets(FILE *out, const struct conf_pool *pool, const struct conf_listen *listen)
{
	const bool per_slot = listen->address.per_slot;
	struct address_socket first[ADDRESS_RESOLVE_MAX];
	struct address_socket last[ADDRESS_RESOLVE_MAX];
	size_t first_count = 0;
	size_t last_count = 0;
	char text[256];

	if (address_resolve(&listen->address, 1, first, &first_count, text, sizeof(text)) < 0 ||
	    address_resolve(&listen->address, pool->max_children, last, &last_count, text,
			    sizeof(text)) < 0) {
		(void)fprintf(out, "; %s\n", text);
		return;
	}
	for (size_t i = 0; i < first_count; i++) {
		(void)fprintf(out, "; %s: %s", per_slot ? "first" : "shared by all workers",
			      address_format(&first[i], text, sizeof(text)));
		if (per_slot && i < last_count)
			(void)fprintf(out, ", last: %s",
				      address_format(&last[i], text, sizeof(text)));
		(void)fputc('\n', out);
	}
}

static void write_peers(FILE *out, const struct conf_pool *pool)
{
	const struct peers *const peers = &pool->peers;
	char text[PEERS_TEXT_MAX];

	if (peers->network_count > 0)
		(void)fputs("listen.allowed_clients = ", out);
	for (size_t i = 0; i < peers->network_count; i++)
		(void)fprintf(out, "%s%s",
			      peers_format_network(&peers->networks[i], text, sizeof(text)),
			      i + 1 < peers->network_count ? ", " : "\n");
	if (pool->allowed_uids != NULL)
		write_text(out, DUMP_POOL, "listen.allowed_uids", pool->allowed_uids);
}

static void write_listen(FILE *out, const struct conf_pool *pool)
{
	for (size_t i = 0; i < pool->listen_count; i++) {
		write_text(out, DUMP_POOL, "listen", pool->listen[i].address.text);
		write_sockets(out, pool, &pool->listen[i]);
	}
	(void)fprintf(out, "listen.backlog = %d\n", pool->backlog);
	if (pool->listen_owner != NULL)
		write_text(out, DUMP_POOL, "listen.owner", pool->listen_owner);
	else if (pool->listen_uid == (uid_t)-1)
		(void)fputs("; listen.owner: as berth runs\n", out);
	else if (pool->user != NULL)
		write_text(out, DUMP_POOL, "listen.owner", pool->user);
	else
		(void)fprintf(out, "listen.owner = %u\n", (unsigned int)pool->listen_uid);
	if (pool->listen_group != NULL)
		write_text(out, DUMP_POOL, "listen.group", pool->listen_group);
	else if (pool->listen_gid == (gid_t)-1)
		(void)fputs("; listen.group: as berth runs\n", out);
	else
		write_group(out, "listen.group", pool->listen_gid);
	(void)fprintf(out, "listen.mode = %04o\n", (unsigned int)pool->listen_mode);
	write_peers(out, pool);
}

static void write_identity(FILE *out, const struct conf_pool *pool)
{
	if (pool->user != NULL)
		write_text(out, DUMP_POOL, "user", pool->user);
	else
		(void)fputs("; user: as berth runs\n", out);
	if (pool->group != NULL)
		write_text(out, DUMP_POOL, "group", pool->group);
	else if (pool->identity.uid == (uid_t)-1)
		(void)fputs("; group: as berth runs\n", out);
	else
		write_group(out, "group", pool->identity.gid);
}

static void write_rlimits(FILE *out, const struct attributes *attributes)
{
	for (enum attributes_limit i = 0; i < ATTRIBUTES_LIMIT_MAX; i++) {
		const struct attributes_rlimit *const limit = &attributes->limits[i];

		if (!limit->set)
			(void)fprintf(out, "; %s: as berth has\n", attributes_name(i));
		else if (limit->value == RLIM_INFINITY)
			(void)fprintf(out, "%s = unlimited\n", attributes_name(i));
		else if (i == ATTRIBUTES_FILES || i == ATTRIBUTES_NPROC)
			(void)fprintf(out, "%s = %" PRIu64 "\n", attributes_name(i),
				      (uint64_t)limit->value);
		else
			write_size(out, attributes_name(i), limit->value);
	}
}

static void write_attributes(FILE *out, const struct conf_pool *pool)
{
	const struct attributes *const attributes = &pool->attributes;

	if (pool->chroot != NULL)
		write_text(out, DUMP_POOL, "chroot", pool->chroot);
	if (attributes->cgroup != NULL)
		write_text(out, DUMP_POOL, "cgroup", attributes->cgroup);
	if (attributes->umask != (mode_t)-1)
		(void)fprintf(out, "umask = %04o\n", (unsigned int)attributes->umask);
	else
		(void)fputs("; umask: as berth has\n", out);
	if (attributes->priority.set)
		(void)fprintf(out, "process.priority = %d\n", attributes->priority.value);
	else
		(void)fputs("; process.priority: as berth has\n", out);
	if (pool->spawn == CONF_SPAWN_TEMPLATE)
		(void)fprintf(out, "process.dumpable = %s\n", pool->dumpable ? "yes" : "no");
	write_rlimits(out, attributes);
}

static void write_worker_limits(FILE *out, const struct conf_pool *pool)
{
	write_size(out, "pm.max_worker_memory", pool->max_worker_memory);
	write_size(out, "pm.max_worker_memory_jitter", pool->max_worker_memory_jitter);
	write_time(out, "pm.max_worker_lifetime", pool->max_worker_lifetime_ms);
	write_time(out, "pm.max_worker_lifetime_jitter", pool->max_worker_lifetime_jitter_ms);
	write_time(out, "request_terminate_timeout", pool->request_terminate_timeout_ms);
}

static void write_sizes(FILE *out, const struct conf_pool *pool)
{
	(void)fprintf(out, "pm = %s\npm.max_children = %u\n", conf_pm_name(pool->pm),
		      pool->max_children);
	if (pool->pm == CONF_PM_DYNAMIC)
		(void)fprintf(out,
			      "pm.start_servers = %u\npm.min_spare_servers = %u\n"
			      "pm.max_spare_servers = %u\n",
			      pool->start_servers, pool->min_spare_servers,
			      pool->max_spare_servers);
	if (pool->pm == CONF_PM_ONDEMAND)
		write_time(out, "pm.process_idle_timeout", pool->process_idle_timeout_ms);
	if (pool->pm != CONF_PM_STATIC)
		(void)fprintf(out, "pm.max_spawn_rate = %u\n", pool->max_spawn_rate);
}

static void write_pool(FILE *out, const struct conf_pool *pool)
{
	(void)fprintf(out, "\n[%s]\n", pool->name);
	write_listen(out, pool);
	write_identity(out, pool);
	write_sizes(out, pool);
	(void)fprintf(out, "pm.max_requests = %u\npm.max_requests_jitter = %u\n",
		      pool->max_requests, pool->max_requests_jitter);
	write_worker_limits(out, pool);
	(void)fprintf(out, "pm.rescue = %s\n", pool->rescue ? "yes" : "no");
	write_time(out, "request_header_timeout", pool->request_header_timeout_ms);
	write_time(out, "listen.keepalive_timeout", pool->keepalive_timeout_ms);
	(void)fprintf(out, "spawn = %s\n", conf_spawn_name(pool->spawn));
	write_program(out, pool->argv);
	if (pool->chdir != NULL)
		write_text(out, DUMP_POOL, "chdir", pool->chdir);
	else
		(void)fputs("; chdir: as berth runs\n", out);
	write_attributes(out, pool);
	write_time(out, "process_control_timeout", pool->process_control_timeout_ms);
	write_time(out, "process_start_timeout", pool->process_start_timeout_ms);
	for (size_t i = 0; i < pool->warmup_count; i++)
		write_text(out, DUMP_POOL, "warmup[]", pool->warmup[i]);
	write_time(out, "warmup_timeout", pool->warmup_timeout_ms);
	(void)fprintf(out, "clear_env = %s\n", pool->clear_env ? "yes" : "no");
	write_lists(out, pool);
}

void conf_dump(const struct conf *conf, FILE *out)
{
	(void)fputs("[global]\n", out);
	write_text(out, DUMP_GLOBAL, "error_log",
		   conf->error_log != NULL ? conf->error_log : "stderr");
	if (conf->control != NULL)
		write_text(out, DUMP_GLOBAL, "control", conf->control);
	if (conf->pid != NULL)
		write_text(out, DUMP_GLOBAL, "pid", conf->pid);
	(void)fprintf(out, "daemonize = %s\n", conf->daemonize ? "yes" : "no");
	(void)fprintf(out, "log_level = %s\n", log_level_name(conf->log_level));
	write_time(out, "process_control_timeout", conf->process_control_timeout_ms);
	if (conf->priority.set)
		(void)fprintf(out, "process.priority = %d\n", conf->priority.value);
	if (conf->process_max > 0)
		(void)fprintf(out, "process.max = %u\n", conf->process_max);
	for (const struct conf_pool *pool = conf->pools; pool != NULL; pool = pool->next)
		write_pool(out, pool);
}
