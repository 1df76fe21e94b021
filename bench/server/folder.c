/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder for what a server needs: configuration, sockets, scripts. */

#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define AGE_S 3600

const char *folder_parent(void)
{
	const char *parent = getenv("TMPDIR");

	return parent && parent[0] == '/' ? parent : "/tmp";
}

int folder_make(char *ret_path, size_t size)
{
	char path[256];
	int n, error;

	n = snprintf(path, sizeof(path), "%s/berth-bench.XXXXXX", folder_parent());
	if (n < 0 || (size_t)n >= sizeof(path) || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	if (chmod(path, 0755) == -1) {
		error = errno;
		(void)rmdir(path);
		return -error;
	}
	(void)snprintf(ret_path, size, "%s", path);
	return 0;
}

/* Return: 0 or an errno */
static int fill(int fd, const char *text)
{
	struct timespec times[2];
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n = write(fd, text, left);

		if (n == -1)
			return errno;
		text += n;
		left -= (size_t)n;
	}
	(void)clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= AGE_S;
	times[1] = times[0];
	return futimens(fd, times) == -1 || fchmod(fd, 0644) == -1 ? errno : 0;
}

int folder_write(const char *folder, const char *name, const char *text)
{
	char path[512];
	int fd, error;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd == -1)
		return -errno;
	error = fill(fd, text);
	if (close(fd) == -1 && !error)
		error = errno;
	return -error;
}

void folder_remove(const char *path)
{
	DIR *folder = path[0] ? opendir(path) : NULL;

	if (!folder)
		return;
	for (const struct dirent *entry; (entry = readdir(folder));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	(void)closedir(folder);
	(void)rmdir(path);
}
