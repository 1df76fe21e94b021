/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of spawn-fcgi 1.6.4: who is asked when, and what with. */
#include "fpm/spawn_fcgi/spawn_fcgi.h"

#include "fpm/spawn_fcgi/spawn_fcgi_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * What can fail without a trace comes first: the command line, names, the pid file, which gets
 * its content under another name. Then, in the order of the original, the groups are given up,
 * the root folder is changed, the socket is bound on one side of that or the other, the user is
 * given up, and the programs start. The pid file may be in a folder that is root's alone, and
 * outside the new root folder; so the process keeps root as its saved user until that file has its
 * name, and reaches its folder by a descriptor. The programs themselves give that up as well.
 */

#define NAME "spawn-fcgi"

int spawn_fcgi_is_called(int argc, char *const argv[])
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

	if (argc > 0 && strcmp(slash ? slash + 1 : argv[0], NAME) == 0)
		return 0;
	return argc > 1 && strcmp(argv[1], NAME) == 0 ? 1 : -1;
}

int spawn_fcgi_error(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)fprintf(stderr, NAME ": %s\n", text);
	return SPAWN_FCGI_EXIT_ERROR;
}

static int change_root(const char *path)
{
	if (chroot(path) == -1)
		return spawn_fcgi_error("chroot('%s') failed: %s", path, strerror(errno));
	if (chdir("/") == -1)
		return spawn_fcgi_error("chdir('/') failed: %s", strerror(errno));
	return 0;
}

/* Root stays within reach if there is a pid file to be named. */
static int drop_user(uid_t uid, bool for_good)
{
	if (uid == (uid_t)-1)
		return 0;
	if (setresuid(uid, uid, for_good ? uid : (uid_t)-1) == -1)
		return spawn_fcgi_error("can't become uid %lu: %s", (unsigned long)uid,
					strerror(errno));
	return 0;
}

/* Return: 0 with the process in the state in which the program starts, or the exit status */
static int prepare(const struct spawn_fcgi_options *options, const struct spawn_fcgi_ids *ids,
		   bool for_good, int *ret_socket)
{
	int status, fd = -1;

	if (options->before_chroot && (fd = spawn_fcgi_socket_open(options, ids)) == -1)
		return SPAWN_FCGI_EXIT_ERROR;
	status = spawn_fcgi_groups_drop(ids);
	if (status == 0 && options->chroot)
		status = change_root(options->chroot);
	if (status == 0 && fd == -1 && (fd = spawn_fcgi_socket_open(options, ids)) == -1)
		status = SPAWN_FCGI_EXIT_ERROR;
	if (status == 0)
		status = drop_user(ids->identity.uid, for_good);
	if (status == 0 && options->chdir && chdir(options->chdir) == -1)
		status =
			spawn_fcgi_error("chdir('%s') failed: %s", options->chdir, strerror(errno));
	if (status == 0)
		*ret_socket = fd;
	else if (fd != -1)
		(void)close(fd);
	return status;
}

static int write_pid_file(struct spawn_fcgi_pid_file *file, uid_t uid, const pid_t *pids,
			  unsigned int count)
{
	if (file->folder == -1 || count == 0)
		return 0;
	if (uid != (uid_t)-1 && seteuid(0) == -1)
		return spawn_fcgi_error("can't become root again for the PID-file: %s",
					strerror(errno));
	return spawn_fcgi_pid_file_write(file, pids, count);
}

static int start(const struct spawn_fcgi_options *options, const struct spawn_fcgi_ids *ids,
		 struct spawn_fcgi_pid_file *file, char *const argv[])
{
	/* Opened before the root folder changes, in which there may be none. */
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t *pids = calloc(options->forks > 0 ? options->forks : 1, sizeof(*pids));
	unsigned int living = 0;
	int status = SPAWN_FCGI_EXIT_ERROR, written, socket;

	if (null == -1 || !pids) {
		(void)spawn_fcgi_error("can't start: %s", strerror(errno));
		goto out;
	}
	status = prepare(options, ids, options->no_fork || file->folder == -1, &socket);
	if (status != 0)
		goto out;
	if (options->no_fork) {
		status = spawn_fcgi_become(socket, argv);
		goto out;
	}
	status = spawn_fcgi_children_start(socket, null, argv, ids->identity.uid, options->forks,
					   pids, &living);
	written = write_pid_file(file, ids->identity.uid, pids, living);
	if (status == 0)
		status = written;
out:
	free(pids);
	if (null != -1)
		(void)close(null);
	return status;
}

static int run(const struct spawn_fcgi_options *options)
{
	struct spawn_fcgi_pid_file file = {.folder = -1, .fd = -1};
	struct spawn_fcgi_ids ids;
	char **argv;
	int status;

	if (spawn_fcgi_arguments(options, &argv) < 0)
		return spawn_fcgi_error("not enough memory");
	status = spawn_fcgi_ids_resolve(options, &ids);
	if (status == 0)
		status = spawn_fcgi_pid_file_open(options->no_fork ? NULL : options->pid_path,
						  &file);
	if (status == 0)
		status = start(options, &ids, &file, argv);
	/* Whoever we are by now may not remove what root has made. */
	if (geteuid() != 0)
		(void)!seteuid(0);
	spawn_fcgi_pid_file_drop(&file);
	if (!options->argv)
		free(argv[2]);
	free((void *)argv);
	return status;
}

int spawn_fcgi_run(int argc, char *argv[])
{
	struct spawn_fcgi_options options;
	int status;

	/* It would bind and chmod with somebody else's rights. */
	if (getauxval(AT_SECURE) != 0)
		return spawn_fcgi_error("is not to be installed setuid or with capabilities");
	status = spawn_fcgi_parse(argc, argv, &options);
	if (status != -1)
		return status;
	status = spawn_fcgi_socket_check(&options);
	if (status != 0)
		return status;
	if (options.php_children >= 0) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%d", options.php_children);
		if (setenv("PHP_FCGI_CHILDREN", text, 1) == -1)
			return spawn_fcgi_error("not enough memory");
	}
	return options.supervise ? spawn_fcgi_supervise(&options) : run(&options);
}
