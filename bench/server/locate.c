/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the programs are that can be measured. */

#include "locate.h"

#include "fpm/process/program.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From our own folder: beside us, in a build tree (tests included), in an installation. */
static const char *const our_folders[] = {
	".", "../fpm", "../bench", "../../fpm", "../../bench", "../sbin", "../bin",
};

static const char *const system_folders[] = {"/usr/local/sbin", "/usr/sbin", "/sbin"};

static bool is_there(const char *path)
{
	return access(path, X_OK) == 0;
}

static int take(const char *path, char *ret_path, size_t size)
{
	int n = snprintf(ret_path, size, "%s", path);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int locate_ours(const char *name, char *ret_path, size_t size)
{
	char own[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	own[n > 0 ? n : 0] = '\0';
	slash = strrchr(own, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < sizeof(our_folders) / sizeof(our_folders[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", own, our_folders[i], name);
		if (is_there(path))
			return take(path, ret_path, size);
	}
	return locate_program(name, ret_path, size);
}

int locate_program(const char *name, char *ret_path, size_t size)
{
	char *found = program_find(name), path[PATH_MAX];
	int error = errno, ret;

	if (found) {
		ret = take(found, ret_path, size);
		free(found);
		return ret;
	}
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++) {
		if (strchr(name, '/'))
			break;
		(void)snprintf(path, sizeof(path), "%s/%s", system_folders[i], name);
		if (is_there(path))
			return take(path, ret_path, size);
	}
	return error == EACCES ? -EACCES : -ENOENT;
}

int locate_php_fpm(char *ret_path, size_t size)
{
	int ret = locate_program("php-fpm", ret_path, size);
	const char *best = NULL;
	glob_t found;

	if (ret == 0 || glob("/usr/sbin/php-fpm[0-9]*", 0, NULL, &found) != 0)
		return ret;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (is_there(found.gl_pathv[i]) &&
		    (!best || strverscmp(found.gl_pathv[i], best) > 0))
			best = found.gl_pathv[i];
	if (best)
		ret = take(best, ret_path, size);
	globfree(&found);
	return ret;
}
