/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the configuration's keys: what each accepts, and what is said of everything else. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf_fixture.h"
#include "fpm/conf/conf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Reads a pool with one more line, which is expected to be refused with this text behind "f:4: ". */
static void check_line(const char *line, const char *expected)
{
	char *text = NULL;
	char *said = NULL;

	assert_int_not_equal(asprintf(&text, POOL "%s\n", line), -1);
	assert_int_not_equal(asprintf(&said, "E f:4: %s\n", expected), -1);
	check_said(text, &as_user, said);
	free(said);
	free(text);
}

static void test_defaults(void **state)
{
	struct conf *conf = read_good(POOL, &as_user);
	const struct conf_pool *const pool = conf->pools;

	(void)state;
	assert_null(conf->error_log);
	assert_int_equal(conf->log_level, LOG_LEVEL_NOTICE);
	assert_int_equal(conf->process_control_timeout_ms, 10000);
	assert_null(pool->next);
	assert_string_equal(pool->name, "w");
	assert_string_equal(pool->origin.file, "f");
	assert_int_equal(pool->origin.line, 1);
	assert_int_equal(pool->listen_count, 1);
	assert_string_equal(pool->listen[0].address.text, "/run/t");
	assert_string_equal(pool->listen[0].origin.file, "f");
	assert_int_equal(pool->listen[0].origin.line, 2);
	assert_int_equal(pool->backlog, 1024);
	assert_int_equal(pool->listen_mode, 0660);
	assert_null(pool->allowed_uids);
	assert_int_equal(pool->peers.network_count, 0);
	assert_int_equal(pool->peers.uid_count, 0);
	assert_int_equal(pool->listen_uid, (uid_t)-1);
	assert_int_equal(pool->listen_gid, (gid_t)-1);
	assert_int_equal(pool->identity.uid, (uid_t)-1);
	assert_null(pool->user);
	assert_null(pool->group);
	assert_null(pool->chdir);
	assert_int_equal(pool->pm, CONF_PM_STATIC);
	assert_int_equal(pool->max_children, 2);
	assert_true(pool->clear_env);
	assert_int_equal(pool->env_count, 0);
	assert_int_equal(pool->php_count, 0);
	assert_int_equal(pool->process_control_timeout_ms, 10000);
	assert_int_equal(pool->process_start_timeout_ms, 30000);
	assert_int_equal(pool->warmup_count, 0);
	assert_int_equal(pool->warmup_timeout_ms, 30000);
	assert_string_equal(pool->argv[0], "php-cgi");
	assert_null(pool->argv[1]);
	assert_int_equal(pool->spawn, CONF_SPAWN_TEMPLATE);
	conf_free(conf);
}

static void test_values(void **state)
{
	struct conf *conf = read_good("log_level = debug\n"
				      "[global]\nerror_log = /var/log/b.log\n"
				      "[a.b-C_1@x+y]\n"
				      "listen = 127.0.0.1:9000+%n\n"
				      "  listen = /run/$pool/$pool-%n ; two\n"
				      "listen.backlog = 65535\nlisten.mode = 666\n"
				      "pm = static\npm.max_children = 10000\n"
				      "chdir = '/srv/$pool'\nclear_env = No\n"
				      "process_start_timeout = 1h\n"
				      "program = /bin/a -x$pool 'b c' \"d\\\"e\\nf\" g\"h i\"j ''\n"
				      "spawn = template\n"
				      "[z]\nspawn = exec\nlisten = @z\npm.max_children = 1\n"
				      "process_control_timeout = 5m\n"
				      "[GLOBAL]\nprocess_control_timeout = 250ms\n",
				      &as_user);
	static const char *const argv[] = {"/bin/a",  "-xa.b-C_1@x+y", "b c",
					   "d\"e\nf", "gh ij",	       ""};
	const struct conf_pool *const pool = conf->pools;

	(void)state;
	assert_string_equal(conf->error_log, "/var/log/b.log");
	assert_int_equal(conf->log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(conf->process_control_timeout_ms, 250);
	assert_int_equal(pool->listen_count, 2);
	assert_string_equal(pool->listen[1].address.text, "/run/a.b-C_1@x+y/a.b-C_1@x+y-%n");
	assert_int_equal(pool->backlog, 65535);
	assert_int_equal(pool->listen_mode, 0666);
	assert_int_equal(pool->max_children, 10000);
	assert_string_equal(pool->chdir, "/srv/a.b-C_1@x+y");
	assert_false(pool->clear_env);
	/* The default of [global] holds wherever that stands. */
	assert_int_equal(pool->process_control_timeout_ms, 250);
	assert_int_equal(pool->process_start_timeout_ms, 3600000);
	assert_int_equal(pool->spawn, CONF_SPAWN_TEMPLATE);
	assert_int_equal(pool->next->spawn, CONF_SPAWN_EXEC);
	for (size_t i = 0; i < COUNT(argv); i++)
		assert_string_equal(pool->argv[i], argv[i]);
	assert_null(pool->argv[COUNT(argv)]);
	assert_string_equal(pool->next->name, "z");
	assert_int_equal(pool->next->process_control_timeout_ms, 300000);
	conf_free(conf);
}

/* The quotes of a program are those of its words, wherever they stand. */
static void test_program(void **state)
{
	static const struct {
		const char *value;
		const char *words[5];
	} programs[] = {
		{"/opt/my php/php-cgi", {"/opt/my", "php/php-cgi"}},
		{"\"/opt/my php/php-cgi\"", {"/opt/my php/php-cgi"}},
		{"'/opt/my php/php-cgi' ; c", {"/opt/my php/php-cgi"}},
		{"'/opt/my php/php-cgi';c", {"/opt/my php/php-cgi"}},
		{"\"/opt/my php/php-cgi\" -d x=1", {"/opt/my php/php-cgi", "-d", "x=1"}},
		{"'/opt/$pool ; b'/\"php cgi\" -n ; c", {"/opt/w ; b/php cgi", "-n"}},
		{"\"/a\\\"b\\\\c\\nd\" \"\" ''", {"/a\"b\\c\nd", "", ""}},
		{"\"php-cgi\" 'a;b' c;d", {"php-cgi", "a;b", "c;d"}},
		{"\"php-cgi\"", {"php-cgi"}},
		{"./my' c'gi", {"./my cgi"}},
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++) {
		struct conf *conf;
		size_t count = 0;

		(void)snprintf(text, sizeof(text), POOL "program = %s\n", programs[i].value);
		conf = read_good(text, &as_user);
		for (; programs[i].words[count] != NULL; count++) {
			assert_non_null(conf->pools->argv[count]);
			assert_string_equal(conf->pools->argv[count], programs[i].words[count]);
		}
		assert_null(conf->pools->argv[count]);
		conf_free(conf);
	}
}

/* What is a list of words for a program is an error for any other key. */
static void test_behind_quotes(void **state)
{
	static const char garbage[] =
		"E f:4: only a comment may follow the closing quote of a value; put all of the "
		"value in one pair of quotes\n";

	(void)state;
	check_said(POOL "chdir = '/a' /b\n", &as_user, garbage);
	check_said(POOL "env[A] = \"b\"c\n", &as_user, garbage);
	check_said(POOL "include = 'b' 'c'\n", &as_user, garbage);
	check_said(POOL "unknown = 'b' 'c'\n", &as_user, garbage);
	check_said(POOL "program = 'b\n", &as_user,
		   "E f:4: the quote in front of the value is not closed in this line\n");
	check_said(POOL "[GLOBAL]\nprogram = 'b' c\n", &as_user,
		   "E f:5: program: is not accepted in [global]; it belongs in the section of a "
		   "pool\n");
}

static void test_spellings(void **state)
{
	static const char *const yes[] = {"yes", "YES", "on", "On", "true", "TRUE", "1"};
	static const char *const no[] = {"no", "No", "off", "OFF", "false", "False", "0"};
	static const struct {
		const char *text;
		uint32_t ms;
	} times[] = {
		{"0", 0},	{"10", 10000},	    {"10s", 10000},    {"1ms", 1},
		{"2m", 120000}, {"24h", 86400000u}, {"1d", 86400000u}, {"86400000ms", 86400000u},
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(yes); i++) {
		const bool on = i < COUNT(yes);
		const char *const word = on ? yes[i] : no[i - COUNT(yes)];
		struct conf *conf;

		(void)snprintf(text, sizeof(text), POOL "clear_env = %s\nphp_flag[a] = %s\n", word,
			       word);
		conf = read_good(text, &as_user);
		assert_int_equal(conf->pools->clear_env, on);
		assert_string_equal(conf->pools->php[0].value, on ? "1" : "0");
		conf_free(conf);
	}
	for (size_t i = 0; i < COUNT(times); i++) {
		struct conf *conf;

		(void)snprintf(text, sizeof(text), POOL "process_control_timeout = %s\n",
			       times[i].text);
		conf = read_good(text, &as_user);
		assert_int_equal(conf->pools->process_control_timeout_ms, times[i].ms);
		conf_free(conf);
	}
}

static void test_backlog_of_fpm(void **state)
{
	struct conf *conf = read_good(POOL "listen.backlog = -1\n", &as_user);

	(void)state;
	assert_int_equal(conf->pools->backlog, 1024);
	conf_free(conf);
}

static void test_env(void **state)
{
	struct conf *conf;
	static const struct {
		const char *name;
		const char *value;
		const char *source;
	} expected[] = {
		{"A", "a b\n;c", "BERTH_TEST_A"},
		{"B", "$BERTH_TEST_A/x", NULL},
		{"C", "$BERTH_TEST_A", NULL},
		{"D", "$$X", NULL},
		{"_e1", "", NULL},
		{"F", "-w-$pool-", NULL},
		{"G", "$", NULL},
		{"H", "$1", NULL},
		{"PHP_FCGI_CHILDREN", "2", NULL},
	};

	(void)state;
	assert_int_equal(setenv("BERTH_TEST_A", "a b\n;c", 1), 0);
	assert_int_equal(unsetenv("BERTH_TEST_B"), 0);
	conf = read_good(POOL "env[A] = $BERTH_TEST_A\nenv[B] = $BERTH_TEST_A/x\n"
			      "env[C] = $$BERTH_TEST_A\nenv[D] = $$$X\nenv[_e1] =\n"
			      "env[F] = -$pool-$$pool-\nenv[G] = \"$\"\nenv[H] = $1\n"
			      "env[PHP_FCGI_CHILDREN] = 2\nspawn = exec\n",
			 &as_user);
	assert_int_equal(conf->pools->env_count, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_string_equal(conf->pools->env[i].name, expected[i].name);
		assert_string_equal(conf->pools->env[i].value, expected[i].value);
		if (expected[i].source != NULL)
			assert_string_equal(conf->pools->env[i].source, expected[i].source);
		else
			assert_null(conf->pools->env[i].source);
	}
	conf_free(conf);
	check_said(POOL "env[A] = $BERTH_TEST_B\n", &as_user,
		   "W f:4: env[A]: BERTH_TEST_B is not set in berth's environment, so this is "
		   "empty\n");
}

static void test_php(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		bool admin;
	} expected[] = {
		{"memory_limit", "1G", false},
		{"display_errors", "0", false},
		{"error_log", "/var/log/w;x", true},
		{"opcache.enable", "1", true},
		{"extension", "a", true},
		{"extension", "b", true},
		{"zend_extension", "c", false},
		{"zend_extension", "d", false},
		{"disable_functions", "", true},
	};
	struct conf *conf = read_good(POOL "php_value[memory_limit] = 1G\n"
					   "php_flag[display_errors] = off\n"
					   "php_admin_value[error_log] = \"/var/log/$pool;x\"\n"
					   "php_admin_flag[opcache.enable] = on\n"
					   "php_admin_value[extension] = a\n"
					   "php_admin_value[extension] = b\n"
					   "php_value[zend_extension] = c\n"
					   "php_value[zend_extension] = d\n"
					   "php_admin_value[disable_functions] =\n",
				      &as_user);

	(void)state;
	assert_int_equal(conf->pools->php_count, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_string_equal(conf->pools->php[i].name, expected[i].name);
		assert_string_equal(conf->pools->php[i].value, expected[i].value);
		assert_int_equal(conf->pools->php[i].admin, expected[i].admin);
	}
	conf_free(conf);
}

/* One line each that no pool may hold. */
static void test_refused_values(void **state)
{
	static const char *const lines[][2] = {
		{"pm.max_children", "'=' is missing; accepted are \"key = value\", \"[section]\" "
				    "and \"; comment\""},
		{"listen.backlog = 0", "listen.backlog: '0' is not accepted; accepted is a whole "
				       "number from 1 to 65535"},
		{"listen.backlog = 65536", "listen.backlog: '65536' is not accepted; accepted is "
					   "a whole number from 1 to 65535"},
		{"listen.backlog = -2", "listen.backlog: '-2' is not accepted; accepted is a "
					"whole number from 1 to 65535"},
		{"listen.backlog = 99999999999999999999",
		 "listen.backlog: '99999999999999999999' is not accepted; accepted is a whole "
		 "number from 1 to 65535"},
		{"listen.backlog = 5x", "listen.backlog: '5x' is not accepted; accepted is a "
					"whole number from 1 to 65535"},
		{"listen.backlog =", "listen.backlog: the value is empty; accepted is a whole "
				     "number from 1 to 65535"},
		{"listen.mode = 0668", "listen.mode: '0668' is not accepted; accepted is an octal "
				       "mode from 0000 to 0777, such as 0660"},
		{"listen.mode = 1000", "listen.mode: '1000' is not accepted; accepted is an octal "
				       "mode from 0000 to 0777, such as 0660"},
		{"listen.owner =", "listen.owner: the value is empty; accepted is the name or "
				   "number of a user"},
		{"listen.group = ''", "listen.group: the value is empty; accepted is the name or "
				      "number of a group"},
		{"user =", "user: the value is empty; accepted is the name or number of a user"},
		{"group =", "group: the value is empty; accepted is the name or number of a group"},
		{"pm = Static",
		 "pm: 'Static' is not accepted; accepted is static, dynamic or ondemand"},
		{"chdir = srv", "chdir: 'srv' is not accepted; accepted is an absolute path"},
		{"clear_env = maybe", "clear_env: 'maybe' is not accepted; accepted is one of yes, "
				      "no, on, off, true, false, 1, 0"},
		{"spawn = patched", "spawn: 'patched' is not accepted; accepted is template or "
				    "exec"},
		{"process_control_timeout = 2d",
		 "process_control_timeout: '2d' is not accepted; accepted is a time from 0 to 1d, "
		 "such as 500ms, 10, 10s, 5m or 1h"},
		{"process_control_timeout = 1.5s",
		 "process_control_timeout: '1.5s' is not accepted; accepted is a time from 0 to "
		 "1d, such as 500ms, 10, 10s, 5m or 1h"},
		{"process_control_timeout = s",
		 "process_control_timeout: 's' is not accepted; accepted is a time from 0 to 1d, "
		 "such as 500ms, 10, 10s, 5m or 1h"},
		{"process_start_timeout = 999ms",
		 "process_start_timeout: '999ms' is not accepted; accepted is a time from 1s to "
		 "1h, such as 1500ms, 10, 10s or 5m"},
		{"process_start_timeout = 3601",
		 "process_start_timeout: '3601' is not accepted; accepted is a time from 1s to "
		 "1h, such as 1500ms, 10, 10s or 5m"},
		{"program =", "program: the program's name is empty; accepted is a program and "
			      "its arguments"},
		{"program = '' x", "program: the program's name is empty; accepted is a program "
				   "and its arguments"},
		{"program = \"php-cgi -c /etc/php.ini\"",
		 "program: 'php-cgi -c /etc/php.ini' is one word because of its quotes; write it "
		 "without them"},
		{"program = 'php-cgi\t-n' x", "program: 'php-cgi?-n' is one word because of its "
					      "quotes; write it without them"},
		{"program = x'y", "program: 'x'y' is not accepted; accepted is a program and its "
				  "arguments, each quote closed"},
		{"env[1A] = x", "env[1A]: '1A' is no name for a variable; accepted are letters, "
				"digits and '_', with no digit at the start"},
		{"env[] = x", "env[]: '' is no name for a variable; accepted are letters, digits "
			      "and '_', with no digit at the start"},
		{"env[A-B] = x", "env[A-B]: 'A-B' is no name for a variable; accepted are letters, "
				 "digits and '_', with no digit at the start"},
		{"env[LD_PRELOAD] = x", "env[LD_PRELOAD]: berth sets this variable itself; "
					"accepted is any but LD_PRELOAD and BERTH_..."},
		{"env[BERTH_X] = x", "env[BERTH_X]: berth sets this variable itself; accepted is "
				     "any but LD_PRELOAD and BERTH_..."},
		{"env[PHP_FCGI_CHILDREN] = 2",
		 "env[PHP_FCGI_CHILDREN]: is not accepted with spawn = template: php-cgi would "
		 "fork a second family of workers; use pm.max_children"},
		{"php_flag[a] = maybe", "php_flag[a]: 'maybe' is not accepted; accepted is one of "
					"on, off, yes, no, true, false, 1, 0"},
		{"php_value[a b] = c", "php_value[a b]: 'a b' is no name for a PHP setting; "
				       "accepted are letters, digits and any of \"_.-\""},
		{"php_value[] = c", "php_value[]: '' is no name for a PHP setting; accepted are "
				    "letters, digits and any of \"_.-\""},
		{"include = x.conf", "include: is accepted in a file only"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		check_line(lines[i][0], lines[i][1]);
}

static void test_unknown_keys(void **state)
{
	static const char *const lines[][2] = {
		{"pm.max_childen = 1", "pm.max_childen: unknown key; did you mean "
				       "pm.max_children?"},
		{"listne = 1", "listne: unknown key; did you mean listen?"},
		{"usr = 1", "usr: unknown key; did you mean user?"},
		{"php_vaule[a] = 1", "php_vaule[a]: unknown key; did you mean php_value?"},
		{"colour = 1", "colour: unknown key; berth.conf(5) lists those accepted"},
		{"request_terminate_timeout_track_finished = x",
		 "request_terminate_timeout_track_finished: is a php-fpm key that berth does not "
		 "have"},
		{"slowlog = x", "slowlog: is a php-fpm key that berth does not have"},
		{"security.limit_extensions = .php",
		 "security.limit_extensions: is a php-fpm key that berth does not have"},
		{"error_log = stderr", "error_log: is not accepted in the section of a pool; it "
				       "belongs in [global]"},
		{"listen[1] = x", "listen[1]: takes no name in brackets: listen = VALUE"},
		{"env = x", "env: a name in brackets is missing: env[NAME]"},
		{"php_admin_flag = on", "php_admin_flag: a name in brackets is missing: "
					"php_admin_flag[SETTING]"},
		{"\xff\x1b[A]=1", "\xff?[A]: unknown key; berth.conf(5) lists those accepted"},
		{"[w] x", "only a comment may follow the ']' of a section\n"
			  "E f:4: [w] is there twice, first at f:1; a pool has one section"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		check_line(lines[i][0], lines[i][1]);
	check_said("user = x\nlog_buffering = no\nlog_level = loud\nerror_log = x\nerror_log =\n"
		   "log_lvl = debug\n" POOL,
		   &as_user,
		   "E f:1: user: is not accepted in [global]; it belongs in the section of a pool\n"
		   "E f:2: log_buffering: is a php-fpm key that berth does not have\n"
		   "E f:3: log_level: 'loud' is not accepted; accepted is one of alert, error, "
		   "warning, notice, debug\n"
		   "E f:4: error_log: 'x' is not accepted; accepted is an absolute path or "
		   "stderr\n"
		   "E f:5: error_log: is given twice, first at f:4; it is accepted once\n"
		   "E f:6: log_lvl: unknown key; did you mean log_level?\n");
}

static void test_repetitions(void **state)
{
	(void)state;
	check_said(POOL "pm = static\nenv[A] = 1\nenv[B] = 1\n\npm = static\nenv[A] = 2\n"
			"pm.max_children = 3\nphp_value[a] = 1\nphp_admin_flag[a] = on\n"
			"php_value[b] = 1\nphp_value[b] = 1\n",
		   &as_user,
		   "E f:8: pm: is given twice, first at f:4; it is accepted once\n"
		   "E f:9: env[A]: is given twice, first at f:5; it is accepted once\n"
		   "E f:10: pm.max_children: is given twice, first at f:3; it is accepted once\n"
		   "E f:12: php_admin_flag[a]: is given twice, first as php_value[a] at f:11; it "
		   "is accepted once\n"
		   "E f:14: php_value[b]: is given twice, first as php_value[b] at f:13; it is "
		   "accepted once\n");
}

#define NAME_64 "abcdefghijklmnopabcdefghijklmnopabcdefghijklmnopabcdefghijklmnop"

static void test_sections(void **state)
{
	static const char rule[] =
		" is no name for a pool; accepted are up to 64 letters, digits and any of "
		"\"_-.@+\", with a letter, a digit or '_' at the start\n";
	char expected[1024];

	(void)state;
	check_said("", &as_user,
		   "E f: there is no pool; at least one section [NAME] with listen and "
		   "pm.max_children is needed\n");
	check_said("[a]\n\n[b]\nlisten = /x\n[c]\npm.max_children = 1\n", &as_user,
		   "E f:1: listen: pool a has no address; needed is one such as "
		   "/run/berth/$pool-%n.sock or 127.0.0.1:9000+%n\n"
		   "E f:1: pm.max_children: pool a has no number of workers; needed is a whole "
		   "number from 1 to 10000\n"
		   "E f:3: pm.max_children: pool b has no number of workers; needed is a whole "
		   "number from 1 to 10000\n"
		   "E f:5: listen: pool c has no address; needed is one such as "
		   "/run/berth/$pool-%n.sock or 127.0.0.1:9000+%n\n");
	/* The keys of a section that can't be used are checked all the same. */
	check_said(POOL "[w]\nlisten = /x\nfoo = 1\n", &as_user,
		   "E f:4: [w] is there twice, first at f:1; a pool has one section\n"
		   "E f:6: foo: unknown key; berth.conf(5) lists those accepted\n");
	(void)snprintf(expected, sizeof(expected), "E f:4: [a/b]%sE f:5: []%sE f:6: [.x]%s", rule,
		       rule, rule);
	check_said(POOL "[a/b]\n[]\n[.x]\n", &as_user, expected);
	/* Names of 64 characters, and of one more. */
	conf_free(read_good("[" NAME_64 "]\nlisten = /x\npm.max_children = 1\n", &as_user));
	(void)snprintf(expected, sizeof(expected), "E f:4: [" NAME_64 "]%s", rule);
	check_said(POOL "[" NAME_64 "x]\n", &as_user, expected);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n' ? 1 : 0;
	return count;
}

/* Writes a pool and @count lines, and returns what is said of it. */
static char *read_repeated(const char *format, int count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct conf *conf;
	char *said;

	assert_non_null(out);
	(void)fputs(POOL, out);
	for (int i = 0; i < count; i++)
		(void)fprintf(out, "%s%d]\n", format, i);
	assert_int_equal(fclose(out), 0);
	said = read_text(text, &as_user, &conf);
	conf_free(conf);
	free(text);
	return said;
}

static void test_bounds(void **state)
{
	char *said = read_repeated("foo = [", 51);

	(void)state;
	assert_int_equal(count_lines(said), 51);
	assert_non_null(strstr(said,
			       "\nE f:53: foo: unknown key; berth.conf(5) lists those accepted\n"
			       "E too many errors, the rest is not shown\n"));
	free(said);
	said = read_repeated("foo = [", 50);
	assert_int_equal(count_lines(said), 50);
	assert_null(strstr(said, "too many"));
	free(said);
	said = read_repeated("[p", 1000);
	assert_non_null(strstr(said, "E f:1003: more than 1000 sections are not accepted\n"));
	free(said);
	said = read_repeated("listen = /x/[", 1000);
	assert_non_null(strstr(said, "E f:1002: listen: more than 1000 settings in one section are "
				     "not accepted\n"));
	free(said);
	check_said("[a]\npm.max_children = 10000\n"
		   "listen=/a%n\nlisten=/b%n\nlisten=/c%n\nlisten=/d%n\nlisten=/e%n\nlisten=/f%n\n"
		   "listen=/g%n\nlisten=/h%n\nlisten=/i%n\nlisten=/j%n\nlisten=/k%n\nlisten=/l%n\n"
		   "listen=/m%n\nlisten=/n%n\nlisten=/o%n\nlisten=/p%n\nlisten=/q%n\nlisten=/r%n\n"
		   "listen=/s%n\nlisten=/t%n\nlisten=/u%n\nlisten=/v%n\nlisten=/w%n\nlisten=/x%n\n"
		   "listen=/y%n\nlisten=/z%n\nlisten=/A%n\n",
		   &as_user,
		   "E f:29: listen: all pools together would have more than 262144 listening "
		   "sockets, which is not accepted\n");
}

static void test_long_values(void **state)
{
	const size_t length = 100000;
	char *value = malloc(length + 1);
	char *text = NULL;
	struct conf *conf;

	(void)state;
	assert_non_null(value);
	memset(value, 'v', length);
	value[length] = '\0';
	assert_int_not_equal(asprintf(&text, POOL "php_value[a] = %s\n", value), -1);
	conf = read_good(text, &as_user);
	assert_string_equal(conf->pools->php[0].value, value);
	conf_free(conf);
	free(text);
	assert_int_not_equal(asprintf(&text, POOL "php_flag[a] = %s\n%s = 1\n", value, value), -1);
	value[64] = '\0';
	{
		char *expected = NULL;

		assert_int_not_equal(asprintf(&expected,
					      "E f:4: php_flag[a]: '%s' is not accepted; accepted "
					      "is one of on, off, yes, no, true, false, 1, 0\n"
					      "E f:5: %s: unknown key; berth.conf(5) lists those "
					      "accepted\n",
					      value, value),
				     -1);
		check_said(text, &as_user, expected);
		free(expected);
	}
	free(text);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_behind_quotes),
		cmocka_unit_test(test_backlog_of_fpm),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_php),
		cmocka_unit_test(test_refused_values),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_repetitions),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_long_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
