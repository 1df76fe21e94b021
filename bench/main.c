/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench: TCP, unix socket and pipe, compared honestly. */

#include "command.h"
#include "options.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without arguments it compares; what it prints then is a result, not a greeting. */
static int dispatch(struct session *session)
{
	switch (session->options->command) {
	case COMMAND_RUN:
		return command_run(session);
	case COMMAND_FLOOR:
		return command_floor(session);
	case COMMAND_RAMP:
		return command_ramp(session);
	case COMMAND_DIFF:
		return command_diff(session);
	case COMMAND_SELFTEST:
		return command_selftest(session);
	default:
		return command_compare(session);
	}
}

static int print(const struct options *options)
{
	if (options->command == COMMAND_HELP)
		options_help(stdout, options->about);
	else
		(void)puts("berth-bench " BERTH_VERSION);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return OPTIONS_EXIT_OK;
	session_say("standard output: %s", strerror(errno));
	return OPTIONS_EXIT_FAILED;
}

/* A descriptor that becomes 0, 1 or 2 by accident would be written to as if it were those. */
static void open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd != -1 && fd <= STDERR_FILENO);
	if (fd != -1)
		(void)close(fd);
}

int main(int argc, char *argv[])
{
	static struct options options;
	static struct session session;
	char *line = session_line(argc, argv);
	char error[400];
	int status = OPTIONS_EXIT_USAGE;

	open_standard_descriptors();
	if (!line || options_parse(argc, argv, &options, error, sizeof(error)) < 0)
		session_say("%s", line ? error : "out of memory");
	else if (options.command == COMMAND_HELP || options.command == COMMAND_VERSION)
		status = print(&options);
	else if (session_open(&options, line, &session))
		status = dispatch(&session);
	free(line);
	return status;
}
