/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn-fcgi's pid file: appears as a whole, and only when something runs. */
#include "fpm/spawn_fcgi/spawn_fcgi_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * It is another file than the manager's (pid_file.h): pids of programs, one a line, the last line
 * without its end, and no lock, as the process that writes it does not stay.
 */
#define MODE	  0644
#define PID_BYTES 12

static int fail(const char *path, int code)
{
	return spawn_fcgi_error("opening PID-file '%s' failed: %s", path, strerror(code));
}

/* Return: descriptor of the folder that @path is in, or -1 */
static int open_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
	int fd = -1;

	if (!slash || folder)
		fd = open(folder ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	return fd;
}

/* Where nobody may make files in the folder, the one that is there is written to in the end. */
static int open_file(struct spawn_fcgi_pid_file *file)
{
	(void)snprintf(file->new_name, sizeof(file->new_name), ".%.200s.%d", file->name, getpid());
	file->fd = openat(file->folder, file->new_name,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
	if (file->fd != -1)
		return 0;
	file->new_name[0] = '\0';
	if (errno == EACCES || errno == EROFS || errno == EPERM)
		file->fd = openat(file->folder, file->name,
				  O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return file->fd == -1 ? -errno : 0;
}

int spawn_fcgi_pid_file_open(const char *path, struct spawn_fcgi_pid_file *ret_file)
{
	struct spawn_fcgi_pid_file file = {.folder = -1, .fd = -1};
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct stat st;
	int result;

	if (!path)
		return 0;
	if (strlen(slash ? slash + 1 : path) >= sizeof(file.name))
		return fail(path, ENAMETOOLONG);
	(void)snprintf(file.name, sizeof(file.name), "%s", slash ? slash + 1 : path);
	if (file.name[0] == '\0')
		return fail(path, ENOENT);
	file.folder = open_folder(path);
	if (file.folder == -1)
		return fail(path, errno);
	if (fstatat(file.folder, file.name, &st, 0) == 0 && !S_ISREG(st.st_mode)) {
		(void)close(file.folder);
		return spawn_fcgi_error("PID-file exists and isn't regular file: '%s'", path);
	}
	result = open_file(&file);
	if (result < 0) {
		(void)close(file.folder);
		return fail(path, -result);
	}
	*ret_file = file;
	return 0;
}

static int write_all(int fd, const pid_t *pids, unsigned int count)
{
	char *text = malloc((size_t)count * PID_BYTES);
	size_t length = 0;
	int result = 0;

	if (!text)
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++)
		length += (size_t)snprintf(text + length, PID_BYTES, "%s%d", i > 0 ? "\n" : "",
					   pids[i]);
	errno = EIO;
	if (pwrite(fd, text, length, 0) != (ssize_t)length || ftruncate(fd, (off_t)length) == -1)
		result = -errno;
	free(text);
	return result;
}

int spawn_fcgi_pid_file_write(struct spawn_fcgi_pid_file *file, const pid_t *pids,
			      unsigned int count)
{
	int result = write_all(file->fd, pids, count);

	if (result == 0 && file->new_name[0] != '\0') {
		if (renameat(file->folder, file->new_name, file->folder, file->name) == -1)
			result = -errno;
		else
			file->new_name[0] = '\0';
	}
	if (result < 0)
		return spawn_fcgi_error("writing PID-file '%s' failed: %s", file->name,
					strerror(-result));
	return 0;
}

void spawn_fcgi_pid_file_drop(struct spawn_fcgi_pid_file *file)
{
	if (file->new_name[0] != '\0')
		(void)unlinkat(file->folder, file->new_name, 0);
	if (file->fd != -1)
		(void)close(file->fd);
	if (file->folder != -1)
		(void)close(file->folder);
	*file = (struct spawn_fcgi_pid_file){.folder = -1, .fd = -1};
}
