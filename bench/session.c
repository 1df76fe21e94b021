/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands share: signals, placement, the facts of the machine, and the reports. */

#include "session.h"

#include "progress.h"
#include "request_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

volatile sig_atomic_t session_stop;

/*
 * The second one, whichever it is, ends us as if it were not caught: what we started stands behind a
 * guard that ends it as soon as we are gone.
 */
static void stop_cb(int number)
{
	const int saved = errno;

	if (session_stop) {
		progress_clear();
		(void)signal(number, SIG_DFL);
		(void)raise(number);
	}
	session_stop = 1;
	errno = saved;
}

/* What was ignored at the start, as SIGHUP under nohup, stays so. */
static void watch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	/* Without SA_RESTART, so that a thread that waits looks at the flag. */
	const struct sigaction action = {.sa_handler = stop_cb};
	struct sigaction before;

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
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

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/*
 * Before anything is measured, so that a wrong path does not cost minutes; without O_TRUNC, so that a
 * run that is given up does not cost the last report.
 */
static bool open_file(const char *path, const char *what, FILE **ret_file)
{
	int fd;

	*ret_file = is_stdout(path) ? stdout : NULL;
	if (!path || *ret_file)
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd != -1)
		*ret_file = fdopen(fd, "w");
	if (*ret_file)
		return true;
	session_say("--%s: %s: %s", what, path, strerror(errno));
	if (fd != -1)
		(void)close(fd);
	return false;
}

/* A word as a shell would take it. */
static void write_word(FILE *out, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-+=:,./@%";

	if (word[0] && !word[strspn(word, plain)]) {
		(void)fputs(word, out);
		return;
	}
	(void)fputc('\'', out);
	for (; *word; word++)
		(void)fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, out);
	(void)fputc('\'', out);
}

char *session_line(int argc, char *argv[])
{
	char *line = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	(void)fputs("berth-bench", out);
	for (int i = 1; i < argc; i++) {
		(void)fputc(' ', out);
		write_word(out, argv[i]);
	}
	if (fclose(out) == 0)
		return line;
	free(line);
	return NULL;
}

/* Two reports in one file would be none. */
static bool is_one_file(FILE *one, FILE *other)
{
	struct stat a, b;

	return one && other && fstat(fileno(one), &a) == 0 && fstat(fileno(other), &b) == 0 &&
	       S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool open_files(struct session *s)
{
	const struct options *o = s->options;

	if (!open_file(o->json, "json", &s->json) || !open_file(o->csv, "csv", &s->csv))
		return false;
	if (!is_one_file(s->json, s->csv))
		return true;
	session_say("--csv: it is the file of --json; accepted is another one");
	return false;
}

bool session_open(const struct options *options, const char *command, struct session *ret_session)
{
	struct session *s = ret_session;

	*s = (struct session){.options = options, .command = command};
	watch_signals();
	if (placement_plan(options->placement, options->threads, &s->plan) < 0) {
		session_say("--placement: split needs two CPUs; accepted are same and free here");
		return false;
	}
	if (!open_files(s))
		return false;
	environment_read(&s->environment);
	environment_add(&s->environment, "seed", "%llu", (unsigned long long)options->seed);
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
	int rc;

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
	if (!request.script || request.script[0] == '\0') {
		session_say("--script PATH is needed: the SCRIPT_FILENAME of what to ask for");
		goto out;
	}
	rc = request_make(&request, ret_request);
	if (rc < 0)
		session_say("the request can't be made: %s",
			    rc == -EINVAL ? "it is too long for FastCGI" : strerror(-rc));
	done = rc == 0;
out:
	request_file_done(&file);
	free(memory);
	return done;
}

static bool write_file(FILE *out, const char *what, const char *path, const struct report *report,
		       int (*write_report)(FILE *out, const struct report *report))
{
	int rc = 0;

	if (!out)
		return true;
	/* A device or a pipe has no size that could be cut. */
	if (out != stdout && ftruncate(fileno(out), 0) == -1 && errno != EINVAL)
		rc = -errno;
	if (rc == 0)
		rc = write_report(out, report);
	if (out != stdout && fclose(out) != 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		session_say("--%s: %s: %s", what, out == stdout ? "standard output" : path,
			    strerror(-rc));
	return rc == 0;
}

bool session_report(struct session *session, struct report *report,
		    int (*table)(FILE *out, const struct report *report))
{
	const struct options *o = session->options;
	bool whole = true;

	report->command = session->command;
	/* Saved runs have their own; where they are compared is of no matter. */
	if (report->diff == NULL) {
		report->environment = &session->environment;
		report->placement = &session->plan;
	}
	report->requirements = o->requirements;
	report->requirement_count = o->requirement_count;
	if (session->json != stdout && session->csv != stdout) {
		int rc = table(stdout, report);

		if (rc < 0)
			session_say("standard output: %s", strerror(-rc));
		whole = rc == 0;
	}
	whole = write_file(session->json, "json", o->json, report, report_json) && whole;
	whole = write_file(session->csv, "csv", o->csv, report, report_csv) && whole;
	session->json = NULL;
	session->csv = NULL;
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

uint64_t session_failures(const struct session *session, const struct cell *cell)
{
	const struct failures *failures = &cell->total->failures;
	uint64_t count = failures_total(failures);

	/* Who says how many may fail has been answered by session_requirements(). */
	for (size_t i = 0; i < session->options->requirement_count; i++) {
		const struct requirement *r = &session->options->requirements[i];

		if (r->figure == REQUIREMENT_FAILURES && r->failure == FAILURE_NONE)
			return 0;
	}
	return cell->total->interrupted ? count - failures->count[FAILURE_DEADLINE] : count;
}

void session_check_placement(struct session *session, const struct target *target)
{
	const struct options *o = session->options;

	if (session->plan.placement == PLACEMENT_FREE ||
	    (target->pid != 0 && placement_holds(&session->plan, target->pid)))
		return;
	if (o->placement != PLACEMENT_DEFAULT)
		session_say("--placement: the server is not held on the CPUs that this needs (see "
			    "taskset(1)), so the scheduler places client and server");
	(void)placement_plan(PLACEMENT_FREE, o->threads, &session->plan);
}
