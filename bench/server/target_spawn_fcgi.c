/* SPDX-License-Identifier: BSD-2-Clause */
/* php-cgi with children that share a socket, started by spawn-fcgi. */

#include "locate.h"
#include "target_internal.h"

#include <stdio.h>
#include <string.h>

#define PROGRAM "spawn-fcgi"

static void add_address(struct launch *launch)
{
	const char *colon = strrchr(launch->listen, ':');

	if (launch->options->transport == TRANSPORT_UNIX) {
		launch_word(launch, "-s");
		launch_word(launch, "%s", launch->listen);
		return;
	}
	launch_word(launch, "-a");
	launch_word(launch, "%.*s", (int)(colon - launch->listen), launch->listen);
	launch_word(launch, "-p");
	launch_word(launch, "%s", colon + 1);
}

/*
 * Its own -F would make processes that share nothing, and only without -n, which keeps php-cgi our
 * child. PHP's own children share one opcode cache, which is how it is meant to be used.
 */
int target_spawn_fcgi_prepare(struct launch *launch, char *error, size_t size)
{
	char php[512];
	int ret = locate_program(PROGRAM, launch->program, sizeof(launch->program));

	if (ret < 0) {
		(void)snprintf(error, size, "%s is not installed; Debian has it in the package %s",
			       PROGRAM, PROGRAM);
		return ret;
	}
	ret = target_find_php(launch, php, sizeof(php), error, size);
	if (ret < 0)
		return ret;
	ret = launch_listen(launch, false);
	if (ret < 0) {
		(void)snprintf(error, size, "no address for it was found");
		return ret;
	}
	(void)snprintf(launch->name, sizeof(launch->name), "php-cgi (spawn-fcgi)");
	(void)snprintf(launch->note, sizeof(launch->note), "PHP_FCGI_CHILDREN=%u",
		       launch->options->workers);
	launch_word(launch, "%s", launch->program);
	launch_word(launch, "-n");
	add_address(launch);
	launch_word(launch, "-b");
	launch_word(launch, "%u", launch->backlog);
	if (launch->user) {
		launch_word(launch, "-u");
		launch_word(launch, "%s", launch->user);
		launch_word(launch, "-g");
		launch_word(launch, "%s", launch->group);
	}
	launch_word(launch, "--");
	launch_word(launch, "%s", php);
	launch_variable(launch, "PHP_FCGI_CHILDREN=%u", launch->options->workers);
	/* Otherwise each child would end after 500 requests. */
	launch_variable(launch, "PHP_FCGI_MAX_REQUESTS=0");
	return 0;
}
