/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench's command line and request files. */

#include "bench/options.h"
#include "bench/request_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORDS	     10

/* Words of a table in memory that may be changed, as a program's arguments are. */
static int parse(const char *const words[WORDS], struct options *options, char *error, size_t size)
{
	static char copies[WORDS][200];
	char *argv[WORDS + 2] = {copies[0]};
	int argc = 1;

	(void)strcpy(copies[0], "berth-bench");
	for (int i = 0; i < WORDS - 1 && words[i]; i++) {
		(void)snprintf(copies[i + 1], sizeof(copies[0]), "%s", words[i]);
		argv[argc++] = copies[i + 1];
	}
	error[0] = '\0';
	return options_parse(argc, argv, options, error, size);
}

static void test_refused(void **state)
{
	static const struct {
		const char *words[WORDS];
		const char *says;
	} rows[] = {
		{{"walk"}, "walk: unknown command; accepted are compare, run"},
		{{"run"}, "run needs an ADDRESS, or --start KIND"},
		{{"run", "--start", "null", "/x"}, "run needs an ADDRESS, or --start KIND"},
		{{"run", "/x", "/y"}, "unexpected word"},
		{{"floor", "/x"}, "unexpected word"},
		{{"run", "/x", "--nosuch"}, "--nosuch: unknown option"},
		{{"run", "/x", "-xc"}, "-x: unknown option"},
		{{"run", "--new", "-x"}, "-x: unknown option"},
		{{"run", "/x", "--keep=yes"}, "--keep: takes no argument"},
		{{"run", "/x", "--help=yes"}, "--help: takes no argument"},
		{{"run", "/x", "--split=1"}, "--split: may stand for several options"},
		{{"run", "/x", "-c"}, "-c: its argument is missing"},
		{{"run", "/x", "--rate"}, "--rate: its argument is missing"},
		{{"run", "/x", "--rate", "0"}, "--rate: '0' is not accepted; accepted is a number"},
		{{"run", "/x", "--rate", "nan"}, "--rate: 'nan' is not accepted"},
		{{"run", "/x", "--arrivals", "poisson"}, "--arrivals: needs --rate"},
		{{"run", "/x", "--max-queue", "9"}, "--max-queue: needs --rate"},
		{{"run", "/x", "--transport", "tcp"}, "--transport: needs --start"},
		{{"run", "/x", "--size", "100"}, "--size: needs --start"},
		{{"run", "/x", "--backlog", "9"}, "--backlog: needs --start"},
		{{"run", "--start", "null", "--server-pid", "1"},
		 "--server-pid: is for an ADDRESS"},
		{{"run", "/x", "--arrivals", "x"}, "accepted is poisson or constant"},
		{{"run", "/x", "-c", "0"}, "--connections: '0' is not accepted"},
		{{"run", "/x", "-c", "1,2"}, "--connections: run accepts one number"},
		{{"run", "/x", "-c", "-1"}, "--connections: '-1' is not accepted"},
		{{"run", "/x", "-n", "1e3"}, "--requests: '1e3' is not accepted"},
		{{"run", "/x", "-n", "99999999999999999999999"}, "--requests: '9999"},
		{{"run", "/x", "-d", "5h"}, "--duration: '5h' is not accepted; accepted is a time"},
		{{"run", "/x", "-d", "0"}, "--duration: '0' is not accepted"},
		{{"run", "/x", "--size", "1.5"},
		 "--size: '1.5' is not accepted; accepted is a size"},
		{{"run", "/x", "--size", "0x10"}, "--size: '0x10' is not accepted"},
		{{"run", "/x", "--timeout", "1e3"}, "--timeout: '1e3' is not accepted"},
		{{"run", "/x", "--size", "2000M"}, "--size: '2000M' is not accepted"},
		{{"run", "/x", "--param", "=x"},
		 "--param: '=x' is not accepted; accepted is NAME="},
		{{"run", "/x", "--param", "x"}, "--param: 'x' is not accepted"},
		{{"run", "/x", "--on-eagain", "retry=0"}, "--on-eagain: '0' is not accepted"},
		{{"run", "/x", "--on-eagain", "again"},
		 "accepted is fail, retry=MILLISECONDS or wait"},
		{{"run", "/x", "--split-params", "65536"},
		 "--split-params: '65536' is not accepted"},
		{{"run", "/x", "--placement", "here"}, "accepted is same, split or free"},
		{{"run", "/x", "--require", "p99<5"}, "--require: "},
		{{"run", "/x", "--json", "-", "--csv", "-"}, "can't both go to standard output"},
		{{"run", "/x", "--targets", "null"}, "--targets: is not for this command"},
		{{"compare", "--keep"}, "--keep: is not for this command"},
		{{"compare", "--targets", "nginx"},
		 "accepted is null, berth, php-fpm or spawn-fcgi"},
		{{"compare", "--targets", "null,"}, "--targets: '' is not accepted"},
		{{"compare", "--modes", "old"}, "accepted is new, kept, or both"},
		{{"compare", "--transports", "udp"}, "accepted is tcp, unix or pipe"},
		{{"compare", "--rounds", "102"}, "--rounds: '102' is not accepted"},
		{{"--budget", "x"}, "--budget: 'x' is not accepted"},
		{{"diff", "a.json"}, "diff needs two files"},
		{{"ramp", "/x", "--start", "null"}, "are for what ramp starts"},
		{{"ramp", "/x", "--transports", "tcp"}, "are for what ramp starts"},
		{{"ramp", "--server-pid", "1"}, "--server-pid: is for an ADDRESS"},
		{{"ramp", "-c", "1,2"}, "--connections: ramp accepts one number"},
		{{"ramp", "--rounds", "13"}, "--rounds: ramp accepts at most 12"},
		{{"ramp", "--rate", "5"}, "--rate: is not for this command"},
		{{"ramp", "--max-rate", "0"}, "--max-rate: '0' is not accepted"},
		{{"diff", "a.json", "b.json", "c.json"}, "c.json: unexpected word"},
		{{"diff", "a.json", "b.json", "--csv", "x"}, "--csv: is not for this command"},
		{{"compare", "--quickack=yes"}, "--quickack: 'yes' is not accepted"},
		{{"compare", "--quickack", "yes"}, "yes: unexpected word"},
		{{"run", "/x", "--quickack", "both"}, "accepted is on or off"},
		{{"compare", "--restart-every", "0"}, "--restart-every: '0' is not accepted"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		static struct options options;
		char error[400];

		if (parse(rows[i].words, &options, error, sizeof(error)) != -EINVAL)
			fail_msg("row %zu is accepted: %s", i, rows[i].says);
		if (!strstr(error, rows[i].says))
			fail_msg("row %zu says \"%s\", not \"%s\"", i, error, rows[i].says);
	}
}

static void test_quickack(void **state)
{
	static const struct {
		const char *words[WORDS];
		bool on, both;
	} rows[] = {
		{{"compare"}, false, false},
		{{"compare", "--quickack"}, true, false},
		{{"compare", "--quickack", "--strict"}, true, false},
		{{"compare", "--quickack", "on"}, true, false},
		{{"compare", "--quickack=off"}, false, false},
		{{"compare", "--quickack", "both"}, false, true},
		{{"run", "--quickack", "/x"}, true, false},
		{{"run", "--quickack", "off", "/x"}, false, false},
	};
	char error[400];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		static struct options o;

		if (parse(rows[i].words, &o, error, sizeof(error)) != 0)
			fail_msg("row %zu: %s", i, error);
		assert_int_equal(o.load.quickack, rows[i].on);
		assert_int_equal(o.quickack_both, rows[i].both);
	}
}

static void test_run(void **state)
{
	static const char *const words[WORDS] = {
		"run", "--rate=250.5", "-c8",	"/run/x.sock",	       "-t",
		"2",   "-d",	       "500ms", "--on-eagain=retry=20"};
	static struct options o;
	char error[400];

	(void)state;
	assert_int_equal(parse(words, &o, error, sizeof(error)), 0);
	assert_int_equal(o.command, COMMAND_RUN);
	assert_string_equal(o.address, "/run/x.sock");
	assert_int_equal(o.connections, 8);
	assert_int_equal(o.threads, 2);
	assert_int_equal(o.duration_ns, 500000000);
	assert_int_equal(o.requests, 0);
	assert_int_equal(o.load.arrivals, LOAD_POISSON);
	assert_true(o.load.rate == 250.5);
	assert_true(o.keep);
}

static void test_run_defaults(void **state)
{
	static const char *const words[WORDS] = {"run",	  "--start", "null",  "-t",	   "4",
						 "--new", "--param", "A=B=C", "--size=64k"};
	static struct options o;
	char error[400];

	(void)state;
	assert_int_equal(parse(words, &o, error, sizeof(error)), 0);
	assert_null(o.address);
	assert_int_equal(o.start, TARGET_NULL);
	assert_int_equal(o.size, 65536);
	/* One for each connection, or some would starve. */
	assert_int_equal(o.workers, 1);
	assert_int_equal(o.duration_ns, UINT64_C(10000000000));
	/* More threads than connections would have nothing to do. */
	assert_int_equal(o.threads, 1);
	assert_false(o.keep);
	assert_int_equal(o.request.param_count, 1);
	assert_string_equal(o.request.params[0].name, "A");
	assert_string_equal(o.request.params[0].value, "B=C");
}

static void test_workers(void **state)
{
	static const struct {
		const char *words[WORDS];
		unsigned int workers;
	} rows[] = {
		{{"run", "--start", "null", "-c", "16"}, 16},
		{{"run", "--start", "null", "-c", "16", "--workers", "2"}, 2},
		{{"run", "--start", "null", "-c", "5000"}, 1000},
		{{"run", "/x", "-c", "16"}, 0},
		{{"compare", "-c", "16"}, 0},
	};
	static struct options o;
	char error[400];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(parse(rows[i].words, &o, error, sizeof(error)), 0);
		assert_int_equal(o.workers, rows[i].workers);
	}
}

static void test_compare(void **state)
{
	static const char *const none[WORDS] = {NULL};
	static const char *const words[WORDS] = {"--targets=berth,php-fpm",
						 "--transports",
						 "tcp,unix",
						 "--modes",
						 "kept,new",
						 "--sizes",
						 "1,2k",
						 "-c",
						 "1,16"};
	static struct options o;
	char error[400];

	(void)state;
	assert_int_equal(parse(none, &o, error, sizeof(error)), 0);
	assert_int_equal(o.command, COMMAND_COMPARE);
	assert_int_equal(o.target_count, 0);
	assert_int_equal(o.budget_ns, UINT64_C(110000000000));
	assert_int_equal(parse(words, &o, error, sizeof(error)), 0);
	assert_int_equal(o.command, COMMAND_COMPARE);
	assert_int_equal(o.target_count, 2);
	assert_int_equal(o.targets[1], TARGET_FPM);
	assert_int_equal(o.transports[0], TRANSPORT_TCP);
	assert_true(o.modes[0]);
	assert_false(o.modes[1]);
	assert_int_equal(o.sizes[1], 2048);
	assert_int_equal(o.concurrencies[1], 16);
}

static const char *write_temporary(char *path, const void *bytes, size_t size)
{
	int fd;

	(void)strcpy(path, "/tmp/berth-request.XXXXXX");
	fd = mkstemp(path);
	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, bytes, size), size);
	(void)close(fd);
	return path;
}

static void test_request_file(void **state)
{
	static const char text[] = "# a comment\r\nSCRIPT_FILENAME=/srv/a=b.php\nEMPTY=\n"
				   "QUERY_STRING=a\nREQUEST_METHOD=PUT\n\nbody\n\0\n=x";
	static const struct request_param mine = {.name = "EMPTY", .value = "full"};
	struct request_options request = {.method = "PATCH", .params = &mine, .param_count = 1};
	struct request_file file;
	char path[64], error[300];

	(void)state;
	assert_int_equal(request_file_read(write_temporary(path, text, sizeof(text) - 1), &file,
					   error, sizeof(error)),
			 0);
	(void)unlink(path);
	assert_int_equal(file.param_count, 4);
	assert_string_equal(file.params[0].value, "/srv/a=b.php");
	assert_string_equal(file.params[1].value, "");
	assert_int_equal(file.body_size, 9);
	assert_memory_equal(file.body, "body\n\0\n=x", 9);
	request_file_apply(&file, &request);
	assert_string_equal(request.script, "/srv/a=b.php");
	assert_string_equal(request.query, "a");
	assert_int_equal(request.body_size, 9);
	/* What the request has itself goes before the file. */
	assert_string_equal(request.method, "PATCH");
	assert_int_equal(request.param_count, 2);
	assert_string_equal(request.params[1].value, "full");
	request_file_done(&file);
}

static void test_request_file_errors(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		const char *says;
	} rows[] = {
		{"A=b\nnothing\n", 12, ":2: no parameter; accepted are NAME=VALUE"},
		{"=b\n", 3, ":1: no parameter"},
		{"A=b\nC=\nA=b\n", 11, ":3: this name is in a line above"},
		{"A=b\nC=d\0e\n", 10, ":2: there is a NUL in it"},
	};
	struct request_file file;
	char path[64], error[300];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		write_temporary(path, rows[i].text, rows[i].size);
		assert_int_equal(request_file_read(path, &file, error, sizeof(error)), -EINVAL);
		if (!strstr(error, rows[i].says) || strncmp(error, path, strlen(path)) != 0)
			fail_msg("row %zu says %s", i, error);
		(void)unlink(path);
	}
	assert_int_equal(request_file_read("/nonexistent/x", &file, error, sizeof(error)), -ENOENT);
	assert_string_equal(error, "/nonexistent/x: No such file or directory");
	/* Neither an empty file nor one without a body is wrong. */
	write_temporary(path, "A=b", 3);
	assert_int_equal(request_file_read(path, &file, error, sizeof(error)), 0);
	assert_int_equal(file.param_count, 1);
	assert_null(file.body);
	request_file_done(&file);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_quickack),
		cmocka_unit_test(test_run),	     cmocka_unit_test(test_run_defaults),
		cmocka_unit_test(test_workers),	     cmocka_unit_test(test_compare),
		cmocka_unit_test(test_request_file), cmocka_unit_test(test_request_file_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
