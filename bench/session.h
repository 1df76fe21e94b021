/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands share: signals, placement, the facts of the machine, and the reports. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "bench/compare/report.h"
#include "bench/options.h"
#include "bench/server/environment.h"
#include "bench/server/placement.h"

#include <signal.h>
#include <stdbool.h>

/**
 * struct session - of a command
 * @options:	Command line
 * @plan:	Where client and server run
 * @environment: Facts
 * @command:	The command line in one text
 * @json:	Where the JSON report goes, NULL = nowhere
 * @csv:	Likewise CSV
 */
struct session {
	const struct options *options;
	struct placement_plan plan;
	struct environment environment;
	const char *command;
	FILE *json;
	FILE *csv;
};

/* Set by SIGINT, SIGTERM and SIGHUP; the second one of them ends the program. */
extern volatile sig_atomic_t session_stop;

/**
 * session_line() - the command line as a shell would take it
 * @argc:	Words
 * @argv:	Words; options_parse() changes them, so this has to be asked for before
 *
 * Return: text to be freed, or NULL
 */
char *session_line(int argc, char *argv[]);

/**
 * session_open() - watch signals, decide the placement, open files of reports, read the facts
 * @options:	Command line, stays in use
 * @command:	From session_line(), stays in use
 * @ret_session: Set on success
 *
 * Return: false with the reason printed
 */
bool session_open(const struct options *options, const char *command, struct session *ret_session);

/* Prints "berth-bench: TEXT" to standard error. */
void session_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * session_request() - the request that the options describe
 * @options:	Command line
 * @script:	SCRIPT_FILENAME if the options have none
 * @body_size:	Body that the responder shall answer with, as its query
 * @ret_request: Set on success, to be released by request_done()
 *
 * Return: false with the reason printed
 */
bool session_request(const struct options *options, const char *script, size_t body_size,
		     struct request *ret_request);

/**
 * session_check_placement() - nobody moves the processes of others: they run where they run
 * @session:	Session, whose placement becomes PLACEMENT_FREE unless theirs is as planned
 * @target:	Responder that was there already
 */
void session_check_placement(struct session *session, const struct target *target);

/**
 * session_report() - the table, and the files that were asked for
 * @session:	Session
 * @report:	What was measured
 * @table:	report_table() or report_floor()
 *
 * Return: false with the reason printed if not everything could be written
 */
bool session_report(struct session *session, struct report *report,
		    int (*table)(FILE *out, const struct report *report));

/**
 * session_requirements() - check the thresholds of every cell but controls
 * @session:	Session
 * @cells:	Cells
 * @count:	Entries
 *
 * Return: false with those printed that do not hold
 */
bool session_requirements(const struct session *session, const struct cell *cells, size_t count);

/**
 * session_failures() - failed requests that make the exit status OPTIONS_EXIT_FAILED
 * @session:	Session
 * @cell:	Cell
 *
 * Return: their number; those that a signal has cut off do not count, and none does if there is a
 * threshold for failures
 */
uint64_t session_failures(const struct session *session, const struct cell *cell);

#endif
