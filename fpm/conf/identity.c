/* SPDX-License-Identifier: BSD-2-Clause */
/* Users and groups by name or number. */
#include "fpm/conf/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The database says by ERANGE that an entry needs more; a group can have a long list of members. */
#define ENTRY_BYTES_MIN 1024
#define ENTRY_BYTES_MAX (1024 * 1024)

#define ID_MAX (UINT32_MAX - 1) /* the highest value means "leave alone" to chown() and its like */

/*
 * The two databases are read by one loop: a lookup fills its entry, with strings in @buffer, and
 * returns what the library's function does.
 */
union entry {
	struct passwd user;
	struct group group;
};
typedef int (*lookup_fn)(const char *name, uint32_t number, union entry *entry, char *buffer,
			 size_t size, bool *ret_found);

static int lookup_user_name(const char *name, uint32_t number, union entry *entry, char *buffer,
			    size_t size, bool *ret_found)
{
	struct passwd *found = NULL;
	const int r = getpwnam_r(name, &entry->user, buffer, size, &found);

	(void)number;
	*ret_found = found != NULL;
	return r;
}

static int lookup_user_number(const char *name, uint32_t number, union entry *entry, char *buffer,
			      size_t size, bool *ret_found)
{
	struct passwd *found = NULL;
	const int r = getpwuid_r(number, &entry->user, buffer, size, &found);

	(void)name;
	*ret_found = found != NULL;
	return r;
}

static int lookup_group_name(const char *name, uint32_t number, union entry *entry, char *buffer,
			     size_t size, bool *ret_found)
{
	struct group *found = NULL;
	const int r = getgrnam_r(name, &entry->group, buffer, size, &found);

	(void)number;
	*ret_found = found != NULL;
	return r;
}

/*
 * Return: 0 with @entry set and its strings in @ret_buffer, to be freed; -ENOENT if there is no
 * such entry; or another negative errno
 */
static int find(lookup_fn lookup, const char *name, uint32_t number, union entry *entry,
		char **ret_buffer)
{
	for (size_t size = ENTRY_BYTES_MIN; size <= ENTRY_BYTES_MAX; size *= 2) {
		char *buffer = malloc(size);
		bool found = false;
		int r;

		if (buffer == NULL)
			return -ENOMEM;
		r = lookup(name, number, entry, buffer, size, &found);
		if (found) {
			*ret_buffer = buffer;
			return 0;
		}
		free(buffer);
		/* Some databases report a name that they don't know as an error of their own. */
		if (r == 0 || r == ENOENT || r == ESRCH || r == EBADF || r == EPERM)
			return -ENOENT;
		if (r != ERANGE && r != EINTR)
			return -r;
	}
	return -ERANGE;
}

/* Return: true if @text is a decimal number that an id can have */
static bool parse_number(const char *text, uint32_t *ret_number)
{
	uint64_t number = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > ID_MAX)
			return false;
	}
	*ret_number = (uint32_t)number;
	return true;
}

/*
 * Finds a user by name, then by number, as chown(1) does.
 *
 * Return: 0, with the name in @ret_name, to be freed, NULL if the database doesn't know the number;
 * -ENOENT or another negative errno
 */
static int find_user(const char *text, uid_t *ret_uid, gid_t *ret_gid, char **ret_name)
{
	union entry entry = {0};
	char *buffer = NULL;
	char *name = NULL;
	uint32_t number = 0;
	int r = find(lookup_user_name, text, 0, &entry, &buffer);

	if (r == -ENOENT && parse_number(text, &number)) {
		r = find(lookup_user_number, NULL, number, &entry, &buffer);
		if (r == -ENOENT) {
			*ret_uid = number;
			*ret_gid = (gid_t)-1;
			*ret_name = NULL;
			return 0;
		}
	}
	if (r < 0)
		return r;
	name = strdup(entry.user.pw_name);
	if (name == NULL) {
		r = -ENOMEM;
	} else {
		*ret_uid = entry.user.pw_uid;
		*ret_gid = entry.user.pw_gid;
		*ret_name = name;
	}
	free(buffer);
	return r;
}

int identity_user(const char *text, uid_t *ret_uid, gid_t *ret_gid)
{
	char *name = NULL;
	const int r = find_user(text, ret_uid, ret_gid, &name);

	free(name);
	return r;
}

int identity_group(const char *text, gid_t *ret_gid)
{
	union entry entry = {0};
	char *buffer = NULL;
	uint32_t number = 0;
	const int r = find(lookup_group_name, text, 0, &entry, &buffer);

	if (r == 0)
		*ret_gid = entry.group.gr_gid;
	free(buffer);
	if (r == -ENOENT && parse_number(text, &number)) {
		*ret_gid = number;
		return 0;
	}
	return r;
}

/* Return: 0 or negative errno, with @error set */
static int find_groups(const char *name, struct identity *identity, char *error, size_t size)
{
	int count = IDENTITY_GROUPS_MAX;

	if (name == NULL) {
		identity->groups[0] = identity->gid;
		identity->groups_count = 1;
		return 0;
	}
	if (getgrouplist(name, identity->gid, identity->groups, &count) == -1) {
		(void)snprintf(error, size, "user %s is in more than %d groups", name,
			       IDENTITY_GROUPS_MAX);
		return -E2BIG;
	}
	identity->groups_count = (size_t)count;
	return 0;
}

/* Return: 0 or negative errno, with @error set */
static int find_group(const char *user, const char *group, gid_t *gid, char *error, size_t size)
{
	int r;

	if (group == NULL && *gid == (gid_t)-1) {
		(void)snprintf(error, size,
			       "user %.64s is not in the user database, so its group has to be "
			       "given as well",
			       user);
		return -EINVAL;
	}
	if (group == NULL)
		return 0;
	r = identity_group(group, gid);
	if (r == -ENOENT)
		(void)snprintf(error, size, "there is no group %.64s", group);
	else if (r < 0)
		(void)snprintf(error, size, "group %.64s can't be looked up: %s", group,
			       strerror(-r));
	return r;
}

int identity_resolve(const char *user, const char *group, struct identity *ret_identity,
		     char *error, size_t size)
{
	struct identity identity = {0};
	char *name = NULL;
	int r = find_user(user, &identity.uid, &identity.gid, &name);

	if (r == -ENOENT)
		(void)snprintf(error, size, "there is no user %.64s", user);
	else if (r < 0)
		(void)snprintf(error, size, "user %.64s can't be looked up: %s", user,
			       strerror(-r));
	else
		r = find_group(user, group, &identity.gid, error, size);
	if (r == 0)
		r = find_groups(name, &identity, error, size);
	if (r == 0)
		*ret_identity = identity;
	free(name);
	return r;
}
