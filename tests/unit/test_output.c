/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what becomes of a process's output; the log goes to a file here. */
#include "fpm/process/output.h"

#include "fpm/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LABEL	     "pool w slot 1 pid 2"

enum {
	DEADLINE_SECONDS = 60
};

static struct ev_loop *loop;
static char folder[64];
static char path[80];
static unsigned int descriptors_before;

/* Linked in place of read(): a pipe whose writer is always faster than we are. */
static bool endless;
static unsigned int reads;

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	reads++;
	if (!endless)
		return __real_read(fd, buffer, size);
	if (reads > 100000)
		abort();
	memset(buffer, 'e', 99);
	((char *)buffer)[99] = '\n';
	return 100;
}

static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/berth test.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/log", folder);
	(void)signal(SIGPIPE, SIG_IGN);
	loop = ev_loop_new(EVFLAG_AUTO);
	(void)alarm(DEADLINE_SECONDS);
	if (!loop || log_open(path, LOG_LEVEL_NOTICE) < 0)
		return -1;
	/* Lets the loop open what it needs for good. */
	(void)ev_run(loop, EVRUN_NOWAIT);
	descriptors_before = count_descriptors();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)alarm(0);
	log_close();
	ev_loop_destroy(loop);
	(void)unlink(path);
	return rmdir(folder);
}

static struct output *make_output(int *ret_write)
{
	struct output *o = output_new(loop, (uid_t)-1, (gid_t)-1, ret_write);

	assert_non_null(o);
	output_label(o, "pool %s slot %d pid %d", "w", 1, 2);
	return o;
}

static void run(void)
{
	(void)ev_run(loop, EVRUN_NOWAIT);
}

/* The end of its process: nobody writes any more. */
static void finish(struct output *o, int in)
{
	(void)close(in);
	output_release(o);
	run();
	assert_int_equal(count_descriptors(), descriptors_before);
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static char *read_log(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;

	assert_int_not_equal(fd, -1);
	assert_int_equal(fstat(fd, &st), 0);
	text = malloc((size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
	text[st.st_size] = '\0';
	(void)close(fd);
	return text;
}

/* The log must have exactly these lines of the process by now; starts it anew. */
static void check_log(const char *const lines[], size_t count)
{
	static const char head[] = " warning: " LABEL ": ";
	char *text = read_log();
	const char *rest = text;

	for (size_t i = 0; i < count; i++) {
		const char *end = strchr(rest, '\n');
		const char *body = strstr(rest, head);
		size_t len = strlen(lines[i]);

		assert_non_null(end);
		assert_non_null(body);
		if (body > end)
			fail_msg("line %zu is missing: %s", i, lines[i]);
		body += strlen(head);
		if (strncmp(body, lines[i], len) != 0 || body[len] != '\n')
			fail_msg("line %zu is '%.100s', expected '%s'", i, body, lines[i]);
		rest = body + len + 1;
	}
	if (*rest)
		fail_msg("more lines than expected: %.100s", rest);
	free(text);
	assert_int_equal(truncate(path, 0), 0);
}

static void check_one(const char *line)
{
	check_log(&line, 1);
}

static void test_descriptors(void **state)
{
	struct stat st;
	int in;
	struct output *o = make_output(&in);

	(void)state;
	assert_true(fcntl(in, F_GETFD) & FD_CLOEXEC);
	/* The writer must find an ordinary, blocking pipe. */
	assert_int_equal(fcntl(in, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fstat(in, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(st.st_uid, geteuid());
	finish(o, in);
	output_release(NULL);
}

static void test_lines_cut_anywhere(void **state)
{
	static const char text[] = "first\n\nthird line\r\nlast\n";
	static const char *const lines[] = {"first", "", "third line", "last"};
	int in;
	struct output *o = make_output(&in);

	(void)state;
	for (size_t a = 0; a < sizeof(text); a++) {
		for (size_t b = a; b < sizeof(text); b++) {
			const size_t ends[] = {a, b, sizeof(text) - 1};
			size_t at = 0;

			for (size_t i = 0; i < COUNT(ends); i++) {
				if (ends[i] <= at)
					continue;
				assert_int_equal(write(in, text + at, ends[i] - at), ends[i] - at);
				at = ends[i];
				run();
			}
			check_log(lines, COUNT(lines));
		}
	}
	finish(o, in);
}

static void test_partial_line_waits(void **state)
{
	int in;
	struct output *o = make_output(&in);

	(void)state;
	put(in, "begin");
	run();
	check_log(NULL, 0);
	put(in, " end\nrest");
	run();
	check_one("begin end");
	output_drain(o);
	check_one("rest");
	output_drain(o);
	check_log(NULL, 0);
	put(in, "unread");
	output_drain(o);
	check_one("unread");
	finish(o, in);
	check_log(NULL, 0);
}

static void test_end_of_file_ends_a_line(void **state)
{
	int in;
	struct output *o = make_output(&in);

	(void)state;
	put(in, "no newline");
	(void)close(in);
	run();
	run();
	check_one("no newline");
	/* Its owner still has it. */
	assert_string_equal(output_last(o), "no newline");
	output_release(o);
	assert_int_equal(count_descriptors(), descriptors_before);
}

static void test_last_words(void **state)
{
	static char long_line[5000];
	int in;
	struct output *o = make_output(&in);

	(void)state;
	assert_string_equal(output_last(o), "");
	put(in, "one\ntwo\n\n\r\n");
	output_drain(o);
	assert_string_equal(output_last(o), "two");
	memset(long_line, 'l', sizeof(long_line) - 1);
	put(in, long_line);
	output_drain(o);
	assert_true(strlen(output_last(o)) > 100);
	assert_int_equal(strspn(output_last(o), "l"), strlen(output_last(o)));
	finish(o, in);
}

static void test_label_may_change(void **state)
{
	char *text;
	int in;
	struct output *o = make_output(&in);

	(void)state;
	output_label(o, "%0500d", 7);
	put(in, "x\n");
	run();
	text = read_log();
	assert_non_null(strstr(text, " warning: 000"));
	assert_non_null(strstr(text, ": x\n"));
	free(text);
	finish(o, in);
}

/* Feeds a line through the loop, from a process, as a pipe takes 64 KiB only. */
static void feed(int in, size_t size)
{
	pid_t pid = fork();
	int status;

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		for (size_t done = 0; done < size;) {
			char piece[10007];
			size_t n = size - done < sizeof(piece) ? size - done : sizeof(piece);

			memset(piece, 'a' + (int)(done / sizeof(piece) % 26), n);
			if (write(in, piece, n) != (ssize_t)n)
				_exit(1);
			done += n;
		}
		_exit(write(in, "\n", 1) == 1 ? 0 : 1);
	}
	(void)close(in);
	while (waitpid(pid, &status, WNOHANG) == 0)
		run();
	assert_int_equal(status, 0);
	run();
}

static void test_long_lines(void **state)
{
	static const struct {
		size_t size;
		unsigned int pieces_min;
		unsigned int pieces_max;
	} cases[] = {
		{300000, 1, 1},
		{OUTPUT_LINE_MAX - 1, 1, 1},
		{OUTPUT_LINE_MAX + 1, 2, 2},
		{OUTPUT_LINE_MAX * 5 / 2, 3, 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t total = 0;
		unsigned int pieces = 0;
		char *text;
		int in;
		struct output *o = make_output(&in);

		feed(in, cases[i].size);
		output_release(o);
		run();
		text = read_log();
		for (const char *line = text; *line;) {
			const char *body = strstr(line, LABEL ": ");
			const char *end = strchr(line, '\n');

			assert_non_null(body);
			assert_non_null(end);
			body += strlen(LABEL ": ");
			assert_true(end - body <= OUTPUT_LINE_MAX);
			/* Nothing lost, nothing twice, nothing out of order. */
			for (const char *c = body; c < end; c++, total++)
				if (*c != 'a' + (char)(total / 10007 % 26))
					fail_msg("wrong byte at %zu", total);
			pieces++;
			line = end + 1;
		}
		assert_int_equal(total, cases[i].size);
		assert_in_range(pieces, cases[i].pieces_min, cases[i].pieces_max);
		free(text);
		assert_int_equal(truncate(path, 0), 0);
	}
}

/* Commands that write without end must not hold the manager. */
static void test_drain_is_bounded(void **state)
{
	int in;
	struct output *o = make_output(&in);

	(void)state;
	endless = true;
	reads = 0;
	output_drain(o);
	endless = false;
	assert_in_range(reads, 1, 1000);
	finish(o, in);
}

static void test_released_goes_on_while_somebody_writes(void **state)
{
	int in;
	struct output *o = make_output(&in);

	(void)state;
	put(in, "before");
	output_release(o);
	check_one("before");
	put(in, "after\nand ");
	run();
	check_one("after");
	put(in, "the end");
	(void)close(in);
	run();
	run();
	check_one("and the end");
	assert_int_equal(count_descriptors(), descriptors_before);
}

static void test_released_ones_are_bounded(void **state)
{
	enum {
		MORE = 3,
		ALL = OUTPUT_RELEASED_MAX + MORE
	};
	int in[ALL];

	(void)state;
	for (int i = 0; i < ALL; i++)
		output_release(make_output(&in[i]));
	assert_int_equal(count_descriptors(), descriptors_before + ALL + OUTPUT_RELEASED_MAX);
	for (int i = 0; i < ALL; i++) {
		/* The oldest had to go. */
		if (i < MORE) {
			assert_int_equal(write(in[i], "x\n", 2), -1);
			assert_int_equal(errno, EPIPE);
		} else {
			put(in[i], "y\n");
		}
	}
	run();
	/* One in the middle leaves by itself and makes room. */
	(void)close(in[MORE + 10]);
	run();
	output_release(make_output(&in[MORE + 10]));
	put(in[MORE], "still there\n");
	output_release_all();
	for (int i = 0; i < ALL; i++)
		(void)close(in[i]);
	assert_int_equal(count_descriptors(), descriptors_before);
	output_release_all();
}

static void test_owner(void **state)
{
	struct stat st;
	struct output *o;
	int in = -9;

	(void)state;
	o = output_new(loop, 12345, 23456, &in);
	if (geteuid() != 0) {
		assert_null(o);
		assert_int_equal(errno, EPERM);
		assert_int_equal(in, -9);
		assert_int_equal(count_descriptors(), descriptors_before);
		return;
	}
	assert_non_null(o);
	assert_int_equal(fstat(in, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 23456);
	finish(o, in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_cut_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_partial_line_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_of_file_ends_a_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_label_may_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drain_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_released_goes_on_while_somebody_writes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_released_ones_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
