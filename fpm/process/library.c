/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds libberth-worker.so and keeps a copy of it open. */

#include "fpm/process/library.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "libberth-worker.so"

/* In a build folder the library is below the program; installed, it is in the same prefix. */
static const char *const places[] = {"/worker/" NAME, "/../" BERTH_LIBRARY_SUBDIR "/" NAME};

static int open_near_program(void)
{
	char path[PATH_MAX + 256];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;
	int fd = -1;

	if (n <= 0)
		return -1;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -1;
	for (size_t i = 0; fd == -1 && i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(slash, sizeof(path) - (size_t)(slash - path), "%s", places[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

static int copy(int from, int to)
{
	struct stat st;
	off_t left;

	if (fstat(from, &st) == -1)
		return -errno;
	for (left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -errno;
		if (n == 0)
			return -EIO;
		left -= n;
	}
	return 0;
}

int library_open(int *ret_fd, char *error, size_t size)
{
	int file = open_near_program();
	int memory = -1;
	int result;

	if (file == -1)
		file = open(BERTH_LIBRARY_DIR "/" NAME, O_RDONLY | O_CLOEXEC);
	if (file == -1) {
		result = -errno;
		(void)snprintf(error, size,
			       NAME " is not where it belongs: neither near the program (.%s, .%s) "
				    "nor in " BERTH_LIBRARY_DIR,
			       places[0], places[1]);
		return result;
	}
	memory = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memory == -1) {
		/* Where memfds are forbidden the file has to do; its mode decides who can use it. */
		*ret_fd = file;
		return 0;
	}
	result = copy(file, memory);
	(void)close(file);
	if (result < 0) {
		(void)snprintf(error, size, NAME ": %s", strerror(-result));
		(void)close(memory);
		return result;
	}
	(void)fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	*ret_fd = memory;
	return 0;
}
