/* SPDX-License-Identifier: BSD-2-Clause */
/* berth's command line. */
#include "fpm/command.h"

#include "fpm/conf/conf.h"
#include "fpm/upstream.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define POOL_NAME_DEFAULT "www"
#define WRITTEN_BYTES	  32 /* the longest option, its dashes and a NUL */
#define VERBS                                                                               \
	"accepted are run, check, upstream, import, status, reload, scale, upgrade, stop, " \
	"spawn-fcgi, help and version"
#define OPTIONS                                                                             \
	"accepted are -c FILE, -R, --daemonize, --pid, --error-log, --listen, --children, " \
	"--user, --group, "                                                                 \
	"--spawn, --name, "                                                                 \
	"-o KEY=VALUE, and -- PROGRAM at the end"

/* Options without a letter. Those behind OPTION_NAME are another way to write a key of the pool. */
enum option_id {
	OPTION_DAEMONIZE = UCHAR_MAX + 1,
	OPTION_PID,
	OPTION_ERROR_LOG,
	OPTION_NAME,
	OPTION_LISTEN,
	OPTION_CHILDREN,
	OPTION_USER,
	OPTION_GROUP,
	OPTION_SPAWN,
	OPTION_MAX,
};

#define KEY_INDEX(id) ((id)-OPTION_LISTEN)
static const char *const keys[] = {
	[KEY_INDEX(OPTION_LISTEN)] = "listen", [KEY_INDEX(OPTION_CHILDREN)] = "pm.max_children",
	[KEY_INDEX(OPTION_USER)] = "user",     [KEY_INDEX(OPTION_GROUP)] = "group",
	[KEY_INDEX(OPTION_SPAWN)] = "spawn",
};
_Static_assert(COUNT(keys) == KEY_INDEX(OPTION_MAX), "each option of the pool has a key");

/* '+' ends the options at the first word that is none, ':' tells a missing argument apart. */
static const char letters[] = "+:c:Rho:";
static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"allow-to-run-as-root", no_argument, NULL, 'R'},
	{"help", no_argument, NULL, 'h'},
	{"daemonize", no_argument, NULL, OPTION_DAEMONIZE},
	{"pid", required_argument, NULL, OPTION_PID},
	{"error-log", required_argument, NULL, OPTION_ERROR_LOG},
	{"name", required_argument, NULL, OPTION_NAME},
	{"listen", required_argument, NULL, OPTION_LISTEN},
	{"children", required_argument, NULL, OPTION_CHILDREN},
	{"user", required_argument, NULL, OPTION_USER},
	{"group", required_argument, NULL, OPTION_GROUP},
	{"spawn", required_argument, NULL, OPTION_SPAWN},
	{NULL, 0, NULL, 0},
};

/**
 * struct scan - a walk over the options
 * @argc:	Words of @argv
 * @argv:	The verb, and what stands behind it
 * @builder:	Builder
 * @config:	-c, NULL if not given
 * @name:	--name, NULL if not given
 * @pool_option: First option that describes a pool as it was written, "" if there is none
 * @program:	What stands behind "--", NULL if that is not there
 * @allow_root:	-R was given
 * @help:	-h was given
 * @error:	Where to put an error
 * @size:	Bytes of @error
 */
struct scan {
	int argc;
	char **argv;
	struct conf_builder *builder;
	const char *config;
	const char *name;
	char pool_option[WRITTEN_BYTES];
	char **program;
	bool allow_root;
	bool help;
	char *error;
	size_t size;
};

/* What is done with an option: its letter or number, how it is written, its argument or "". */
typedef int (*option_fn)(struct scan *scan, int id, const char *written, const char *value);

__attribute__((format(printf, 2, 3))) static int fail(const struct scan *scan, const char *format,
						      ...)
{
	static const char prefix[] = "command line: ";
	va_list args;

	(void)snprintf(scan->error, scan->size, "%s", prefix);
	if (scan->size > sizeof(prefix)) {
		va_start(args, format);
		(void)vsnprintf(scan->error + strlen(prefix), scan->size - strlen(prefix), format,
				args);
		va_end(args);
	}
	return -EINVAL;
}

static bool takes_no_argument(int id)
{
	for (size_t i = 0; options[i].name != NULL; i++) {
		if (options[i].val == id)
			return options[i].has_arg == no_argument;
	}
	return false;
}

/*
 * Tells what getopt_long() found wrong, which is ':' for a missing argument. A wrong letter is found
 * in optopt only, as the rest of its word is not read yet; a wrong name in the word read last only.
 */
static int refuse(const struct scan *scan, int answer)
{
	const char *const word = scan->argv[optind - 1];
	const bool needless = answer == '?' && takes_no_argument(optopt);
	char written[64];

	if (optopt == 0 || needless || (answer == ':' && strncmp(word, "--", 2) == 0))
		(void)snprintf(written, sizeof(written), "%.*s", (int)strcspn(word, "="), word);
	else
		(void)snprintf(written, sizeof(written), "-%c", optopt);
	if (answer == ':')
		return fail(scan, "%s: its argument is missing", written);
	if (needless)
		return fail(scan, "%s: takes no argument", written);
	return fail(scan, "%s: unknown option; " OPTIONS, written);
}

/* Looks at what the options end with: nothing, a word that is none, or "--". */
static int end_options(struct scan *scan, bool dashes)
{
	if (dashes)
		scan->program = &scan->argv[optind];
	else if (optind < scan->argc)
		return fail(scan,
			    "%.64s: unexpected; the program stands behind \"--\", and " OPTIONS,
			    scan->argv[optind]);
	return 0;
}

/* Calls @each for every option. */
static int walk(struct scan *scan, option_fn each)
{
	int next = 1;
	int r = 0;

	/* With 0, glibc forgets the walk before, and what it left of a word with several letters. */
	optind = 0;
	opterr = 0;
	while (r == 0) {
		int index = -1;
		const int id = getopt_long(scan->argc, scan->argv, letters, options, &index);
		char written[WRITTEN_BYTES] = {'-', (char)id};

		/* The only word that is passed without being an option is "--". */
		if (id == -1)
			return end_options(scan, optind > next);
		if (id == ':' || id == '?')
			return refuse(scan, id);
		if (index >= 0)
			(void)snprintf(written, sizeof(written), "--%s", options[index].name);
		if (optarg != NULL && *optarg == '\0')
			return fail(scan,
				    "%s: its argument is missing, an empty one is not accepted",
				    written);
		r = each(scan, id, written, optarg != NULL ? optarg : "");
		next = optind;
	}
	return r;
}

static int note_once(const struct scan *scan, const char *written, const char *value,
		     const char **target)
{
	if (*target != NULL)
		return fail(scan, "%s: is given twice; it is accepted once", written);
	*target = value;
	return 0;
}

/* Return: the '=' behind a key, which may have one in its brackets, or NULL */
static const char *find_equals(const char *text)
{
	const char *const bracket = text + strcspn(text, "[=");
	const char *const close = *bracket == '[' ? strchr(bracket, ']') : NULL;

	return strchr(close != NULL ? close : bracket, '=');
}

static int note_option(struct scan *scan, int id, const char *written, const char *value)
{
	int r = 0;

	switch (id) {
	case 'c':
		return note_once(scan, written, value, &scan->config);
	case 'R':
		scan->allow_root = true;
		return 0;
	case 'h':
		scan->help = true;
		return 0;
	case OPTION_NAME:
		r = note_once(scan, written, value, &scan->name);
		break;
	case 'o':
		if (find_equals(value) == NULL || *value == '=')
			r = fail(scan, "-o: '%.64s' is no setting; accepted is -o KEY=VALUE",
				 value);
		break;
	default:
		break;
	}
	if (r == 0 && *scan->pool_option == '\0')
		(void)snprintf(scan->pool_option, sizeof(scan->pool_option), "%s", written);
	return r;
}

/* Gives the builder "env[A]" and "b=c" of "env[A]=b=c". */
static void set_any(const struct scan *scan, const char *value)
{
	const char *const equals = find_equals(value);
	const int length = equals != NULL ? (int)(equals - value) : 0;
	char written[160];
	char key[128];

	if (length == 0)
		return;
	(void)snprintf(key, sizeof(key), "%.*s", length, value);
	(void)snprintf(written, sizeof(written), "-o %s", key);
	conf_builder_set(scan->builder, scan->name, written, key, equals + 1);
}

static int give_option(struct scan *scan, int id, const char *written, const char *value)
{
	if (id == OPTION_DAEMONIZE)
		conf_builder_set(scan->builder, NULL, written, "daemonize", "yes");
	else if (id == OPTION_PID)
		conf_builder_set(scan->builder, NULL, written, "pid", value);
	else if (id == OPTION_ERROR_LOG)
		conf_builder_set(scan->builder, NULL, written, "error_log", value);
	else if (id >= OPTION_LISTEN)
		conf_builder_set(scan->builder, scan->name, written, keys[KEY_INDEX(id)], value);
	else if (id == 'o')
		set_any(scan, value);
	return 0;
}

/* What only all the options together can tell. */
static int check_options(const struct scan *scan)
{
	const bool has_pool = *scan->pool_option != '\0' || scan->program != NULL;

	if (scan->program != NULL && scan->program[0] == NULL)
		return fail(scan, "--: the program is missing; accepted is -- PROGRAM [ARG...]");
	if (scan->config != NULL && scan->program != NULL && *scan->pool_option == '\0')
		return fail(scan, "--: is not accepted together with -c FILE; there the pool has "
				  "the key program");
	if (scan->config != NULL && has_pool)
		return fail(scan, "%s: is not accepted together with -c FILE; give one of them",
			    scan->pool_option);
	return 0;
}

/* Two walks: the name of the pool may stand behind what the pool is given. */
static int parse_options(struct scan *scan, struct command *ret_command)
{
	int r = walk(scan, note_option);

	if (r == 0 && !scan->help)
		r = check_options(scan);
	if (r < 0)
		return r;
	if (scan->help) {
		ret_command->verb = COMMAND_HELP;
		return 0;
	}
	ret_command->allow_root = scan->allow_root;
	if (*scan->pool_option == '\0' && scan->program == NULL) {
		ret_command->conf_path = scan->config != NULL ? scan->config : COMMAND_CONF_DEFAULT;
		return 0;
	}
	if (scan->name == NULL)
		scan->name = POOL_NAME_DEFAULT;
	(void)walk(scan, give_option);
	if (scan->program != NULL)
		conf_builder_program(scan->builder, scan->name, scan->program);
	return 0;
}

/* Return: 0, or -EINVAL if there is no such verb */
static int find_verb(const char *word, enum command_verb *ret_verb)
{
	static const struct {
		const char *word;
		enum command_verb verb;
	} verbs[] = {
		{"run", COMMAND_RUN},		{"check", COMMAND_CHECK},
		{"prove", COMMAND_PROVE},	{"upstream", COMMAND_UPSTREAM},
		{"upgrade", COMMAND_UPGRADE},	{"status", COMMAND_STATUS},
		{"reload", COMMAND_RELOAD},	{"scale", COMMAND_SCALE},
		{"stop", COMMAND_STOP},		{"import", COMMAND_IMPORT},
		{"help", COMMAND_HELP},		{"--help", COMMAND_HELP},
		{"-h", COMMAND_HELP},		{"version", COMMAND_VERSION},
		{"--version", COMMAND_VERSION}, {"-V", COMMAND_VERSION},
	};

	for (size_t i = 0; i < COUNT(verbs); i++) {
		if (strcmp(word, verbs[i].word) == 0) {
			*ret_verb = verbs[i].verb;
			return 0;
		}
	}
	return -EINVAL;
}

/* The words behind "upstream": the web server and maybe the pool. */
static void take_words(struct scan *scan, struct command *ret_command)
{
	const char **const words[] = {&ret_command->server, &ret_command->pool};

	for (size_t i = 0; i < COUNT(words) && scan->argc > 1 && scan->argv[1][0] != '-'; i++) {
		*words[i] = scan->argv[1];
		scan->argv++;
		scan->argc--;
	}
}

int command_parse(int argc, char *argv[], struct conf_builder *builder, struct command *ret_command,
		  char *error, size_t size)
{
	struct scan scan = {
		.argc = argc - 1,
		.argv = argv + 1,
		.builder = builder,
		.error = error,
		.size = size,
	};
	struct command command = {.verb = COMMAND_HELP};
	int r = 0;

	if (argc < 2)
		return fail(&scan, "the verb is missing; " VERBS);
	if (find_verb(argv[1], &command.verb) < 0 && argv[1][0] == '-')
		return fail(&scan, "%.64s: options stand behind the verb; " VERBS, argv[1]);
	if (find_verb(argv[1], &command.verb) < 0)
		return fail(&scan, "%.64s: unknown verb; " VERBS, argv[1]);
	/* Requests to a running berth and the import read their options themselves. */
	if (command.verb >= COMMAND_STATUS) {
		*ret_command = command;
		return 0;
	}
	if (command.verb == COMMAND_UPSTREAM)
		take_words(&scan, &command);
	if (command.verb >= COMMAND_RUN)
		r = parse_options(&scan, &command);
	else if (argc > 2)
		r = fail(&scan, "%.64s: unexpected; %s takes no arguments", argv[2], argv[1]);
	if (r == 0 && command.verb == COMMAND_UPSTREAM && command.server == NULL)
		r = fail(&scan,
			 "upstream: the web server is missing; accepted are " UPSTREAM_SERVERS);
	if (r == 0)
		*ret_command = command;
	return r;
}

void command_help(FILE *out)
{
	(void)fputs(
		"Usage: berth run [-c FILE] [-R]\n"
		"       berth run --listen ADDRESS [--listen ADDRESS]... --children N\n"
		"                 [--user USER] [--group GROUP] [--spawn template|exec]\n"
		"                 [--name POOL] [-o KEY=VALUE]... [-R]\n"
		"                 [--daemonize] [--pid FILE] [--error-log FILE]\n"
		"                 [-- PROGRAM [ARG...]]\n"
		"       berth check, with the same options\n"
		"       berth upstream SERVER [POOL] [-c FILE]\n"
		"       berth import php-fpm FILE\n"
		"       berth status [--json] [-c FILE | --control SOCKET]\n"
		"       berth reload [POOL] [-c FILE | --control SOCKET]\n"
		"       berth scale POOL N [-c FILE | --control SOCKET]\n"
		"       berth upgrade | stop [-c FILE | --control SOCKET]\n"
		"       berth spawn-fcgi [OPTION]... [-- PROGRAM [ARG...]]\n"
		"       berth help\n"
		"       berth version\n"
		"\n"
		"run runs the pools, check only says whether it could. upstream prints what a web\n"
		"server needs: nginx, haproxy, lighttpd, apache or caddy. import prints what does\n"
		"the same as a configuration of php-fpm. The others talk to a berth that runs:\n"
		"what it does; new configuration and code, of all pools or of one, waiting until\n"
		"all is in place; the number of a pool's workers until its next reload; the berth\n"
		"that is installed now in its place; end, waiting for that.\n"
		"spawn-fcgi has the options of spawn-fcgi 1.6.4, see berth-spawn-fcgi(1).\n"
		"\n"
		"  -c, --config FILE  configuration (default: " COMMAND_CONF_DEFAULT ")\n"
		"  -R, --allow-to-run-as-root\n"
		"                     let workers run as root\n"
		"\n"
		"One pool without a file:\n"
		"  --listen ADDRESS   /PATH, @NAME, PORT, HOST:PORT or [IPv6]:PORT; with %n in\n"
		"                     the path or name, or BASE+%n as port, each worker has a\n"
		"                     socket of its own\n"
		"  --children N       number of workers\n"
		"  --user USER        who workers run as, and who owns unix sockets\n"
		"  --group GROUP      (default: the user's own group)\n"
		"  --spawn MODE       template: workers share an opcode cache (default);\n"
		"                     exec: each worker is started by itself\n"
		"  --name POOL        name of the pool (default: " POOL_NAME_DEFAULT ")\n"
		"  --daemonize        return when the pool is ready, and go on in the background\n"
		"  --pid FILE         pid file\n"
		"  --error-log FILE   log, which --daemonize needs\n"
		"  -o KEY=VALUE       any key of a pool, see berth.conf(5)\n"
		"  -- PROGRAM         what to run (default: php-cgi)\n",
		out);
}
