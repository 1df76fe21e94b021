/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of keys, and what to say of a key that is not in it. */
#include "fpm/conf/conf_internal.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define IN_GLOBAL(member) offsetof(struct conf, member)
#define IN_POOL(member)	  offsetof(struct conf_pool, member)

#define MINUTE_MS (60 * 1000)
#define HOUR_MS	  (60 * MINUTE_MS)
#define DAY_MS	  (24 * HOUR_MS)

static const struct conf_key keys[] = {
	{.name = "include", .scopes = CONF_SCOPE_ANY, .list = true, .set = conf_set_include},

	{.name = "error_log", .scopes = CONF_SCOPE_GLOBAL, .set = conf_set_error_log},
	{.name = "log_level", .scopes = CONF_SCOPE_GLOBAL, .set = conf_set_log_level},
	{.name = "control", .scopes = CONF_SCOPE_GLOBAL, .set = conf_set_control},
	{.name = "pid", .scopes = CONF_SCOPE_GLOBAL, .set = conf_set_pid},
	{.name = "daemonize",
	 .scopes = CONF_SCOPE_GLOBAL,
	 .set = conf_set_bool,
	 .offset = IN_GLOBAL(daemonize)},
	{.name = "process_control_timeout",
	 .scopes = CONF_SCOPE_GLOBAL,
	 .set = conf_set_time,
	 .offset = IN_GLOBAL(process_control_timeout_ms),
	 .max = DAY_MS,
	 .accepted = "a time from 0 to 1d, such as 500ms, 10, 10s, 5m or 1h"},

	{.name = "process.priority",
	 .scopes = CONF_SCOPE_GLOBAL,
	 .set = conf_set_priority,
	 .offset = IN_GLOBAL(priority)},
	{.name = "process.max",
	 .scopes = CONF_SCOPE_GLOBAL,
	 .set = conf_set_number,
	 .offset = IN_GLOBAL(process_max),
	 .max = 1000000},

	{.name = "listen", .scopes = CONF_SCOPE_POOL, .list = true, .set = conf_set_listen},
	{.name = "listen.backlog",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_backlog,
	 .min = 1,
	 .max = 65535},
	{.name = "listen.owner",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_string,
	 .offset = IN_POOL(listen_owner),
	 .accepted = "the name or number of a user"},
	{.name = "listen.group",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_string,
	 .offset = IN_POOL(listen_group),
	 .accepted = "the name or number of a group"},
	{.name = "listen.mode", .scopes = CONF_SCOPE_POOL, .set = conf_set_mode},
	{.name = "listen.allowed_clients",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_allowed_clients},
	{.name = "listen.allowed_uids",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_string,
	 .offset = IN_POOL(allowed_uids),
	 .accepted = "a list of users by name or number, such as www-data, 1000"},
	{.name = "user",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_string,
	 .offset = IN_POOL(user),
	 .accepted = "the name or number of a user"},
	{.name = "group",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_string,
	 .offset = IN_POOL(group),
	 .accepted = "the name or number of a group"},
	{.name = "pm", .scopes = CONF_SCOPE_POOL, .set = conf_set_pm},
	{.name = "pm.max_children",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_number,
	 .offset = IN_POOL(max_children),
	 .min = 1,
	 .max = CONF_CHILDREN_MAX},
	{.name = "pm.start_servers",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_number,
	 .offset = IN_POOL(start_servers),
	 .max = CONF_CHILDREN_MAX},
	{.name = "pm.min_spare_servers",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_number,
	 .offset = IN_POOL(min_spare_servers),
	 .min = 1,
	 .max = CONF_CHILDREN_MAX},
	{.name = "pm.max_spare_servers",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_number,
	 .offset = IN_POOL(max_spare_servers),
	 .min = 1,
	 .max = CONF_CHILDREN_MAX},
	{.name = "pm.max_spawn_rate",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_number,
	 .offset = IN_POOL(max_spawn_rate),
	 .min = 1,
	 .max = CONF_CHILDREN_MAX},
	{.name = "pm.process_idle_timeout",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(process_idle_timeout_ms),
	 .min = 100,
	 .max = DAY_MS,
	 .accepted = "a time from 100ms to 1d, such as 500ms, 10, 10s, 5m or 1h"},
	{.name = "pm.max_requests",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_number,
	 .offset = IN_POOL(max_requests),
	 .max = 1000000000},
	{.name = "pm.max_requests_jitter",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_number,
	 .offset = IN_POOL(max_requests_jitter),
	 .max = 1000000000},
	{.name = "pm.rescue",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_bool,
	 .offset = IN_POOL(rescue)},
	{.name = "pm.max_worker_memory",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_size,
	 .offset = IN_POOL(max_worker_memory)},
	{.name = "pm.max_worker_memory_jitter",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_size,
	 .offset = IN_POOL(max_worker_memory_jitter)},
	{.name = "pm.max_worker_lifetime",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(max_worker_lifetime_ms),
	 .max = 30L * DAY_MS,
	 .accepted = "a time from 0 (none) to 30d, such as 30m, 12h or 1d"},
	{.name = "pm.max_worker_lifetime_jitter",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(max_worker_lifetime_jitter_ms),
	 .max = 30L * DAY_MS,
	 .accepted = "a time from 0 (none) to 30d, such as 30s, 5m or 1h"},
	{.name = "request_terminate_timeout",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(request_terminate_timeout_ms),
	 .max = DAY_MS,
	 .accepted = "a time from 0 (none) to 1d, such as 500ms, 30s or 5m"},
	{.name = "request_header_timeout",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(request_header_timeout_ms),
	 .max = HOUR_MS,
	 .accepted = "a time from 0 (none) to 1h, such as 500ms, 10s or 5m"},
	{.name = "listen.keepalive_timeout",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(keepalive_timeout_ms),
	 .max = DAY_MS,
	 .accepted = "a time from 0 (none) to 1d, such as 500ms, 10s or 5m"},
	{.name = "chdir",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_folder,
	 .offset = IN_POOL(chdir)},
	{.name = "chroot",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_folder,
	 .offset = IN_POOL(chroot)},
	{.name = "cgroup",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_folder,
	 .offset = IN_POOL(attributes.cgroup)},
	{.name = "umask", .scopes = CONF_SCOPE_POOL, .set = conf_set_umask},
	{.name = "process.priority",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_priority,
	 .offset = IN_POOL(attributes.priority)},
	{.name = "process.dumpable",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_bool,
	 .offset = IN_POOL(dumpable)},
	{.name = "rlimit_files",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_rlimit_count,
	 .offset = IN_POOL(attributes.limits[ATTRIBUTES_FILES]),
	 .min = 64,
	 .max = 1073741816,
	 .accepted = "a whole number from 64 to 1073741816"},
	{.name = "rlimit_core",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_rlimit_size,
	 .offset = IN_POOL(attributes.limits[ATTRIBUTES_CORE])},
	{.name = "rlimit_as",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_rlimit_size,
	 .offset = IN_POOL(attributes.limits[ATTRIBUTES_AS])},
	{.name = "rlimit_data",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_rlimit_size,
	 .offset = IN_POOL(attributes.limits[ATTRIBUTES_DATA])},
	{.name = "rlimit_nproc",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_rlimit_count,
	 .offset = IN_POOL(attributes.limits[ATTRIBUTES_NPROC]),
	 .min = 1,
	 .max = 4194304,
	 .accepted = "a whole number from 1 to 4194304"},
	{.name = "clear_env",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_bool,
	 .offset = IN_POOL(clear_env)},
	{.name = "env", .scopes = CONF_SCOPE_POOL, .index = "NAME", .set = conf_set_env},
	/* "extension" may be set several times, so these check for repetitions themselves. */
	{.name = "php_value",
	 .scopes = CONF_SCOPE_POOL,
	 .index = "SETTING",
	 .list = true,
	 .set = conf_set_php_value},
	{.name = "php_flag",
	 .scopes = CONF_SCOPE_POOL,
	 .index = "SETTING",
	 .list = true,
	 .set = conf_set_php_flag},
	{.name = "php_admin_value",
	 .scopes = CONF_SCOPE_POOL,
	 .index = "SETTING",
	 .list = true,
	 .set = conf_set_php_admin_value},
	{.name = "php_admin_flag",
	 .scopes = CONF_SCOPE_POOL,
	 .index = "SETTING",
	 .list = true,
	 .set = conf_set_php_admin_flag},
	{.name = "process_control_timeout",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(process_control_timeout_ms),
	 .max = DAY_MS,
	 .accepted = "a time from 0 to 1d, such as 500ms, 10, 10s, 5m or 1h"},
	{.name = "process_start_timeout",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(process_start_timeout_ms),
	 .min = 1000,
	 .max = HOUR_MS,
	 .accepted = "a time from 1s to 1h, such as 1500ms, 10, 10s or 5m"},
	{.name = "warmup",
	 .scopes = CONF_SCOPE_POOL,
	 .list = true,
	 .array = true,
	 .set = conf_set_warmup},
	{.name = "warmup_timeout",
	 .scopes = CONF_SCOPE_POOL,
	 .set = conf_set_time,
	 .offset = IN_POOL(warmup_timeout_ms),
	 .min = 1,
	 .max = HOUR_MS,
	 .accepted = "a time from 1ms to 1h, such as 500ms, 10, 10s or 5m"},
	{.name = "program", .scopes = CONF_SCOPE_POOL, .words = true, .set = conf_set_program},
	{.name = "spawn", .scopes = CONF_SCOPE_POOL, .set = conf_set_spawn},
};

/* What php-fpm accepts beyond our own keys: it deserves a better answer than "unknown". */
static const char *const fpm_keys[] = {
	"access.format",
	"access.log",
	"access.suppress_path",
	"apparmor_hat",
	"catch_workers_output",
	"decorate_workers_output",
	"emergency_restart_interval",
	"emergency_restart_threshold",
	"events.mechanism",
	"listen.acl_groups",
	"listen.acl_users",
	"listen.setfib",
	"log_buffering",
	"log_limit",
	"ping.path",
	"ping.response",
	"pm.status_listen",
	"pm.status_path",
	"prefix",
	"request_slowlog_timeout",
	"request_slowlog_trace_depth",
	"request_terminate_timeout_track_finished",
	"security.limit_extensions",
	"slowlog",
	"syslog.facility",
	"syslog.ident",
	"systemd_interval",
};

const struct conf_key *conf_key_find(const char *name, enum conf_scope scope)
{
	for (size_t i = 0; i < COUNT(keys); i++) {
		if ((keys[i].scopes & scope) != 0 && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}

#define DISTANCE_BYTES_MAX 48

/*
 * Counts the letters to insert, drop or exchange that lead from @a to @b. One row of the table is
 * kept, and the value to the upper left of the current cell.
 */
static size_t distance(const char *a, const char *b)
{
	const size_t length = strlen(b);
	size_t row[DISTANCE_BYTES_MAX + 1];

	if (strlen(a) > DISTANCE_BYTES_MAX || length > DISTANCE_BYTES_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < length; j++) {
			const size_t exchanged = corner + (a[i] == b[j] ? 0 : 1);
			const size_t changed = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;

			corner = row[j + 1];
			row[j + 1] = exchanged < changed ? exchanged : changed;
		}
	}
	return row[length];
}

/* Return: the key that @name was probably meant to be, or NULL */
static const struct conf_key *find_nearest(const char *name, enum conf_scope scope)
{
	const struct conf_key *nearest = NULL;
	size_t limit = strlen(name) / 3 < 3 ? strlen(name) / 3 + 1 : 4;

	for (size_t i = 0; i < COUNT(keys); i++) {
		size_t steps;

		if ((keys[i].scopes & scope) == 0)
			continue;
		steps = distance(name, keys[i].name);
		if (steps < limit) {
			nearest = &keys[i];
			limit = steps;
		}
	}
	return nearest;
}

static bool is_fpm_key(const char *name)
{
	for (size_t i = 0; i < COUNT(fpm_keys); i++) {
		if (strcmp(fpm_keys[i], name) == 0)
			return true;
	}
	return false;
}

void conf_key_explain(const char *name, enum conf_scope scope, char *buffer, size_t size)
{
	const struct conf_key *nearest;

	if (conf_key_find(name, CONF_SCOPE_POOL) != NULL) {
		(void)snprintf(buffer, size,
			       "is not accepted in [global]; it belongs in the section of a pool");
		return;
	}
	if (conf_key_find(name, CONF_SCOPE_GLOBAL) != NULL) {
		(void)snprintf(buffer, size,
			       "is not accepted in the section of a pool; it belongs in [global]");
		return;
	}
	if (is_fpm_key(name)) {
		(void)snprintf(buffer, size, "is a php-fpm key that berth does not have");
		return;
	}
	nearest = find_nearest(name, scope);
	if (nearest != NULL)
		(void)snprintf(buffer, size, "unknown key; did you mean %s?", nearest->name);
	else
		(void)snprintf(buffer, size, "unknown key; berth.conf(5) lists those accepted");
}
