/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process is given before it runs a program, besides its identity: limits, priority ... */
#ifndef FPM_ATTRIBUTES_H
#define FPM_ATTRIBUTES_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

enum attributes_limit {
	ATTRIBUTES_FILES = 0,
	ATTRIBUTES_CORE,
	ATTRIBUTES_AS,
	ATTRIBUTES_DATA,
	ATTRIBUTES_NPROC,
	ATTRIBUTES_LIMIT_MAX,
};

/**
 * struct attributes_rlimit - one resource limit
 * @set:	False: it is inherited
 * @value:	Soft and hard limit, RLIM_INFINITY for none
 */
struct attributes_rlimit {
	bool set;
	rlim_t value;
};

/**
 * struct attributes_priority - a nice value
 * @set:	False: it is inherited
 * @value:	-20 to 19
 */
struct attributes_priority {
	bool set;
	int value;
};

/**
 * struct attributes - all of it; what is not set is inherited
 * @limits:	Resource limits, by enum attributes_limit
 * @priority:	Nice value
 * @umask:	File mode creation mask, (mode_t)-1 = not set
 * @cgroup:	Folder of a cgroup (version 2), NULL = not set
 */
struct attributes {
	struct attributes_rlimit limits[ATTRIBUTES_LIMIT_MAX];
	struct attributes_priority priority;
	mode_t umask;
	char *cgroup;
};

/**
 * attributes_name() - the key of a resource limit
 * @limit:	Which
 *
 * Return: e.g. "rlimit_files"
 */
const char *attributes_name(enum attributes_limit limit);

/**
 * attributes_apply() - give them to the calling process
 * @attributes:	Attributes
 *
 * Async-signal-safe. Needs the rights of the manager, so it comes before the identity.
 *
 * Return: NULL, or the key of what failed, with errno set
 */
const char *attributes_apply(const struct attributes *attributes);

/**
 * attributes_check_cgroup() - is this a cgroup that processes can be put into
 * @path:	Folder
 *
 * Return: NULL, or what is wrong with it
 */
const char *attributes_check_cgroup(const char *path);

#endif
