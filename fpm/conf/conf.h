/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration: its structure, the table of keys, and what makes it valid. No side effects. */
#ifndef FPM_CONF_H
#define FPM_CONF_H

#include "fpm/listener/address.h"
#include "fpm/process/attributes.h"
#include "fpm/conf/identity.h"
#include "fpm/log.h"
#include "fpm/conf/peers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Longest name of a pool. */
#define CONF_POOL_NAME_MAX 64

/* How a pool's workers come to be. */
enum conf_spawn {
	CONF_SPAWN_TEMPLATE = 0, /* forked from one warmed-up process: shared opcode cache */
	CONF_SPAWN_EXEC,	 /* each executed by itself */
	CONF_SPAWN_MAX,
};

/* How the number of workers is found. */
enum conf_pm {
	CONF_PM_STATIC = 0, /* always pm.max_children */
	CONF_PM_DYNAMIC,    /* so many that some idle, within limits */
	CONF_PM_ONDEMAND,   /* none until somebody connects */
	CONF_PM_MAX,
};

/**
 * struct conf_origin - where a setting was written, for messages
 * @file:	File, or "command line" (owned by struct conf)
 * @line:	Line number from 1; 0 for the command line
 */
struct conf_origin {
	const char *file;
	unsigned int line;
};

/**
 * struct conf_listen - one `listen` line
 * @address:	Parsed address
 * @origin:	Where it was written
 */
struct conf_listen {
	struct address address;
	struct conf_origin origin;
};

/**
 * struct conf_env - one `env[NAME] = value`
 * @name:	Variable
 * @value:	Value, "$NAME" already replaced by the manager's own variable
 * @source:	The manager's variable that @value was taken from, NULL if it was written out
 */
struct conf_env {
	char *name;
	char *value;
	char *source;
};

/**
 * struct conf_php - one php_value, php_flag, php_admin_value or php_admin_flag
 * @name:	PHP's setting
 * @value:	Its value; flags are "1" or "0"
 * @admin:	Scripts must not change it
 */
struct conf_php {
	char *name;
	char *value;
	bool admin;
};

/**
 * struct conf_pool - one pool
 * @next:		Next pool in the order of the file
 * @name:		Name of its section
 * @origin:		Where the section was opened
 * @listen:		Listen lines, @listen_count of them
 * @backlog:		listen.backlog, 1..65535
 * @listen_owner:	listen.owner: name or number, NULL = the pool's user
 * @listen_group:	listen.group: name or number, NULL = the pool's group
 * @listen_uid:		Owner of its unix sockets, (uid_t)-1 = leave alone
 * @listen_gid:		Group of its unix sockets, (gid_t)-1 = leave alone
 * @listen_mode:	listen.mode
 * @allowed_uids:	listen.allowed_uids as it was written, NULL if it was not
 * @peers:		listen.allowed_clients, and whom @allowed_uids stands for
 * @user:		user: name or number, NULL if not given
 * @group:		group: name or number, NULL if not given
 * @identity:		What its processes become; uid (uid_t)-1 = the manager's own identity
 * @pm:			pm
 * @max_children:	pm.max_children: number of slots, 1..10000
 * @max_requests:	pm.max_requests: requests after which a worker is replaced, 0 = no limit
 * @max_requests_jitter: pm.max_requests_jitter: up to so many are added, by chance
 * @max_worker_memory: pm.max_worker_memory: bytes above which a worker is replaced, 0 = no limit
 * @max_worker_memory_jitter: pm.max_worker_memory_jitter: up to so many are added, by chance
 * @max_worker_lifetime_ms: pm.max_worker_lifetime: age at which it is replaced, 0 = no limit
 * @max_worker_lifetime_jitter_ms: pm.max_worker_lifetime_jitter: up to so much is added, by chance
 * @request_terminate_timeout_ms: Longest time that a request may take, 0 = any
 * @request_header_timeout_ms: Longest time that a request's head may take, 0 = any
 * @keepalive_timeout_ms: listen.keepalive_timeout: longest time that an idle connection is kept,
 *			0 = any
 * @rescue:		pm.rescue: clients that wait at a busy worker are passed on to a free one
 * @chdir:		chdir: working folder of its processes, NULL = the manager's, or the root
 *			folder with @chroot
 * @chroot:		chroot: folder that becomes their root folder at READY, NULL = none
 * @dumpable:		process.dumpable: they may be traced and dumped though they are not who the
 *			manager is
 * @attributes:		rlimit_*, process.priority, umask, cgroup
 * @clear_env:		clear_env: processes get only what @env says
 * @env:		env[...], @env_count of them
 * @php:		php_value[...] and its like, @php_count of them
 * @process_control_timeout_ms: Time that a worker has to leave before it is killed
 * @process_start_timeout_ms: Time that the template has to get ready
 * @warmup:		warmup: "PATH[?QUERY]" of scripts that a new template runs first,
 *			@warmup_count of them
 * @warmup_timeout_ms:	warmup_timeout: time that each of them has
 * @argv:		program and its arguments, NULL-terminated; default { "php-cgi", NULL }
 * @spawn:		spawn
 */
struct conf_pool {
	struct conf_pool *next;
	char *name;
	struct conf_origin origin;
	struct conf_listen *listen;
	size_t listen_count;
	int backlog;
	char *listen_owner;
	char *listen_group;
	uid_t listen_uid;
	gid_t listen_gid;
	mode_t listen_mode;
	char *allowed_uids;
	struct peers peers;
	char *user;
	char *group;
	struct identity identity;
	enum conf_pm pm;
	unsigned int max_children;
	unsigned int start_servers;
	unsigned int min_spare_servers;
	unsigned int max_spare_servers;
	unsigned int max_spawn_rate;
	uint32_t process_idle_timeout_ms;
	unsigned int max_requests;
	unsigned int max_requests_jitter;
	uint64_t max_worker_memory;
	uint64_t max_worker_memory_jitter;
	uint32_t max_worker_lifetime_ms;
	uint32_t max_worker_lifetime_jitter_ms;
	uint32_t request_terminate_timeout_ms;
	uint32_t request_header_timeout_ms;
	uint32_t keepalive_timeout_ms;
	bool rescue;
	char *chdir;
	char *chroot;
	bool dumpable;
	struct attributes attributes;
	bool clear_env;
	struct conf_env *env;
	size_t env_count;
	struct conf_php *php;
	size_t php_count;
	uint32_t process_control_timeout_ms;
	uint32_t process_start_timeout_ms;
	char **warmup;
	size_t warmup_count;
	uint32_t warmup_timeout_ms;
	char **argv;
	enum conf_spawn spawn;
};

/**
 * struct conf - a whole configuration
 * @pools:	Pools in the order of the file
 * @error_log:	error_log, NULL = standard error
 * @log_level:	log_level
 * @control:	control: path of the control socket, "none", or NULL if not given
 * @pid:	pid: path of the pid file, NULL = none
 * @daemonize:	daemonize: the start returns when all is ready, and berth goes on
 * @process_control_timeout_ms: [global] default of the pools' own
 * @priority:	process.priority of the manager, and default of the pools' own
 * @process_max: process.max: workers of all pools together, 0 = no limit
 * @files:	Names of the files that were read, for struct conf_origin
 * @files_count: Entries of @files
 */
struct conf {
	struct conf_pool *pools;
	char *error_log;
	enum log_level log_level;
	char *control;
	char *pid;
	bool daemonize;
	unsigned int process_max;
	uint32_t process_control_timeout_ms;
	struct attributes_priority priority;
	char **files;
	size_t files_count;
};

/**
 * struct conf_rules - what a configuration is checked against
 * @euid:	Effective uid of the manager
 * @allow_root:	Workers may run as root
 */
struct conf_rules {
	uid_t euid;
	bool allow_root;
};

/* Severity of a report's line. */
enum conf_severity {
	CONF_ERROR = 0,
	CONF_WARNING,
};

/* Called with "file:line: key: what is wrong, what is accepted", no newline. */
typedef void (*conf_report_fn)(void *data, enum conf_severity severity, const char *text);

struct conf_builder;

/**
 * conf_builder_new() - start a configuration
 * @report:	Told of each error and warning
 * @data:	Passed to @report
 *
 * Return: a builder, or NULL if memory is short
 */
struct conf_builder *conf_builder_new(conf_report_fn report, void *data);

/**
 * conf_builder_control() - the control socket that what was read so far names
 * @builder:	Builder, before conf_builder_finish()
 *
 * Return: as in struct conf; whatever else is wrong with the configuration
 */
const char *conf_builder_control(const struct conf_builder *builder);

/**
 * conf_builder_free() - drop a builder and what it built
 * @builder:	Builder, may be NULL
 */
void conf_builder_free(struct conf_builder *builder);

/**
 * conf_builder_read() - read a configuration file and those that it includes
 * @builder:	Builder
 * @path:	File
 *
 * Errors are reported and remembered; conf_builder_finish() fails then.
 */
void conf_builder_read(struct conf_builder *builder, const char *path);

/**
 * conf_builder_text() - read a configuration from memory
 * @builder:	Builder
 * @name:	What messages call it in place of a file
 * @text:	Text, need not end in a NUL
 * @size:	Bytes of @text
 *
 * As conf_builder_read(), but `include` is an error.
 */
void conf_builder_text(struct conf_builder *builder, const char *name, const char *text,
		       size_t size);

/**
 * conf_builder_set() - one setting from the command line
 * @builder:	Builder
 * @pool:	Name of the pool, made if there is none of that name; NULL = [global]
 * @option:	How the user wrote it, e.g. "--listen", for messages
 * @key:	Key with its index, e.g. "listen" or "env[A]"
 * @value:	Value
 */
void conf_builder_set(struct conf_builder *builder, const char *pool, const char *option,
		      const char *key, const char *value);

/**
 * conf_builder_program() - the program of a pool from the command line
 * @builder:	Builder
 * @pool:	Name of the pool, made if there is none of that name
 * @argv:	NULL-terminated, copied
 */
void conf_builder_program(struct conf_builder *builder, const char *pool, char *const argv[]);

/**
 * conf_builder_finish() - validate and hand the configuration out
 * @builder:	Builder, still to be freed
 * @rules:	What it is checked against
 * @ret_conf:	Set on success, to be released by conf_free()
 *
 * Looks users, groups and host names up.
 *
 * Return: 0, or -EINVAL after at least one CONF_ERROR was reported
 */
int conf_builder_finish(struct conf_builder *builder, const struct conf_rules *rules,
			struct conf **ret_conf);

/**
 * conf_free() - release a configuration
 * @conf:	Configuration, may be NULL
 */
void conf_free(struct conf *conf);

/**
 * conf_pool_find() - one of its pools
 * @conf:	Configuration
 * @name:	Name of the pool
 *
 * Return: pool, or NULL
 */
const struct conf_pool *conf_pool_find(const struct conf *conf, const char *name);

/**
 * conf_keep_pool() - drop all other pools
 * @conf:	Configuration
 * @name:	Name of a pool of it
 */
void conf_keep_pool(struct conf *conf, const char *name);

/**
 * conf_exchange_pool() - give each configuration the other's pool, in the same place
 * @one:	Configuration
 * @other:	Another one
 * @name:	Name of a pool that both have
 *
 * Pointers to both pools stay valid; where they were written is forgotten.
 */
void conf_exchange_pool(struct conf *one, struct conf *other, const char *name);

/**
 * conf_has_pipes() - do its workers have pipes in place of listening sockets
 * @pool:	Pool that was checked
 *
 * Return: true if its only address is a pair of named pipes
 */
bool conf_has_pipes(const struct conf_pool *pool);

/**
 * conf_spawn_name() - "template" or "exec"
 * @spawn:	Mode
 *
 * Return: a static string
 */
const char *conf_spawn_name(enum conf_spawn spawn);

/**
 * conf_pm_name() - "static", "dynamic" or "ondemand"
 * @pm:	Mode
 *
 * Return: a static string
 */
const char *conf_pm_name(enum conf_pm pm);

#endif
