/* SPDX-License-Identifier: BSD-2-Clause */
/* All options of all commands: what is parsed, and what the help shows. */

#include "options_table.h"

#include "options.h"

#include <assert.h>
#include <stdio.h>

/* Column at which an option's explanation starts. */
#define HELP_COLUMN 29

/* Commands that an option belongs to. */
#define RUN	 (1U << COMMAND_RUN)
#define COMPARE	 (1U << COMMAND_COMPARE)
#define FLOOR	 (1U << COMMAND_FLOOR)
#define SELFTEST (1U << COMMAND_SELFTEST)
#define DIFF	 (1U << COMMAND_DIFF)
#define RAMP	 (1U << COMMAND_RAMP)
#define ALL	 (RUN | COMPARE | FLOOR | SELFTEST | RAMP)

const struct options_entry options_table[] = {
	{"threads", 't', "N", RUN | COMPARE | RAMP, "threads of the client (1)"},
	{"connections", 'c', "N[,N]", RUN | COMPARE | RAMP,
	 "requests in flight (1; compare: 1,4; ramp: 8)"},
	{"duration", 'd', "TIME", RUN, "how long (10s, unless -n is given)"},
	{"requests", 'n', "N", RUN, "how many requests"},
	{"keep", OPTION_KEEP, NULL, RUN | RAMP, "keep connections open (usual)"},
	{"new", OPTION_NEW, NULL, RUN | RAMP, "a new connection for each request"},
	{"rate", OPTION_RATE, "N", RUN, "open loop: N arrivals a second, come what may"},
	{"arrivals", OPTION_ARRIVALS, "KIND", RUN | RAMP, "of --rate: poisson (usual), constant"},
	{"max-queue", OPTION_MAX_QUEUE, "N", RUN | RAMP, "of --rate: most that wait (10000)"},
	{"script", OPTION_SCRIPT, "PATH", RUN | RAMP, "SCRIPT_FILENAME"},
	{"method", OPTION_METHOD, "M", RUN | RAMP, "REQUEST_METHOD (GET, POST with a body)"},
	{"query", OPTION_QUERY, "Q", RUN | RAMP, "QUERY_STRING"},
	{"param", OPTION_PARAM, "NAME=VALUE", RUN | RAMP, "a parameter; may be repeated"},
	{"data", OPTION_DATA, "TEXT|@FILE", RUN | RAMP, "body of the request"},
	{"request", OPTION_REQUEST, "FILE", RUN | RAMP, "parameters and body from a file"},
	{"split-params", OPTION_SPLIT_PARAMS, "N", RUN | RAMP, "most content of a PARAMS record"},
	{"split-stdin", OPTION_SPLIT_STDIN, "N", RUN | RAMP, "most content of a STDIN record"},
	{"pad", OPTION_PAD, NULL, RUN | RAMP, "pad records to 8 bytes, as nginx does"},
	{"nodelay", OPTION_NODELAY, NULL, RUN | COMPARE | RAMP, "set TCP_NODELAY"},
	{"quickack", OPTION_QUICKACK, "on|off", RUN | COMPARE | RAMP,
	 "set TCP_QUICKACK; compare: or both"},
	{"on-eagain", OPTION_EAGAIN, "POLICY", RUN | COMPARE | RAMP,
	 "accept queue full: fail (usual), retry=MS, wait"},
	{"timeout", OPTION_TIMEOUT, "TIME", RUN | COMPARE | RAMP,
	 "longest time of a request (10s)"},
	{"expect-status", OPTION_STATUS, "N", RUN | RAMP, "status of a good answer, or any (200)"},
	{"expect-length", OPTION_LENGTH, "BYTES", RUN | RAMP, "length of a good answer's body"},
	{"start", OPTION_START, "KIND", RUN | RAMP, "start null, berth, php-fpm or spawn-fcgi"},
	{"transport", OPTION_TRANSPORT, "T", RUN, "of --start: unix (usual), tcp, pipe"},
	{"size", OPTION_SIZE, "BYTES", RUN | RAMP, "of --start: body of an answer (100)"},
	{"server-pid", OPTION_SERVER_PID, "PID", RUN | RAMP, "root of the server's processes"},
	{"targets", OPTION_TARGETS, "LIST", COMPARE, "of null, berth, php-fpm, spawn-fcgi (berth)"},
	{"transports", OPTION_TRANSPORTS, "LIST", COMPARE | RAMP, "of tcp, unix, pipe (all)"},
	{"modes", OPTION_MODES, "LIST", COMPARE, "of new, kept (both)"},
	{"sizes", OPTION_SIZES, "LIST", COMPARE | FLOOR,
	 "bytes of an answer (100,9000); floor: there, back"},
	{"workers", OPTION_WORKERS, "N", RUN | COMPARE | RAMP,
	 "workers of a target, or what %n counts"},
	{"backlog", OPTION_BACKLOG, "N", RUN | COMPARE | RAMP, "accept queue of a target (511)"},
	{"budget", OPTION_BUDGET, "TIME", COMPARE | RAMP, "time for all of it (110s)"},
	{"rounds", OPTION_ROUNDS, "N", COMPARE | FLOOR | SELFTEST | RAMP,
	 "rounds (15, to 31 if need be; floor: 11; ramp: 6)"},
	{"precision", OPTION_PRECISION, "SHARE", COMPARE, "go on until +/- this (0.02)"},
	{"delta", OPTION_DELTA, "SHARE", COMPARE | DIFF,
	 "a difference that does not matter (0.03)"},
	{"slo", OPTION_SLO, "TIME", RAMP, "p99 that passes (5 times the unloaded one)"},
	{"max-rate", OPTION_MAX_RATE, "N", RAMP, "highest rate that is tried (100000)"},
	{"restart-every", OPTION_RESTART, "K", COMPARE, "start all targets anew each K rounds"},
	{"retry-dirty", OPTION_RETRY_DIRTY, NULL, COMPARE, "measure once more what was disturbed"},
	{"strict", OPTION_STRICT, NULL, COMPARE, "no verdict where there are doubts"},
	{"placement", OPTION_PLACEMENT, "P", ALL, "CPUs: same, split (usual), free"},
	{"seed", OPTION_SEED, "N", ALL, "of all that is random"},
	{"require", OPTION_REQUIRE, "EXPR", RUN | COMPARE, "threshold: 'p99<5ms', 'failures=0'"},
	{"json", OPTION_JSON, "FILE|-", RUN | COMPARE | RAMP | FLOOR | DIFF, "write a JSON report"},
	{"csv", OPTION_CSV, "FILE|-", RUN | COMPARE | FLOOR, "write a CSV report"},
	{"help", 'h', NULL, ALL | DIFF, "print this"},
};
static_assert(sizeof(options_table) / sizeof(options_table[0]) == OPTIONS_TABLE_SIZE,
	      "the table's size");

static const char general[] =
	"Usage: berth-bench [compare] [OPTION]...   compare TCP, unix sockets and pipes\n"
	"       berth-bench run [OPTION]... ADDRESS | --start KIND\n"
	"                                           put load on a responder\n"
	"       berth-bench ramp [OPTION]... [ADDRESS]\n"
	"                                           how much load is sustained\n"
	"       berth-bench floor [OPTION]...       what the machine can do without FastCGI\n"
	"       berth-bench selftest [OPTION]...    can this machine be believed\n"
	"       berth-bench diff [OPTION]... A.json B.json\n"
	"                                           two saved runs against each other\n"
	"       berth-bench help [COMMAND]          options of a command\n"
	"       berth-bench version\n"
	"\n"
	"Without a command it compares: which socket type is the fastest here, and does that\n"
	"matter? It takes at most two minutes.\n"
	"\n"
	"Exit status: 0 fine, 1 failures or missed thresholds, 2 usage, 3 no verdict.\n"
	"berth-bench(1) has the details.\n";

static const char *const usages[COMMANDS] = {
	[COMMAND_COMPARE] = "Usage: berth-bench [compare] [OPTION]...\n\n"
			    "Which socket type should I use, and does it matter for me?\n",
	[COMMAND_RUN] = "Usage: berth-bench run [OPTION]... ADDRESS | --start KIND\n\n"
			"Puts load on a responder. ADDRESS is /PATH, @NAME, HOST:PORT, "
			"[IPv6]:PORT or\n"
			"pipe:/PATH; with %n in it, or +%n behind the port, --workers of them.\n",
	[COMMAND_FLOOR] = "Usage: berth-bench floor [OPTION]...\n\n"
			  "Ping-pong of plain bytes over each transport: no responder is faster.\n",
	[COMMAND_RAMP] =
		"Usage: berth-bench ramp [OPTION]... [ADDRESS]\n\n"
		"How many requests a second does it sustain? Without ADDRESS it starts what\n"
		"--start says, by default berth, on each of --transports.\n",
	[COMMAND_DIFF] = "Usage: berth-bench diff [OPTION]... A.json B.json\n\n"
			 "Which one of two runs that --json has saved is faster?\n",
	[COMMAND_SELFTEST] = "Usage: berth-bench selftest [OPTION]...\n\n"
			     "Checks clocks, counts and ratios against what sane machines have.\n",
};

void options_help(FILE *out, enum options_command command)
{
	if (command >= COMMANDS || !usages[command]) {
		(void)fputs(general, out);
		return;
	}
	(void)fprintf(out, "%s\n", usages[command]);
	for (size_t i = 0; i < OPTIONS_TABLE_SIZE; i++) {
		const struct options_entry *entry = &options_table[i];
		char letter[8] = "    ";
		char left[64];

		if (!(entry->commands & (1U << command)))
			continue;
		if (entry->id <= UCHAR_MAX)
			(void)snprintf(letter, sizeof(letter), "-%c, ", entry->id);
		(void)snprintf(left, sizeof(left), "  %s--%s%s%s", letter, entry->name,
			       entry->argument ? " " : "", entry->argument ? entry->argument : "");
		(void)fprintf(out, "%-*s %s\n", HELP_COLUMN, left, entry->help);
	}
}
