/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder with a pool's php_value and php_admin_value settings, for PHP_INI_SCAN_DIR. */

#include "fpm/process/phpini.h"

#include "fpm/conf/conf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * php-cgi has no php_admin_value. "-d" comes close, but shows in ps, and a script may change
 * such a setting. Settings in a [PATH=/x] section of an ini file, however, are applied at each
 * request for a script below /x the way a web server's administrator sets them: ini_set() and
 * .user.ini can't change them. PHP looks such sections up for each folder on the way to the
 * script, the root folder left out, so there is one section for each folder in "/". All
 * settings stand before the first section too, for what is read at start-up only.
 */

#define INI_FILE "berth.ini"

static void write_setting(FILE *out, const struct conf_php *php)
{
	(void)fprintf(out, "%s = \"", php->name);
	for (const char *c = php->value; *c; c++) {
		/* "${NAME}" would be replaced inside quotes. */
		if (*c == '"' || *c == '\\' || (*c == '$' && c[1] == '{'))
			(void)fputc('\\', out);
		(void)fputc(*c, out);
	}
	(void)fputs("\"\n", out);
}

static void write_settings(FILE *out, const struct conf_pool *pool, bool admin_only)
{
	for (size_t i = 0; i < pool->php_count; i++)
		if (pool->php[i].admin || !admin_only)
			write_setting(out, &pool->php[i]);
}

static bool has_admin(const struct conf_pool *pool)
{
	for (size_t i = 0; i < pool->php_count; i++)
		if (pool->php[i].admin)
			return true;
	return false;
}

/* Names that would end the section's head early can't be written; "." and ".." are ways in too. */
static bool is_plain(const char *name)
{
	return !strpbrk(name, "]\"'\\\r\n");
}

static void write_sections(FILE *out, const struct conf_pool *pool)
{
	/* Scripts are where the program will see them. */
	DIR *root = has_admin(pool) ? opendir(pool->chroot ? pool->chroot : "/") : NULL;

	if (!root)
		return;
	for (const struct dirent *e = readdir(root); e; e = readdir(root)) {
		if (!is_plain(e->d_name))
			continue;
		/* A web server whose root is "/" may put a second slash in front. */
		for (int slashes = 1; slashes <= 2; slashes++) {
			(void)fprintf(out, "[PATH=%.*s%s]\n", slashes, "//", e->d_name);
			write_settings(out, pool, true);
		}
	}
	(void)closedir(root);
}

/* Where it may stand: on a file system that forgets, if we may write there. */
static const char *parent_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	if (access("/run", W_OK) == 0)
		return "/run";
	return tmp && tmp[0] == '/' && !strchr(tmp, ':') ? tmp : "/tmp";
}

static int write_file(const struct conf_pool *pool, const char *path)
{
	gid_t gid = pool->identity.uid == (uid_t)-1 ? (gid_t)-1 : pool->identity.gid;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	FILE *out;
	int failed;

	if (fd == -1)
		return -errno;
	if (fchown(fd, (uid_t)-1, gid) == -1 || fchmod(fd, 0640) == -1 ||
	    !(out = fdopen(fd, "w"))) {
		int error = errno;

		(void)close(fd);
		return -error;
	}
	write_settings(out, pool, false);
	write_sections(out, pool);
	failed = ferror(out);
	if (fclose(out) != 0 || failed)
		return -EIO;
	return 0;
}

/* The file's path in a folder that phpini_write() made. */
static const char *file_in(const char *dir, char *buffer, size_t size)
{
	(void)snprintf(buffer, size, "%s/" INI_FILE, dir);
	return buffer;
}

int phpini_write(const struct conf_pool *pool, char **ret_dir, char *error, size_t size)
{
	gid_t gid = pool->identity.uid == (uid_t)-1 ? (gid_t)-1 : pool->identity.gid;
	char template[PATH_MAX], path[PATH_MAX];
	char *dir;
	int result;

	if (pool->php_count == 0) {
		*ret_dir = NULL;
		return 0;
	}
	(void)snprintf(template, sizeof(template) - sizeof(INI_FILE), "%s/berth-ini.XXXXXX",
		       parent_dir());
	dir = mkdtemp(template) ? strdup(template) : NULL;
	if (!dir) {
		result = -errno;
		(void)snprintf(error, size, "PHP settings in %s: %s", template, strerror(errno));
		return result;
	}
	if (chown(dir, (uid_t)-1, gid) == -1 || chmod(dir, 0750) == -1)
		result = -errno;
	else
		result = write_file(pool, file_in(dir, path, sizeof(path)));
	if (result < 0) {
		(void)snprintf(error, size, "PHP settings in %s: %s", dir, strerror(-result));
		phpini_remove(dir);
		return result;
	}
	*ret_dir = dir;
	return 0;
}

void phpini_remove(char *dir)
{
	char path[PATH_MAX];

	if (!dir)
		return;
	(void)unlink(file_in(dir, path, sizeof(path)));
	(void)rmdir(dir);
	free(dir);
}
