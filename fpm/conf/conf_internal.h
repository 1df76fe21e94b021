/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the configuration share: the builder, its sections, the table of keys. */
#ifndef FPM_CONF_INTERNAL_H
#define FPM_CONF_INTERNAL_H

#include "fpm/conf/conf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Theory of operation
 *
 * A builder reads settings from files (conf_file.c) and from the command line (conf.c). Each one
 * is looked up in the table of keys (conf_keys.c), and its setter (conf_set.c, conf_list.c) checks the
 * value and stores it at once. Where it was written is remembered beside the configuration, in the
 * section's list of places (conf_section.c). What depends on several settings, or on the machine, is checked at the end
 * (conf_check.c, conf_claim.c), with the places for the messages.
 *
 * An error never stops the reading. A section that can't be used (bad name, name used before) is
 * opened as a spoiled one: its keys are checked, and it is thrown away.
 */

/* Bounds of what a configuration can make us hold. */
#define CONF_REPORTS_MAX       50 /* errors, and as many warnings */
#define CONF_FILE_BYTES_MAX    (1U << 20)
#define CONF_FILES_MAX	       1024
#define CONF_INCLUDE_DEPTH_MAX 8
#define CONF_POOLS_MAX	       1000
#define CONF_SOCKET_PATH_MAX   107
#define CONF_PLACES_MAX	       1000 /* settings of one section, each line of a list counted */
#define CONF_ARGS_MAX	       1000
#define CONF_SOCKETS_MAX       262144 /* listening sockets of all pools together */

/* Bytes that can be written in a size; more than any machine has. */
#define CONF_SIZE_MAX (1LL << 62)

#define CONF_CHILDREN_MAX		10000
#define CONF_BACKLOG_DEFAULT		1024
#define CONF_LISTEN_MODE_DEFAULT	0660
#define CONF_CONTROL_TIMEOUT_MS_DEFAULT 10000
#define CONF_START_TIMEOUT_MS_DEFAULT	30000
#define CONF_WARMUP_TIMEOUT_MS_DEFAULT	30000
#define CONF_IDLE_TIMEOUT_MS_DEFAULT	10000
#define CONF_SPAWN_RATE_DEFAULT		32
#define CONF_HEADER_TIMEOUT_MS_DEFAULT	60000
#define CONF_PROGRAM_DEFAULT		"php-cgi"

#define CONF_COMMAND_LINE "command line"

/* A number of the above as text, for messages. */
#define CONF_TEXT(number)    CONF_TEXT_OF(number)
#define CONF_TEXT_OF(number) #number

enum conf_scope {
	CONF_SCOPE_GLOBAL = 1,
	CONF_SCOPE_POOL = 2,
	CONF_SCOPE_ANY = 3,
};

struct conf_setting;

/**
 * struct conf_key - an entry of the table of keys
 * @name:	Key without index
 * @scopes:	Where it may stand, of enum conf_scope
 * @index:	What stands in brackets behind it, for messages; NULL if it takes none
 * @list:	It may be given more than once
 * @array:	Empty brackets may stand behind it
 * @words:	Its value is a list of words, and quotes are theirs
 * @set:	Checks and stores a value; reports what is wrong
 * @offset:	For simple setters: where the value goes in struct conf or struct conf_pool
 * @min:	For setters of numbers
 * @max:	For setters of numbers
 * @accepted:	For simple setters: what is accepted, for messages
 */
struct conf_key {
	const char *name;
	enum conf_scope scopes;
	const char *index;
	bool list;
	bool array;
	bool words;
	void (*set)(const struct conf_setting *setting);
	size_t offset;
	long min;
	long max;
	const char *accepted;
};

/**
 * struct conf_place - where something was set
 * @key:	Its key
 * @index:	Its index, NULL if it has none (owned)
 * @label:	How the user wrote the key, for messages (owned)
 * @value:	Its value, "$pool" replaced (owned)
 * @origin:	File and line
 */
struct conf_place {
	const struct conf_key *key;
	char *index;
	char *label;
	char *value;
	struct conf_origin origin;
};

/**
 * struct conf_section - [global] or a pool while it is read
 * @next:	Next pool's section
 * @pool:	The pool (owned until it is handed out), NULL for [global]
 * @origin:	Where the section was opened
 * @spoiled:	An error makes it unusable as a whole
 * @places:	What was set, in order
 * @places_count: Entries of @places
 */
struct conf_section {
	struct conf_section *next;
	struct conf_pool *pool;
	struct conf_origin origin;
	bool spoiled;
	struct conf_place *places;
	size_t places_count;
};

/**
 * struct conf_setting - one setting while it is applied
 * @builder:	Builder
 * @section:	Section it belongs to
 * @key:	Its key
 * @index:	Its index, NULL if it has none
 * @value:	Its value, "$pool" replaced
 * @label:	How the user wrote the key, for messages
 * @origin:	File and line
 */
struct conf_setting {
	struct conf_builder *builder;
	struct conf_section *section;
	const struct conf_key *key;
	const char *index;
	const char *value;
	const char *label;
	struct conf_origin origin;
};

struct conf_source;

/**
 * struct conf_builder - a configuration in the making
 * @report:	Told of errors and warnings
 * @data:	Passed to @report
 * @errors:	Number of errors so far
 * @warnings:	Number of warnings so far
 * @unreadable:	A file could not be read, so what is missing may stand in it
 * @files_read:	Number of files that were opened
 * @conf:	What is built, NULL once it was handed out
 * @global:	[global]
 * @pools:	Sections of the pools, in order
 * @current:	Section that the file's next line belongs to
 */
struct conf_builder {
	conf_report_fn report;
	void *data;
	unsigned int errors;
	unsigned int warnings;
	bool unreadable;
	unsigned int files_read;
	struct conf *conf;
	struct conf_section global;
	struct conf_section *pools;
	struct conf_section *current;
};

/* conf.c */

/**
 * conf_report() - report an error or a warning
 * @builder:	Builder
 * @severity:	Which of them
 * @origin:	Where
 * @label:	Key or option, NULL if there is none
 * @format:	printf format of the rest
 */
void conf_report(struct conf_builder *builder, enum conf_severity severity,
		 const struct conf_origin *origin, const char *label, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/**
 * conf_report_memory() - report that memory is short
 * @builder:	Builder
 */
void conf_report_memory(struct conf_builder *builder);

/**
 * conf_stopped() - ask whether so many errors were found that the rest is of no use
 * @builder:	Builder
 *
 * Return: true if reading should stop
 */
bool conf_stopped(const struct conf_builder *builder);

/**
 * conf_file_name() - keep the name of a file for as long as the configuration lives
 * @builder:	Builder
 * @name:	Name, copied
 *
 * Return: the kept name, or NULL with the error reported
 */
const char *conf_file_name(struct conf_builder *builder, const char *name);

/**
 * conf_apply() - look a key up, check and store its value
 * @builder:	Builder
 * @section:	Section
 * @name:	Key without index
 * @index:	Its index or NULL
 * @value:	Value; of a key with words as it was written, of any other without its quotes
 * @option:	How it was written on the command line, NULL for a file
 * @origin:	Where
 */
void conf_apply(struct conf_builder *builder, struct conf_section *section, const char *name,
		const char *index, const char *value, const char *option,
		const struct conf_origin *origin);

/* conf_section.c */

/**
 * conf_section_open() - find or make the section that a line opens
 * @builder:	Builder
 * @name:	Its name, "global" in any case is [global]
 * @origin:	Where
 *
 * Return: the section, or NULL with the error reported
 */
struct conf_section *conf_section_open(struct conf_builder *builder, const char *name,
				       const struct conf_origin *origin);

/**
 * conf_section_command() - find or make the section that options speak of
 * @builder:	Builder
 * @pool:	Name of the pool, NULL for [global]
 *
 * Return: the section, or NULL with the error reported
 */
struct conf_section *conf_section_command(struct conf_builder *builder, const char *pool);

/**
 * conf_section_done() - release what a section holds, its pool included
 * @section:	Section
 */
void conf_section_done(struct conf_section *section);

/**
 * conf_pool_free() - release a pool
 * @pool:	Pool, may be NULL
 */
void conf_pool_free(struct conf_pool *pool);

/**
 * conf_place_add() - remember where something is set
 * @setting:	Setting
 *
 * Return: false with the error reported if it may not be set once more
 */
bool conf_place_add(const struct conf_setting *setting);

/**
 * conf_place_find() - find out where something was set
 * @section:	Section
 * @name:	Key
 * @index:	Index, NULL for a key without
 *
 * Return: the first such place, or NULL
 */
const struct conf_place *conf_place_find(const struct conf_section *section, const char *name,
					 const char *index);

/* conf_keys.c */

/**
 * conf_key_find() - look a key up
 * @name:	Key without index
 * @scope:	Where it stands
 *
 * Return: its entry in the table, or NULL
 */
const struct conf_key *conf_key_find(const char *name, enum conf_scope scope);

/**
 * conf_key_explain() - what to say of a key that is not in the table
 * @name:	Key without index
 * @scope:	Where it stands
 * @buffer:	Set to the explanation
 * @size:	Bytes of @buffer
 */
void conf_key_explain(const char *name, enum conf_scope scope, char *buffer, size_t size);

/* conf_set.c and conf_limits.c, and conf_list.c and conf_peers.c for those that collect several values */

void conf_set_allowed_clients(const struct conf_setting *setting);
void conf_set_backlog(const struct conf_setting *setting);
void conf_set_bool(const struct conf_setting *setting);
void conf_set_error_log(const struct conf_setting *setting);
void conf_set_control(const struct conf_setting *setting);
void conf_set_folder(const struct conf_setting *setting);
void conf_set_include(const struct conf_setting *setting);
void conf_set_log_level(const struct conf_setting *setting);
void conf_set_mode(const struct conf_setting *setting);
void conf_set_number(const struct conf_setting *setting);
void conf_set_pid(const struct conf_setting *setting);
void conf_set_pm(const struct conf_setting *setting);
void conf_set_priority(const struct conf_setting *setting);
void conf_set_rlimit_count(const struct conf_setting *setting);
void conf_set_rlimit_size(const struct conf_setting *setting);
void conf_set_size(const struct conf_setting *setting);
void conf_set_spawn(const struct conf_setting *setting);
void conf_set_string(const struct conf_setting *setting);
void conf_set_time(const struct conf_setting *setting);
void conf_set_umask(const struct conf_setting *setting);

void conf_set_env(const struct conf_setting *setting);
void conf_set_listen(const struct conf_setting *setting);
void conf_set_php_admin_flag(const struct conf_setting *setting);
void conf_set_php_admin_value(const struct conf_setting *setting);
void conf_set_php_flag(const struct conf_setting *setting);
void conf_set_php_value(const struct conf_setting *setting);
void conf_set_program(const struct conf_setting *setting);
void conf_set_warmup(const struct conf_setting *setting);

/**
 * conf_refuse() - report that a value is not accepted, and what is
 * @setting:	Setting
 * @accepted:	What is accepted
 */
void conf_refuse(const struct conf_setting *setting, const char *accepted);

/**
 * conf_target() - where a setter of the table puts its value
 * @setting:	Setting
 *
 * Return: the address at the key's offset
 */
void *conf_target(const struct conf_setting *setting);

/**
 * conf_parse_digits() - read a number
 * @text:	Moved behind its digits
 * @base:	Up to 10
 * @max:	Highest number
 * @ret_number:	Set on success
 *
 * Return: false if there are no digits, or if the number is above @max
 */
bool conf_parse_digits(const char **text, int base, int64_t max, int64_t *ret_number);

/**
 * conf_parse_bool() - read yes, no and their like
 * @text:	Text
 * @ret_value:	Set on success
 *
 * Return: false if it is none of them
 */
bool conf_parse_bool(const char *text, bool *ret_value);

/**
 * conf_is_variable() - check the name of an environment variable
 * @name:	Name
 *
 * Return: true if a shell would take it
 */
bool conf_is_variable(const char *name);

/**
 * conf_set_argv() - give a pool its program
 * @setting:	Setting, for messages and the pool
 * @argv:	NULL-terminated, copied
 */
void conf_set_argv(const struct conf_setting *setting, char *const argv[]);

/**
 * conf_argv_new() - copy the arguments of a program
 * @argv:	NULL-terminated
 *
 * Return: the copy, to be released by conf_argv_free(), or NULL
 */
char **conf_argv_new(char *const argv[]);

/**
 * conf_argv_free() - release the arguments of a program
 * @argv:	NULL-terminated, or NULL
 */
void conf_argv_free(char **argv);

/* conf_check.c */

/**
 * conf_check_pool() - check what depends on several settings or on the machine
 * @builder:	Builder
 * @section:	Section of a pool, completed by it
 * @rules:	What it is checked against
 */
void conf_check_pool(struct conf_builder *builder, struct conf_section *section,
		     const struct conf_rules *rules);

/* conf_peers.c */

/**
 * conf_check_peers() - look the users up that may connect, and check that somebody can refuse others
 * @builder:	Builder
 * @section:	Section of a pool, completed by it
 */
void conf_check_peers(struct conf_builder *builder, struct conf_section *section);

/* conf_limits.c */

/**
 * conf_check_limits() - check the limits and attributes of a pool's processes
 * @builder:	Builder
 * @section:	Section of a pool, completed by it
 * @rules:	What it is checked against
 */
void conf_check_limits(struct conf_builder *builder, struct conf_section *section,
		       const struct conf_rules *rules);

/**
 * conf_check_global_limits() - likewise of the manager, before any pool's
 * @builder:	Builder
 * @rules:	What it is checked against
 */
void conf_check_global_limits(struct conf_builder *builder, const struct conf_rules *rules);

/* conf_claim.c */

/**
 * conf_check_process_max() - check that process.max leaves room for what the pools start with
 * @builder:	Builder with all pools checked
 */
void conf_check_process_max(struct conf_builder *builder);

/**
 * conf_check_claims() - check that no two sockets would have the same address
 * @builder:	Builder, with listen addresses parsed
 */
void conf_check_claims(struct conf_builder *builder);

#endif
