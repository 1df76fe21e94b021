/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the environment of a pool's processes. */

#include "fpm/process/environment.h"

#include "fpm/conf/conf.h"
#include "fpm/worker/abi.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Meant for the manager, or made anew below. */
static const char *const not_inherited[] = {
	"PHP_FCGI_CHILDREN",
	"PHP_FCGI_MAX_REQUESTS",
	"FCGI_WEB_SERVER_ADDRS",
	"NOTIFY_SOCKET",
	"WATCHDOG_USEC",
	"WATCHDOG_PID",
	"LISTEN_FDS",
	"LISTEN_PID",
	"LISTEN_FDNAMES",
	"JOURNAL_STREAM",
	"SYSTEMD_EXEC_PID",
	"FDSTORE",
	"MAINPID",
	"USER",
	"HOME",
	ABI_ENV,
};

struct builder {
	char **list;
	size_t count;
	size_t size;
	bool failed;
};

static bool has_name(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static const char *get(const struct builder *b, const char *name)
{
	for (size_t i = 0; i < b->count; i++)
		if (has_name(b->list[i], name))
			return b->list[i] + strlen(name) + 1;
	return NULL;
}

static void set(struct builder *b, const char *name, const char *value)
{
	char *entry = NULL;

	if (asprintf(&entry, "%s=%s", name, value) == -1) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < b->count; i++) {
		if (!has_name(b->list[i], name))
			continue;
		free(b->list[i]);
		b->list[i] = entry;
		return;
	}
	if (b->count + 1 >= b->size) {
		size_t want = b->size ? b->size * 2 : 32;
		char **grown = realloc(b->list, want * sizeof(*grown));

		if (!grown) {
			free(entry);
			b->failed = true;
			return;
		}
		b->list = grown;
		b->size = want;
	}
	b->list[b->count++] = entry;
	b->list[b->count] = NULL;
}

static bool is_inherited(const char *entry)
{
	for (size_t i = 0; i < sizeof(not_inherited) / sizeof(not_inherited[0]); i++)
		if (has_name(entry, not_inherited[i]))
			return false;
	return strchr(entry, '=') != NULL;
}

static void inherit(struct builder *b)
{
	for (char **e = environ; e && *e; e++) {
		char *name;

		if (!is_inherited(*e))
			continue;
		name = strndup(*e, (size_t)(strchr(*e, '=') - *e));
		if (name)
			set(b, name, strchr(*e, '=') + 1);
		else
			b->failed = true;
		free(name);
	}
}

static void set_user(struct builder *b, const struct identity *identity)
{
	uid_t uid = identity->uid == (uid_t)-1 ? geteuid() : identity->uid;
	const struct passwd *pw = getpwuid(uid);

	if (!pw)
		return;
	set(b, "USER", pw->pw_name);
	set(b, "HOME", pw->pw_dir);
}

/*
 * PHP reads the folders of this list in order, an empty name standing for its own: ours comes
 * last, so that it wins. The library takes our part off again.
 */
static long set_scan_dir(struct builder *b, const char *ini_dir)
{
	const char *own = get(b, ABI_ENV_SCAN_DIR);
	long keep = own ? (long)strlen(own) : -1;
	char *value = NULL;

	if (!ini_dir)
		return keep;
	/* Set but empty means no folder at all. */
	if (asprintf(&value, "%s%s%s", own ? own : "", own && !*own ? "" : ":", ini_dir) == -1) {
		b->failed = true;
		return keep;
	}
	set(b, ABI_ENV_SCAN_DIR, value);
	free(value);
	return keep;
}

static void set_template(struct builder *b, long keep, bool dumpable)
{
	char *preload = NULL;
	char marker[64];
	const char *own;

	(void)snprintf(marker, sizeof(marker), "%u %ld %d", ABI_VERSION, keep, dumpable);
	set(b, ABI_ENV, marker);
	own = get(b, "LD_PRELOAD");
	if (asprintf(&preload, "%s%s%s", own && *own ? own : "", own && *own ? ":" : "",
		     ABI_PRELOAD) == -1) {
		b->failed = true;
		return;
	}
	set(b, "LD_PRELOAD", preload);
	free(preload);
}

char **environment_new(const struct conf_pool *pool, const char *ini_dir)
{
	struct builder b = {0};
	long keep;

	set_user(&b, &pool->identity);
	set(&b, "PHP_FCGI_MAX_REQUESTS", "0");
	if (!pool->clear_env)
		inherit(&b);
	for (size_t i = 0; i < pool->env_count; i++)
		set(&b, pool->env[i].name, pool->env[i].value);
	keep = set_scan_dir(&b, ini_dir);
	if (pool->spawn == CONF_SPAWN_TEMPLATE)
		set_template(&b, keep, pool->dumpable || pool->identity.uid == (uid_t)-1);
	if (!b.failed)
		return b.list;
	environment_free(b.list);
	return NULL;
}

void environment_free(char **environment)
{
	for (char **e = environment; e && *e; e++)
		free(*e);
	free(environment);
}
