/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench diff: two saved runs against each other. */

#include "command.h"
#include "session.h"

#include "bench/compare/diff.h"
#include "bench/compare/saved.h"

#include <errno.h>

static int compare(struct session *session, const struct saved *a, const struct saved *b)
{
	struct diff diff;
	struct report report = {.diff = &diff};
	int status;

	if (diff_make(a, b, session->options->delta, &diff) < 0) {
		session_say("out of memory");
		return OPTIONS_EXIT_FAILED;
	}
	status = diff.refused ? OPTIONS_EXIT_REFUSED : OPTIONS_EXIT_OK;
	if (!session_report(session, &report, report_diff))
		status = OPTIONS_EXIT_FAILED;
	diff_done(&diff);
	return status;
}

int command_diff(struct session *session)
{
	static struct saved saved[2];
	char error[600];
	int status = 0;

	for (int i = 0; status == 0 && i < 2; i++)
		status = saved_read(session->options->files[i], &saved[i], error, sizeof(error));
	if (status < 0) {
		session_say("%s", error);
		status = status == -ENOMEM ? OPTIONS_EXIT_FAILED : OPTIONS_EXIT_USAGE;
	} else {
		status = compare(session, &saved[0], &saved[1]);
	}
	saved_done(&saved[0]);
	saved_done(&saved[1]);
	return status;
}
