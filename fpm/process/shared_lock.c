/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a process waits for a lock in memory that it shares with others. */

#include "fpm/process/shared_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The system call that it is in and its first two arguments; false if it is in none. */
static int read_call(pid_t pid, long *ret_number, uint64_t ret_arguments[2])
{
	char path[64], text[256];
	char *at = text;
	ssize_t n;
	int fd, error;

	(void)snprintf(path, sizeof(path), "/proc/%ld/syscall", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return errno == ENOENT && access("/proc/self/syscall", F_OK) == -1 ? -ENOTSUP
										   : -errno;
	n = read(fd, text, sizeof(text) - 1);
	error = n == -1 ? errno : 0;
	(void)close(fd);
	if (error)
		return error == EPERM ? -EACCES : -error;
	text[n] = '\0';
	/* One that runs says "running", which is no number, and one that is stopped -1. */
	*ret_number = strtol(text, &at, 10);
	if (at == text)
		*ret_number = -1;
	for (int i = 0; i < 2; i++)
		ret_arguments[i] = strtoull(at, &at, 16);
	return 0;
}

/* Lines of /proc/PID/maps begin "FROM-TO rwxs", with a p for private memory instead of the s. */
static int is_shared_memory(pid_t pid, uint64_t address)
{
	char path[64], line[512];
	bool shared = false;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		char *at;
		uint64_t from = strtoull(line, &at, 16);
		uint64_t to = *at == '-' ? strtoull(at + 1, &at, 16) : 0;

		if (address < from || address >= to || strlen(at) < 5)
			continue;
		shared = at[4] == 's';
		break;
	}
	(void)fclose(file);
	return shared;
}

int shared_lock_waits(pid_t pid)
{
	uint64_t arguments[2] = {0, 0};
	long number = -1;
	int result = read_call(pid, &number, arguments);
	uint64_t operation;

	if (result < 0)
		return result;
	operation = arguments[1] & (uint64_t)FUTEX_CMD_MASK;
	if (number != SYS_futex || (arguments[1] & FUTEX_PRIVATE_FLAG) ||
	    (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET &&
	     operation != FUTEX_LOCK_PI))
		return 0;
	return is_shared_memory(pid, arguments[0]);
}
