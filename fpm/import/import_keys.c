/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of each key of php-fpm. */
#include "fpm/import/import_internal.h"

#include <string.h>

#define GLOBAL CONF_SCOPE_GLOBAL
#define POOL   CONF_SCOPE_POOL

static const struct import_key keys[] = {
	{"pid", GLOBAL, IMPORT_CHANGED, "A relative path is below /var, as Debian builds php-fpm."},
	{"error_log", GLOBAL, IMPORT_CHANGED,
	 "berth does not talk to syslog; what it writes to standard error reaches the journal."},
	{"syslog.facility", GLOBAL, IMPORT_GONE, "berth does not talk to syslog."},
	{"syslog.ident", GLOBAL, IMPORT_GONE, "berth does not talk to syslog."},
	{"log_level", GLOBAL, IMPORT_TAKEN, NULL},
	{"log_limit", GLOBAL, IMPORT_GONE, "berth does not wrap lines that workers print."},
	{"log_buffering", GLOBAL, IMPORT_GONE, "berth writes each line at once."},
	{"emergency_restart_threshold", GLOBAL, IMPORT_GONE,
	 "berth starts a worker that crashed again, and waits longer each time if it goes on."},
	{"emergency_restart_interval", GLOBAL, IMPORT_GONE,
	 "berth starts a worker that crashed again, and waits longer each time if it goes on."},
	{"process_control_timeout", GLOBAL, IMPORT_TAKEN, NULL},
	{"process.max", GLOBAL, IMPORT_TAKEN, NULL},
	{"process.priority", GLOBAL | POOL, IMPORT_TAKEN, NULL},
	{"daemonize", GLOBAL, IMPORT_CHANGED, "Going into the background needs a log file."},
	{"rlimit_files", GLOBAL, IMPORT_CHANGED, "It is for workers, so each pool has it."},
	{"rlimit_core", GLOBAL, IMPORT_CHANGED, "It is for workers, so each pool has it."},
	{"events.mechanism", GLOBAL, IMPORT_GONE, "berth always uses epoll."},
	{"systemd_interval", GLOBAL, IMPORT_GONE,
	 "berth tells systemd of each change; WatchdogSec= of the unit asks for more."},
	{"include", GLOBAL | POOL, IMPORT_CHANGED, "What the files say stands here."},

	{"prefix", POOL, IMPORT_CHANGED, "Relative paths have been completed with it."},
	{"user", POOL, IMPORT_TAKEN, NULL},
	{"group", POOL, IMPORT_TAKEN, NULL},
	{"listen", POOL, IMPORT_CHANGED, "Each worker has a socket of its own."},
	{"listen.backlog", POOL, IMPORT_TAKEN, NULL},
	{"listen.owner", POOL, IMPORT_TAKEN, NULL},
	{"listen.group", POOL, IMPORT_TAKEN, NULL},
	{"listen.mode", POOL, IMPORT_TAKEN, NULL},
	{"listen.acl_users", POOL, IMPORT_GONE,
	 "berth sets no access lists; use listen.owner, listen.group and listen.mode, or "
	 "listen.allowed_uids."},
	{"listen.acl_groups", POOL, IMPORT_GONE,
	 "berth sets no access lists; use listen.owner, listen.group and listen.mode, or "
	 "listen.allowed_uids."},
	{"listen.allowed_clients", POOL, IMPORT_TAKEN, NULL},
	{"listen.setfib", POOL, IMPORT_GONE, "Only FreeBSD has it."},
	{"process.dumpable", POOL, IMPORT_TAKEN, NULL},
	{"pm", POOL, IMPORT_TAKEN, NULL},
	{"pm.max_children", POOL, IMPORT_TAKEN, NULL},
	{"pm.start_servers", POOL, IMPORT_TAKEN, NULL},
	{"pm.min_spare_servers", POOL, IMPORT_TAKEN, NULL},
	{"pm.max_spare_servers", POOL, IMPORT_TAKEN, NULL},
	{"pm.max_spawn_rate", POOL, IMPORT_TAKEN, NULL},
	{"pm.process_idle_timeout", POOL, IMPORT_TAKEN, NULL},
	{"pm.max_requests", POOL, IMPORT_TAKEN, NULL},
	{"pm.status_path", POOL, IMPORT_GONE,
	 "\"berth status\" and \"berth status --json\" tell what the pools do; no request does."},
	{"pm.status_listen", POOL, IMPORT_GONE,
	 "\"berth status\" has a socket of its own, see the key control in [global]."},
	{"ping.path", POOL, IMPORT_GONE,
	 "No worker answers a ping; \"berth status\" says whether it runs, and a script that "
	 "prints \"pong\" whether PHP answers."},
	{"ping.response", POOL, IMPORT_GONE, "There is no ping.path."},
	{"access.log", POOL, IMPORT_GONE, "The web server's access log has to do."},
	{"access.format", POOL, IMPORT_GONE, "There is no access.log."},
	{"access.suppress_path", POOL, IMPORT_GONE, "There is no access.log."},
	{"slowlog", POOL, IMPORT_GONE,
	 "berth does not look into PHP while a script runs; request_terminate_timeout ends a "
	 "request that takes too long and logs it."},
	{"request_slowlog_timeout", POOL, IMPORT_GONE, "There is no slowlog."},
	{"request_slowlog_trace_depth", POOL, IMPORT_GONE, "There is no slowlog."},
	{"request_terminate_timeout", POOL, IMPORT_TAKEN, NULL},
	{"request_terminate_timeout_track_finished", POOL, IMPORT_GONE,
	 "request_terminate_timeout always runs until PHP is ready for the next request, shutdown "
	 "functions included."},
	{"rlimit_files", POOL, IMPORT_TAKEN, NULL},
	{"rlimit_core", POOL, IMPORT_TAKEN, NULL},
	{"chroot", POOL, IMPORT_CHANGED, "A relative path has been completed."},
	{"chdir", POOL, IMPORT_CHANGED, "A relative path has been completed."},
	{"catch_workers_output", POOL, IMPORT_GONE, "berth always logs what workers print."},
	{"decorate_workers_output", POOL, IMPORT_GONE,
	 "The log always says which worker printed a line."},
	{"clear_env", POOL, IMPORT_TAKEN, NULL},
	{"security.limit_extensions", POOL, IMPORT_GONE,
	 "php-cgi runs whatever file the web server names: have that pass on existing files with "
	 "the right extension only (nginx: location ~ \\.php$ with try_files $uri =404)."},
	{"apparmor_hat", POOL, IMPORT_GONE,
	 "berth does not change hats; a profile of AppArmor for php-cgi confines the workers."},
	{"env", POOL, IMPORT_TAKEN, NULL},
	{"php_value", POOL, IMPORT_TAKEN, NULL},
	{"php_flag", POOL, IMPORT_TAKEN, NULL},
	{"php_admin_value", POOL, IMPORT_TAKEN, NULL},
	{"php_admin_flag", POOL, IMPORT_TAKEN, NULL},
};

const struct import_key *import_key_find(const char *name, enum conf_scope scope)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if ((keys[i].scopes & scope) != 0 && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}
