/* SPDX-License-Identifier: BSD-2-Clause */
/* Users and groups by name or number. */
#ifndef FPM_IDENTITY_H
#define FPM_IDENTITY_H

#include <stddef.h>
#include <sys/types.h>

#define IDENTITY_GROUPS_MAX 256

/**
 * struct identity - what a process becomes before it runs a pool's program
 * @uid:	User id, (uid_t)-1: stay who you are
 * @gid:	Group id
 * @groups:	Supplementary groups, from the group database
 * @groups_count: Entries of @groups
 */
struct identity {
	uid_t uid;
	gid_t gid;
	gid_t groups[IDENTITY_GROUPS_MAX];
	size_t groups_count;
};

/**
 * identity_user() - look a user up
 * @text:	Name or decimal number
 * @ret_uid:	User id
 * @ret_gid:	Primary group, (gid_t)-1 if the number is in no database
 *
 * Return: 0, or -ENOENT if there is no such user
 */
int identity_user(const char *text, uid_t *ret_uid, gid_t *ret_gid);

/**
 * identity_group() - look a group up
 * @text:	Name or decimal number
 * @ret_gid:	Group id
 *
 * Return: 0, or -ENOENT if there is no such group
 */
int identity_group(const char *text, gid_t *ret_gid);

/**
 * identity_resolve() - everything that is needed to become a user
 * @user:	Name or number
 * @group:	Name or number, NULL for the user's primary group
 * @ret_identity: Set on success
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int identity_resolve(const char *user, const char *group, struct identity *ret_identity,
		     char *error, size_t size);

#endif
