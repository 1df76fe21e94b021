/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the command line: what each form means, and what is said of any other. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fpm/command.h"
#include "fpm/conf/conf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORDS_MAX    32

static const struct conf_rules as_user = {.euid = 1000};

/* A command line, parsed; @conf is NULL if there is no pool in it, or a bad one. */
struct parsed {
	int status;
	struct command command;
	struct conf *conf;
	char *said;
	char error[256];
	char *argv[WORDS_MAX + 1];
};

static void report_cb(void *data, enum conf_severity severity, const char *text)
{
	(void)fprintf(data, "%c %s\n", severity == CONF_ERROR ? 'E' : 'W', text);
}

/* The words are writable copies, as main() has them, "berth" is put in front. */
static void parse(struct parsed *parsed, const char *const words[])
{
	size_t size = 0;
	int argc = 0;
	FILE *out;
	struct conf_builder *builder;

	*parsed = (struct parsed){.command = {.verb = COMMAND_VERSION}};
	parsed->argv[argc++] = strdup("berth");
	for (; *words != NULL; words++) {
		assert_true(argc < WORDS_MAX);
		parsed->argv[argc++] = strdup(*words);
	}
	out = open_memstream(&parsed->said, &size);
	assert_non_null(out);
	builder = conf_builder_new(report_cb, out);
	assert_non_null(builder);
	parsed->status = command_parse(argc, parsed->argv, builder, &parsed->command, parsed->error,
				       sizeof(parsed->error));
	if (parsed->status == 0 && parsed->command.conf_path == NULL &&
	    (parsed->command.verb == COMMAND_RUN || parsed->command.verb == COMMAND_CHECK))
		(void)conf_builder_finish(builder, &as_user, &parsed->conf);
	conf_builder_free(builder);
	assert_int_equal(fclose(out), 0);
}

static void done(struct parsed *parsed)
{
	for (size_t i = 0; parsed->argv[i] != NULL; i++)
		free(parsed->argv[i]);
	conf_free(parsed->conf);
	free(parsed->said);
}

static void test_verbs(void **state)
{
	static const struct {
		const char *words[4];
		enum command_verb verb;
	} examples[] = {
		{{"help"}, COMMAND_HELP},
		{{"--help"}, COMMAND_HELP},
		{{"-h"}, COMMAND_HELP},
		{{"version"}, COMMAND_VERSION},
		{{"--version"}, COMMAND_VERSION},
		{{"-V"}, COMMAND_VERSION},
		{{"run"}, COMMAND_RUN},
		{{"check"}, COMMAND_CHECK},
		{{"upstream", "nginx"}, COMMAND_UPSTREAM},
		{{"upstream", "nginx", "www"}, COMMAND_UPSTREAM},
		{{"upstream", "-h"}, COMMAND_HELP},
		{{"run", "-h"}, COMMAND_HELP},
		{{"check", "--help"}, COMMAND_HELP},
		{{"run", "-c", "x", "-Rh"}, COMMAND_HELP},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		const char *words[5] = {NULL};
		struct parsed parsed;

		memcpy(words, examples[i].words, sizeof(examples[i].words));
		parse(&parsed, words);
		assert_int_equal(parsed.status, 0);
		assert_int_equal(parsed.command.verb, examples[i].verb);
		assert_string_equal(parsed.said, "");
		done(&parsed);
	}
}

static void test_upstream_words(void **state)
{
	const char *words[] = {"upstream", "apache", "shop", "-c", "x", NULL};
	struct parsed parsed;

	(void)state;
	parse(&parsed, words);
	assert_int_equal(parsed.status, 0);
	assert_string_equal(parsed.command.server, "apache");
	assert_string_equal(parsed.command.pool, "shop");
	assert_string_equal(parsed.command.conf_path, "x");
	done(&parsed);
}

static void test_file(void **state)
{
	static const struct {
		const char *words[5];
		const char *path;
		bool allow_root;
	} examples[] = {
		{{"run"}, COMMAND_CONF_DEFAULT, false},
		{{"run", "-R"}, COMMAND_CONF_DEFAULT, true},
		{{"run", "--allow-to-run-as-root"}, COMMAND_CONF_DEFAULT, true},
		{{"check", "-c", "x"}, "x", false},
		{{"check", "-cx"}, "x", false},
		{{"check", "-Rcx"}, "x", true},
		{{"check", "-Rc", "x"}, "x", true},
		{{"run", "--config", "x"}, "x", false},
		{{"run", "--config=x=y", "-R"}, "x=y", true},
		{{"run", "-R", "-c", "-R"}, "-R", true},
		{{"run", "-c", "--"}, "--", false},
		{{"run", "--config", "--", "-R"}, "--", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		const char *words[6] = {NULL};
		struct parsed parsed;

		memcpy(words, examples[i].words, sizeof(examples[i].words));
		parse(&parsed, words);
		assert_int_equal(parsed.status, 0);
		assert_string_equal(parsed.command.conf_path, examples[i].path);
		assert_int_equal(parsed.command.allow_root, examples[i].allow_root);
		done(&parsed);
	}
}

static void test_pool(void **state)
{
	static const char *const words[] = {
		"run",
		"--listen",
		"/run/$pool-%n",
		"--listen=9000+%n",
		"--children",
		"4",
		"--spawn=template",
		"-o",
		"chdir=/srv",
		"-oenv[A]=b=c",
		"-o",
		"php_value[x]=",
		"--name",
		"shop",
		"--",
		"/bin/my cgi",
		"--listen",
		"-c",
		"$pool",
		"",
		NULL,
	};
	struct parsed parsed;
	const struct conf_pool *pool;

	(void)state;
	parse(&parsed, words);
	assert_int_equal(parsed.status, 0);
	assert_string_equal(parsed.said, "");
	assert_null(parsed.command.conf_path);
	assert_non_null(parsed.conf);
	pool = parsed.conf->pools;
	assert_string_equal(pool->name, "shop");
	assert_string_equal(pool->origin.file, "command line");
	assert_int_equal(pool->origin.line, 0);
	assert_int_equal(pool->listen_count, 2);
	assert_string_equal(pool->listen[0].address.text, "/run/shop-%n");
	assert_string_equal(pool->listen[1].address.text, "9000+%n");
	assert_int_equal(pool->listen[1].origin.line, 0);
	assert_int_equal(pool->max_children, 4);
	assert_int_equal(pool->spawn, CONF_SPAWN_TEMPLATE);
	assert_string_equal(pool->chdir, "/srv");
	assert_string_equal(pool->env[0].name, "A");
	assert_string_equal(pool->env[0].value, "b=c");
	assert_string_equal(pool->php[0].value, "");
	/* The program's words are its own: nothing in them is replaced. */
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(pool->argv[i], words[15 + i]);
	assert_null(pool->argv[5]);
	assert_null(pool->next);
	done(&parsed);
}

static void test_pool_defaults(void **state)
{
	static const char *const words[] = {"check",   "--listen=@x", "--children=1",
					    "--spawn", "exec",	      NULL};
	struct parsed parsed;

	(void)state;
	parse(&parsed, words);
	assert_string_equal(parsed.said, "");
	assert_string_equal(parsed.conf->pools->name, "www");
	assert_int_equal(parsed.conf->pools->spawn, CONF_SPAWN_EXEC);
	assert_string_equal(parsed.conf->pools->argv[0], "php-cgi");
	done(&parsed);
}

#define ACCEPTED                                                                              \
	"; accepted are -c FILE, -R, --daemonize, --pid, --error-log, --listen, --children, " \
	"--user, --group, --spawn, --name, "                                                  \
	"-o KEY=VALUE, and -- PROGRAM at the end"
#define VERBS                                                                                 \
	"; accepted are run, check, upstream, import, status, reload, scale, upgrade, stop, " \
	"spawn-fcgi, "                                                                        \
	"help and version"

static void test_usage_errors(void **state)
{
	static const struct {
		const char *words[6];
		const char *error;
	} examples[] = {
		{{NULL}, "the verb is missing" VERBS},
		{{"start"}, "start: unknown verb" VERBS},
		{{""}, ": unknown verb" VERBS},
		{{"-c", "x", "run"}, "-c: options stand behind the verb" VERBS},
		{{"help", "run"}, "run: unexpected; help takes no arguments"},
		{{"-V", "-x"}, "-x: unexpected; -V takes no arguments"},
		{{"run", "--lisen", "x"}, "--lisen: unknown option" ACCEPTED},
		{{"run", "--lisen=x"}, "--lisen: unknown option" ACCEPTED},
		{{"run", "-Rx"}, "-x: unknown option" ACCEPTED},
		/* What is left of such a word must not be read by whoever comes next. */
		{{"run", "--user=y", "-xR"}, "-x: unknown option" ACCEPTED},
		{{"run", "-\x01"}, "-\x01: unknown option" ACCEPTED},
		{{"run", "x"},
		 "x: unexpected; the program stands behind \"--\", and "
		 "accepted are -c FILE, -R, --daemonize, --pid, --error-log, --listen, --children, "
		 "--user, --group, "
		 "--spawn, --name, -o KEY=VALUE, and -- PROGRAM at the end"},
		{{"run", "-"},
		 "-: unexpected; the program stands behind \"--\", and "
		 "accepted are -c FILE, -R, --daemonize, --pid, --error-log, --listen, --children, "
		 "--user, --group, "
		 "--spawn, --name, -o KEY=VALUE, and -- PROGRAM at the end"},
		/* This "--" is the argument of -c, so x is no program. */
		{{"run", "-c", "--", "x"},
		 "x: unexpected; the program stands behind \"--\", and "
		 "accepted are -c FILE, -R, --daemonize, --pid, --error-log, --listen, --children, "
		 "--user, --group, "
		 "--spawn, --name, -o KEY=VALUE, and -- PROGRAM at the end"},
		{{"run", "x", "--lisen"},
		 "x: unexpected; the program stands behind \"--\", and "
		 "accepted are -c FILE, -R, --daemonize, --pid, --error-log, --listen, --children, "
		 "--user, --group, "
		 "--spawn, --name, -o KEY=VALUE, and -- PROGRAM at the end"},
		{{"run", "--help=x"}, "--help: takes no argument"},
		{{"run", "--allow-to-run-as-root="}, "--allow-to-run-as-root: takes no argument"},
		{{"run", "-c"}, "-c: its argument is missing"},
		{{"run", "-Rc"}, "-c: its argument is missing"},
		{{"run", "--config"}, "--config: its argument is missing"},
		{{"run", "-c", ""}, "-c: its argument is missing, an empty one is not accepted"},
		{{"run", "--listen"}, "--listen: its argument is missing"},
		{{"run", "--listen="},
		 "--listen: its argument is missing, an empty one is not "
		 "accepted"},
		{{"run", "-o"}, "-o: its argument is missing"},
		{{"run", "-o", "user"}, "-o: 'user' is no setting; accepted is -o KEY=VALUE"},
		{{"run", "-o", "=x"}, "-o: '=x' is no setting; accepted is -o KEY=VALUE"},
		{{"run", "-o", "env[a=b]"},
		 "-o: 'env[a=b]' is no setting; accepted is -o "
		 "KEY=VALUE"},
		{{"run", "-c", "x", "-cy"}, "-c: is given twice; it is accepted once"},
		{{"run", "--name=x", "--name=x"}, "--name: is given twice; it is accepted once"},
		{{"run", "--"}, "--: the program is missing; accepted is -- PROGRAM [ARG...]"},
		{{"run", "-c", "x", "--user=y"},
		 "--user: is not accepted together with -c FILE; "
		 "give one of them"},
		{{"run", "-o", "a=b", "-c", "x"},
		 "-o: is not accepted together with -c FILE; give "
		 "one of them"},
		{{"run", "--config=x", "--", "y"},
		 "--: is not accepted together with -c FILE; "
		 "there the pool has the key program"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		const char *words[7] = {NULL};
		struct parsed parsed;
		char expected[300];

		memcpy(words, examples[i].words, sizeof(examples[i].words));
		parse(&parsed, words);
		(void)snprintf(expected, sizeof(expected), "command line: %s", examples[i].error);
		assert_string_equal(parsed.error, expected);
		assert_int_equal(parsed.status, -EINVAL);
		/* Nothing was stored. */
		assert_int_equal(parsed.command.verb, COMMAND_VERSION);
		assert_string_equal(parsed.said, "");
		done(&parsed);
	}
}

/* Errors of values are the configuration's, and name the option as it was written. */
static void test_value_errors(void **state)
{
	static const struct {
		const char *words[8];
		const char *said;
	} examples[] = {
		{{"run", "--children=x", "--listen=@x"},
		 "E command line: --children: 'x' is not accepted; accepted is a whole number "
		 "from 1 to 10000\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "pm.max_children=2"},
		 "E command line: -o pm.max_children: is given twice, first as --children; it is "
		 "accepted once\n"},
		{{"run", "--listen=@x", "--children=1", "--listen", "@x"},
		 "E command line: --listen: @x collides with @x of pool www, command line; "
		 "accepted is an address that nobody else has\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "pm.max_childen=2"},
		 "E command line: -o pm.max_childen: unknown key; did you mean pm.max_children?\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "log_level=debug"},
		 "E command line: -o log_level: is not accepted in the section of a pool; it "
		 "belongs in [global]\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "include=x"},
		 "E command line: -o include: is accepted in a file only\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "env[A=x"},
		 "E command line: -o env[A: ']' is missing behind the key; accepted is "
		 "KEY[NAME]=VALUE\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "php_value[a]=x\ny"},
		 "E command line: -o php_value[a]: a newline in the value is not accepted\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "program=x", "--", "y"},
		 "E command line: --: is given twice, first as -o program; it is accepted once\n"},
		{{"run", "--listen=@x", "--children=1", "--", ""},
		 "E command line: --: the program's name is empty; accepted is a program and its "
		 "arguments\n"},
		{{"run", "--listen=@x", "--children=1", "--", "php-cgi -n"},
		 "E command line: --: 'php-cgi -n' is one word because of its quotes; write it "
		 "without them\n"},
		{{"run", "--listen=@x", "--children=1", "-o", "program=\"php-cgi -n\""},
		 "E command line: -o program: 'php-cgi -n' is one word because of its quotes; "
		 "write it without them\n"},
		{{"run", "--listen=@x", "--name=a/b", "--children=x"},
		 "E command line: --name: 'a/b' is no name for a pool; accepted are up to 64 "
		 "letters, digits and any of \"_-.@+\", with a letter, a digit or '_' at the "
		 "start\nE command line: --children: 'x' is not accepted; accepted is a whole "
		 "number from 1 to 10000\n"},
		{{"run", "--name=Global", "--listen=@x", "--children=1"},
		 "E command line: --name: 'Global' is no name for a pool; accepted are up to 64 "
		 "letters, digits and any of \"_-.@+\", with a letter, a digit or '_' at the "
		 "start\n"},
		{{"run", "--", "php-cgi"},
		 "E command line: --listen: pool www has no address; needed is one such as "
		 "/run/berth/$pool-%n.sock or 127.0.0.1:9000+%n\n"
		 "E command line: --children: pool www has no number of workers; needed is a "
		 "whole number from 1 to 10000\n"},
		{{"run", "--listen=@x", "--children=1", "--user=daemon"},
		 "W command line: --user: ignored: not started as root\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		const char *words[9] = {NULL};
		struct parsed parsed;

		memcpy(words, examples[i].words, sizeof(examples[i].words));
		parse(&parsed, words);
		assert_int_equal(parsed.status, 0);
		assert_string_equal(parsed.said, examples[i].said);
		assert_int_equal(parsed.conf == NULL, *examples[i].said == 'E');
		done(&parsed);
	}
}

/* Errors are cut, not written beyond the buffer. */
static void test_small_buffer(void **state)
{
	char program[] = "berth";
	char verb[] = "start";
	char *argv[] = {program, verb, NULL};
	struct command command;

	(void)state;
	for (size_t size = 1; size < 60; size++) {
		char *error = malloc(size);

		assert_non_null(error);
		assert_int_equal(command_parse(2, argv, NULL, &command, error, size), -EINVAL);
		assert_non_null(memchr(error, '\0', size));
		free(error);
	}
}

/* The help names every option, and each line fits a terminal. */
static void test_help(void **state)
{
	static const char *const words[] = {
		"run",	    "check",	"help",	  "version",
		"-c",	    "--config", "-R",	  "--allow-to-run-as-root",
		"--listen", "--user",	"--name", "--children",
		"--group",  "--spawn",	"-o",	  COMMAND_CONF_DEFAULT};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	command_help(out);
	assert_int_equal(fclose(out), 0);
	for (size_t i = 0; i < COUNT(words); i++)
		assert_non_null(strstr(text, words[i]));
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 80);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs),	       cmocka_unit_test(test_file),
		cmocka_unit_test(test_upstream_words), cmocka_unit_test(test_pool),
		cmocka_unit_test(test_pool_defaults),  cmocka_unit_test(test_usage_errors),
		cmocka_unit_test(test_value_errors),   cmocka_unit_test(test_small_buffer),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
