/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of starting programs. With an argument this program is the one that gets started. */
#include "fpm/process/spawn.h"

#include "fpm/conf/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	REPORT_BYTES = 8192,
	DEADLINE_SECONDS = 60,
	SKIPPED = 77
};

static char self[PATH_MAX];
static char report_word[] = "report", wait_word[] = "wait", odd_word[] = "a b\"c";
static char variable[] = "A=b c", home[] = "HOME=/nowhere";
static const struct identity nobody = {.uid = (uid_t)-1, .gid = (gid_t)-1};

/* What the started program says of itself on descriptor 1, a line each. */

static void report_descriptors(FILE *out)
{
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		exit(1);
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		int fd = (int)strtol(e->d_name, NULL, 10);
		struct stat st;

		if (e->d_name[0] == '.' || fd == dirfd(dir) || fstat(fd, &st) == -1)
			continue;
		(void)fprintf(out, "fd %d %lu\n", fd, (unsigned long)st.st_ino);
	}
	(void)closedir(dir);
}

static void report_status(FILE *out)
{
	static const char *const names[] = {
		"SigBlk:", "SigIgn:", "SigCgt:", "Uid:", "Gid:", "Groups:"};
	FILE *in = fopen("/proc/self/status", "re");
	char line[4096];

	if (!in)
		exit(1);
	while (fgets(line, sizeof(line), in))
		for (size_t i = 0; i < COUNT(names); i++)
			if (strncmp(line, names[i], strlen(names[i])) == 0)
				(void)fputs(line, out);
	(void)fclose(in);
}

static int report(int argc, char *argv[])
{
	FILE *out = fdopen(1, "w");
	char folder[PATH_MAX] = "?";
	struct rlimit nofile;
	int death = 0;

	if (!out || getrlimit(RLIMIT_NOFILE, &nofile) == -1)
		return 1;
	(void)prctl(PR_GET_PDEATHSIG, &death);
	report_descriptors(out);
	report_status(out);
	for (int i = 0; i < argc; i++)
		(void)fprintf(out, "arg %s\n", argv[i]);
	for (char **e = environ; *e; e++)
		(void)fprintf(out, "env %s\n", *e);
	(void)fprintf(out, "folder %s\n", getcwd(folder, sizeof(folder)) ? folder : "?");
	(void)fprintf(out, "leader %d\n", getsid(0) == getpid() && getpgid(0) == getpid());
	(void)fprintf(out, "nofile %lu %lu\n", (unsigned long)nofile.rlim_cur,
		      (unsigned long)nofile.rlim_max);
	(void)fprintf(out, "death %d\n", death);
	(void)fprintf(out, "end\n");
	return fclose(out) == 0 ? 0 : 1;
}

/* Lives until it is ended, and says so first. */
static __attribute__((noreturn)) void wait_for_a_signal(void)
{
	(void)!write(1, "end\n", 4);
	for (;;)
		(void)pause();
}

/* The tests */

static int setup(void **state)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	return n > 0 ? 0 : -1;
}

static int start(void **state)
{
	(void)state;
	(void)alarm(DEADLINE_SECONDS);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	(void)alarm(0);
	return 0;
}

static ino_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* Reads to the end of file. */
static void read_text(int fd, char text[REPORT_BYTES])
{
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, text + used, REPORT_BYTES - 1 - used)) > 0)
		used += (size_t)n;
	assert_int_equal(n, 0);
	text[used] = '\0';
}

static void check_has(const char *text, const char *line)
{
	const size_t len = strlen(line);

	for (const char *p = text; p && *p; p = strchr(p, '\n'), p += p ? 1 : 0)
		if (strncmp(p, line, len) == 0 && p[len] == '\n')
			return;
	fail_msg("no line '%s' in:\n%s", line, text);
}

static struct spawn_request make_request(char *const argv[], int null, int out)
{
	static char *const nothing[] = {NULL};
	struct spawn_request request = {.path = self,
					.argv = argv,
					.envp = nothing,
					.identity = &nobody,
					.fds = {null, out, out},
					.fd_count = 3};

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &request.nofile), 0);
	return request;
}

/* Starts, reads what it writes, and waits for its end; returns its status. */
static int run(struct spawn_request *request, char text[REPORT_BYTES])
{
	int out[2], null, pidfd = -1, status;
	struct pollfd p = {.events = POLLIN};
	pid_t pid = 0;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_not_equal(null, -1);
	request->fds[0] = null;
	request->fds[1] = request->fds[2] = out[1];
	assert_int_equal(spawn_program(request, &pid, &pidfd), 0);
	(void)close(out[1]);
	(void)close(null);
	assert_true(pid > 0);
	assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
	read_text(out[0], text);
	(void)close(out[0]);
	/* The pidfd is that process's: it tells its end. */
	p.fd = pidfd;
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(waitpid(pid, &status, WNOHANG), pid);
	(void)close(pidfd);
	return status;
}

static void test_arguments_and_environment(void **state)
{
	char *argv[] = {report_word, odd_word, NULL};
	char *envp[] = {variable, home, NULL};
	struct spawn_request request = make_request(argv, -1, -1);
	char text[REPORT_BYTES];

	(void)state;
	request.envp = envp;
	assert_int_equal(run(&request, text), 0);
	check_has(text, "arg report");
	check_has(text, "arg a b\"c");
	check_has(text, "env A=b c");
	check_has(text, "env HOME=/nowhere");
	assert_null(strstr(text, "env PATH"));
	check_has(text, "leader 1");
	check_has(text, "death 0");
}

static int noted;

static void note_cb(int signal)
{
	noted = signal;
}

static void test_signals_are_reset(void **state)
{
	char *argv[] = {report_word, NULL};
	struct spawn_request request = make_request(argv, -1, -1);
	struct sigaction ignore = {.sa_handler = SIG_IGN}, note = {.sa_handler = note_cb};
	struct sigaction old_hup, old_pipe, old_term, old_rt;
	char text[REPORT_BYTES];
	sigset_t blocked, old, now;

	(void)state;
	(void)sigaction(SIGHUP, &ignore, &old_hup);
	(void)sigaction(SIGPIPE, &ignore, &old_pipe);
	(void)sigaction(SIGTERM, &note, &old_term);
	(void)sigaction(SIGRTMAX, &ignore, &old_rt);
	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGUSR1);
	(void)sigaddset(&blocked, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &blocked, &old);
	assert_int_equal(run(&request, text), 0);
	(void)sigprocmask(SIG_SETMASK, &old, &now);
	check_has(text, "SigBlk:\t0000000000000000");
	check_has(text, "SigIgn:\t0000000000000000");
	/* Ours is as it was. */
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&now, signal) != sigismember(&blocked, signal))
			fail_msg("signal %d is masked otherwise than before", signal);
	(void)sigaction(SIGHUP, &old_hup, NULL);
	(void)sigaction(SIGPIPE, &old_pipe, NULL);
	(void)sigaction(SIGRTMAX, &old_rt, NULL);
	(void)sigaction(SIGTERM, &old_term, &note);
	assert_ptr_equal(note.sa_handler, note_cb);
}

static void test_folder_and_limit(void **state)
{
	char *argv[] = {report_word, NULL};
	struct spawn_request request = make_request(argv, -1, -1);
	char text[REPORT_BYTES], cwd[PATH_MAX], line[PATH_MAX + 16];

	(void)state;
	request.nofile.rlim_cur = 77;
	request.nofile.rlim_max = 99;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	(void)snprintf(line, sizeof(line), "folder %s", cwd);
	assert_int_equal(run(&request, text), 0);
	check_has(text, "nofile 77 99");
	check_has(text, line);
	request.chdir = "/proc";
	assert_int_equal(run(&request, text), 0);
	check_has(text, "folder /proc");
	/* Ours is as it was. */
	assert_non_null(getcwd(line, sizeof(line)));
	assert_string_equal(line, cwd);
}

static void test_failures_are_told(void **state)
{
	static const struct {
		const char *path;
		const char *chdir;
		const char *text;
	} cases[] = {
		{"/nowhere/at all", NULL,
		 "berth: cannot execute /nowhere/at all: No such file or directory\n"},
		{"/proc", NULL, "berth: cannot execute /proc: Permission denied\n"},
		{"/proc/self/status", NULL,
		 "berth: cannot execute /proc/self/status: Permission denied\n"},
		{self, "/nowhere", "berth: cannot change to /nowhere: No such file or directory\n"},
		{self, "/proc/self/status",
		 "berth: cannot change to /proc/self/status: Not a directory\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *argv[] = {report_word, NULL};
		struct spawn_request request = make_request(argv, -1, -1);
		char text[REPORT_BYTES];
		int status;

		request.path = cases[i].path;
		request.chdir = cases[i].chdir;
		status = run(&request, text);
		assert_string_equal(text, cases[i].text);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 127);
	}
}

/*
 * Gives @count descriptors, of which the one for place i has the number numbers[i] here; what is
 * given and what arrives is compared by inode. In a process of its own, whose standard descriptors
 * are not needed.
 */
static int check_places(const int numbers[], size_t count)
{
	char *argv[] = {report_word, NULL};
	struct spawn_request request = make_request(argv, -1, -1);
	ino_t inodes[SPAWN_FDS_MAX];
	int pairs[SPAWN_FDS_MAX][2], high[SPAWN_FDS_MAX], result, reading, status;
	char text[REPORT_BYTES], line[64];
	size_t lines = 0;
	int pidfd;
	pid_t pid;

	for (size_t i = 0; i < count; i++)
		if (pipe(pairs[i]) == -1)
			return 10;
	reading = fcntl(pairs[1][0], F_DUPFD_CLOEXEC, 60);
	for (size_t i = 0; i < count; i++)
		high[i] = fcntl(pairs[i][1], F_DUPFD, 30);
	for (size_t i = 0; i < count; i++) {
		if (dup2(high[i], numbers[i]) == -1)
			return 11;
		request.fds[i] = numbers[i];
		inodes[i] = inode(high[i]);
	}
	request.fd_count = count;
	/* And some that must not come along, though they are not close-on-exec. */
	(void)dup2(high[0], 40);
	(void)dup2(high[1], 100);
	result = spawn_program(&request, &pid, &pidfd);
	(void)close_range(0, 59, 0);
	(void)close_range(61, ~0U, 0);
	if (reading != 60 || result != 0)
		return 12;
	read_text(reading, text);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 13;
	for (const char *p = text; (p = strstr(p, "fd ")); p++)
		lines++;
	if (lines != count)
		return 14;
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(line, sizeof(line), "fd %zu %lu\n", i, (unsigned long)inodes[i]);
		if (!strstr(text, line))
			return 15;
	}
	return 0;
}

static void test_descriptors_stand_where_they_should(void **state)
{
	static const struct {
		int numbers[SPAWN_FDS_MAX];
		size_t count;
	} cases[] = {
		{{0, 1, 2}, 3},	      {{2, 1, 0}, 3},	    {{1, 2, 0}, 3},
		{{2, 0, 1}, 3},	      {{20, 21, 22}, 3},    {{3, 4, 5}, 3},
		{{4, 3, 0}, 3},	      {{0, 1, 2, 3, 4}, 5}, {{4, 3, 2, 1, 0}, 5},
		{{1, 2, 3, 4, 0}, 5}, {{4, 0, 1, 2, 3}, 5}, {{3, 4, 0, 1, 2}, 5},
		{{5, 6, 7, 8, 9}, 5}, {{9, 0, 8, 1, 7}, 5}, {{1, 0, 3, 2, 6}, 5},
		{{2, 6, 0, 5, 1}, 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		pid_t pid = fork();
		int status;

		assert_int_not_equal(pid, -1);
		if (pid == 0)
			_exit(check_places(cases[i].numbers, cases[i].count));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0)
			fail_msg("case %zu ends with status %d", i, WEXITSTATUS(status));
	}
}

/* Output and error output are often the same. */
static void test_one_descriptor_in_two_places(void **state)
{
	char *argv[] = {report_word, NULL};
	struct spawn_request request = make_request(argv, -1, -1);
	char text[REPORT_BYTES];
	const char *one, *two;

	(void)state;
	assert_int_equal(run(&request, text), 0);
	one = strstr(text, "fd 1 ");
	two = strstr(text, "fd 2 ");
	assert_non_null(one);
	assert_non_null(two);
	assert_int_equal(strtoul(one + 5, NULL, 10), strtoul(two + 5, NULL, 10));
}

static void test_identity(void **state)
{
	static const struct identity other = {
		.uid = 12345, .gid = 23456, .groups = {23456, 34567}, .groups_count = 2};
	char *argv[] = {report_word, NULL};
	struct spawn_request request = make_request(argv, -1, -1);
	char text[REPORT_BYTES];
	int status;

	(void)state;
	/* A program that everybody can execute. */
	request.path = "/bin/cat";
	argv[0] = wait_word;
	request.argv = (char *const[]){argv[0], (char[]){"/proc/self/status"}, NULL};
	request.identity = &other;
	status = run(&request, text);
	if (geteuid() != 0) {
		assert_string_equal(text, "berth: setgroups: Operation not permitted\n");
		assert_int_equal(WEXITSTATUS(status), 127);
		return;
	}
	assert_int_equal(status, 0);
	check_has(text, "Uid:\t12345\t12345\t12345\t12345");
	check_has(text, "Gid:\t23456\t23456\t23456\t23456");
	check_has(text, "Groups:\t23456 34567 ");
}

/* A process that starts another and leaves; returns the pid of the other. */
static pid_t leave_behind(bool end_with_us, bool as_other)
{
	static const struct identity other = {.uid = 12345, .gid = 23456};
	int out[2];
	char text[8];
	pid_t parent, child = 0;
	int back[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(back, O_CLOEXEC), 0);
	parent = fork();
	assert_int_not_equal(parent, -1);
	if (parent == 0) {
		static char sh[] = "sh", c[] = "-c", script[] = "echo end; exec sleep 1000";
		char *argv[] = {wait_word, NULL};
		char *shell[] = {sh, c, script, NULL};
		struct spawn_request request = make_request(argv, out[0], out[1]);
		int pidfd;

		request.end_with_us = end_with_us;
		if (as_other) {
			request.path = "/bin/sh";
			request.argv = shell;
			request.identity = &other;
		}
		if (spawn_program(&request, &child, &pidfd) != 0)
			_exit(1);
		/* It is to be told apart from one that was never there. */
		(void)!read(out[0], text, 4);
		(void)!write(back[1], &child, sizeof(child));
		_exit(0);
	}
	(void)close(out[0]);
	(void)close(out[1]);
	(void)close(back[1]);
	assert_int_equal(read(back[0], &child, sizeof(child)), sizeof(child));
	(void)close(back[0]);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	return child;
}

static void test_ends_with_us(void **state)
{
	int status;
	pid_t pid = leave_behind(true, false);

	(void)state;
	/* It became ours: we are the subreaper. */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* The change of user takes such a setting away, if it was made before. */
static void test_ends_with_us_as_another_user(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = leave_behind(true, true);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void test_outlives_us(void **state)
{
	int status;
	pid_t pid = leave_behind(false, false);

	(void)state;
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_no_more_processes(void **state)
{
	char *argv[] = {report_word, NULL};
	struct spawn_request request = make_request(argv, STDIN_FILENO, STDERR_FILENO);
	int pidfd = -9, status;
	pid_t pid = -9, child;

	(void)state;
	/* Root has no such limit. */
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0) {
		const struct rlimit none = {0};

		if (geteuid() == 0 &&
		    (setgroups(0, NULL) == -1 || setresuid(54321, 54321, 54321) == -1))
			_exit(2);
		if (setrlimit(RLIMIT_NPROC, &none) == -1)
			_exit(3);
		_exit(spawn_program(&request, &pid, &pidfd) == -EAGAIN && pid == -9 && pidfd == -9
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arguments_and_environment, start, stop),
		cmocka_unit_test_setup_teardown(test_signals_are_reset, start, stop),
		cmocka_unit_test_setup_teardown(test_folder_and_limit, start, stop),
		cmocka_unit_test_setup_teardown(test_failures_are_told, start, stop),
		cmocka_unit_test_setup_teardown(test_descriptors_stand_where_they_should, start,
						stop),
		cmocka_unit_test_setup_teardown(test_one_descriptor_in_two_places, start, stop),
		cmocka_unit_test_setup_teardown(test_identity, start, stop),
		cmocka_unit_test_setup_teardown(test_ends_with_us, start, stop),
		cmocka_unit_test_setup_teardown(test_ends_with_us_as_another_user, start, stop),
		cmocka_unit_test_setup_teardown(test_outlives_us, start, stop),
		cmocka_unit_test_setup_teardown(test_no_more_processes, start, stop),
	};

	if (strcmp(argv[0], report_word) == 0)
		return report(argc, argv);
	if (strcmp(argv[0], wait_word) == 0)
		wait_for_a_signal();
	/* Linux has it since 5.3, valgrind 3.19 does not know it. */
	if (syscall(SYS_pidfd_open, getpid(), 0) == -1 && errno == ENOSYS)
		return SKIPPED;
	return cmocka_run_group_tests(tests, setup, NULL);
}
