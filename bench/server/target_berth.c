/* SPDX-License-Identifier: BSD-2-Clause */
/* php-cgi through berth's template: a socket, or a pair of pipes, for each worker. */

#include "locate.h"
#include "target_internal.h"

#include <errno.h>
#include <stdio.h>

static int find_berth(struct launch *launch, char *error, size_t size)
{
	const char *wanted = launch->options->berth;
	int ret = wanted ? locate_program(wanted, launch->program, sizeof(launch->program))
			 : locate_ours("berth", launch->program, sizeof(launch->program));

	if (ret < 0)
		(void)snprintf(error, size, "%s was not found", wanted ? wanted : "berth");
	return ret;
}

int target_berth_prepare(struct launch *launch, char *error, size_t size)
{
	char php[512];
	int ret = find_berth(launch, error, size);

	if (ret == 0)
		ret = target_find_php(launch, php, sizeof(php), error, size);
	if (ret < 0)
		return ret;
	ret = launch_listen(launch, true);
	if (ret < 0) {
		(void)snprintf(error, size, "no address for it was found");
		return ret;
	}
	(void)snprintf(launch->name, sizeof(launch->name), "php-cgi (berth)");
	(void)snprintf(launch->note, sizeof(launch->note), "spawn = template");
	launch_word(launch, "%s", launch->program);
	launch_word(launch, "run");
	launch_word(launch, "--listen");
	launch_word(launch, "%s", launch->listen);
	launch_word(launch, "--children");
	launch_word(launch, "%u", launch->options->workers);
	if (launch->user) {
		launch_word(launch, "--user");
		launch_word(launch, "%s", launch->user);
	}
	/* Pipes have no queue. */
	if (launch->options->transport != TRANSPORT_PIPE) {
		launch_word(launch, "-o");
		launch_word(launch, "listen.backlog=%u", launch->backlog);
	}
	launch_word(launch, "--");
	launch_word(launch, "%s", php);
	return 0;
}
