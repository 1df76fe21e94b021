/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc/PID/stat says of a process. */

#include "proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* proc(5) numbers the fields from 1; behind the name comes the third. */
#define FIELD_STATE 3
#define FIELD_START 22

int proc_stat_read(pid_t pid, struct proc_stat *ret_stat)
{
	char path[64], text[1024];
	const char *field;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
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
