/* SPDX-License-Identifier: BSD-2-Clause */
/* The responders that are measured: started and stopped by us, or already there. */

#include "target.h"

#include "folder.h"
#include "fpm/clock.h"
#include "owner.h"
#include "target_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long PHP may take to say what it is. */
#define DESCRIBE_MS 5000

/* At most so much of what a program printed last is shown. */
#define WORDS_MAX 300

static const struct {
	const char *name;
	int (*prepare)(struct launch *launch, char *error, size_t size);
	bool php;
	bool pipes;
} kinds[] = {
	[TARGET_ADDRESS] = {.name = "address"},
	[TARGET_NULL] = {.name = "null", .prepare = target_null_prepare, .pipes = true},
	[TARGET_BERTH] = {.name = "berth",
			  .prepare = target_berth_prepare,
			  .php = true,
			  .pipes = true},
	[TARGET_FPM] = {.name = "php-fpm", .prepare = target_fpm_prepare, .php = true},
	[TARGET_SPAWN_FCGI] = {.name = "spawn-fcgi",
			       .prepare = target_spawn_fcgi_prepare,
			       .php = true},
};
static_assert(sizeof(kinds) / sizeof(kinds[0]) == TARGET_KINDS, "an entry for each kind");

const char *target_kind_name(enum target_kind kind)
{
	return kind < TARGET_KINDS ? kinds[kind].name : "unknown";
}

static int check(const struct target_options *options, char *error, size_t size)
{
	if (options->kind >= TARGET_KINDS || !kinds[options->kind].prepare ||
	    options->workers == 0) {
		(void)snprintf(error, size, "there is nothing to start");
		return -EINVAL;
	}
	if (options->transport == TRANSPORT_PIPE && !kinds[options->kind].pipes) {
		(void)snprintf(error, size, "%s can't answer over pipes",
			       kinds[options->kind].name);
		return -EINVAL;
	}
	return 0;
}

/* Files and the command. */
static int prepare(struct target *target, struct launch *launch, char *error, size_t size)
{
	int ret = 0;

	(void)snprintf(target->script, sizeof(target->script), "/bench.php");
	if (kinds[target->kind].php)
		ret = target_php_write(launch, target->script, sizeof(target->script));
	if (ret < 0) {
		(void)snprintf(error, size, "its scripts can't be written in %s: %s",
			       launch->folder, strerror(-ret));
		return ret;
	}
	ret = kinds[target->kind].prepare(launch, error, size);
	if (ret == 0 && launch->error) {
		(void)snprintf(error, size, "its command is too long");
		ret = launch->error;
	}
	return ret;
}

static int run(struct target *target, const struct launch *launch, char *error, size_t size)
{
	const struct guard_options options = {
		.argv = launch->argv,
		.envp = launch->envp,
		.cpus = launch->options->cpus,
		.folder = target->folder,
	};
	int ret = endpoint_parse(launch->listen, target->workers, &target->endpoints,
				 &target->endpoint_count, error, size);

	if (ret < 0)
		return ret;
	ret = guard_start(&options, &target->guard);
	if (ret < 0)
		(void)snprintf(error, size, "%s can't be run: %s", launch->program, strerror(-ret));
	target->pid = target->guard.program;
	return ret;
}

/* Appends the last line that is not empty. */
static void add_last_words(char *words, char *error, size_t size)
{
	size_t have = strlen(error), length = strlen(words);
	const char *line;

	while (length > 0 && strchr("\r\n ", words[length - 1]))
		length--;
	words[length] = '\0';
	line = strrchr(words, '\n');
	line = line ? line + 1 : words;
	if (line[0] && have < size)
		(void)snprintf(error + have, size - have, "; it said: %.*s", WORDS_MAX, line);
}

static void name_kind(enum target_kind kind, char *error, size_t size)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "%s", error);
	(void)snprintf(error, size, "%s: %s", kinds[kind].name, text);
}

int target_start(const struct target_options *options, struct target *ret_target, char *error,
		 size_t size)
{
	struct target target = {.kind = options->kind, .workers = options->workers};
	char words[GUARD_TAIL_MAX + 1] = "";
	struct launch launch;
	int ret = check(options, error, size);

	if (ret < 0)
		return ret;
	ret = folder_make(target.folder, sizeof(target.folder));
	if (ret < 0) {
		(void)snprintf(error, size, "no folder can be made in %s (TMPDIR): %s",
			       folder_parent(), strerror(-ret));
		return ret;
	}
	launch_init(&launch, options, target.folder);
	ret = prepare(&target, &launch, error, size);
	if (ret == 0)
		ret = run(&target, &launch, error, size);
	if (ret == 0)
		ret = target_wait(&target, &launch, error, size);
	if (ret < 0) {
		guard_stop(&target.guard, words, sizeof(words));
		add_last_words(words, error, size);
		name_kind(options->kind, error, size);
		target_stop(&target);
		return ret;
	}
	(void)snprintf(target.name, sizeof(target.name), "%s", launch.name);
	if (kinds[target.kind].php)
		target_php_describe(&target, launch.note, clock_ms() + DESCRIBE_MS);
	*ret_target = target;
	return 0;
}

int target_attach(const char *text, unsigned int workers, pid_t pid, struct target *ret_target,
		  char *error, size_t size)
{
	struct target target = {.kind = TARGET_ADDRESS};
	int ret = endpoint_parse(text, workers, &target.endpoints, &target.endpoint_count, error,
				 size);

	if (ret < 0)
		return ret;
	(void)snprintf(target.name, sizeof(target.name), "%s", text);
	target.workers = target.endpoint_count > 1 ? (unsigned int)target.endpoint_count : 0;
	target.pid = pid > 0 ? pid : owner_find(&target.endpoints[0]);
	*ret_target = target;
	return 0;
}

bool target_alive(const struct target *target)
{
	return target->kind == TARGET_ADDRESS || guard_alive(&target->guard);
}

void target_stop(struct target *target)
{
	guard_stop(&target->guard, NULL, 0);
	/* The guard has removed it, if there was one. */
	folder_remove(target->folder);
	free(target->endpoints);
	memset(target, 0, sizeof(*target));
}
