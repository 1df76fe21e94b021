/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits until a target answers, and answers well. */

#include "fpm/clock.h"
#include "probe.h"
#include "target_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 10000

/* Between two tries; the end of the program ends the wait. */
#define PAUSE_MS 10

/* The first line of what it complains about. */
static int complain(const struct probe_answer *answer, const char *status, char *error, size_t size)
{
	const char *text = answer->complaint[0] ? answer->complaint : answer->body;

	(void)snprintf(error, size, "it answers with status %.*s: %.*s",
		       (int)strcspn(status, "\r\n"), status, (int)strcspn(text, "\r\n"), text);
	return -EPROTO;
}

static int judge(const struct probe_answer *answer, const struct launch *launch, char *error,
		 size_t size)
{
	static const char name[] = "Status: ";
	const char *status = strcasestr(answer->head, name);

	if (status && strncmp(status + strlen(name), "200", 3) != 0)
		return complain(answer, status + strlen(name), error, size);
	if (launch && !launch->options->script_text && answer->body_size != launch->body_size) {
		(void)snprintf(error, size, "it answers with %zu bytes instead of %zu",
			       answer->body_size, launch->body_size);
		return -EPROTO;
	}
	return 0;
}

static int wait_for_endpoint(const struct target *target, const struct endpoint *endpoint,
			     const struct launch *launch, uint64_t deadline_ms, char *error,
			     size_t size)
{
	struct probe_answer answer;
	int ret;

	for (;;) {
		ret = probe_request(endpoint, target->script, "", deadline_ms, &answer);
		if (ret == 0)
			return judge(&answer, launch, error, size);
		if (guard_wait(&target->guard, PAUSE_MS)) {
			(void)snprintf(error, size, "it has ended");
			return -ECHILD;
		}
		if (clock_ms() < deadline_ms)
			continue;
		(void)snprintf(error, size, "no answer at %s within %d s (%s)", endpoint->text,
			       PATIENCE_MS / 1000, strerror(-ret));
		return -ETIMEDOUT;
	}
}

int target_wait(const struct target *target, const struct launch *launch, char *error, size_t size)
{
	uint64_t deadline_ms = clock_ms() + PATIENCE_MS;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < target->endpoint_count; i++)
		ret = wait_for_endpoint(target, &target->endpoints[i], launch, deadline_ms, error,
					size);
	return ret;
}
