/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening unix sockets: stale files, permissions, removal; and abstract ones. */
#include "fpm/listener/listener_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERMISSIONS (S_IRWXU | S_IRWXG | S_IRWXO)

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a folder";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a FIFO";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "something else";
	}
}

/* Connects to find out whether somebody listens. Returns 0 if so, or negative errno. */
static int probe(const struct address_socket *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd == -1)
		return -errno;
	if (connect(fd, &address->addr.sa, address->len) == -1)
		rc = -errno;
	(void)close(fd);
	return rc;
}

static int remove_stale(const char *path, char *error, size_t size)
{
	int code;

	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	code = errno;
	return listener_fail(-code, error, size,
			     "%s is a socket that nobody listens on, and can't be removed: %s",
			     path, strerror(code));
}

/*
 * Makes the path free if a dead process left a socket there. Returns -EADDRINUSE without a text if
 * somebody uses it. A full queue (EAGAIN) is a sign of life, and so is a socket of another type
 * (EPROTOTYPE), which the kernel tells only if one is bound.
 */
static int clear_path(const struct address_socket *address, char *error, size_t size)
{
	const char *path = address->addr.un.sun_path;
	struct stat st;
	int rc;

	if (lstat(path, &st) == -1) {
		int code = errno;

		if (code == ENOENT)
			return 0;
		return listener_fail(-code, error, size, "can't look at %s: %s", path,
				     strerror(code));
	}
	if (!S_ISSOCK(st.st_mode))
		return listener_fail(-EEXIST, error, size,
				     "%s is %s, not a socket: left alone, remove it or choose "
				     "another path",
				     path, kind_name(st.st_mode));
	rc = probe(address);
	switch (rc) {
	case -ECONNREFUSED:
		return remove_stale(path, error, size);
	case -ENOENT:
		return 0;
	case 0:
	case -EAGAIN:
	case -EPROTOTYPE:
		return -EADDRINUSE;
	default:
		return listener_fail(rc, error, size,
				     "can't find out whether %s is in use: %s; left alone", path,
				     strerror(-rc));
	}
}

/* The umask makes the mode right at once, and is put back before anything can inherit it. */
static int bind_file(struct listener *listener, mode_t mode, char *error, size_t size)
{
	const struct address_socket *address = &listener->address;
	const char *path = address->addr.un.sun_path;
	mode_t mask = umask(PERMISSIONS & ~mode);
	int code = bind(listener->fd, &address->addr.sa, address->len) == -1 ? errno : 0;
	struct stat st;

	(void)umask(mask);
	if (code == EADDRINUSE)
		return -EADDRINUSE;
	if (code != 0)
		return listener_fail(-code, error, size, "can't make socket %s: %s", path,
				     strerror(code));
	if (lstat(path, &st) == -1 || !S_ISSOCK(st.st_mode))
		return listener_fail(-EBUSY, error, size, "%s was replaced while it was made",
				     path);
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	return 0;
}

static bool is_own_file(const struct listener *listener, const struct stat *st)
{
	mode_t type = listener->address.pipe ? S_IFIFO : S_IFSOCK;

	return (st->st_mode & S_IFMT) == type && st->st_dev == listener->dev &&
	       st->st_ino == listener->ino;
}

/* Through a descriptor, so that nobody can put another file in the place of ours meanwhile. */
static int set_permissions_fd(const struct listener *listener, int fd,
			      const struct listener_options *options)
{
	mode_t mode = options->mode & PERMISSIONS;
	char link[64];
	struct stat st;

	if (fstat(fd, &st) == -1)
		return -errno;
	if (!is_own_file(listener, &st))
		return -EBUSY;
	if ((options->uid != (uid_t)-1 || options->gid != (gid_t)-1) &&
	    fchownat(fd, "", options->uid, options->gid, AT_EMPTY_PATH) == -1)
		return -errno;
	/* A folder's default access control list takes the place of the umask. */
	if ((st.st_mode & PERMISSIONS) == mode)
		return 0;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (chmod(link, mode) == -1)
		return -errno;
	return 0;
}

int listener_path_adjust(const struct listener *listener, const struct listener_options *options,
			 char *error, size_t size)
{
	const char *path = listener->address.addr.un.sun_path;
	char owner[64] = "";
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd == -1 ? -errno : set_permissions_fd(listener, fd, options);

	if (fd != -1)
		(void)close(fd);
	if (rc == 0)
		return 0;
	if (options->uid != (uid_t)-1)
		(void)snprintf(owner, sizeof(owner), " to uid %lu", (unsigned long)options->uid);
	if (options->gid != (gid_t)-1)
		(void)snprintf(owner + strlen(owner), sizeof(owner) - strlen(owner), " to gid %lu",
			       (unsigned long)options->gid);
	return listener_fail(rc, error, size, "can't give %s%s with mode %04o: %s", path, owner,
			     (unsigned int)(options->mode & PERMISSIONS), strerror(-rc));
}

static int start_listening(const struct listener *listener, int backlog, char *error, size_t size)
{
	char text[ADDRESS_TEXT_MAX];
	int code;

	if (listen(listener->fd, backlog) == 0)
		return 0;
	code = errno;
	return listener_fail(-code, error, size, "can't listen on %s: %s",
			     address_format(&listener->address, text, sizeof(text)),
			     strerror(code));
}

static void remove_own_file(const struct listener *listener)
{
	const char *path = listener->address.addr.un.sun_path;
	struct stat st;

	if (listener->ino != 0 && lstat(path, &st) == 0 && is_own_file(listener, &st))
		(void)unlink(path);
}

/* What happens under the folder's lock. Nobody can connect before the last step. */
static int take_path(struct listener *listener, const struct listener_options *options, char *error,
		     size_t size)
{
	int rc;

	rc = clear_path(&listener->address, error, size);
	if (rc == 0)
		rc = listener_socket(listener, options, error, size);
	if (rc == 0)
		rc = bind_file(listener, options->mode, error, size);
	if (rc == 0)
		rc = listener_path_adjust(listener, options, error, size);
	if (rc == 0)
		rc = start_listening(listener, options->backlog, error, size);
	if (rc < 0)
		remove_own_file(listener);
	return rc;
}

int listener_path_open(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size)
{
	struct listener_folder folder;
	int rc;

	rc = listener_folder_enter(listener->address.addr.un.sun_path, true, &folder, error, size);
	if (rc < 0)
		return rc;
	rc = take_path(listener, options, error, size);
	listener->made_parent = folder.made;
	listener_folder_leave(&folder, rc < 0);
	/* To search all processes takes a while, others shall not wait for it. */
	if (rc == -EADDRINUSE)
		return listener_fail_in_use(&listener->address, error, size);
	return rc;
}

void listener_path_remove(struct listener *listener)
{
	struct listener_folder folder;
	char error[256];

	if (listener_folder_enter(listener->address.addr.un.sun_path, false, &folder, error,
				  sizeof(error)) == 0) {
		remove_own_file(listener);
		listener_folder_leave(&folder, listener->made_parent);
	}
	listener->ino = 0;
}

int listener_abstract_open(struct listener *listener, const struct listener_options *options,
			   char *error, size_t size)
{
	const struct address_socket *address = &listener->address;
	char text[ADDRESS_TEXT_MAX];
	int code;
	int rc;

	rc = listener_socket(listener, options, error, size);
	if (rc < 0)
		return rc;
	if (bind(listener->fd, &address->addr.sa, address->len) == -1) {
		code = errno;
		if (code == EADDRINUSE)
			return listener_fail_in_use(address, error, size);
		return listener_fail(-code, error, size, "can't make socket %s: %s",
				     address_format(address, text, sizeof(text)), strerror(code));
	}
	return start_listening(listener, options->backlog, error, size);
}
