/* SPDX-License-Identifier: BSD-2-Clause */
/* Named pipes, which a slot may have in place of a listening socket. */
#include "fpm/listener/listener_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERMISSIONS (S_IRWXU | S_IRWXG | S_IRWXO)

/* Makes the path free if a dead process left a pipe there. */
static int clear_path(const char *path, char *error, size_t size)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) == -1)
		return errno == ENOENT ? 0
				       : listener_fail(-errno, error, size, "can't look at %s: %s",
						       path, strerror(errno));
	if (!S_ISFIFO(st.st_mode))
		return listener_fail(
			-EEXIST, error, size,
			"%s is not a pipe: left alone, remove it or choose another path", path);
	/* Writing can be begun only if somebody reads: a worker, or a manager. */
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd != -1) {
		(void)close(fd);
		return listener_fail(-EADDRINUSE, error, size, "%s is in use", path);
	}
	if (errno != ENXIO)
		return listener_fail(-errno, error, size,
				     "can't find out whether %s is in use: %s; left alone", path,
				     strerror(errno));
	if (unlink(path) == -1 && errno != ENOENT)
		return listener_fail(-errno, error, size,
				     "%s is a pipe that nobody reads, and can't be removed: %s",
				     path, strerror(errno));
	return 0;
}

static int set_permissions(int fd, const struct listener_options *options)
{
	if ((options->uid != (uid_t)-1 || options->gid != (gid_t)-1) &&
	    fchown(fd, options->uid, options->gid) == -1)
		return -errno;
	/* After the owner: a change of that may take bits away. */
	return fchmod(fd, options->mode & PERMISSIONS) == -1 ? -errno : 0;
}

static int make(struct listener *listener, const struct listener_options *options, char *error,
		size_t size)
{
	const char *path = listener->address.addr.un.sun_path;
	struct stat st;
	int rc = clear_path(path, error, size);

	if (rc < 0)
		return rc;
	/* Nobody else may open it before owner and mode are right. */
	if (mkfifo(path, S_IRUSR | S_IWUSR) == -1)
		return listener_fail(-errno, error, size, "can't make pipe %s: %s", path,
				     strerror(errno));
	listener->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (listener->fd == -1 || fstat(listener->fd, &st) == -1 || !S_ISFIFO(st.st_mode)) {
		rc = listener->fd == -1 ? -errno : -EBUSY;
		return listener_fail(rc, error, size, "can't open pipe %s: %s", path,
				     strerror(-rc));
	}
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	rc = set_permissions(listener->fd, options);
	if (rc < 0)
		return listener_fail(rc, error, size, "can't set owner and mode of pipe %s: %s",
				     path, strerror(-rc));
	return 0;
}

int listener_pipe_open(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size)
{
	struct listener_folder folder;
	int rc = listener_folder_enter(listener->address.addr.un.sun_path, true, &folder, error,
				       size);

	if (rc < 0)
		return rc;
	rc = make(listener, options, error, size);
	listener->made_parent = folder.made;
	listener_folder_leave(&folder, rc < 0);
	if (rc < 0 && listener->ino != 0)
		listener_path_remove(listener);
	return rc;
}
