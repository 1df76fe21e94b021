/* SPDX-License-Identifier: BSD-2-Clause */
/* The pid file: right from the first moment, locked as long as its owner lives. */

#include "fpm/manager/pid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * What stands at the path is never written to. A new file gets its content and our lock under
 * another name, and then its own: by link() if there is none yet, which fails if somebody was
 * faster, else by rename() while the lock of the one that is replaced is ours, so that only one of
 * many does it. Whoever got the lock of a file that meanwhile is not the one at the path any more
 * looks again.
 */
#define TRIES	  100
#define PID_BYTES 32

struct pid_file {
	int fd;
	char path[];
};

static bool is_at(const char *path, int fd)
{
	struct stat there, ours;

	return lstat(path, &there) == 0 && fstat(fd, &ours) == 0 && there.st_dev == ours.st_dev &&
	       there.st_ino == ours.st_ino;
}

/* Makes a file that nobody knows yet. */
static int make(const char *path, char *name, size_t size, int *ret_fd)
{
	char text[PID_BYTES];
	int length = snprintf(text, sizeof(text), "%d\n", getpid());
	int fd, result;

	(void)snprintf(name, size, "%s.XXXXXX", path);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd == -1)
		return -errno;
	errno = EIO;
	if (write(fd, text, (size_t)length) == length && fchmod(fd, 0644) == 0 &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*ret_fd = fd;
		return 0;
	}
	result = -errno;
	(void)unlink(name);
	(void)close(fd);
	return result;
}

/* Return: what the file at @fd says, 0 if nothing, -1 if it is no pid file */
static long read_pid(int fd)
{
	char text[PID_BYTES + 1] = "", *end;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long pid;

	if (n == 0)
		return 0;
	if (n < 0 || n == PID_BYTES)
		return -1;
	pid = strtol(text, &end, 10);
	return pid > 0 && (*end == '\0' || strcmp(end, "\n") == 0) ? pid : -1;
}

/* Looks at what the file that is there says; may it be replaced? */
static int look_at(int fd, const char *path, char *error, size_t size)
{
	struct stat st;
	long pid = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read_pid(fd) : -1;
	bool locked = flock(fd, LOCK_EX | LOCK_NB) == -1;

	/* Another one may stand there by now, with a lock or without. */
	if (!is_at(path, fd))
		return -EAGAIN;
	if (pid == -1) {
		(void)snprintf(error, size, "%s: is there and no pid file", path);
		return -EEXIST;
	}
	if (!locked)
		return 0;
	(void)snprintf(error, size, "%s: berth runs already, pid %ld", path, pid);
	return -EBUSY;
}

/* Return: 0, negative errno, or -EAGAIN if things have changed meanwhile */
static int place(const char *name, const char *path, char *error, size_t size)
{
	int result, fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1 && errno == ENOENT) {
		if (link(name, path) == 0)
			return unlink(name) == 0 ? 0 : -errno;
		return errno == EEXIST ? -EAGAIN : -errno;
	}
	if (fd == -1)
		return -errno;
	result = look_at(fd, path, error, size);
	if (result == 0 && rename(name, path) == -1)
		result = -errno;
	(void)close(fd);
	return result;
}

int pid_file_new(const char *path, struct pid_file **ret_file, char *error, size_t size)
{
	size_t length = strlen(path) + 1;
	struct pid_file *file = malloc(sizeof(*file) + length);
	char *name = malloc(length + sizeof(".XXXXXX"));
	int result = -ENOMEM, fd = -1;

	error[0] = '\0';
	if (!file || !name)
		goto out;
	memcpy(file->path, path, length);
	result = make(path, name, length + sizeof(".XXXXXX"), &fd);
	if (result < 0)
		goto out;
	result = -EAGAIN;
	for (int i = 0; i < TRIES && result == -EAGAIN; i++)
		result = place(name, path, error, size);
	if (result < 0)
		(void)unlink(name);
out:
	free(name);
	if (result < 0) {
		if (error[0] == '\0')
			(void)snprintf(error, size, "%s: %s", path, strerror(-result));
		if (fd != -1)
			(void)close(fd);
		free(file);
		return result;
	}
	file->fd = fd;
	*ret_file = file;
	return 0;
}

int pid_file_fd(const struct pid_file *file)
{
	return file ? file->fd : -1;
}

struct pid_file *pid_file_adopt(const char *path, int fd)
{
	size_t length = strlen(path) + 1;
	struct pid_file *file = malloc(sizeof(*file) + length);

	if (!file)
		return NULL;
	memcpy(file->path, path, length);
	file->fd = fd;
	return file;
}

void pid_file_free(struct pid_file *file)
{
	if (!file)
		return;
	if (is_at(file->path, file->fd))
		(void)unlink(file->path);
	(void)close(file->fd);
	free(file);
}
