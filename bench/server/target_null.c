/* SPDX-License-Identifier: BSD-2-Clause */
/* The null responder: answers at once, so what is measured is the client. */

#include "locate.h"
#include "target_internal.h"

#include <stdio.h>

#define PROGRAM "berth-bench-responder"

int target_null_prepare(struct launch *launch, char *error, size_t size)
{
	int ret = locate_ours(PROGRAM, launch->program, sizeof(launch->program));

	if (ret < 0) {
		(void)snprintf(error, size, "%s is neither beside this program nor in PATH",
			       PROGRAM);
		return ret;
	}
	ret = launch_listen(launch, launch->options->transport == TRANSPORT_PIPE);
	if (ret < 0) {
		(void)snprintf(error, size, "no address for it was found");
		return ret;
	}
	(void)snprintf(launch->name, sizeof(launch->name), "null responder");
	launch_word(launch, "%s", launch->program);
	launch_word(launch, "--listen");
	launch_word(launch, "%s", launch->listen);
	launch_word(launch, "--workers");
	launch_word(launch, "%u", launch->options->workers);
	launch_word(launch, "--backlog");
	launch_word(launch, "%u", launch->backlog);
	launch_word(launch, "--body-size");
	launch_word(launch, "%zu", launch->body_size);
	launch_word(launch, "--end-with-parent");
	return 0;
}
