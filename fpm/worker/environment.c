/* SPDX-License-Identifier: BSD-2-Clause */
/* The template's environment: tells that it is one, and must not be seen by scripts. */

#include "environment.h"

#include "abi.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads "ABI_VERSION KEEP DUMPABLE"; returns false if that is not what it says. */
static bool read_marker(long *ret_keep, bool *ret_dumpable)
{
	const char *value = getenv(ABI_ENV);
	char *end;

	if (!value || strtoul(value, &end, 10) != ABI_VERSION || *end != ' ')
		return false;
	*ret_keep = strtol(end + 1, &end, 10);
	if (*end != ' ')
		return false;
	*ret_dumpable = strtol(end + 1, &end, 10) != 0;
	return *end == '\0';
}

bool environment_is_template(bool *ret_dumpable)
{
	long keep;

	return read_marker(&keep, ret_dumpable);
}

static void erase(char *text)
{
	memset(text, 0, strlen(text));
}

/* Takes a variable out of the environment, and its text out of memory. */
static void forget_variable(const char *name)
{
	char *value = getenv(name);

	if (!value)
		return;
	(void)unsetenv(name);
	erase(value);
	memset(value - strlen(name) - 1, 0, strlen(name) + 1);
}

/* Leaves the first @keep bytes of a variable's value; -1 removes it. */
static void cut_variable(const char *name, long keep)
{
	char *value = getenv(name);

	if (!value)
		return;
	if (keep < 0)
		forget_variable(name);
	else if ((size_t)keep < strlen(value))
		erase(value + keep);
}

/* The pool's own LD_PRELOAD stands in front of ours, separated by a colon. */
static void cut_preload(void)
{
	const char *value = getenv("LD_PRELOAD");
	size_t len = value ? strlen(value) : 0;
	size_t ours = strlen(ABI_PRELOAD);

	if (len < ours || strcmp(value + len - ours, ABI_PRELOAD) != 0)
		return;
	cut_variable("LD_PRELOAD", len == ours ? -1 : (long)(len - ours - 1));
}

void environment_forget(void)
{
	long keep = -1;
	bool dumpable;

	(void)read_marker(&keep, &dumpable);
	forget_variable(ABI_ENV);
	cut_preload();
	cut_variable(ABI_ENV_SCAN_DIR, keep);
	(void)close(ABI_FD_LIBRARY);
	(void)fcntl(ABI_FD_CONTROL, F_SETFD, FD_CLOEXEC);
}
