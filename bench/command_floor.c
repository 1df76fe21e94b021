/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench floor and selftest: the limits of the machine, and whether it can be believed. */

#include "command.h"
#include "progress.h"
#include "session.h"

#include "bench/compare/floor.h"
#include "bench/compare/selftest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int command_floor(struct session *session)
{
	const struct options *o = session->options;
	const struct floor_options options = {.plan = &session->plan,
					      .request_bytes = o->size_count > 0 ? o->sizes[0] : 0,
					      .answer_bytes = o->size_count > 1	  ? o->sizes[1]
							      : o->size_count > 0 ? o->sizes[0]
										  : 0,
					      .rounds = o->rounds,
					      .seed = o->seed,
					      .stop = &session_stop};
	struct floor_result *result = calloc(1, sizeof(*result));
	struct report report = {.floor = result};
	char error[300] = "out of memory";
	int status = OPTIONS_EXIT_FAILED;

	if (!result || floor_run(&options, result, error, sizeof(error)) < 0)
		session_say("%s", error);
	else if (session_report(session, &report, report_floor))
		status = session_stop ? OPTIONS_EXIT_FAILED : OPTIONS_EXIT_OK;
	free(result);
	return status;
}

static void selftest_progress(const char *what, unsigned int done, unsigned int of, void *data)
{
	(void)data;
	progress_show("%s: %u of %u", what, done, of);
}

int command_selftest(struct session *session)
{
	const struct selftest_options options = {.plan = &session->plan,
						 .rounds = session->options->rounds,
						 .seed = session->options->seed,
						 .stop = &session_stop,
						 .progress = selftest_progress};
	struct selftest *selftest = calloc(1, sizeof(*selftest));
	char error[300] = "out of memory";
	int rc = selftest ? selftest_run(&options, selftest, error, sizeof(error)) : -ENOMEM;
	int status = OPTIONS_EXIT_FAILED;

	progress_clear();
	if (rc < 0) {
		session_say("%s", rc == -EINTR ? "interrupted" : error);
	} else {
		rc = report_selftest(stdout, selftest);
		if (rc < 0)
			session_say("standard output: %s", strerror(-rc));
		else if (selftest->failures == 0)
			status = OPTIONS_EXIT_OK;
	}
	free(selftest);
	return status;
}
