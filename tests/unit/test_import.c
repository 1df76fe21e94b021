/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the import knows each key of php-fpm, and says what becomes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fpm/import/import_internal.h"

/* The keys that php-fpm 8.2 documents. */
static const char *const global_keys[] = {
	"pid",
	"error_log",
	"syslog.facility",
	"syslog.ident",
	"log_level",
	"log_limit",
	"log_buffering",
	"emergency_restart_threshold",
	"emergency_restart_interval",
	"process_control_timeout",
	"process.max",
	"process.priority",
	"daemonize",
	"rlimit_files",
	"rlimit_core",
	"events.mechanism",
	"systemd_interval",
	"include",
};

static const char *const pool_keys[] = {
	"prefix",
	"user",
	"group",
	"listen",
	"listen.backlog",
	"listen.owner",
	"listen.group",
	"listen.mode",
	"listen.acl_users",
	"listen.acl_groups",
	"listen.allowed_clients",
	"listen.setfib",
	"process.priority",
	"process.dumpable",
	"pm",
	"pm.max_children",
	"pm.start_servers",
	"pm.min_spare_servers",
	"pm.max_spare_servers",
	"pm.max_spawn_rate",
	"pm.process_idle_timeout",
	"pm.max_requests",
	"pm.status_path",
	"pm.status_listen",
	"ping.path",
	"ping.response",
	"access.log",
	"access.format",
	"access.suppress_path",
	"slowlog",
	"request_slowlog_timeout",
	"request_slowlog_trace_depth",
	"request_terminate_timeout",
	"request_terminate_timeout_track_finished",
	"rlimit_files",
	"rlimit_core",
	"chroot",
	"chdir",
	"catch_workers_output",
	"decorate_workers_output",
	"clear_env",
	"security.limit_extensions",
	"apparmor_hat",
	"env",
	"php_value",
	"php_flag",
	"php_admin_value",
	"php_admin_flag",
};

static void check_fate(const char *name, enum conf_scope scope)
{
	const struct import_key *key = import_key_find(name, scope);

	if (!key) {
		fail_msg("%s has no fate", name);
		return;
	}
	if (key->fate == IMPORT_TAKEN && !conf_key_find(name, scope))
		fail_msg("%s is taken, but berth does not have it", name);
	if (key->fate != IMPORT_TAKEN && (!key->reason || !*key->reason))
		fail_msg("%s has no reason", name);
}

static void test_each_key_has_a_fate(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(global_keys) / sizeof(global_keys[0]); i++)
		check_fate(global_keys[i], CONF_SCOPE_GLOBAL);
	for (size_t i = 0; i < sizeof(pool_keys) / sizeof(pool_keys[0]); i++)
		check_fate(pool_keys[i], CONF_SCOPE_POOL);
}

static void test_scopes_are_kept_apart(void **state)
{
	(void)state;
	assert_null(import_key_find("pid", CONF_SCOPE_POOL));
	assert_null(import_key_find("listen", CONF_SCOPE_GLOBAL));
	assert_null(import_key_find("no.such_key", CONF_SCOPE_POOL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_key_has_a_fate),
		cmocka_unit_test(test_scopes_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
