/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of a unix socket's file: made if missing, locked, removed again. */
#include "fpm/listener/listener_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * Looking at a socket's file, removing it and binding a new one are steps that another manager
 * can come between, so the folder is locked meanwhile. A lock on the folder itself leaves no file
 * behind. It is given by anybody who may read the folder, so it is never waited for long.
 *
 * A folder that was made for sockets goes with the last of them. Another process may remove it
 * between our look and our lock: then the lock is on a folder that no path leads to any more, and
 * all starts again.
 */

#define LOCK_WAIT_MS	 1000
#define RETRY_MS	 2
#define FOLDER_MODE	 0755
#define FOLDERS_MADE_MAX 64

/*
 * Folders that this process made. All listeners in such a folder have to know, because the order
 * in which they are closed is not that in which they were opened. An inode number alone may be
 * used again for another folder once somebody else has removed ours.
 */
static struct {
	char path[LISTENER_PATH_BYTES];
	dev_t dev;
	ino_t ino;
} folders_made[FOLDERS_MADE_MAX];
static size_t folders_made_count;

static size_t find_made(const struct listener_folder *folder)
{
	size_t i = 0;

	while (i < folders_made_count &&
	       (folders_made[i].dev != folder->dev || folders_made[i].ino != folder->ino ||
		strcmp(folders_made[i].path, folder->path) != 0))
		i++;
	return i;
}

static void remember_made(const struct listener_folder *folder)
{
	if (folders_made_count == FOLDERS_MADE_MAX)
		return;
	memcpy(folders_made[folders_made_count].path, folder->path, sizeof(folder->path));
	folders_made[folders_made_count].dev = folder->dev;
	folders_made[folders_made_count].ino = folder->ino;
	folders_made_count++;
}

static void forget_made(const struct listener_folder *folder)
{
	size_t i = find_made(folder);

	if (i < folders_made_count)
		folders_made[i] = folders_made[--folders_made_count];
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const char *listener_folder_name(const char *file, char ret_name[LISTENER_PATH_BYTES])
{
	size_t length = (size_t)(strrchr(file, '/') - file);

	while (length > 1 && file[length - 1] == '/')
		length--;
	/* The root is the one folder whose name ends in a slash. */
	if (length == 0)
		length = 1;
	memcpy(ret_name, file, length);
	ret_name[length] = '\0';
	return ret_name;
}

/* Names the first part of the path that is missing, which is where the user has to begin. */
static int fail_missing(const struct listener_folder *folder, char *error, size_t size)
{
	char path[LISTENER_PATH_BYTES];
	struct stat st;
	char *end = path;

	memcpy(path, folder->path, sizeof(path));
	while ((end = strchr(end + 1, '/')) != NULL) {
		*end = '\0';
		if (stat(path, &st) == -1)
			break;
		*end = '/';
	}
	return listener_fail(-ENOENT, error, size,
			     "folder %s is missing; only the last folder of a path is made", path);
}

static int make_folder(struct listener_folder *folder, char *error, size_t size)
{
	mode_t mask = umask(0);
	int code = mkdir(folder->path, FOLDER_MODE) == -1 ? errno : 0;

	(void)umask(mask);
	if (code == ENOENT)
		return fail_missing(folder, error, size);
	if (code != 0 && code != EEXIST)
		return listener_fail(-code, error, size, "can't make folder %s: %s", folder->path,
				     strerror(code));
	folder->made = code == 0;
	return 0;
}

/* Takes the lock, unless it can't be had: then the folder is used without. */
static void lock_folder(struct listener_folder *folder, uint64_t deadline_ms)
{
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd == -1)
		return;
	while (flock(folder->fd, LOCK_EX | LOCK_NB) == -1) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || now_ms() >= deadline_ms)
			break;
		(void)poll(NULL, 0, RETRY_MS);
	}
}

static void unlock_folder(struct listener_folder *folder)
{
	if (folder->fd != -1)
		(void)close(folder->fd);
	folder->fd = -1;
}

/* True if the path leads to the folder that was locked. Sets the folder's device and inode. */
static bool is_in_place(struct listener_folder *folder)
{
	struct stat by_path;
	struct stat by_fd;

	if (stat(folder->path, &by_path) == -1)
		return false;
	folder->dev = by_path.st_dev;
	folder->ino = by_path.st_ino;
	return folder->fd == -1 ||
	       (fstat(folder->fd, &by_fd) == 0 && by_fd.st_dev == by_path.st_dev &&
		by_fd.st_ino == by_path.st_ino);
}

/* One try. Returns 1 if the folder is there and locked, 0 if it went away meanwhile. */
static int try_enter(struct listener_folder *folder, bool make, uint64_t deadline_ms, char *error,
		     size_t size)
{
	struct stat st;
	int rc;

	folder->made = false;
	if (stat(folder->path, &st) == -1) {
		int code = errno;

		if (code != ENOENT || !make)
			return listener_fail(-code, error, size, "can't use folder %s: %s",
					     folder->path, strerror(code));
		rc = make_folder(folder, error, size);
		if (rc < 0)
			return rc;
	} else if (!S_ISDIR(st.st_mode)) {
		return listener_fail(-ENOTDIR, error, size, "%s is no folder", folder->path);
	}
	lock_folder(folder, deadline_ms);
	if (is_in_place(folder))
		return 1;
	unlock_folder(folder);
	return 0;
}

int listener_folder_enter(const char *file, bool make, struct listener_folder *ret_folder,
			  char *error, size_t size)
{
	struct listener_folder folder = {.fd = -1};
	uint64_t deadline_ms = now_ms() + LOCK_WAIT_MS;
	int rc;

	(void)listener_folder_name(file, folder.path);
	for (;;) {
		rc = try_enter(&folder, make, deadline_ms, error, size);
		if (rc != 0)
			break;
		if (now_ms() >= deadline_ms)
			return listener_fail(-ENOENT, error, size,
					     "folder %s is missing and can't be made", folder.path);
		(void)poll(NULL, 0, RETRY_MS);
	}
	if (rc < 0)
		return rc;
	if (folder.made)
		remember_made(&folder);
	else
		folder.made = find_made(&folder) < folders_made_count;
	*ret_folder = folder;
	return 0;
}

void listener_folder_leave(struct listener_folder *folder, bool discard)
{
	if (discard && folder->made && rmdir(folder->path) == 0)
		forget_made(folder);
	unlock_folder(folder);
}
