/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the log: its lines, and that it never blocks. A test that blocks is ended by SIGALRM. */
#include "fpm/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "2026-01-02 03:04:05.678 " in front of the level. */
enum {
	STAMP = 24,
	BLOCKED_SECONDS = 60
};

static char folder[64];
static char path[80];
static int saved_stderr;

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/berth test.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/a log", folder);
	saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)alarm(BLOCKED_SECONDS);
	return saved_stderr == -1 ? -1 : 0;
}

static int teardown(void **state)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	(void)alarm(0);
	log_set_echo(false);
	/* What a failed test left waiting ends there. */
	(void)dup2(null, STDERR_FILENO);
	(void)close(null);
	(void)log_open(NULL, LOG_LEVEL_NOTICE);
	(void)dup2(saved_stderr, STDERR_FILENO);
	(void)close(saved_stderr);
	(void)unlink(path);
	return rmdir(folder);
}

/* All of a file, with a NUL, to be freed. */
static char *read_file(size_t *ret_size)
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
	if (ret_size)
		*ret_size = (size_t)st.st_size;
	return text;
}

/* Compares a line, its time left out; returns where the next one starts. */
static const char *check_line(const char *text, const char *expected)
{
	assert_true(strlen(text) > STAMP);
	assert_int_equal(text[4], '-');
	assert_int_equal(text[19], '.');
	assert_int_equal(text[STAMP - 1], ' ');
	if (strncmp(text + STAMP, expected, strlen(expected)) != 0)
		fail_msg("'%.200s', expected '%s'", text + STAMP, expected);
	assert_int_equal(text[STAMP + strlen(expected)], '\n');
	return text + STAMP + strlen(expected) + 1;
}

static void check_file(const char *const lines[], size_t count)
{
	char *text = read_file(NULL);
	const char *rest = text;

	for (size_t i = 0; i < count; i++)
		rest = check_line(rest, lines[i]);
	assert_string_equal(rest, "");
	free(text);
}

static void write_each_level(void)
{
	log_debug("d %d", 1);
	log_notice("n %s", "2");
	log_warning("w");
	log_error("e");
	log_alert("a");
}

static void test_each_level_hides_those_below(void **state)
{
	static const char *const all[] = {"debug: d 1", "notice: n 2", "warning: w", "error: e",
					  "alert: a"};

	(void)state;
	for (enum log_level level = LOG_LEVEL_DEBUG; level < LOG_LEVEL_MAX; level++) {
		(void)unlink(path);
		assert_int_equal(log_open(path, level), 0);
		write_each_level();
		check_file(all + level, COUNT(all) - level);
	}
}

static void test_level_names(void **state)
{
	static const char *const names[] = {"debug", "notice", "warning", "error", "alert"};

	(void)state;
	for (enum log_level level = LOG_LEVEL_DEBUG; level < LOG_LEVEL_MAX; level++)
		assert_string_equal(log_level_name(level), names[level]);
}

static void test_file_is_appended_to(void **state)
{
	static const char *const lines[] = {"notice: first", "notice: second"};
	struct stat st;

	(void)state;
	(void)umask(0);
	assert_int_equal(log_open(path, LOG_LEVEL_NOTICE), 0);
	(void)umask(022);
	assert_true(fcntl(log_fd(), F_GETFD) & FD_CLOEXEC);
	log_notice("first");
	log_close();
	assert_int_equal(log_fd(), STDERR_FILENO);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(log_open(path, LOG_LEVEL_NOTICE), 0);
	log_notice("second");
	check_file(lines, COUNT(lines));
}

static void test_failed_open_changes_nothing(void **state)
{
	static const char *const lines[] = {"warning: before", "warning: after"};

	(void)state;
	assert_int_equal(log_open(path, LOG_LEVEL_WARNING), 0);
	log_warning("before");
	assert_int_equal(log_open(folder, LOG_LEVEL_DEBUG), -EISDIR);
	assert_int_equal(log_open("/nowhere/at/all", LOG_LEVEL_DEBUG), -ENOENT);
	log_notice("hidden");
	log_warning("after");
	check_file(lines, COUNT(lines));
}

static void test_bytes_from_elsewhere(void **state)
{
	static const char text[] = "a\0b\rc\td\x1b[1m\x7f\xc3\xa4\xff";
	static const char *const lines[] = {"warning: who: a?b?c\td?[1m?\xc3\xa4\xff",
					    "warning: who: ", "error: %s%n: %s%n"};

	(void)state;
	assert_int_equal(log_open(path, LOG_LEVEL_NOTICE), 0);
	log_bytes(LOG_LEVEL_WARNING, "who", text, sizeof(text) - 1);
	log_bytes(LOG_LEVEL_WARNING, "who", text, 0);
	log_bytes(LOG_LEVEL_ERROR, "%s%n", "%s%n", 4);
	check_file(lines, COUNT(lines));
}

/* Around the size of a fixed buffer, and far beyond. */
static void test_lines_of_any_length(void **state)
{
	static char body[3000001], expected[sizeof(body) + 16];

	(void)state;
	memset(body, 'x', sizeof(body) - 1);
	for (size_t len = 900; len < sizeof(body); len += len < 1100 ? 1 : len * 5) {
		const char *second;
		char *text;

		(void)unlink(path);
		assert_int_equal(log_open(path, LOG_LEVEL_NOTICE), 0);
		log_notice("%.*s", (int)len, body);
		log_bytes(LOG_LEVEL_NOTICE, "w", body, len);
		log_close();
		text = read_file(NULL);
		second = strchr(text, '\n');
		assert_non_null(second);
		assert_int_equal(second - text, STAMP + strlen("notice: ") + len);
		(void)snprintf(expected, sizeof(expected), "notice: w: %.*s", (int)len, body);
		assert_string_equal(check_line(second + 1, expected), "");
		free(text);
	}
}

static void test_errno_is_kept(void **state)
{
	static char body[3000];

	(void)state;
	memset(body, 'y', sizeof(body) - 1);
	assert_int_equal(log_open("/dev/full", LOG_LEVEL_NOTICE), 0);
	errno = ERANGE;
	log_notice("lost");
	log_notice("%s", body);
	log_bytes(LOG_LEVEL_NOTICE, "x", body, sizeof(body));
	log_debug("hidden");
	assert_int_equal(errno, ERANGE);
	/* It will never be taken, so it does not wait either. */
	assert_int_equal(log_pending(), 0);
}

static int pipe_as_stderr(void)
{
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(dup2(pair[1], STDERR_FILENO), STDERR_FILENO);
	(void)close(pair[1]);
	return pair[0];
}

static void test_echo_of_errors(void **state)
{
	static const char expected[] = "error: e\nalert: a\n";
	const int out = pipe_as_stderr();
	char seen[256] = "";

	(void)state;
	assert_int_equal(log_open(path, LOG_LEVEL_NOTICE), 0);
	log_set_echo(true);
	write_each_level();
	log_set_echo(false);
	write_each_level();
	assert_true(read(out, seen, sizeof(seen) - 1) > 0);
	/* Somebody at a terminal needs no time, but what happened. */
	if (strcmp(seen, expected) != 0 && strcmp(seen, "e\na\n") != 0)
		fail_msg("'%s'", seen);
	assert_int_equal(log_open("stderr", LOG_LEVEL_NOTICE), 0);
	log_set_echo(true);
	log_error("once");
	memset(seen, 0, sizeof(seen));
	assert_true(read(out, seen, sizeof(seen) - 1) > 0);
	assert_string_equal(check_line(seen, "error: once"), "");
	(void)close(out);
}

static void test_echo_does_not_block(void **state)
{
	const int out = pipe_as_stderr();

	(void)state;
	assert_int_equal(log_open(path, LOG_LEVEL_NOTICE), 0);
	log_set_echo(true);
	for (int i = 0; i < 5000; i++)
		log_error("a line of some length that nobody reads, number %d of many", i);
	(void)close(out);
}

/* Reads what is there, flushing while there is more; returns it with a NUL, to be freed. */
static char *read_all(int out)
{
	size_t size = LOG_PENDING_MAX * 2, used = 0;
	char *text = malloc(size);

	assert_non_null(text);
	log_flush();
	for (;;) {
		struct pollfd p = {.fd = out, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, 0) != 1)
			break;
		n = read(out, text + used, size - used - 1);
		assert_true(n > 0);
		used += (size_t)n;
		log_flush();
	}
	text[used] = '\0';
	return text;
}

/* Destinations that somebody else may share, so that O_NONBLOCK can't be set on them. */
static int make_destination(int kind)
{
	int pair[2];

	if (kind == 0)
		return pipe_as_stderr();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(dup2(pair[1], STDERR_FILENO), STDERR_FILENO);
	(void)close(pair[1]);
	return pair[0];
}

static void test_journal(void **state)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct stat st;
	char stream[64], *text;

	(void)state;
	assert_int_not_equal(fd, -1);
	assert_int_not_equal(dup2(fd, STDERR_FILENO), -1);
	(void)close(fd);
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	assert_int_equal(log_open(NULL, LOG_LEVEL_DEBUG), 0);
	/* Somebody else's standard error. */
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino + 1);
	(void)setenv("JOURNAL_STREAM", stream, 1);
	log_warning("not there");
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino);
	(void)setenv("JOURNAL_STREAM", stream, 1);
	for (int level = 0; level < LOG_LEVEL_MAX; level++)
		log_write((enum log_level)level, "line");
	log_bytes(LOG_LEVEL_NOTICE, "pool", "words", 5);
	(void)unsetenv("JOURNAL_STREAM");
	text = read_file(NULL);
	assert_string_equal(text + STAMP, "warning: not there\n<7>debug: line\n<5>notice: line\n"
					  "<4>warning: line\n<3>error: line\n<1>alert: line\n"
					  "<5>notice: pool: words\n");
	free(text);
}

static void test_echo_in_the_journal(void **state)
{
	int pipe_fds[2];
	char stream[64], text[64];
	struct stat st;
	ssize_t n;

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_not_equal(dup2(pipe_fds[1], STDERR_FILENO), -1);
	(void)close(pipe_fds[1]);
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino);
	(void)setenv("JOURNAL_STREAM", stream, 1);
	assert_int_equal(log_open(path, LOG_LEVEL_NOTICE), 0);
	log_set_echo(true);
	log_error("both");
	log_warning("only there");
	(void)unsetenv("JOURNAL_STREAM");
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, "<3>both\n");
	(void)close(pipe_fds[0]);
}

static void test_nobody_reads(void **state)
{
	enum {
		LINES = 60000
	};
	static char filler[100];

	(void)state;
	memset(filler, 'f', sizeof(filler) - 1);
	for (int kind = 0; kind < 2; kind++) {
		const int out = make_destination(kind);
		unsigned int next = 0, missing = 0;
		char *text;

		assert_int_equal(log_open(NULL, LOG_LEVEL_NOTICE), 0);
		for (unsigned int i = 0; i < LINES; i++) {
			log_notice("%u %s", i, filler);
			assert_true(log_pending() <= LOG_PENDING_MAX);
		}
		assert_true(log_pending() > LOG_PENDING_MAX - 2000);
		assert_int_equal(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
		text = read_all(out);
		assert_int_equal(log_pending(), 0);
		for (char *line = text; *line;) {
			static const char ours[] = "notice: ";
			static const char told[] = "warning: the log was not read in time: ";
			const char *body = line + STAMP;
			char *end = strchr(line, '\n');

			/* Whole lines, in order, and one that counts the rest. */
			assert_non_null(end);
			*end = '\0';
			if (strncmp(body, ours, strlen(ours)) == 0) {
				assert_int_equal(strtoul(body + strlen(ours), NULL, 10), next);
				assert_int_equal(missing, 0);
				next++;
			} else {
				assert_int_equal(strncmp(body, told, strlen(told)), 0);
				missing = (unsigned int)strtoul(body + strlen(told), NULL, 10);
			}
			line = end + 1;
		}
		assert_true(missing > 0);
		assert_int_equal(next + missing, LINES);
		free(text);
		(void)close(out);
	}
}

static void fill(void)
{
	static char filler[50000];

	memset(filler, 'f', sizeof(filler) - 1);
	while (log_pending() == 0)
		log_notice("%s", filler);
}

/* There may be room again before anybody has flushed. */
static void test_lines_stay_in_order(void **state)
{
	const int out = pipe_as_stderr();
	static char piece[65536];
	char *text, *late;

	(void)state;
	assert_int_equal(log_open(NULL, LOG_LEVEL_NOTICE), 0);
	fill();
	assert_true(read(out, piece, sizeof(piece)) > 0);
	log_notice("late");
	text = read_all(out);
	late = strstr(text, "notice: late\n");
	assert_non_null(late);
	assert_string_equal(late, "notice: late\n");
	free(text);
	(void)close(out);
}

static void test_count_of_missing_lines_starts_anew(void **state)
{
	const int out = pipe_as_stderr();
	static char filler[50000];
	char *text;

	(void)state;
	memset(filler, 'f', sizeof(filler) - 1);
	assert_int_equal(log_open(NULL, LOG_LEVEL_NOTICE), 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 200; i++)
			log_notice("%s", filler);
		text = read_all(out);
		assert_non_null(strstr(text, "lines are missing"));
		free(text);
	}
	log_notice("x");
	text = read_all(out);
	assert_string_equal(check_line(text, "notice: x"), "");
	free(text);
	(void)close(out);
}

/* The count is no less worth knowing because only errors are logged. */
static void test_missing_errors_are_counted(void **state)
{
	const int out = pipe_as_stderr();
	static char filler[50000];
	char *text;

	(void)state;
	memset(filler, 'f', sizeof(filler) - 1);
	assert_int_equal(log_open(NULL, LOG_LEVEL_ERROR), 0);
	for (int i = 0; i < 200; i++)
		log_error("%s", filler);
	text = read_all(out);
	assert_non_null(strstr(text, "lines are missing"));
	free(text);
	(void)close(out);
}

static void test_reader_goes_away(void **state)
{
	const int out = pipe_as_stderr();

	(void)state;
	assert_int_equal(log_open(NULL, LOG_LEVEL_NOTICE), 0);
	log_notice("taken");
	(void)close(out);
	for (int i = 0; i < 1000; i++)
		log_notice("lost");
	assert_int_equal(log_pending(), 0);
}

/* Waiting for room there would never end, and its descriptor polls as ready all the time. */
static void test_reader_goes_away_while_full(void **state)
{
	const int out = pipe_as_stderr();

	(void)state;
	assert_int_equal(log_open(NULL, LOG_LEVEL_NOTICE), 0);
	fill();
	(void)close(out);
	log_flush();
	assert_int_equal(log_pending(), 0);
	log_notice("lost");
	assert_int_equal(log_pending(), 0);
}

static void test_close_waits_for_a_while_only(void **state)
{
	const int out = pipe_as_stderr();

	(void)state;
	assert_int_equal(log_open(NULL, LOG_LEVEL_NOTICE), 0);
	fill();
	log_close();
	assert_int_equal(log_pending(), 0);
	(void)close(out);
}

static void test_limit(void **state)
{
	struct log_limit limit = {0};
	unsigned int left_out = 9;
	uint64_t now = 123456;

	(void)state;
	for (int window = 0; window < 3; window++) {
		for (unsigned int i = 0; i < LOG_LIMIT_LINES; i++) {
			assert_true(log_limit_pass(&limit, now, &left_out));
			/* Told once, with the first line of the next window. */
			assert_int_equal(left_out, i == 0 && window > 0 ? 7 : 0);
		}
		for (unsigned int i = 0; i < 7; i++) {
			assert_false(
				log_limit_pass(&limit, now + LOG_LIMIT_WINDOW_MS - 1, &left_out));
			assert_int_equal(left_out, 0);
		}
		now += LOG_LIMIT_WINDOW_MS;
	}
}

static void test_limit_of_what_is_rare(void **state)
{
	struct log_limit limit = {0};
	unsigned int left_out = 9;

	(void)state;
	for (uint64_t now = 0; now < 100; now++) {
		assert_true(log_limit_pass(&limit, now * LOG_LIMIT_WINDOW_MS / 10, &left_out));
		assert_int_equal(left_out, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_level_hides_those_below, setup, teardown),
		cmocka_unit_test(test_level_names),
		cmocka_unit_test_setup_teardown(test_file_is_appended_to, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_open_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes_from_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_of_any_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errno_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_echo_of_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_echo_does_not_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_echo_in_the_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_stay_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_count_of_missing_lines_starts_anew, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_missing_errors_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_goes_away, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_goes_away_while_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close_waits_for_a_while_only, setup, teardown),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_limit_of_what_is_rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
