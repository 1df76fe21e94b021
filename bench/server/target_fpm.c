/* SPDX-License-Identifier: BSD-2-Clause */
/* php-fpm with a fixed number of children and a configuration of its own. */

#include "folder.h"
#include "locate.h"
#include "target_internal.h"

#include <stdio.h>
#include <string.h>

/* Its log goes where all targets' output goes, and is shown if it does not start. */
static int write_configuration(const struct launch *launch)
{
	char text[2048], user[256] = "";

	if (launch->user)
		(void)snprintf(user, sizeof(user), "user = %s\ngroup = %s\n", launch->user,
			       launch->group);
	(void)snprintf(text, sizeof(text),
		       "[global]\n"
		       "daemonize = no\n"
		       "error_log = /proc/self/fd/2\n"
		       "[www]\n"
		       "%s"
		       "listen = \"%s\"\n"
		       "listen.backlog = %u\n"
		       "pm = static\n"
		       "pm.max_children = %u\n"
		       "pm.max_requests = 0\n",
		       user, launch->listen, launch->backlog, launch->options->workers);
	return folder_write(launch->folder, "php-fpm.conf", text);
}

static int find_fpm(struct launch *launch, char *error, size_t size)
{
	const char *wanted = launch->options->fpm;
	int ret = wanted ? locate_program(wanted, launch->program, sizeof(launch->program))
			 : locate_php_fpm(launch->program, sizeof(launch->program));

	if (ret < 0 && wanted)
		(void)snprintf(error, size, "%s: %s", wanted, strerror(-ret));
	else if (ret < 0)
		(void)snprintf(error, size,
			       "php-fpm is not installed; Debian has it in the package php-fpm");
	return ret;
}

int target_fpm_prepare(struct launch *launch, char *error, size_t size)
{
	int ret = find_fpm(launch, error, size);

	if (ret < 0)
		return ret;
	ret = launch_listen(launch, false);
	if (ret == 0)
		ret = write_configuration(launch);
	if (ret < 0) {
		(void)snprintf(error, size, "its configuration can't be made: %s", strerror(-ret));
		return ret;
	}
	(void)snprintf(launch->name, sizeof(launch->name), "php-fpm");
	(void)snprintf(launch->note, sizeof(launch->note), "pm = static");
	launch_word(launch, "%s", launch->program);
	launch_word(launch, "-F");
	launch_word(launch, "-y");
	launch_word(launch, "%s/php-fpm.conf", launch->folder);
	return 0;
}
