/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns the configuration of another process manager into one of berth. */
#include "fpm/import/import.h"

#include "fpm/command.h"
#include "fpm/import/import_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int refuse_usage(const char *text)
{
	(void)fprintf(stderr, "berth: import: %s; accepted is: berth import php-fpm FILE\n", text);
	return COMMAND_EXIT_USAGE;
}

int import_run(int argc, char *argv[])
{
	struct import import = {.errors = stderr};
	int status = COMMAND_EXIT_OK;

	if (argc < 2 || strcmp(argv[1], "php-fpm") != 0)
		return refuse_usage("what to import is missing or unknown");
	if (argc < 3 || argv[2][0] == '-')
		return refuse_usage("the file is missing");
	if (argc > 3)
		return refuse_usage("there are too many words");
	if (import_read(&import, argv[2]) < 0)
		status = COMMAND_EXIT_USAGE;
	else if (import_write(&import, stdout) < 0 || fflush(stdout) != 0)
		status = COMMAND_EXIT_SYSTEM;
	import_done(&import);
	return status;
}
