/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds a pool's program, and tells why one can't be a template. */

#include "fpm/process/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_executable_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return false;
	if (S_ISREG(st.st_mode) && access(path, X_OK) == 0)
		return true;
	errno = EACCES;
	return false;
}

char *program_find(const char *name)
{
	const char *path = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/'))
		return is_executable_file(name) ? strdup(name) : NULL;
	for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");
		char *file = NULL;

		if (asprintf(&file, "%.*s/%s", len ? (int)len : 1, len ? p : ".", name) == -1)
			return NULL;
		if (is_executable_file(file))
			return file;
		if (errno == EACCES)
			error = EACCES;
		free(file);
		p += len + (p[len] == ':');
	}
	errno = error;
	return NULL;
}

static bool is_running(const char *path)
{
	struct stat one, running;

	return stat(path, &one) == 0 && stat("/proc/self/exe", &running) == 0 &&
	       one.st_dev == running.st_dev && one.st_ino == running.st_ino;
}

/* Return: @path if it is absolute, or what it means in the present folder; NULL if memory is short */
static char *make_absolute(const char *path)
{
	char *folder = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
	char *absolute = NULL;

	if (folder && asprintf(&absolute, "%s%s%s", folder, path[0] == '/' ? "" : "/", path) == -1)
		absolute = NULL;
	free(folder);
	return absolute;
}

/* As it was at the start: a file that has been replaced since then has " (deleted)" behind its name. */
static char *running_path(void)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t tail = strlen(deleted);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	if ((size_t)n > tail && strcmp(path + n - tail, deleted) == 0 && !is_running(path))
		path[(size_t)n - tail] = '\0';
	return strdup(path);
}

char *program_self(const char *argv0)
{
	char *found = program_find(argv0);
	char *path = found && is_running(found) ? make_absolute(found) : NULL;

	free(found);
	return path ? path : running_path();
}

/* True if the file is an ELF program that no dynamic linker loads; false on any doubt. */
static bool is_static(int fd)
{
	Elf64_Ehdr head;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		off_t offset = (off_t)(head.e_phoff + (Elf64_Off)i * head.e_phentsize);
		Elf64_Phdr segment;

		if (pread(fd, &segment, sizeof(segment), offset) != sizeof(segment))
			return false;
		if (segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

const char *program_template_problem(const char *path)
{
	const char *problem = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd == -1)
		return NULL;
	if (fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)))
		problem = "it is set-uid or set-gid, so no library can be preloaded into it";
	else if (is_static(fd))
		problem = "it is linked statically, so no library can be preloaded into it";
	(void)close(fd);
	return problem;
}
