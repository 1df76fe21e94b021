/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files of /proc and /sys, and the numbers in them. */

#include "proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int proc_file_read(int folder, const char *path, char *buffer, size_t size)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 0;
	int saved = 0;

	buffer[0] = '\0';
	if (fd == -1)
		return -errno;
	/* The kernel hands out larger ones in pieces. */
	while (have < size - 1 && (n = read(fd, buffer + have, size - 1 - have)) > 0)
		have += (size_t)n;
	if (n == -1)
		saved = errno;
	(void)close(fd);
	if (saved) {
		buffer[0] = '\0';
		return -saved;
	}
	buffer[have] = '\0';
	return (int)have;
}

const char *proc_file_line(const char *path, char *buffer, size_t size)
{
	size_t skip, length;

	(void)proc_file_read(AT_FDCWD, path, buffer, size);
	buffer[strcspn(buffer, "\n")] = '\0';
	skip = strspn(buffer, " \t");
	length = strlen(buffer + skip);
	while (length > 0 && strchr(" \t\r", buffer[skip + length - 1]))
		length--;
	memmove(buffer, buffer + skip, length);
	buffer[length] = '\0';
	if (length == 0)
		(void)snprintf(buffer, size, "unknown");
	return buffer;
}

uint64_t proc_file_number(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, length) == 0)
			return strtoull(line + length, NULL, 10);
	}
	return 0;
}
