/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process is given before it runs a program, besides its identity: limits, priority ... */

#include "fpm/process/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const struct {
	const char *name;
	__rlimit_resource_t resource;
} limits[] = {
	[ATTRIBUTES_FILES] = {"rlimit_files", RLIMIT_NOFILE},
	[ATTRIBUTES_CORE] = {"rlimit_core", RLIMIT_CORE},
	[ATTRIBUTES_AS] = {"rlimit_as", RLIMIT_AS},
	[ATTRIBUTES_DATA] = {"rlimit_data", RLIMIT_DATA},
	[ATTRIBUTES_NPROC] = {"rlimit_nproc", RLIMIT_NPROC},
};
_Static_assert(sizeof(limits) / sizeof(limits[0]) == ATTRIBUTES_LIMIT_MAX, "each limit");

const char *attributes_name(enum attributes_limit limit)
{
	return limits[limit].name;
}

/* Returns -1 with errno if the calling process can't be put into the cgroup. */
static int enter_cgroup(const char *path)
{
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file = folder == -1 ? -1 : openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	int result = -1;
	int error;

	/* "0" stands for whoever writes it. */
	if (file != -1)
		result = write(file, "0\n", 2) == 2 ? 0 : -1;
	error = errno;
	if (file != -1)
		(void)close(file);
	if (folder != -1)
		(void)close(folder);
	errno = error;
	return result;
}

const char *attributes_apply(const struct attributes *attributes)
{
	/* First, as the others may make it impossible to open a file. */
	if (attributes->cgroup && enter_cgroup(attributes->cgroup) == -1)
		return "cgroup";
	for (size_t i = 0; i < ATTRIBUTES_LIMIT_MAX; i++) {
		const struct attributes_rlimit *limit = &attributes->limits[i];
		const struct rlimit both = {.rlim_cur = limit->value, .rlim_max = limit->value};

		if (limit->set && setrlimit(limits[i].resource, &both) == -1)
			return limits[i].name;
	}
	if (attributes->priority.set &&
	    setpriority(PRIO_PROCESS, 0, attributes->priority.value) == -1)
		return "process.priority";
	if (attributes->umask != (mode_t)-1)
		(void)umask(attributes->umask);
	return NULL;
}

const char *attributes_check_cgroup(const char *path)
{
	const char *problem = NULL;
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (folder == -1)
		return strerror(errno);
	if (fstatfs(folder, &fs) == -1 || fs.f_type != CGROUP2_SUPER_MAGIC)
		problem = "it is not a folder of a cgroup file system of version 2";
	else if (faccessat(folder, "cgroup.procs", W_OK, AT_EACCESS) == -1)
		problem = strerror(errno);
	(void)close(folder);
	return problem;
}
