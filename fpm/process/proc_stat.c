/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says of a process. */

#include "fpm/process/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* proc(5) numbers the fields from 1; behind the name comes the third. */
#define FIELD_STATE 3
#define FIELD_START 22

static int read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -errno;
	n = read(fd, text, size - 1);
	(void)close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	return 0;
}

int proc_stat_anonymous(pid_t pid, uint64_t *ret_bytes)
{
	unsigned long pages[3] = {0};
	char text[256];
	char *at = text;
	int result = read_file(pid, "statm", text, sizeof(text));

	if (result < 0)
		return result;
	/* Pages: of the address space, of those in memory, of those that are a file's or shared. */
	for (size_t i = 0; i < 3; i++)
		pages[i] = strtoul(at, &at, 10);
	if (pages[2] > pages[1])
		return -EPROTO;
	*ret_bytes = (uint64_t)(pages[1] - pages[2]) * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int proc_stat_read(pid_t pid, struct proc_stat *ret_stat)
{
	const char *field;
	char text[1024];
	int result = read_file(pid, "stat", text, sizeof(text));

	if (result < 0)
		return result;
	/* The name stands in brackets and may hold anything, brackets and blanks too. */
	field = strrchr(text, ')');
	if (!field || field[1] != ' ' || !field[2])
		return -EPROTO;
	field += 2;
	ret_stat->state = field[0];
	ret_stat->parent = (pid_t)strtol(field + 1, NULL, 10);
	for (int i = FIELD_STATE; field && i < FIELD_START; i++)
		field = strchr(field + 1, ' ');
	ret_stat->start_ticks = field ? strtoull(field, NULL, 10) : 0;
	return 0;
}
