/* SPDX-License-Identifier: BSD-2-Clause */
/* What the journal of systemd needs at the start of a line on standard error. */

#include "fpm/log.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The variable is inherited by programs whose standard error is redirected, so it is compared. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	char text[64];

	if (!stream || fstat(fd, &st) == -1)
		return false;
	(void)snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, text) == 0;
}

const char *log_prefix(enum log_level level)
{
	/* The numbers are syslog's. */
	static const char *const prefixes[] = {
		[LOG_LEVEL_DEBUG] = "<7>", [LOG_LEVEL_NOTICE] = "<5>", [LOG_LEVEL_WARNING] = "<4>",
		[LOG_LEVEL_ERROR] = "<3>", [LOG_LEVEL_ALERT] = "<1>",
	};
	_Static_assert(sizeof(prefixes) / sizeof(prefixes[0]) == LOG_LEVEL_MAX, "a prefix a level");

	return is_journal(STDERR_FILENO) ? prefixes[level] : "";
}
