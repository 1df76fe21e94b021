/* SPDX-License-Identifier: BSD-2-Clause */
/* berth's command line. */
#include "command.h"

#include "conf.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define POOL_NAME_DEFAULT "www"
#define VERBS		  "accepted are run, check, help and version"
#define OPTIONS                                                                              \
	"accepted are -c FILE, -R, --listen, --children, --user, --group, --spawn, --name, " \
	"-o KEY=VALUE, and -- PROGRAM at the end"

/* What an option is for. */
enum option_use {
	OPTION_CONFIG = 0,
	OPTION_ROOT,
	OPTION_HELP,
	OPTION_NAME,
	OPTION_KEY, /* another way to write a key of the pool */
	OPTION_SET, /* any key of the pool */
};

/**
 * struct option - an option that run and check take
 * @letter:	Short form, '\0' if there is none
 * @name:	Long form, NULL if there is none
 * @use:	What it is for
 * @key:	OPTION_KEY: the key that it stands for
 * @argument:	It takes an argument
 */
struct option {
	char letter;
	const char *name;
	enum option_use use;
	const char *key;
	bool argument;
};

/*
 * getopt_long() is not used: it keeps its place in global variables, takes "--list" for "--listen",
 * and doesn't tell which of several letters in one word was wrong.
 */
static const struct option options[] = {
	{'c', "config", OPTION_CONFIG, NULL, true},
	{'R', "allow-to-run-as-root", OPTION_ROOT, NULL, false},
	{'h', "help", OPTION_HELP, NULL, false},
	{'o', NULL, OPTION_SET, NULL, true},
	{'\0', "name", OPTION_NAME, NULL, true},
	{'\0', "listen", OPTION_KEY, "listen", true},
	{'\0', "children", OPTION_KEY, "pm.max_children", true},
	{'\0', "user", OPTION_KEY, "user", true},
	{'\0', "group", OPTION_KEY, "group", true},
	{'\0', "spawn", OPTION_KEY, "spawn", true},
};

/**
 * struct scan - a walk over the options
 * @argv:	What is still to be read, NULL-terminated
 * @letters:	Rest of a word with several letters, "" if there is none
 * @builder:	Builder
 * @config:	-c, NULL if not given
 * @name:	--name, NULL if not given
 * @pool_option: First option that describes a pool, NULL if there is none
 * @program:	What stands behind "--", NULL if that is not there
 * @allow_root:	-R was given
 * @help:	-h was given
 * @error:	Where to put an error
 * @size:	Bytes of @error
 */
struct scan {
	char **argv;
	const char *letters;
	struct conf_builder *builder;
	const char *config;
	const char *name;
	const char *pool_option;
	char **program;
	bool allow_root;
	bool help;
	char *error;
	size_t size;
};

/**
 * struct found - an option with its argument
 * @option:	Entry of the table
 * @written:	How the user wrote it, e.g. "--listen"
 * @value:	Its argument, NULL if it takes none
 */
struct found {
	const struct option *option;
	char written[64];
	const char *value;
};

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

static int take_argument(struct scan *scan, struct found *found)
{
	if (*scan->argv == NULL || **scan->argv == '\0')
		return fail(scan, "%s: its argument is missing%s", found->written,
			    *scan->argv != NULL ? ", an empty one is not accepted" : "");
	found->value = *scan->argv++;
	return 0;
}

/* Reads "--name", "--name value" or "--name=value". */
static int read_long(struct scan *scan, const char *word, struct found *found)
{
	const size_t length = strcspn(word, "=");
	const char *const value = word[length] == '=' ? word + length + 1 : NULL;

	(void)snprintf(found->written, sizeof(found->written), "%.*s", (int)length, word);
	for (size_t i = 0; i < COUNT(options); i++) {
		if (options[i].name != NULL && strcmp(found->written + 2, options[i].name) == 0)
			found->option = &options[i];
	}
	if (found->option == NULL)
		return fail(scan, "%s: unknown option; " OPTIONS, found->written);
	if (!found->option->argument && value != NULL)
		return fail(scan, "%s: takes no argument", found->written);
	if (!found->option->argument)
		return 0;
	if (value == NULL)
		return take_argument(scan, found);
	if (*value == '\0')
		return fail(scan, "%s: its argument is missing, an empty one is not accepted",
			    found->written);
	found->value = value;
	return 0;
}

/* Reads the next of a word's letters, "-c value" or "-cvalue". */
static int read_letter(struct scan *scan, struct found *found)
{
	const char letter = *scan->letters++;

	(void)snprintf(found->written, sizeof(found->written), "-%c", letter);
	for (size_t i = 0; i < COUNT(options); i++) {
		if (options[i].letter == letter)
			found->option = &options[i];
	}
	if (found->option == NULL)
		return fail(scan, "%s: unknown option; " OPTIONS, found->written);
	if (!found->option->argument)
		return 0;
	if (*scan->letters == '\0')
		return take_argument(scan, found);
	found->value = scan->letters;
	scan->letters = "";
	return 0;
}

/* Return: 1 and @found set, 0 at the end of the options, or -EINVAL */
static int next_option(struct scan *scan, struct found *found)
{
	const char *word;
	int r;

	*found = (struct found){.option = NULL};
	if (*scan->letters != '\0') {
		r = read_letter(scan, found);
		return r < 0 ? r : 1;
	}
	word = *scan->argv;
	if (word == NULL)
		return 0;
	scan->argv++;
	if (strcmp(word, "--") == 0) {
		scan->program = scan->argv;
		return 0;
	}
	if (word[0] != '-' || word[1] == '\0')
		return fail(scan,
			    "%.64s: unexpected; the program stands behind \"--\", and " OPTIONS,
			    word);
	if (word[1] == '-') {
		r = read_long(scan, word, found);
	} else {
		scan->letters = word + 1;
		r = read_letter(scan, found);
	}
	return r < 0 ? r : 1;
}

static int note_once(const struct scan *scan, const struct found *found, const char **target)
{
	if (*target != NULL)
		return fail(scan, "%s: is given twice; it is accepted once", found->written);
	*target = found->value;
	return 0;
}

/* Return: the '=' behind a key, which may have one in its brackets, or NULL */
static const char *find_equals(const char *text)
{
	const char *const bracket = text + strcspn(text, "[=");
	const char *const close = *bracket == '[' ? strchr(bracket, ']') : NULL;

	return strchr(close != NULL ? close : bracket, '=');
}

static int note_option(struct scan *scan, const struct found *found)
{
	int r = 0;

	switch (found->option->use) {
	case OPTION_CONFIG:
		return note_once(scan, found, &scan->config);
	case OPTION_ROOT:
		scan->allow_root = true;
		return 0;
	case OPTION_HELP:
		scan->help = true;
		return 0;
	case OPTION_NAME:
		r = note_once(scan, found, &scan->name);
		break;
	case OPTION_SET:
		if (find_equals(found->value) == NULL || *found->value == '=')
			r = fail(scan, "-o: '%.64s' is no setting; accepted is -o KEY=VALUE",
				 found->value);
		break;
	case OPTION_KEY:
		break;
	}
	if (r == 0 && scan->pool_option == NULL)
		scan->pool_option = found->option->name != NULL ? found->option->name : "o";
	return r;
}

/* Gives the builder "env[A]" and "b=c" of "env[A]=b=c". */
static void set_any(const struct scan *scan, const char *pool, const struct found *found)
{
	const char *const equals = find_equals(found->value);
	const size_t length = equals != NULL ? (size_t)(equals - found->value) : 0;
	char written[160];
	char key[128];

	if (length == 0)
		return;
	(void)snprintf(key, sizeof(key), "%.*s", (int)length, found->value);
	(void)snprintf(written, sizeof(written), "-o %s", key);
	conf_builder_set(scan->builder, pool, written, key, equals + 1);
}

static int give_option(struct scan *scan, const struct found *found)
{
	const char *const pool = scan->name != NULL ? scan->name : POOL_NAME_DEFAULT;

	if (found->option->use == OPTION_KEY)
		conf_builder_set(scan->builder, pool, found->written, found->option->key,
				 found->value);
	else if (found->option->use == OPTION_SET)
		set_any(scan, pool, found);
	return 0;
}

/* Calls @each for every option from @argv on. */
static int walk(struct scan *scan, char **argv,
		int (*each)(struct scan *scan, const struct found *found))
{
	struct found found;
	int r;

	scan->argv = argv;
	scan->letters = "";
	while ((r = next_option(scan, &found)) > 0 && found.option != NULL) {
		r = each(scan, &found);
		if (r < 0)
			return r;
	}
	return r;
}

/* What only all the options together can tell. */
static int check_options(const struct scan *scan)
{
	const bool has_pool = scan->pool_option != NULL || scan->program != NULL;

	if (scan->program != NULL && scan->program[0] == NULL)
		return fail(scan, "--: the program is missing; accepted is -- PROGRAM [ARG...]");
	if (scan->config != NULL && scan->program != NULL && scan->pool_option == NULL)
		return fail(scan, "--: is not accepted together with -c FILE; there the pool has "
				  "the key program");
	if (scan->config != NULL && has_pool)
		return fail(scan, "%s%s: is not accepted together with -c FILE; give one of them",
			    strlen(scan->pool_option) == 1 ? "-" : "--", scan->pool_option);
	return 0;
}

/* Two walks: the name of the pool may stand behind what the pool is given. */
static int parse_options(char **argv, struct scan *scan, struct command *ret_command)
{
	int r = walk(scan, argv, note_option);

	if (r == 0 && !scan->help)
		r = check_options(scan);
	if (r < 0)
		return r;
	if (scan->help) {
		ret_command->verb = COMMAND_HELP;
		return 0;
	}
	ret_command->allow_root = scan->allow_root;
	if (scan->pool_option == NULL && scan->program == NULL) {
		ret_command->conf_path = scan->config != NULL ? scan->config : COMMAND_CONF_DEFAULT;
		return 0;
	}
	(void)walk(scan, argv, give_option);
	if (scan->program != NULL)
		conf_builder_program(scan->builder,
				     scan->name != NULL ? scan->name : POOL_NAME_DEFAULT,
				     scan->program);
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

int command_parse(int argc, char *argv[], struct conf_builder *builder, struct command *ret_command,
		  char *error, size_t size)
{
	struct scan scan = {.builder = builder, .error = error, .size = size};
	struct command command = {.verb = COMMAND_HELP};
	int r = 0;

	if (argc < 2)
		return fail(&scan, "the verb is missing; " VERBS);
	if (find_verb(argv[1], &command.verb) < 0 && argv[1][0] == '-')
		return fail(&scan, "%.64s: options stand behind the verb; " VERBS, argv[1]);
	if (find_verb(argv[1], &command.verb) < 0)
		return fail(&scan, "%.64s: unknown verb; " VERBS, argv[1]);
	if (command.verb == COMMAND_RUN || command.verb == COMMAND_CHECK)
		r = parse_options(argv + 2, &scan, &command);
	else if (argc > 2)
		r = fail(&scan, "%.64s: unexpected; %s takes no arguments", argv[2], argv[1]);
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
		"                 [--name POOL] [-o KEY=VALUE]... [-R] [-- PROGRAM [ARG...]]\n"
		"       berth check, with the same options\n"
		"       berth help\n"
		"       berth version\n"
		"\n"
		"run runs the pools, check only says whether it could.\n"
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
		"  -o KEY=VALUE       any key of a pool, see berth.conf(5)\n"
		"  -- PROGRAM         what to run (default: php-cgi)\n",
		out);
}
