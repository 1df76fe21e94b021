/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of listening sockets, with real ones in a folder whose name has a blank. */
#include "fpm/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OPENERS	     8
#define ROUNDS	     50
#define WAIT_MS	     20000

static const struct listener_options defaults = {
	.backlog = 16,
	.mode = 0660,
	.uid = (uid_t)-1,
	.gid = (gid_t)-1,
};

static char folder[64];
static char error[512];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/berth test.XXXXXX");
	error[0] = '\0';
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of a file in the test's folder; one at a time. */
static const char *path_of(const char *name)
{
	static char path[108];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct address_socket resolve(const char *text)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	size_t count;

	if (address_parse(text, 1, &address, error, sizeof(error)) != 0 ||
	    address_resolve(&address, 1, sockets, &count, error, sizeof(error)) != 0)
		fail_msg("%s: %s", text, error);
	address_done(&address);
	return sockets[0];
}

static int open_at(const char *text, const struct listener_options *options,
		   struct listener *ret_listener)
{
	struct address_socket address = resolve(text);

	return listener_open(&address, options, ret_listener, error, sizeof(error));
}

static struct listener must_open(const char *text, const struct listener_options *options)
{
	struct listener listener = {.fd = -1};

	if (open_at(text, options, &listener) != 0)
		fail_msg("%s: %s", text, error);
	return listener;
}

static void assert_says(const char *part)
{
	if (strstr(error, part) == NULL)
		fail_msg("\"%s\" doesn't say \"%s\"", error, part);
}

/* Refused with this code and text, and the result left alone. */
static void assert_refused(const char *text, const struct listener_options *options, int code,
			   const char *says)
{
	struct listener listener = {.fd = -77};
	int rc = open_at(text, options, &listener);

	if (rc == 0)
		fail_msg("%s is not refused", text);
	assert_says(says);
	assert_int_equal(rc, code);
	assert_int_equal(listener.fd, -77);
}

static int connect_to(const struct address_socket *address)
{
	int fd = socket(address->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_not_equal(fd, -1);
	if (connect(fd, &address->addr.sa, address->len) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* A byte that a client sends arrives at the listener. */
static void assert_serves(const struct listener *listener)
{
	int client = connect_to(&listener->address);
	char byte = '\0';
	int server;

	assert_int_not_equal(client, -1);
	server = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(server, -1);
	assert_int_equal(write(client, "x", 1), 1);
	assert_int_equal(read(server, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	(void)close(server);
	(void)close(client);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == -1 ? 0 : st.st_mode;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == -1 ? 0 : st.st_ino;
}

/* A socket of any type at a path, made without the module. */
static int bind_raw(const char *path, int type, bool listening)
{
	struct address_socket address = resolve(path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_int_not_equal(fd, -1);
	assert_int_equal(bind(fd, &address.addr.sa, address.len), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, "content", 7), 7);
	(void)close(fd);
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

static void test_open_and_close(void **state)
{
	const char *path = path_of("a b.sock");
	struct listener listener;
	int fds = count_fds();
	struct stat st;

	(void)state;
	listener = must_open(path, &defaults);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_dev, listener.dev);
	assert_int_equal(st.st_ino, listener.ino);
	assert_false(listener.made_parent);
	assert_serves(&listener);
	/* Nothing but the socket itself stays open: no lock, no probe. */
	assert_int_equal(count_fds(), fds + 1);

	listener_close(&listener);
	assert_int_equal(listener.fd, -1);
	assert_false(exists(path));
	assert_true(exists(folder));
	assert_int_equal(count_fds(), fds);
	listener_close(&listener);
}

static void test_modes(void **state)
{
	static const mode_t umasks[] = {0000, 0022, 0077, 0777};
	static const mode_t modes[] = {0660, 0666, 0600, 0777, 0620, 0000};
	const char *path = path_of("mode.sock");
	mode_t before = umask(0);

	(void)state;
	for (size_t i = 0; i < COUNT(umasks) * COUNT(modes); i++) {
		struct listener_options options = defaults;
		mode_t mask = umasks[i / COUNT(modes)];
		struct listener listener;
		mode_t mode;
		mode_t after;

		options.mode = modes[i % COUNT(modes)];
		(void)umask(mask);
		listener = must_open(path, &options);
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
	const char *path = path_of("owner.sock");
	struct listener_options options = defaults;
	struct listener listener;
	struct stat st;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: can't give a socket away\n");
		skip();
	}
	options.uid = 4711;
	options.gid = 4712;
	listener = must_open(path, &options);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_uid, 4711);
	assert_int_equal(st.st_gid, 4712);
	assert_int_equal(st.st_mode & 07777, 0660);
	listener_close(&listener);

	options.uid = (uid_t)-1;
	listener = must_open(path, &options);
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
	assert_int_equal(chmod(folder, 0777), 0);
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

/* In a child a failed assertion can't be told to CMocka, so these leave by abort(). */
static void require(bool ok)
{
	if (ok)
		return;
	(void)fprintf(stderr, "in a child: %s\n", error);
	abort();
}

static void check_chown_refused(void)
{
	struct listener_options options = defaults;
	struct address_socket address = resolve(path_of("made/owner.sock"));
	struct listener listener;

	options.uid = 0;
	require(listener_open(&address, &options, &listener, error, sizeof(error)) == -EPERM);
	require(strstr(error, "to uid 0 ") != NULL);
	require(strstr(error, "Operation not permitted") != NULL);
	/* Neither the file nor the folder that was made for it stays. */
	require(!exists(path_of("made")));
}

static void test_chown_refused(void **state)
{
	(void)state;
	as_user(check_chown_refused);
}

static void check_no_rights(void)
{
	struct address_socket address = resolve(path_of("dead/a.sock"));
	struct listener listener;

	require(listener_open(&address, &defaults, &listener, error, sizeof(error)) == -EACCES);
	require(strstr(error, "Permission denied") != NULL);
	address = resolve(path_of("shut.sock"));
	require(listener_open(&address, &defaults, &listener, error, sizeof(error)) == -EACCES);
	require(strstr(error, "left alone") != NULL);
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
	assert_int_equal(mkdir(path_of("dead"), 0755), 0);
	fd = bind_raw(path_of("shut.sock"), SOCK_STREAM, true);
	assert_int_equal(chmod(path_of("shut.sock"), 0600), 0);
	as_user(check_no_rights);
	assert_true(exists(path_of("shut.sock")));
	(void)close(fd);
}

static void test_stale(void **state)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	const char *path = path_of("stale.sock");

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		int fd = bind_raw(path, types[i], false);
		struct listener listener;

		(void)close(fd);
		assert_true(exists(path));
		listener = must_open(path, &defaults);
		assert_serves(&listener);
		listener_close(&listener);
		assert_false(exists(path));
	}
}

/* Held by ourselves, as when two pools have the same path. */
static void test_live_own(void **state)
{
	const char *path = path_of("live.sock");
	struct listener listener = must_open(path, &defaults);
	ino_t inode = inode_of(path);
	int client;
	char pid[32];

	(void)state;
	assert_refused(path, &defaults, -EADDRINUSE, path);
	assert_says("this process");
	(void)snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
	assert_says(pid);
	assert_int_equal(inode_of(path), inode);
	/* The probe's connection, already closed, comes first. */
	client = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(client, -1);
	(void)close(client);
	assert_serves(&listener);
	listener_close(&listener);
}

/* A queue without room gives EAGAIN, which is a sign of life as well. */
static void test_live_full(void **state)
{
	struct listener_options options = defaults;
	const char *path = path_of("full.sock");
	struct listener listener;
	int clients[8];
	size_t count = 0;

	(void)state;
	options.backlog = 1;
	listener = must_open(path, &options);
	while (count < COUNT(clients)) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		assert_int_not_equal(fd, -1);
		clients[count++] = fd;
		if (connect(fd, &listener.address.addr.sa, listener.address.len) == -1)
			break;
	}
	assert_int_equal(errno, EAGAIN);
	assert_refused(path, &defaults, -EADDRINUSE, "in use by this process");
	assert_true(exists(path));
	while (count > 0)
		(void)close(clients[--count]);
	listener_close(&listener);
}

static void test_live_other(void **state)
{
	const char *path = path_of("other.sock");
	int fd = bind_raw(path, SOCK_STREAM, true);
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
	assert_refused(path, &defaults, -EADDRINUSE, text);
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(exists(path));
}

static void test_other_socket_types(void **state)
{
	static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
	const char *path = path_of("type.sock");

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		int fd = bind_raw(path, types[i], types[i] == SOCK_SEQPACKET);
		ino_t inode = inode_of(path);

		assert_refused(path, &defaults, -EADDRINUSE, "in use by this process");
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
	make_file(path_of("file"), 0640);
	assert_refused(path_of("file"), &defaults, -EEXIST, "a regular file, not a socket");
	assert_int_equal(stat(path_of("file"), &st), 0);
	assert_int_equal(st.st_size, 7);
	assert_int_equal(st.st_mode & 07777, 0640);

	assert_int_equal(mkdir(path_of("dir"), 0700), 0);
	assert_refused(path_of("dir"), &defaults, -EEXIST, "a folder, not a socket");
	assert_true(S_ISDIR(mode_of(path_of("dir"))));
	assert_refused(path_of("."), &defaults, -EEXIST, "a folder, not a socket");

	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	assert_refused(path_of("fifo"), &defaults, -EEXIST, "a FIFO, not a socket");
	assert_true(S_ISFIFO(mode_of(path_of("fifo"))));

	assert_refused("/dev/null", &defaults, -EEXIST, "a device, not a socket");
	assert_true(S_ISCHR(mode_of("/dev/null")));

	/* A link is not followed, neither to a file nor to a dead socket nor to nothing. */
	fd = bind_raw(path_of("dead.sock"), SOCK_STREAM, false);
	(void)close(fd);
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {"file", "dead.sock", "nothing"};

		(void)snprintf(target, sizeof(target), "%s/%s", folder, names[i]);
		assert_int_equal(symlink(target, path_of("link")), 0);
		assert_refused(path_of("link"), &defaults, -EEXIST, "a symbolic link");
		assert_true(S_ISLNK(mode_of(path_of("link"))));
		assert_int_equal(unlink(path_of("link")), 0);
	}
	assert_true(S_ISSOCK(mode_of(path_of("dead.sock"))));
	assert_false(exists(path_of("nothing")));
}

/* What somebody else put at the path in the meantime is theirs. */
static void test_replaced_is_not_removed(void **state)
{
	const char *path = path_of("replaced.sock");
	struct listener listener = must_open(path, &defaults);
	ino_t inode;
	int fd;

	(void)state;
	assert_int_equal(unlink(path), 0);
	fd = bind_raw(path, SOCK_STREAM, true);
	inode = inode_of(path);
	listener_close(&listener);
	assert_int_equal(inode_of(path), inode);
	(void)close(fd);
	assert_int_equal(unlink(path), 0);

	listener = must_open(path, &defaults);
	assert_int_equal(unlink(path), 0);
	make_file(path, 0600);
	listener_close(&listener);
	assert_true(S_ISREG(mode_of(path)));
	assert_int_equal(unlink(path), 0);

	/* Nothing there any more is fine, too. */
	listener = must_open(path, &defaults);
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
	first = must_open(path_of("made/1.sock"), &defaults);
	mode = mode_of(path_of("made")) & 07777;
	(void)umask(before);
	assert_int_equal(mode, 0755);
	assert_true(first.made_parent);
	second = must_open(path_of("made/2.sock"), &defaults);

	/* It goes with the last listener, in whatever order they are closed. */
	listener_close(&first);
	assert_true(exists(path_of("made")));
	listener_close(&second);
	assert_false(exists(path_of("made")));

	/* It stays if there is something of somebody else in it. */
	first = must_open(path_of("made/1.sock"), &defaults);
	make_file(path_of("made/file"), 0600);
	listener_close(&first);
	assert_false(exists(path_of("made/1.sock")));
	assert_true(exists(path_of("made/file")));
	assert_int_equal(unlink(path_of("made/file")), 0);
	assert_int_equal(rmdir(path_of("made")), 0);

	/* A folder that was there before stays, even empty. */
	assert_int_equal(mkdir(path_of("there"), 0700), 0);
	first = must_open(path_of("there//1.sock"), &defaults);
	assert_false(first.made_parent);
	listener_close(&first);
	assert_true(exists(path_of("there")));
}

static void test_folder_refused(void **state)
{
	char missing[128];

	(void)state;
	(void)snprintf(missing, sizeof(missing), "folder %s/x is missing", folder);
	assert_refused(path_of("x/y/z/1.sock"), &defaults, -ENOENT, missing);
	assert_refused(path_of("x/y/1.sock"), &defaults, -ENOENT, missing);
	assert_false(exists(path_of("x")));

	make_file(path_of("file"), 0600);
	assert_refused(path_of("file/1.sock"), &defaults, -ENOTDIR, "is no folder");

	/* A link that leads nowhere: it can be neither used nor made. */
	assert_int_equal(symlink("nowhere", path_of("link")), 0);
	assert_refused(path_of("link/1.sock"), &defaults, -ENOENT, "can't be made");
}

/* Somebody who keeps the lock delays us, but for a bounded time. */
static void test_locked_folder(void **state)
{
	int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct listener listener;

	(void)state;
	assert_int_not_equal(lock, -1);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	listener = must_open(path_of("locked.sock"), &defaults);
	(void)close(lock);
	listener_close(&listener);
	assert_false(exists(path_of("locked.sock")));
}

static void test_flags(void **state)
{
	static const char *const texts[] = {"unix", "127.0.0.1:0", "@berth-test-flags"};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(texts); i++) {
		struct listener_options options = defaults;
		const char *text = i / 2 == 0 ? path_of("flags.sock") : texts[i / 2];
		struct listener listener;
		int flags;

		options.nonblocking = i % 2 == 1;
		listener = must_open(text, &options);
		flags = fcntl(listener.fd, F_GETFL);
		assert_int_equal(flags & O_NONBLOCK, options.nonblocking ? O_NONBLOCK : 0);
		assert_int_equal(fcntl(listener.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		listener_close(&listener);
	}
}

/* The queue takes as many as asked for: the kernel lets one more in. */
static void test_backlog(void **state)
{
	struct listener_options options = defaults;
	struct listener listener;
	int clients[64];
	size_t count = 0;

	(void)state;
	options.backlog = 5;
	listener = must_open(path_of("backlog.sock"), &options);
	for (;;) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		assert_int_not_equal(fd, -1);
		clients[count] = fd;
		if (connect(fd, &listener.address.addr.sa, listener.address.len) == -1)
			break;
		count++;
		assert_in_range(count, 1, COUNT(clients) - 1);
	}
	assert_int_equal(count, 6);
	for (size_t i = 0; i <= count; i++)
		(void)close(clients[i]);
	listener_close(&listener);
	assert_in_range(listener_backlog_limit(), 1, INT_MAX);
}

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static bool have_ipv6(void)
{
	struct address_socket address = resolve("[::1]:0");
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = fd != -1 && bind(fd, &address.addr.sa, address.len) == 0;

	if (fd != -1)
		(void)close(fd);
	return ok;
}

/* One family's life: a port is chosen, the options hold, a second opener is told who has it. */
static void check_tcp(const char *any_port)
{
	struct listener listener = must_open(any_port, &defaults);
	char text[ADDRESS_TEXT_MAX];
	char port[32];
	int client;
	int server;

	(void)address_format(&listener.address, text, sizeof(text));
	assert_non_null(strrchr(text, ':'));
	(void)snprintf(port, sizeof(port), "%s", strrchr(text, ':'));
	assert_string_not_equal(port, ":0");
	assert_int_equal(listener.ino, 0);
	assert_int_not_equal(option_of(listener.fd, SOL_SOCKET, SO_REUSEADDR), 0);
	assert_serves(&listener);

	client = connect_to(&listener.address);
	server = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(server, -1);
	assert_int_not_equal(option_of(server, IPPROTO_TCP, TCP_NODELAY), 0);

	assert_refused(text, &defaults, -EADDRINUSE, "in use by this process (pid");
	assert_says(text);

	/* At once again, although connections of before are not forgotten yet. */
	(void)close(server);
	(void)close(client);
	listener_close(&listener);
	listener = must_open(text, &defaults);
	assert_serves(&listener);
	listener_close(&listener);
}

static void test_tcp4(void **state)
{
	(void)state;
	check_tcp("127.0.0.1:0");
}

static void test_tcp6(void **state)
{
	struct listener ipv6;
	struct listener ipv4;
	char text[ADDRESS_TEXT_MAX];
	const struct sockaddr_in6 *in6;

	(void)state;
	if (!have_ipv6()) {
		print_message("no IPv6 on this machine\n");
		skip();
	}
	check_tcp("[::1]:0");

	/* "[::]" leaves the port to IPv4's sockets. */
	ipv6 = must_open("[::]:0", &defaults);
	assert_int_not_equal(option_of(ipv6.fd, IPPROTO_IPV6, IPV6_V6ONLY), 0);
	in6 = (const struct sockaddr_in6 *)&ipv6.address.addr.storage;
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(in6->sin6_port));
	ipv4 = must_open(text, &defaults);
	listener_close(&ipv4);
	listener_close(&ipv6);
}

static void test_tcp_refused(void **state)
{
	int fds = count_fds();

	(void)state;
	/* Reserved for documentation, so it is on no machine. */
	assert_refused("192.0.2.1:0", &defaults, -EADDRNOTAVAIL, "no interface of this machine");
	assert_int_equal(count_fds(), fds);
}

static void test_abstract(void **state)
{
	struct listener listener;
	char name[64];

	(void)state;
	(void)snprintf(name, sizeof(name), "@berth test %d", (int)getpid());
	listener = must_open(name, &defaults);
	assert_int_equal(listener.ino, 0);
	assert_serves(&listener);
	assert_refused(name, &defaults, -EADDRINUSE, "in use by this process");
	assert_says(name);
	listener_close(&listener);
	listener = must_open(name, &defaults);
	listener_close(&listener);
}

struct warnings {
	size_t count;
	char last[512];
};

static void collect_warning(void *data, const char *text)
{
	struct warnings *warnings = data;

	warnings->count++;
	(void)snprintf(warnings->last, sizeof(warnings->last), "%s", text);
}

static struct warnings warnings_of(const char *text, const struct listener_options *options)
{
	struct listener listener = must_open(text, options);
	struct warnings warnings = {.count = 0};

	listener_warnings(&listener, options, collect_warning, &warnings);
	listener_close(&listener);
	return warnings;
}

struct folder_row {
	mode_t folder;
	mode_t socket;
	bool own_group; /* the folder's group is the socket's */
	const char *says;
};

static const struct folder_row folder_rows[] = {
	{0755, 0660, true, NULL},
	{0755, 0666, false, NULL},
	{0750, 0660, true, NULL},
	{0750, 0660, false, "shuts out group 4712"},
	{0701, 0660, false, NULL},
	{0701, 0660, true, "shuts out group"},
	{0700, 0660, true, "shuts out group"},
	{0700, 0660, false, "shuts out group 4712"},
	{0700, 0600, false, NULL},
	{0700, 0640, false, NULL},
	{0750, 0666, true, "shuts out other users"},
	{0744, 0602, true, "shuts out other users"},
};

static void test_folder_warnings(void **state)
{
	char inner[128];

	(void)state;
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(mkdir(path_of("in"), 0755), 0);
	(void)snprintf(inner, sizeof(inner), "%s", path_of("in"));
	for (size_t i = 0; i < COUNT(folder_rows); i++) {
		const struct folder_row *row = &folder_rows[i];
		struct listener_options options = defaults;
		struct warnings warnings;

		if (!row->own_group && geteuid() != 0)
			continue;
		options.mode = row->socket;
		options.gid = row->own_group ? (gid_t)-1 : 4712;
		assert_int_equal(chmod(inner, row->folder), 0);
		warnings = warnings_of(path_of("in/1.sock"), &options);
		if (warnings.count != (row->says == NULL ? 0 : 1))
			fail_msg("row %zu: %zu warnings", i, warnings.count);
		if (row->says != NULL) {
			assert_non_null(strstr(warnings.last, row->says));
			assert_non_null(strstr(warnings.last, inner));
		}
	}

	/* The folder above counts just the same. */
	assert_int_equal(chmod(inner, 0755), 0);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(warnings_of(path_of("in/1.sock"), &defaults).count, 1);
}

static void test_address_warnings(void **state)
{
	struct warnings warnings;

	(void)state;
	assert_int_equal(warnings_of("127.0.0.1:0", &defaults).count, 0);
	assert_int_equal(warnings_of("@berth-test-warnings", &defaults).count, 0);
	warnings = warnings_of("0.0.0.0:0", &defaults);
	assert_int_equal(warnings.count, 1);
	assert_non_null(strstr(warnings.last, "0.0.0.0:"));
	assert_non_null(strstr(warnings.last, "every host"));
	if (!have_ipv6()) {
		print_message("no IPv6 on this machine\n");
		skip();
	}
	assert_int_equal(warnings_of("[::1]:0", &defaults).count, 0);
	assert_int_equal(warnings_of("[::]:0", &defaults).count, 1);
}

/* One of several processes that want one path. Says how it went, and serves once if it won. */
static void run_opener(int start, int result, int stop, const char *path)
{
	struct address_socket address = resolve(path);
	struct listener listener;
	struct pollfd stopped = {.fd = stop, .events = POLLIN};
	char byte;
	int rc;

	require(read(start, &byte, 1) == 0);
	rc = listener_open(&address, &defaults, &listener, error, sizeof(error));
	require(rc == 0 || rc == -EADDRINUSE);
	if (rc < 0) {
		require(write(result, "-", 1) == 1);
		return;
	}
	require(write(result, "+", 1) == 1);
	/* The losers' probes are connections, too, so all are answered until told to stop. */
	for (;;) {
		struct pollfd fds[] = {{.fd = listener.fd, .events = POLLIN}, stopped};
		int client;

		require(poll(fds, 2, WAIT_MS) > 0);
		if (fds[1].revents != 0)
			break;
		client = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
		require(client != -1);
		(void)send(client, "x", 1, MSG_NOSIGNAL);
		(void)close(client);
	}
	listener_close(&listener);
}

static void spawn_openers(pid_t pids[OPENERS], int start[2], int result[2], int stop[2],
			  const char *path)
{
	for (size_t i = 0; i < OPENERS; i++) {
		pids[i] = fork();
		assert_int_not_equal(pids[i], -1);
		if (pids[i] != 0)
			continue;
		(void)close(start[1]);
		(void)close(stop[1]);
		run_opener(start[0], result[1], stop[0], path);
		_exit(0);
	}
}

static void reap_all(const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

static void run_round(const char *path)
{
	struct address_socket address = resolve(path);
	int start[2];
	int result[2];
	int stop[2];
	pid_t pids[OPENERS];
	int winners = 0;
	char byte = '\0';
	int client;

	assert_int_equal(pipe2(start, O_CLOEXEC), 0);
	assert_int_equal(pipe2(result, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	spawn_openers(pids, start, result, stop, path);
	(void)close(result[1]);
	(void)close(start[0]);
	(void)close(stop[0]);
	(void)close(start[1]);
	for (size_t i = 0; i < OPENERS; i++) {
		assert_int_equal(read(result[0], &byte, 1), 1);
		winners += byte == '+';
	}
	assert_int_equal(winners, 1);

	client = connect_to(&address);
	assert_int_not_equal(client, -1);
	assert_int_equal(read(client, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	(void)close(client);
	(void)close(stop[1]);
	(void)close(result[0]);
	reap_all(pids, OPENERS);
	assert_false(exists(path));
}

static void test_race_to_open(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		const char *path = path_of(i % 4 == 1 ? "made/race.sock" : "race.sock");

		/* Every other time there is a dead socket in the way. */
		if (i % 2 == 0)
			(void)close(bind_raw(path, SOCK_STREAM, false));
		run_round(path);
	}
}

/* Opens and closes again and again; while it is open, the path must lead to this process. */
static void open_and_close_often(const char *path)
{
	struct address_socket address = resolve(path);
	struct listener_options options = defaults;

	/* The others' probes fill the queue, and nobody empties it. */
	options.backlog = listener_backlog_limit();
	for (int i = 0; i < ROUNDS; i++) {
		struct listener listener;
		struct ucred peer;
		socklen_t len = sizeof(peer);
		int rc = listener_open(&address, &options, &listener, error, sizeof(error));
		int client;

		require(rc == 0 || rc == -EADDRINUSE);
		if (rc < 0)
			continue;
		client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		require(client != -1);
		require(connect(client, &address.addr.sa, address.len) == 0);
		require(getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0);
		require(peer.pid == getpid());
		(void)close(client);
		listener_close(&listener);
	}
}

static void test_race_to_close(void **state)
{
	static const char *const names[] = {"race.sock", "made/race.sock"};
	pid_t pids[OPENERS];

	(void)state;
	for (size_t n = 0; n < COUNT(names); n++) {
		const char *path = path_of(names[n]);

		for (size_t i = 0; i < OPENERS; i++) {
			pids[i] = fork();
			assert_int_not_equal(pids[i], -1);
			if (pids[i] == 0) {
				open_and_close_often(path);
				_exit(0);
			}
		}
		reap_all(pids, OPENERS);
		assert_false(exists(path));
	}
}

#define folder_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

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
		folder_test(test_flags),
		folder_test(test_backlog),
		folder_test(test_folder_warnings),
		folder_test(test_race_to_open),
		folder_test(test_race_to_close),
		cmocka_unit_test(test_tcp4),
		cmocka_unit_test(test_tcp6),
		cmocka_unit_test(test_tcp_refused),
		cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_address_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
