/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of unix listeners: permissions, stale and foreign files, folders. */
#include "fpm/listener/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "listener_fixture.h"

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == -1 ? 0 : st.st_mode;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == -1 ? 0 : st.st_ino;
}

static void make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, "content", 7), 7);
	(void)close(fd);
}

static void test_open_and_close(void **state)
{
	const char *path = fixture_path_of("a b.sock");
	struct listener listener;
	int fds = fixture_count_fds();
	struct stat st;

	(void)state;
	listener = fixture_must_open(path, &fixture_defaults);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_dev, listener.dev);
	assert_int_equal(st.st_ino, listener.ino);
	assert_false(listener.made_parent);
	fixture_assert_serves(&listener);
	/* Nothing but the socket itself stays open: no lock, no probe. */
	assert_int_equal(fixture_count_fds(), fds + 1);

	listener_close(&listener);
	assert_int_equal(listener.fd, -1);
	assert_false(fixture_exists(path));
	assert_true(fixture_exists(fixture_folder));
	assert_int_equal(fixture_count_fds(), fds);
	listener_close(&listener);
}

static void test_modes(void **state)
{
	static const mode_t umasks[] = {0000, 0022, 0077, 0777};
	static const mode_t modes[] = {0660, 0666, 0600, 0777, 0620, 0000};
	const char *path = fixture_path_of("mode.sock");
	mode_t before = umask(0);

	(void)state;
	for (size_t i = 0; i < COUNT(umasks) * COUNT(modes); i++) {
		struct listener_options options = fixture_defaults;
		mode_t mask = umasks[i / COUNT(modes)];
		struct listener listener;
		mode_t mode;
		mode_t after;

		options.mode = modes[i % COUNT(modes)];
		(void)umask(mask);
		listener = fixture_must_open(path, &options);
		after = umask(0);
		mode = mode_of(path) & 07777;
		listener_close(&listener);
		assert_int_equal(mode, options.mode);
		assert_int_equal(after, mask);
	}
	(void)umask(before);
}

static void test_owner(void **state)
{
	const char *path = fixture_path_of("owner.sock");
	struct listener_options options = fixture_defaults;
	struct listener listener;
	struct stat st;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: can't give a socket away\n");
		skip();
	}
	options.uid = 4711;
	options.gid = 4712;
	listener = fixture_must_open(path, &options);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_uid, 4711);
	assert_int_equal(st.st_gid, 4712);
	assert_int_equal(st.st_mode & 07777, 0660);
	listener_close(&listener);

	options.uid = (uid_t)-1;
	listener = fixture_must_open(path, &options);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, 4712);
	listener_close(&listener);
}

/* Runs a check as an ordinary user in a child, where root's rights would hide the fault. */
static void as_user(void (*check)(void))
{
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		check();
		return;
	}
	assert_int_equal(chmod(fixture_folder, 0777), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		if (setregid(65534, 65534) == -1 || setreuid(65534, 65534) == -1)
			_exit(2);
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void check_chown_refused(void)
{
	struct listener_options options = fixture_defaults;
	struct address_socket address = fixture_resolve(fixture_path_of("made/owner.sock"));
	struct listener listener;

	options.uid = 0;
	fixture_require(listener_open(&address, &options, &listener, fixture_error,
				      sizeof(fixture_error)) == -EPERM);
	fixture_require(strstr(fixture_error, "to uid 0 ") != NULL);
	fixture_require(strstr(fixture_error, "Operation not permitted") != NULL);
	/* Neither the file nor the folder that was made for it stays. */
	fixture_require(!fixture_exists(fixture_path_of("made")));
}

static void test_chown_refused(void **state)
{
	(void)state;
	as_user(check_chown_refused);
}

static void check_no_rights(void)
{
	struct address_socket address = fixture_resolve(fixture_path_of("dead/a.sock"));
	struct listener listener;

	fixture_require(listener_open(&address, &fixture_defaults, &listener, fixture_error,
				      sizeof(fixture_error)) == -EACCES);
	fixture_require(strstr(fixture_error, "Permission denied") != NULL);
	address = fixture_resolve(fixture_path_of("shut.sock"));
	fixture_require(listener_open(&address, &fixture_defaults, &listener, fixture_error,
				      sizeof(fixture_error)) == -EACCES);
	fixture_require(strstr(fixture_error, "left alone") != NULL);
}

static void test_no_rights(void **state)
{
	int fd;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: can't make a folder of somebody else\n");
		skip();
	}
	/* A folder that can't be written to, and a socket that can't be probed. */
	assert_int_equal(mkdir(fixture_path_of("dead"), 0755), 0);
	fd = fixture_bind_raw(fixture_path_of("shut.sock"), SOCK_STREAM, true);
	assert_int_equal(chmod(fixture_path_of("shut.sock"), 0600), 0);
	as_user(check_no_rights);
	assert_true(fixture_exists(fixture_path_of("shut.sock")));
	(void)close(fd);
}

static void test_stale(void **state)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	const char *path = fixture_path_of("stale.sock");

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		int fd = fixture_bind_raw(path, types[i], false);
		struct listener listener;

		(void)close(fd);
		assert_true(fixture_exists(path));
		listener = fixture_must_open(path, &fixture_defaults);
		fixture_assert_serves(&listener);
		listener_close(&listener);
		assert_false(fixture_exists(path));
	}
}

/* Held by ourselves, as when two pools have the same path. */
static void test_live_own(void **state)
{
	const char *path = fixture_path_of("live.sock");
	struct listener listener = fixture_must_open(path, &fixture_defaults);
	ino_t inode = inode_of(path);
	int client;
	char pid[32];

	(void)state;
	fixture_assert_refused(path, &fixture_defaults, -EADDRINUSE, path);
	fixture_assert_says("this process");
	(void)snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
	fixture_assert_says(pid);
	assert_int_equal(inode_of(path), inode);
	/* The probe's connection, already closed, comes first. */
	client = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(client, -1);
	(void)close(client);
	fixture_assert_serves(&listener);
	listener_close(&listener);
}

/* A queue without room gives EAGAIN, which is a sign of life as well. */
static void test_live_full(void **state)
{
	struct listener_options options = fixture_defaults;
	const char *path = fixture_path_of("full.sock");
	struct listener listener;
	int clients[8];
	size_t count = 0;

	(void)state;
	options.backlog = 1;
	listener = fixture_must_open(path, &options);
	while (count < COUNT(clients)) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		assert_int_not_equal(fd, -1);
		clients[count++] = fd;
		if (connect(fd, &listener.address.addr.sa, listener.address.len) == -1)
			break;
	}
	assert_int_equal(errno, EAGAIN);
	fixture_assert_refused(path, &fixture_defaults, -EADDRINUSE, "in use by this process");
	assert_true(fixture_exists(path));
	while (count > 0)
		(void)close(clients[--count]);
	listener_close(&listener);
}

static void test_live_other(void **state)
{
	const char *path = fixture_path_of("other.sock");
	int fd = fixture_bind_raw(path, SOCK_STREAM, true);
	int ends[2];
	pid_t pid;
	char byte;
	char text[32];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	(void)close(ends[0]);
	(void)close(fd);
	(void)snprintf(text, sizeof(text), "(pid %d)", (int)pid);
	fixture_assert_refused(path, &fixture_defaults, -EADDRINUSE, text);
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(fixture_exists(path));
}

static void test_other_socket_types(void **state)
{
	static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
	const char *path = fixture_path_of("type.sock");

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		int fd = fixture_bind_raw(path, types[i], types[i] == SOCK_SEQPACKET);
		ino_t inode = inode_of(path);

		fixture_assert_refused(path, &fixture_defaults, -EADDRINUSE,
				       "in use by this process");
		assert_int_equal(inode_of(path), inode);
		(void)close(fd);
		assert_int_equal(unlink(path), 0);
	}
}

static void test_files_left_alone(void **state)
{
	char target[108];
	struct stat st;
	int fd;

	(void)state;
	make_file(fixture_path_of("file"), 0640);
	fixture_assert_refused(fixture_path_of("file"), &fixture_defaults, -EEXIST,
			       "a regular file, not a socket");
	assert_int_equal(stat(fixture_path_of("file"), &st), 0);
	assert_int_equal(st.st_size, 7);
	assert_int_equal(st.st_mode & 07777, 0640);

	assert_int_equal(mkdir(fixture_path_of("dir"), 0700), 0);
	fixture_assert_refused(fixture_path_of("dir"), &fixture_defaults, -EEXIST,
			       "a folder, not a socket");
	assert_true(S_ISDIR(mode_of(fixture_path_of("dir"))));
	fixture_assert_refused(fixture_path_of("."), &fixture_defaults, -EEXIST,
			       "a folder, not a socket");

	assert_int_equal(mkfifo(fixture_path_of("fifo"), 0600), 0);
	fixture_assert_refused(fixture_path_of("fifo"), &fixture_defaults, -EEXIST,
			       "a FIFO, not a socket");
	assert_true(S_ISFIFO(mode_of(fixture_path_of("fifo"))));

	fixture_assert_refused("/dev/null", &fixture_defaults, -EEXIST, "a device, not a socket");
	assert_true(S_ISCHR(mode_of("/dev/null")));

	/* A link is not followed, neither to a file nor to a dead socket nor to nothing. */
	fd = fixture_bind_raw(fixture_path_of("dead.sock"), SOCK_STREAM, false);
	(void)close(fd);
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {"file", "dead.sock", "nothing"};

		(void)snprintf(target, sizeof(target), "%s/%s", fixture_folder, names[i]);
		assert_int_equal(symlink(target, fixture_path_of("link")), 0);
		fixture_assert_refused(fixture_path_of("link"), &fixture_defaults, -EEXIST,
				       "a symbolic link");
		assert_true(S_ISLNK(mode_of(fixture_path_of("link"))));
		assert_int_equal(unlink(fixture_path_of("link")), 0);
	}
	assert_true(S_ISSOCK(mode_of(fixture_path_of("dead.sock"))));
	assert_false(fixture_exists(fixture_path_of("nothing")));
}

/* What somebody else put at the path in the meantime is theirs. */
static void test_replaced_is_not_removed(void **state)
{
	const char *path = fixture_path_of("replaced.sock");
	struct listener listener = fixture_must_open(path, &fixture_defaults);
	ino_t inode;
	int fd;

	(void)state;
	assert_int_equal(unlink(path), 0);
	fd = fixture_bind_raw(path, SOCK_STREAM, true);
	inode = inode_of(path);
	listener_close(&listener);
	assert_int_equal(inode_of(path), inode);
	(void)close(fd);
	assert_int_equal(unlink(path), 0);

	listener = fixture_must_open(path, &fixture_defaults);
	assert_int_equal(unlink(path), 0);
	make_file(path, 0600);
	listener_close(&listener);
	assert_true(S_ISREG(mode_of(path)));
	assert_int_equal(unlink(path), 0);

	/* Nothing there any more is fine, too. */
	listener = fixture_must_open(path, &fixture_defaults);
	assert_int_equal(unlink(path), 0);
	listener_close(&listener);
	assert_int_equal(listener.fd, -1);
}

static void test_made_folder(void **state)
{
	struct listener first;
	struct listener second;
	mode_t before = umask(0077);
	mode_t mode;

	(void)state;
	first = fixture_must_open(fixture_path_of("made/1.sock"), &fixture_defaults);
	mode = mode_of(fixture_path_of("made")) & 07777;
	(void)umask(before);
	assert_int_equal(mode, 0755);
	assert_true(first.made_parent);
	second = fixture_must_open(fixture_path_of("made/2.sock"), &fixture_defaults);

	/* It goes with the last listener, in whatever order they are closed. */
	listener_close(&first);
	assert_true(fixture_exists(fixture_path_of("made")));
	listener_close(&second);
	assert_false(fixture_exists(fixture_path_of("made")));

	/* It stays if there is something of somebody else in it. */
	first = fixture_must_open(fixture_path_of("made/1.sock"), &fixture_defaults);
	make_file(fixture_path_of("made/file"), 0600);
	listener_close(&first);
	assert_false(fixture_exists(fixture_path_of("made/1.sock")));
	assert_true(fixture_exists(fixture_path_of("made/file")));
	assert_int_equal(unlink(fixture_path_of("made/file")), 0);
	assert_int_equal(rmdir(fixture_path_of("made")), 0);

	/* A folder that was there before stays, even empty. */
	assert_int_equal(mkdir(fixture_path_of("there"), 0700), 0);
	first = fixture_must_open(fixture_path_of("there//1.sock"), &fixture_defaults);
	assert_false(first.made_parent);
	listener_close(&first);
	assert_true(fixture_exists(fixture_path_of("there")));
}

static void test_folder_refused(void **state)
{
	char missing[128];

	(void)state;
	(void)snprintf(missing, sizeof(missing), "folder %s/x is missing", fixture_folder);
	fixture_assert_refused(fixture_path_of("x/y/z/1.sock"), &fixture_defaults, -ENOENT,
			       missing);
	fixture_assert_refused(fixture_path_of("x/y/1.sock"), &fixture_defaults, -ENOENT, missing);
	assert_false(fixture_exists(fixture_path_of("x")));

	make_file(fixture_path_of("file"), 0600);
	fixture_assert_refused(fixture_path_of("file/1.sock"), &fixture_defaults, -ENOTDIR,
			       "is no folder");

	/* A link that leads nowhere: it can be neither used nor made. */
	assert_int_equal(symlink("nowhere", fixture_path_of("link")), 0);
	fixture_assert_refused(fixture_path_of("link/1.sock"), &fixture_defaults, -ENOENT,
			       "can't be made");
}

/* Somebody who keeps the lock delays us, but for a bounded time. */
static void test_locked_folder(void **state)
{
	int lock = open(fixture_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct listener listener;

	(void)state;
	assert_int_not_equal(lock, -1);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	listener = fixture_must_open(fixture_path_of("locked.sock"), &fixture_defaults);
	(void)close(lock);
	listener_close(&listener);
	assert_false(fixture_exists(fixture_path_of("locked.sock")));
}

#define folder_test(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_open_and_close),
		folder_test(test_modes),
		folder_test(test_owner),
		folder_test(test_chown_refused),
		folder_test(test_no_rights),
		folder_test(test_stale),
		folder_test(test_live_own),
		folder_test(test_live_full),
		folder_test(test_live_other),
		folder_test(test_other_socket_types),
		folder_test(test_files_left_alone),
		folder_test(test_replaced_is_not_removed),
		folder_test(test_made_folder),
		folder_test(test_folder_refused),
		folder_test(test_locked_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
