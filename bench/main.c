/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench: TCP, unix socket and pipe, compared honestly. */

#include "command.h"
#include "options.h"
#include "session.h"

#include <stdio.h>
#include <string.h>

/* Without arguments it compares; what it prints then is a result, not a greeting. */
static int dispatch(struct session *session)
{
	switch (session->options->command) {
	case COMMAND_RUN:
		return command_run(session);
	case COMMAND_FLOOR:
		return command_floor(session);
	case COMMAND_SELFTEST:
		return command_selftest(session);
	default:
		return command_compare(session);
	}
}

static int print(const char *text)
{
	return fputs(text, stdout) == EOF || fflush(stdout) != 0 ? OPTIONS_EXIT_FAILED
								 : OPTIONS_EXIT_OK;
}

int main(int argc, char *argv[])
{
	static struct options options;
	static struct session session;
	char error[400];

	if (options_parse(argc, argv, &options, error, sizeof(error)) < 0) {
		session_say("%s", error);
		return OPTIONS_EXIT_USAGE;
	}
	if (options.command == COMMAND_HELP)
		return print(options_help());
	if (options.command == COMMAND_VERSION)
		return print("berth-bench " BERTH_VERSION "\n");
	if (!session_open(&options, argc, argv, &session))
		return OPTIONS_EXIT_USAGE;
	return dispatch(&session);
}
