/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands share: signals, placement, the facts of the machine, and the reports. */

#include "session.h"

#include "request_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t session_stop;

/* The second one is not caught: what we started ends by itself when we do. */
static void stop_cb(int number)
{
	session_stop = 1;
	(void)signal(number, SIG_DFL);
}

static void watch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	/* Without SA_RESTART, so that a thread that waits looks at the flag. */
	struct sigaction action = {.sa_handler = stop_cb};

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &action, NULL);
}

void session_say(const char *format, ...)
{
	va_list args;

	(void)fputs("berth-bench: ", stderr);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
}

bool session_open(const struct options *options, int argc, char *argv[],
		  struct session *ret_session)
{
	struct session *s = ret_session;
	size_t length = 0;

	*s = (struct session){.options = options};
	watch_signals();
	if (placement_plan(options->placement, options->threads, &s->plan) < 0) {
		session_say("--placement: split needs two CPUs; accepted are same and free here");
		return false;
	}
	environment_read(&s->environment);
	environment_add(&s->environment, "seed", "%llu", (unsigned long long)options->seed);
	for (int i = 0; i < argc && length < sizeof(s->command); i++)
		length += (size_t)snprintf(s->command + length, sizeof(s->command) - length, "%s%s",
					   i > 0 ? " " : "", i > 0 ? argv[i] : "berth-bench");
	return true;
}

static bool read_data(const char *data, struct request_options *request, char **ret_memory)
{
	if (data[0] != '@') {
		request->body = data;
		request->body_size = strlen(data);
		return true;
	}
	if (request_file_read_all(data + 1, ret_memory, &request->body_size) < 0) {
		session_say("--data: %s: %s", data + 1, strerror(errno));
		return false;
	}
	request->body = *ret_memory;
	return true;
}

bool session_request(const struct options *options, const char *script, size_t body_size,
		     struct request *ret_request)
{
	struct request_options request = options->request;
	struct request_file file = {0};
	char *memory = NULL;
	char query[40], error[400];
	bool done = false;

	/* The command line goes before the file, and the file before what is usual. */
	if (options->data && !read_data(options->data, &request, &memory))
		goto out;
	if (options->request_file) {
		if (request_file_read(options->request_file, &file, error, sizeof(error)) < 0) {
			session_say("--request: %s", error);
			goto out;
		}
		request_file_apply(&file, &request);
	}
	if (!request.script)
		request.script = script;
	if (!request.query && body_size > 0) {
		(void)snprintf(query, sizeof(query), "size=%zu", body_size);
		request.query = query;
	}
	if (!request.script) {
		session_say("--script PATH is needed: the SCRIPT_FILENAME of what to ask for");
		goto out;
	}
	done = request_make(&request, ret_request) == 0;
	if (!done)
		session_say("out of memory");
out:
	request_file_done(&file);
	free(memory);
	return done;
}

static bool write_file(const char *path, const char *what, const struct report *report,
		       int (*write_report)(FILE *out, const struct report *report))
{
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *out = is_stdout ? stdout : fopen(path, "we");
	int rc;

	if (!out) {
		session_say("--%s: %s: %s", what, path, strerror(errno));
		return false;
	}
	rc = write_report(out, report);
	if (!is_stdout && fclose(out) != 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		session_say("--%s: %s: %s", what, is_stdout ? "standard output" : path,
			    strerror(-rc));
	return rc == 0;
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

bool session_report(const struct session *session, struct report *report,
		    int (*table)(FILE *out, const struct report *report))
{
	const struct options *o = session->options;
	bool whole = true;

	report->command = session->command;
	report->environment = &session->environment;
	report->placement = &session->plan;
	report->requirements = o->requirements;
	report->requirement_count = o->requirement_count;
	if (!is_stdout(o->json) && !is_stdout(o->csv)) {
		int rc = table(stdout, report);

		if (rc < 0)
			session_say("standard output: %s", strerror(-rc));
		whole = rc == 0;
	}
	if (o->json)
		whole = write_file(o->json, "json", report, report_json) && whole;
	if (o->csv)
		whole = write_file(o->csv, "csv", report, report_csv) && whole;
	return whole;
}

bool session_requirements(const struct session *session, const struct cell *cells, size_t count)
{
	bool all = true;
	char seen[200];

	for (size_t i = 0; i < count; i++) {
		for (size_t r = 0; !cells[i].control && r < session->options->requirement_count;
		     r++) {
			if (requirement_holds(&session->options->requirements[r], &cells[i], seen,
					      sizeof(seen)))
				continue;
			session_say("missed: %s", seen);
			all = false;
		}
	}
	return all;
}
