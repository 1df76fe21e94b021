/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of a pool that need several of its settings, or the machine's users and groups. */
#include "fpm/conf/conf_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REASON_BYTES 256

/* What a pool on the command line writes in place of the key. */
static const struct {
	const char *key;
	const char *option;
} options[] = {
	{"listen", "--listen"},
	{"pm.max_children", "--children"},
	{"user", "--user"},
};

/* Reports something that was left out; the message names what the user would have written. */
static void report_missing(struct conf_builder *builder, const struct conf_section *section,
			   const char *key, const char *what)
{
	const char *label = key;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (section->origin.line == 0 && strcmp(options[i].key, key) == 0)
			label = options[i].option;
	}
	conf_report(builder, CONF_ERROR, &section->origin, label, "pool %s %s", section->pool->name,
		    what);
}

static void report_at(struct conf_builder *builder, const struct conf_place *place,
		      enum conf_severity severity, const char *message)
{
	assert(place != NULL);
	conf_report(builder, severity, &place->origin, place->label, "%s", message);
}

static void parse_listen(struct conf_builder *builder, struct conf_section *section)
{
	struct conf_pool *const pool = section->pool;
	/* Without a usable number of slots the rest of the address can be checked all the same. */
	const unsigned int slots = pool->max_children > 0 ? pool->max_children : 1;

	pool->listen = calloc(section->places_count + 1, sizeof(*pool->listen));
	if (pool->listen == NULL) {
		conf_report_memory(builder);
		return;
	}
	for (size_t i = 0; i < section->places_count; i++) {
		const struct conf_place *const place = &section->places[i];
		struct conf_listen *const listen = &pool->listen[pool->listen_count];
		char reason[REASON_BYTES];

		if (strcmp(place->key->name, "listen") != 0)
			continue;
		if (address_parse(place->value, slots, &listen->address, reason, sizeof(reason)) <
		    0) {
			report_at(builder, place, CONF_ERROR, reason);
			continue;
		}
		listen->origin = place->origin;
		pool->listen_count++;
		if (pool->listen_count == 2 && pool->spawn == CONF_SPAWN_EXEC)
			report_at(
				builder, place, CONF_ERROR,
				"with spawn = exec a worker has one socket, so one listen line is "
				"accepted; spawn = template takes several");
	}
}

/* A pair of pipes has one worker and one client: what is for many of them can't be had. */
static void check_pipes(struct conf_builder *builder, const struct conf_section *section)
{
	struct conf_pool *const pool = section->pool;
	const struct conf_place *const place = conf_place_find(section, "listen", NULL);

	for (size_t i = 0; place != NULL && i < pool->listen_count; i++) {
		if (pool->listen[i].address.kind != ADDRESS_PIPE)
			continue;
		if (pool->listen_count > 1)
			report_at(builder, place, CONF_ERROR,
				  "a pool on pipes has no other listen line");
		else if (pool->spawn != CONF_SPAWN_TEMPLATE)
			report_at(builder, place, CONF_ERROR, "pipes need spawn = template");
		else if (!pool->listen[i].address.per_slot && pool->max_children > 1)
			report_at(builder, place, CONF_ERROR,
				  "each worker needs pipes of its own: write %n into the path");
		pool->rescue = false;
		return;
	}
}

static void check_required(struct conf_builder *builder, const struct conf_section *section)
{
	if (conf_place_find(section, "listen", NULL) == NULL)
		report_missing(builder, section, "listen",
			       "has no address; needed is one such as /run/berth/$pool-%n.sock or "
			       "127.0.0.1:9000+%n");
	if (conf_place_find(section, "pm.max_children", NULL) == NULL)
		report_missing(
			builder, section, "pm.max_children",
			"has no number of workers; needed is a whole number from 1 to " CONF_TEXT(
				CONF_CHILDREN_MAX));
}

/* How many workers there may be at the least and when they come, as far as the pool says that. */
static void check_spares(struct conf_builder *builder, const struct conf_section *section)
{
	struct conf_pool *const pool = section->pool;
	const struct conf_place *const pm = conf_place_find(section, "pm", NULL);
	const struct conf_place *const start = conf_place_find(section, "pm.start_servers", NULL);
	const struct conf_place *const min = conf_place_find(section, "pm.min_spare_servers", NULL);
	const struct conf_place *const max = conf_place_find(section, "pm.max_spare_servers", NULL);

	if (min == NULL || max == NULL) {
		report_at(builder, pm, CONF_ERROR,
			  "dynamic needs pm.min_spare_servers and pm.max_spare_servers");
		return;
	}
	/* Those that are refused were reported when they were read. */
	if (pool->min_spare_servers == 0 || pool->max_spare_servers == 0 || pool->max_children == 0)
		return;
	if (pool->max_spare_servers > pool->max_children)
		report_at(builder, max, CONF_ERROR,
			  "is above pm.max_children; accepted is at most that");
	else if (pool->min_spare_servers > pool->max_spare_servers)
		report_at(builder, min, CONF_ERROR,
			  "is above pm.max_spare_servers; accepted is at most that");
	else if (start == NULL)
		pool->start_servers = pool->min_spare_servers +
				      (pool->max_spare_servers - pool->min_spare_servers) / 2;
	else if (pool->start_servers < pool->min_spare_servers ||
		 pool->start_servers > pool->max_spare_servers)
		report_at(builder, start, CONF_ERROR,
			  "is not from pm.min_spare_servers to pm.max_spare_servers");
}

static void check_sizes(struct conf_builder *builder, const struct conf_section *section)
{
	const struct conf_pool *const pool = section->pool;
	const struct conf_place *const pm = conf_place_find(section, "pm", NULL);

	if (pool->pm == CONF_PM_STATIC)
		return;
	if (pool->spawn != CONF_SPAWN_TEMPLATE)
		report_at(builder, pm, CONF_ERROR,
			  "with spawn = exec only static is accepted: such workers don't tell "
			  "whether they idle");
	else if (conf_has_pipes(pool))
		report_at(builder, pm, CONF_ERROR,
			  "on pipes only static is accepted: nobody connects to them");
	else if (pool->pm == CONF_PM_DYNAMIC)
		check_spares(builder, section);
}

/* The workers that are there whether anybody wants something or not. */
void conf_check_process_max(struct conf_builder *builder)
{
	const struct conf_place *place = conf_place_find(&builder->global, "process.max", NULL);
	unsigned int least = 0;

	if (place == NULL || builder->conf->process_max == 0)
		return;
	for (const struct conf_section *section = builder->pools; section != NULL;
	     section = section->next) {
		if (section->spoiled)
			continue;
		if (section->pool->pm == CONF_PM_STATIC)
			least += section->pool->max_children;
		else if (section->pool->pm == CONF_PM_DYNAMIC)
			least += section->pool->start_servers;
	}
	if (least > builder->conf->process_max)
		conf_report(builder, CONF_ERROR, &place->origin, place->label,
			    "the pools start with %u workers, which is above it", least);
}

/* php-cgi would fork children of its own that nobody asked for and nobody would end. */
static void check_children_variable(struct conf_builder *builder,
				    const struct conf_section *section)
{
	const struct conf_place *place = conf_place_find(section, "env", "PHP_FCGI_CHILDREN");

	if (place != NULL && section->pool->spawn == CONF_SPAWN_TEMPLATE)
		report_at(
			builder, place, CONF_ERROR,
			"is not accepted with spawn = template: php-cgi would fork a second family "
			"of workers; use pm.max_children");
}

/* What a script leaves in memory is of use only where workers share that. */
static void check_warmup(struct conf_builder *builder, const struct conf_section *section)
{
	const struct conf_place *place = conf_place_find(section, "warmup", "");

	if (place == NULL)
		place = conf_place_find(section, "warmup", NULL);
	if (place == NULL)
		return;
	if (section->pool->spawn == CONF_SPAWN_EXEC)
		report_at(builder, place, CONF_ERROR,
			  "is not accepted with spawn = exec, whose workers share no memory");
	else if (conf_has_pipes(section->pool))
		report_at(builder, place, CONF_ERROR, "is not accepted in a pool on pipes");
}

static bool is_own_group(gid_t gid)
{
	gid_t groups[IDENTITY_GROUPS_MAX];
	const int count = getgroups(IDENTITY_GROUPS_MAX, groups);

	for (int i = 0; i < count; i++) {
		if (groups[i] == gid)
			return true;
	}
	return gid == getegid();
}

static void warn_ignored(struct conf_builder *builder, const struct conf_section *section,
			 const char *key)
{
	report_at(builder, conf_place_find(section, key, NULL), CONF_WARNING,
		  "ignored: not started as root");
}

/*
 * An ordinary user can't become anybody else, nor give files away. A configuration made for root
 * works all the same, with a warning for what is not as it says.
 */
static void resolve_as_user(struct conf_builder *builder, const struct conf_section *section,
			    uid_t euid)
{
	struct conf_pool *const pool = section->pool;
	uid_t uid;
	gid_t gid;

	if (pool->user != NULL && (identity_user(pool->user, &uid, &gid) < 0 || uid != euid))
		warn_ignored(builder, section, "user");
	if (pool->group != NULL && (identity_group(pool->group, &gid) < 0 || gid != getegid()))
		warn_ignored(builder, section, "group");
	if (pool->listen_owner != NULL &&
	    (identity_user(pool->listen_owner, &uid, &gid) < 0 || uid != euid))
		warn_ignored(builder, section, "listen.owner");
	if (pool->listen_group == NULL)
		return;
	if (identity_group(pool->listen_group, &gid) == 0 && is_own_group(gid))
		pool->listen_gid = gid;
	else
		warn_ignored(builder, section, "listen.group");
}

static void check_not_root(struct conf_builder *builder, const struct conf_section *section)
{
	const struct identity *const identity = &section->pool->identity;
	const struct conf_place *const user = conf_place_find(section, "user", NULL);
	const struct conf_place *const group = conf_place_find(section, "group", NULL);

	if (identity->uid == 0)
		report_at(
			builder, user, CONF_ERROR,
			"is root, as whom no worker runs; give another user, or allow it with -R, "
			"--allow-to-run-as-root");
	else if (identity->gid == 0)
		report_at(builder, group != NULL ? group : user, CONF_ERROR,
			  "workers would run in group root; give another group, or allow it with "
			  "-R, --allow-to-run-as-root");
}

/* Return: true if the pool's processes become somebody */
static bool has_identity(struct conf_builder *builder, const struct conf_section *section,
			 bool allow_root)
{
	const struct conf_place *const group = conf_place_find(section, "group", NULL);

	if (conf_place_find(section, "user", NULL) != NULL)
		return true;
	if (allow_root)
		return group != NULL;
	if (group != NULL)
		report_at(
			builder, group, CONF_ERROR,
			"is given without user, so workers would run as root; give user, or allow "
			"it with -R, --allow-to-run-as-root");
	else
		report_missing(builder, section, "user",
			       "would run as root; give a user, or allow it with -R, "
			       "--allow-to-run-as-root");
	return false;
}

/* Becomes what `user` and `group` say; a group alone goes with root. */
static void resolve_identity(struct conf_builder *builder, const struct conf_section *section,
			     bool allow_root)
{
	struct conf_pool *const pool = section->pool;
	const struct conf_place *const user = conf_place_find(section, "user", NULL);
	const struct conf_place *const group = conf_place_find(section, "group", NULL);
	const char *const name = user != NULL ? pool->user : "0";
	char reason[REASON_BYTES];
	uid_t uid;
	gid_t gid;

	if (!has_identity(builder, section, allow_root))
		return;
	/* An empty value was reported when it was read. */
	if (name == NULL || (group != NULL && pool->group == NULL))
		return;
	if (identity_resolve(name, pool->group, &pool->identity, reason, sizeof(reason)) < 0) {
		const bool user_known = identity_user(name, &uid, &gid) == 0;

		report_at(builder, user_known && group != NULL ? group : user, CONF_ERROR, reason);
		return;
	}
	if (!allow_root)
		check_not_root(builder, section);
}

static void report_unknown(struct conf_builder *builder, const struct conf_section *section,
			   const char *key, const char *kind, const char *name, int error)
{
	const struct conf_place *const place = conf_place_find(section, key, NULL);

	assert(place != NULL);
	if (error == -ENOENT)
		conf_report(builder, CONF_ERROR, &place->origin, place->label,
			    "there is no %s %.64s", kind, name);
	else
		conf_report(builder, CONF_ERROR, &place->origin, place->label,
			    "%s %.64s can't be looked up: %s", kind, name, strerror(-error));
}

/* Sockets belong to the pool's user unless it says otherwise, which is what php-fpm's pools do. */
static void resolve_listen(struct conf_builder *builder, const struct conf_section *section)
{
	struct conf_pool *const pool = section->pool;
	gid_t gid;
	int r;

	pool->listen_uid = pool->identity.uid;
	pool->listen_gid = pool->identity.gid;
	if (pool->listen_owner != NULL) {
		r = identity_user(pool->listen_owner, &pool->listen_uid, &gid);
		if (r < 0)
			report_unknown(builder, section, "listen.owner", "user", pool->listen_owner,
				       r);
	}
	if (pool->listen_group != NULL) {
		r = identity_group(pool->listen_group, &pool->listen_gid);
		if (r < 0)
			report_unknown(builder, section, "listen.group", "group",
				       pool->listen_group, r);
	}
}

void conf_check_pool(struct conf_builder *builder, struct conf_section *section,
		     const struct conf_rules *rules)
{
	struct conf_pool *const pool = section->pool;

	check_required(builder, section);
	check_children_variable(builder, section);
	parse_listen(builder, section);
	check_pipes(builder, section);
	check_warmup(builder, section);
	check_sizes(builder, section);
	conf_check_peers(builder, section);
	conf_check_limits(builder, section, rules);
	if (conf_place_find(section, "process_control_timeout", NULL) == NULL)
		pool->process_control_timeout_ms = builder->conf->process_control_timeout_ms;
	if (rules->euid != 0) {
		resolve_as_user(builder, section, rules->euid);
		return;
	}
	resolve_identity(builder, section, rules->allow_root);
	resolve_listen(builder, section);
}
