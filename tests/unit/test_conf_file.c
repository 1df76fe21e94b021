/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of configuration files: includes, line numbers behind them, and the dump. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fpm/conf/conf.h"
#include "fpm/conf/conf_dump.h"
#include "fpm/worker/abi.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct conf_rules as_root = {.euid = 0};
static const struct conf_rules as_user = {.euid = 1000};

/* Each test has a folder of its own and works in it. */
static char folder[64];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/test_conf_file.XXXXXX");
	if (mkdtemp(folder) == NULL || chdir(folder) == -1 || mkdir("sub", 0700) == -1 ||
	    mkdir("sub/[a]*\\", 0700) == -1 || mkdir("sub/folder.conf", 0700) == -1)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	/* The folder's name is ours, so the shell has nothing to misread. */
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1; /* NOLINT(cert-env33-c) */
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_not_equal(fputs(text, file), EOF);
	assert_int_equal(fclose(file), 0);
}

static void report_cb(void *data, enum conf_severity severity, const char *text)
{
	(void)fprintf(data, "%c %s\n", severity == CONF_ERROR ? 'E' : 'W', text);
}

/* Reads a file; @ret_conf is NULL if it is refused. Return: what was reported */
static char *read_file(const char *path, const struct conf_rules *rules, struct conf **ret_conf)
{
	struct conf_builder *builder;
	char *said = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&said, &size);
	int r;

	assert_non_null(out);
	builder = conf_builder_new(report_cb, out);
	assert_non_null(builder);
	*ret_conf = NULL;
	conf_builder_read(builder, path);
	r = conf_builder_finish(builder, rules, ret_conf);
	conf_builder_free(builder);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(r, *ret_conf != NULL ? 0 : -EINVAL);
	return said;
}

static struct conf *read_good(const char *path, const struct conf_rules *rules)
{
	struct conf *conf;
	char *said = read_file(path, rules, &conf);

	assert_string_equal(said, "");
	assert_non_null(conf);
	free(said);
	return conf;
}

static void check_said(const char *path, const char *expected)
{
	struct conf *conf;
	char *said = read_file(path, &as_user, &conf);

	assert_string_equal(said, expected);
	conf_free(conf);
	free(said);
}

static void test_unreadable(void **state)
{
	char *large = malloc((1U << 20) + 2);

	(void)state;
	assert_non_null(large);
	memset(large, ';', (1U << 20) + 1);
	large[(1U << 20) + 1] = '\0';
	write_file("large", large);
	large[1U << 20] = '\0';
	write_file("fits", large);
	free(large);
	check_said("missing", "E missing: can't be read: No such file or directory\n");
	check_said("sub", "E sub: can't be read: Is a directory\n");
	check_said("large", "E large: the file is larger than the 1048576 bytes that are "
			    "accepted\n");
	check_said("fits", "E fits: there is no pool; at least one section [NAME] with listen and "
			   "pm.max_children is needed\n");
}

static void test_pipe(void **state)
{
	static const char text[] = "[w]\nlisten = /x\npm.max_children = 1\n";
	struct conf *conf;
	char path[32];
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], text, strlen(text)), strlen(text));
	(void)close(fds[1]);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	conf = read_good(path, &as_user);
	assert_string_equal(conf->pools->origin.file, path);
	conf_free(conf);
	(void)close(fds[0]);
}

/* Files come in order, relative to the folder of the file that names them. */
static void test_include(void **state)
{
	struct conf *conf;
	char *main_path = NULL;

	(void)state;
	write_file("main.conf", "include = sub/*.conf\n"
				"log_level = error\n"
				"[last]\n include = \"common.inc\" ; comment\nlisten = /l\n");
	write_file("sub/b.conf", "[b]\nlisten = /b\ninclude = ../common.inc\n");
	write_file("sub/a.conf", "process_control_timeout = 3\n[a]\ninclude = ?a?*/x.inc\n");
	write_file("sub/[a]*\\/x.inc", "include = y.i?c\n");
	write_file("sub/[a]*\\/y.inc", "listen = /a\ninclude = ../../common.inc\n");
	write_file("sub/c.txt", "[c]\n");
	write_file("common.inc", "pm.max_children = 7\n");
	assert_int_not_equal(asprintf(&main_path, "%s/main.conf", folder), -1);
	for (int i = 0; i < 2; i++) {
		conf = read_good(i == 0 ? "main.conf" : main_path, &as_user);
		assert_int_equal(conf->log_level, LOG_LEVEL_ERROR);
		assert_int_equal(conf->process_control_timeout_ms, 3000);
		assert_string_equal(conf->pools->name, "a");
		assert_int_equal(conf->pools->max_children, 7);
		assert_string_equal(conf->pools->next->name, "b");
		assert_string_equal(conf->pools->next->next->name, "last");
		assert_null(conf->pools->next->next->next);
		conf_free(conf);
	}
	free(main_path);
}

static void test_lines_behind_include(void **state)
{
	(void)state;
	write_file("main", "foo = 1\n"
			   "include = sub/x\n"
			   "foo = 2\n"
			   "[w]\n"
			   "listen = /x\n"
			   "include = sub/y\n"
			   "pm.max_children = 2\n"
			   "foo = 3\n");
	write_file("sub/x", "\n\nfoo = x\n[x]\nlisten = /x\npm.max_children = 1\n");
	write_file("sub/y", "\r\npm.max_children = 1\r\nfoo = y\r\n# y\r\n");
	check_said("main",
		   "E main:1: foo: unknown key; berth.conf(5) lists those accepted\n"
		   "E sub/x:3: foo: unknown key; berth.conf(5) lists those accepted\n"
		   /* What the include opened ended with it: this is [global] again. */
		   "E main:3: foo: unknown key; berth.conf(5) lists those accepted\n"
		   "E sub/y:3: foo: unknown key; berth.conf(5) lists those accepted\n"
		   "E sub/y:4: '#' does not start a comment; a comment starts with ';'\n"
		   "E main:7: pm.max_children: is given twice, first at sub/y:2; it is accepted "
		   "once\n"
		   "E main:8: foo: unknown key; berth.conf(5) lists those accepted\n"
		   "E main:5: listen: /x collides with /x of pool x, sub/x:5; accepted is an "
		   "address that nobody else has\n");
}

static void test_include_errors(void **state)
{
	(void)state;
	write_file("main", "include = none/*.conf\ninclude = sub/*.none\ninclude =\n"
			   "include = none.conf\ninclude = sub\ninclude[x] = y\n");
	check_said("main",
		   "E main:3: include: the value is empty; accepted is a path, with wildcards or "
		   "without\n"
		   "E main:4: include: none.conf: can't be read: No such file or directory\n"
		   "E main:5: include: sub: can't be read: Is a directory\n"
		   "E main:6: include[x]: takes no name in brackets: include = VALUE\n");
}

static void test_include_loop(void **state)
{
	char text[64];
	char path[64];

	(void)state;
	write_file("a", "include = sub/b\n");
	write_file("sub/b", "\ninclude = ../?\n");
	check_said("a", "E sub/b:2: include: sub/../a: is being read already: the files include "
			"one another\n");
	write_file("self.conf", "include = *.conf\n");
	check_said("self.conf", "E self.conf:1: include: self.conf: is being read already: the "
				"files include one another\n");
	for (int i = 0; i < 10; i++) {
		(void)snprintf(path, sizeof(path), "f%d", i);
		(void)snprintf(text, sizeof(text), "include = f%d\n", i + 1);
		write_file(path, text);
	}
	write_file("f10", "[w]\nlisten = /x\npm.max_children = 1\n");
	check_said("f0", "E f8:1: include: more than 8 files inside of one another are not "
			 "accepted\n"
			 "E f0: there is no pool; at least one section [NAME] with listen and "
			 "pm.max_children is needed\n");
	check_said("f2", "");
}

/* Eight levels of ten includes each would be a hundred million files. */
static void test_include_flood(void **state)
{
	struct conf *conf;
	char text[512];
	char path[64];
	char *said;

	(void)state;
	for (int i = 0; i < 8; i++) {
		text[0] = '\0';
		for (int j = 0; j < 10; j++)
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
				       "include = f%d\n", i + 1);
		(void)snprintf(path, sizeof(path), "f%d", i);
		write_file(path, text);
	}
	write_file("f8", "\n");
	said = read_file("f0", &as_user, &conf);
	assert_null(conf);
	assert_non_null(strstr(said, "include: more than 1024 files are not accepted\n"));
	free(said);
}

static char *dump(const struct conf *conf)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	conf_dump(conf, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_dump(void **state)
{
	struct conf *conf;
	char *text;

	(void)state;
	write_file("main", "[w]\nuser = daemon\nlisten = /run/$pool-%n\nlisten = 127.0.0.1:9000\n"
			   "pm.max_children = 12\nphp_flag[a] = on\n");
	conf = read_good("main", &as_root);
	text = dump(conf);
	assert_string_equal(text, "[global]\n"
				  "error_log = stderr\n"
				  "daemonize = no\n"
				  "log_level = notice\n"
				  "process_control_timeout = 10s\n"
				  "\n"
				  "[w]\n"
				  "listen = /run/w-%n\n"
				  "; first: /run/w-1, last: /run/w-12\n"
				  "listen = 127.0.0.1:9000\n"
				  "; shared by all workers: 127.0.0.1:9000\n"
				  "listen.backlog = 1024\n"
				  "listen.owner = daemon\n"
				  "listen.group = daemon\n"
				  "listen.mode = 0660\n"
				  "user = daemon\n"
				  "group = daemon\n"
				  "pm = static\n"
				  "pm.max_children = 12\n"
				  "pm.max_requests = 0\n"
				  "pm.max_requests_jitter = 0\n"
				  "pm.max_worker_memory = 0\n"
				  "pm.max_worker_memory_jitter = 0\n"
				  "pm.max_worker_lifetime = 0s\n"
				  "pm.max_worker_lifetime_jitter = 0s\n"
				  "request_terminate_timeout = 0s\n"
				  "pm.rescue = yes\n"
				  "request_header_timeout = 60s\n"
				  "listen.keepalive_timeout = 0s\n"
				  "spawn = template\n"
				  "program = php-cgi\n"
				  "; chdir: as berth runs\n"
				  "; umask: as berth has\n"
				  "; process.priority: as berth has\n"
				  "process.dumpable = no\n"
				  "; rlimit_files: as berth has\n"
				  "; rlimit_core: as berth has\n"
				  "; rlimit_as: as berth has\n"
				  "; rlimit_data: as berth has\n"
				  "; rlimit_nproc: as berth has\n"
				  "process_control_timeout = 10s\n"
				  "process_start_timeout = 30s\n"
				  "warmup_timeout = 30s\n"
				  "clear_env = yes\n"
				  "php_value[a] = 1\n");
	free(text);
	conf_free(conf);
}

/* A dump is read again and dumped again. */
static void check_round_trip(struct conf *conf, const struct conf_rules *rules)
{
	char *first = dump(conf);
	struct conf *again;
	char *second;

	write_file("dumped", first);
	again = read_good("dumped", rules);
	second = dump(again);
	assert_string_equal(first, second);
	for (size_t i = 0; i < conf->pools->env_count; i++)
		assert_string_equal(conf->pools->env[i].value, again->pools->env[i].value);
	assert_int_equal(conf->pools->env_count, again->pools->env_count);
	assert_int_equal(conf->process_control_timeout_ms, again->process_control_timeout_ms);
	assert_int_equal(conf->pools->process_control_timeout_ms,
			 again->pools->process_control_timeout_ms);
	assert_int_equal(conf->pools->listen_uid, again->pools->listen_uid);
	assert_int_equal(conf->pools->listen_gid, again->pools->listen_gid);
	assert_int_equal(conf->pools->peers.network_count, again->pools->peers.network_count);
	assert_memory_equal(conf->pools->peers.networks, again->pools->peers.networks,
			    conf->pools->peers.network_count * sizeof(struct abi_network));
	assert_int_equal(conf->pools->peers.uid_count, again->pools->peers.uid_count);
	assert_memory_equal(conf->pools->peers.uids, again->pools->peers.uids,
			    conf->pools->peers.uid_count * sizeof(uint32_t));
	assert_int_equal(conf->pools->identity.uid, again->pools->identity.uid);
	assert_int_equal(conf->pools->identity.gid, again->pools->identity.gid);
	for (size_t i = 0; i < conf->pools->php_count; i++)
		assert_string_equal(conf->pools->php[i].value, again->pools->php[i].value);
	for (size_t i = 0; conf->pools->argv[i] != NULL; i++) {
		assert_non_null(again->pools->argv[i]);
		assert_string_equal(conf->pools->argv[i], again->pools->argv[i]);
		assert_int_equal(conf->pools->argv[i + 1] == NULL,
				 again->pools->argv[i + 1] == NULL);
	}
	free(second);
	conf_free(again);
	free(first);
	conf_free(conf);
}

static void test_dump_of_all(void **state)
{
	(void)state;
	write_file("main",
		   "[global]\nerror_log = \"/var/log/a \\\"$pool\\\\;b\"\n"
		   "log_level = alert\nprocess_control_timeout = 1500ms\n"
		   "pid = '/run/a ;b'\ndaemonize = on\n"
		   "process.priority = -7\n"
		   "[p.q]\nlisten = [::1]:9000+%n\nlisten = '@a b;\"%n'\n"
		   "listen = localhost:8000+%n\n"
		   "listen.backlog = 7\nlisten.owner = 3\nlisten.group = 4\n"
		   "listen.mode = 7\nuser = daemon\ngroup = 3\npm.max_children = 3\n"
		   "chdir = \"/srv/$$pool $pool\"\nclear_env = off\n"
		   "process_control_timeout = 0\nprocess_start_timeout = 90s\n"
		   "warmup[] = \"/a b.php?x=$$pool;\"\nwarmup = /$pool/b\nwarmup_timeout = 5ms\n"
		   "listen.allowed_clients = 10.0.0.0/8,::ffff:10.0.0.0/104, ::1 ,::/1\n"
		   "listen.allowed_uids = \t root , 7,daemon\n"
		   "pm.max_worker_memory = 128M\npm.max_worker_memory_jitter = 1025\n"
		   "pm.max_worker_lifetime = 30d\npm.max_worker_lifetime_jitter = 1ms\n"
		   "request_terminate_timeout = 400ms\nchroot = /srv/$pool\n"
		   "cgroup = '/sys/fs/cgroup/a b'\numask = 27\nprocess.dumpable = yes\n"
		   "rlimit_files = 64\nrlimit_core = unlimited\nrlimit_as = 3G\n"
		   "rlimit_data = 5000K\nrlimit_nproc = 5\n"
		   "php_value[a] = ' x ; y=\"z\\'\nphp_admin_flag[b] = off\n"
		   "php_value[c] =\nphp_value[d] = $$$pool\n"
		   "[second]\nspawn = exec\nlisten = 9100\nuser = 2\nlisten.group = 3999999999\n"
		   "group = 3999999998\npm.max_children = 1\n");
	check_round_trip(read_good("main", &as_root), &as_root);
}

static void test_dump_of_env(void **state)
{
	(void)state;
	assert_int_equal(setenv("BERTH_TEST_A", "x\ny", 1), 0);
	assert_int_equal(setenv("pool_b", "$pool", 1), 0);
	write_file("main", "[w]\nlisten = /x\npm.max_children = 1\n"
			   "env[A] = $BERTH_TEST_A\nenv[B] = $$pool_b\nenv[C] = $$$pool_b\n"
			   "env[D] = $$HOME\nenv[E] = $$$HOME\nenv[F] = $\nenv[G] =\n"
			   "env[H] = \"$HOME \"\nenv[I] = $$$pool\nenv[J] = $pool\n");
	check_round_trip(read_good("main", &as_user), &as_user);
}

static void test_dump_of_program(void **state)
{
	static const char *const programs[] = {
		"/bin/a",
		"\"/opt/my php/php-cgi\" -d x=1",
		"'/opt/a ; b/\"php-cgi\"'",
		"./my' c'gi",
		"\"a\"\"b\" 'c'\t; d",
		"/bin/a b  c",
		"'/bin/a b' ''",
		"a \"b\\nc\\\\d\\\"e\"",
		"a 'b\"c\\d' x\\ y",
		"a $$pool '$pool $$pool'",
		"a -d 'x ; y'",
		"a x=\"y z\"",
		"a don't'",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++) {
		(void)snprintf(text, sizeof(text),
			       "[w]\nlisten = /x\npm.max_children = 1\nprogram = %s\n",
			       programs[i]);
		write_file("main", text);
		check_round_trip(read_good("main", &as_user), &as_user);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pipe, setup, teardown),
		cmocka_unit_test_setup_teardown(test_include, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_behind_include, setup, teardown),
		cmocka_unit_test_setup_teardown(test_include_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_include_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_include_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dump_of_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dump_of_env, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dump_of_program, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
