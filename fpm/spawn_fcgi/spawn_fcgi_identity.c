/* SPDX-License-Identifier: BSD-2-Clause */
/* Who spawn-fcgi's program becomes, and whose its socket is. */
#include "fpm/spawn_fcgi/spawn_fcgi_internal.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

/* Return: 0, or the exit status after a message */
static int find_user(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
	int result = identity_user(name, ret_uid, ret_gid);

	if (result < 0)
		return spawn_fcgi_error("can't find user name %s%s%s", name,
					result == -ENOENT ? "" : ": ",
					result == -ENOENT ? "" : strerror(-result));
	return *ret_uid == 0 ? spawn_fcgi_error("I will not set uid to 0") : 0;
}

/* Return: 0, or the exit status after a message */
static int find_group(const char *name, gid_t *gid)
{
	int result = name ? identity_group(name, gid) : 0;

	if (result < 0)
		return spawn_fcgi_error("can't find group name %s%s%s", name,
					result == -ENOENT ? "" : ": ",
					result == -ENOENT ? "" : strerror(-result));
	return *gid == 0 ? spawn_fcgi_error("I will not set gid to 0") : 0;
}

/* A user that no database knows has no groups, and keeps ours if none was given. */
static int resolve_program(const struct spawn_fcgi_options *options, struct spawn_fcgi_ids *ids)
{
	struct identity *identity = &ids->identity;
	char error[256];
	int status = 0;

	if (options->user)
		status = find_user(options->user, &identity->uid, &identity->gid);
	ids->groups_known = identity->gid != (gid_t)-1;
	if (status == 0 && options->user && !ids->groups_known && !options->group)
		(void)spawn_fcgi_error("WARNING: no user has uid %lu and no group was given, so "
				       "only the user changes, and the groups stay",
				       (unsigned long)identity->uid);
	if (status == 0)
		status = find_group(options->group, &identity->gid);
	if (status == 0 && ids->groups_known &&
	    identity_resolve(options->user, options->group, identity, error, sizeof(error)) < 0)
		return spawn_fcgi_error("%s", error);
	return status;
}

static int resolve_socket(const struct spawn_fcgi_options *options, struct spawn_fcgi_ids *ids)
{
	int status = 0;

	if (options->socket_user)
		status = find_user(options->socket_user, &ids->socket_uid, &ids->socket_gid);
	if (status == 0)
		status = find_group(options->socket_group, &ids->socket_gid);
	if (ids->socket_uid == (uid_t)-1)
		ids->socket_uid = ids->identity.uid;
	if (ids->socket_gid == (gid_t)-1)
		ids->socket_gid = ids->identity.gid;
	return status;
}

int spawn_fcgi_ids_resolve(const struct spawn_fcgi_options *options, struct spawn_fcgi_ids *ret_ids)
{
	struct spawn_fcgi_ids ids = {
		.identity = {.uid = (uid_t)-1, .gid = (gid_t)-1},
		.socket_uid = (uid_t)-1,
		.socket_gid = (gid_t)-1,
	};
	int status = resolve_program(options, &ids);

	if (status == 0)
		status = resolve_socket(options, &ids);
	if (status == 0)
		*ret_ids = ids;
	return status;
}

int spawn_fcgi_groups_drop(const struct spawn_fcgi_ids *ids)
{
	const struct identity *identity = &ids->identity;

	if (identity->gid == (gid_t)-1)
		return 0;
	if (setgid(identity->gid) == -1 ||
	    setgroups(ids->groups_known ? identity->groups_count : 0, identity->groups) == -1)
		return spawn_fcgi_error("can't become gid %lu: %s", (unsigned long)identity->gid,
					strerror(errno));
	return 0;
}
