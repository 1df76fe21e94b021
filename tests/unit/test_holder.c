/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the look for a listening socket's holder, with real sockets and processes. */
#include "fpm/listener/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char folder[64];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/berth test.XXXXXX");
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	char path[108];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/a b.sock", folder);
	(void)unlink(path);
	return rmdir(folder);
}

static struct address_socket resolve(const char *text)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	char error[256];
	size_t count;

	if (address_parse(text, 1, &address, error, sizeof(error)) != 0 ||
	    address_resolve(&address, 1, sockets, &count, error, sizeof(error)) != 0)
		fail_msg("%s: %s", text, error);
	address_done(&address);
	return sockets[0];
}

/* Listens without the listener module. Returns -1 if the family is not there. */
static int listen_at(const char *text, bool v6only, struct address_socket *ret_address)
{
	struct address_socket address = resolve(text);
	int only = v6only;
	int fd = socket(address.addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -1;
	if (address.addr.sa.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (bind(fd, &address.addr.sa, address.len) == -1) {
		(void)close(fd);
		return -1;
	}
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, &address.addr.sa, &address.len), 0);
	*ret_address = address;
	return fd;
}

static uint16_t port_of(const struct address_socket *address)
{
	return ntohs(((const struct sockaddr_in *)&address->addr.storage)->sin_port);
}

static void assert_holder(const struct address_socket *address, const char *expected)
{
	char text[128];

	assert_ptr_equal(holder_describe(address, text, sizeof(text)), text);
	assert_string_equal(text, expected);
}

static const char *this_process(void)
{
	static char text[64];

	(void)snprintf(text, sizeof(text), "this process (pid %d)", (int)getpid());
	return text;
}

static const char *path_text(void)
{
	static char text[108];

	(void)snprintf(text, sizeof(text), "%s/a b.sock", folder);
	return text;
}

static void test_own_unix(void **state)
{
	struct address_socket address;
	struct address_socket other = resolve("/tmp/berth test");
	int fd = listen_at(path_text(), false, &address);

	(void)state;
	assert_int_not_equal(fd, -1);
	assert_holder(&address, this_process());
	/* The beginning of the path is another path. */
	assert_holder(&other, "another process");
	(void)close(fd);
	assert_holder(&address, "another process");
}

static void test_own_abstract(void **state)
{
	struct address_socket address;
	char name[64];
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "@berth holder %d", (int)getpid());
	fd = listen_at(name, false, &address);
	assert_int_not_equal(fd, -1);
	assert_holder(&address, this_process());
	(void)close(fd);
	assert_holder(&address, "another process");
}

struct tcp_row {
	const char *listens; /* with port 0 */
	const char *wanted;  /* the port follows */
	bool v6only;
	bool found;
};

static const struct tcp_row tcp_rows[] = {
	{"127.0.0.1:0", "127.0.0.1:", false, true},
	{"127.0.0.1:0", "0.0.0.0:", false, true},
	{"127.0.0.1:0", "127.0.0.2:", false, false},
	{"0.0.0.0:0", "127.0.0.1:", false, true},
	{"127.0.0.1:0", "[::]:", false, false},
	{"[::1]:0", "[::1]:", true, true},
	{"[::1]:0", "[::]:", true, true},
	{"[::1]:0", "[::2]:", true, false},
	{"[::1]:0", "127.0.0.1:", true, false},
	{"[::1]:0", "0.0.0.0:", true, false},
	{"[::]:0", "[::1]:", true, true},
	{"[::]:0", "127.0.0.1:", false, true},
};

static void test_own_tcp(void **state)
{
	bool skipped = false;

	(void)state;
	for (size_t i = 0; i < COUNT(tcp_rows); i++) {
		const struct tcp_row *row = &tcp_rows[i];
		struct address_socket address;
		struct address_socket wanted;
		char text[64];
		char holder[128];
		int fd = listen_at(row->listens, row->v6only, &address);

		if (fd == -1) {
			assert_int_equal(row->listens[0], '[');
			skipped = true;
			continue;
		}
		(void)snprintf(text, sizeof(text), "%s%u", row->wanted, port_of(&address));
		wanted = resolve(text);
		(void)holder_describe(&wanted, holder, sizeof(holder));
		if (strcmp(holder, row->found ? this_process() : "another process") != 0)
			fail_msg("%s, %s: %s", row->listens, row->wanted, holder);
		(void)close(fd);
	}
	if (skipped) {
		print_message("no IPv6 on this machine\n");
		skip();
	}
}

/* A child of a name of its own that keeps what it inherited until the pipe is closed. */
static pid_t spawn_holder(const char *name, int *ret_stop, uid_t uid)
{
	int ready[2];
	int stop[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)close(stop[1]);
		(void)close(ready[0]);
		(void)prctl(PR_SET_NAME, name);
		if (uid != 0 && setreuid(uid, uid) == -1)
			_exit(2);
		(void)close(ready[1]);
		_exit(read(stop[0], &byte, 1) == 0 ? 0 : 1);
	}
	(void)close(ready[1]);
	(void)close(stop[0]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	(void)close(ready[0]);
	*ret_stop = stop[1];
	return pid;
}

static void end_holder(pid_t pid, int stop)
{
	int status;

	(void)close(stop);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_others(void **state)
{
	struct address_socket address = {.len = 0};
	int fd = listen_at(path_text(), false, &address);
	char expected[128];
	int stops[2];
	pid_t pids[2];

	(void)state;
	assert_int_not_equal(fd, -1);
	pids[0] = spawn_holder("a (b) c", &stops[0], 0);
	(void)snprintf(expected, sizeof(expected), "2 processes, one is %s", this_process());
	assert_holder(&address, expected);

	pids[1] = spawn_holder("evil\n\033[31m", &stops[1], 0);
	(void)close(fd);
	(void)snprintf(expected, sizeof(expected), "2 processes, the first is %s (pid %d)",
		       pids[0] < pids[1] ? "a (b) c" : "evil", (int)pids[pids[0] > pids[1]]);
	assert_holder(&address, expected);

	end_holder(pids[1], stops[1]);
	(void)snprintf(expected, sizeof(expected), "a (b) c (pid %d)", (int)pids[0]);
	assert_holder(&address, expected);
	end_holder(pids[0], stops[0]);
	assert_holder(&address, "another process");
}

/* What a process calls itself must not reach a terminal or start a new line. */
static void test_name_is_cleaned(void **state)
{
	struct address_socket address = {.len = 0};
	int fd = listen_at(path_text(), false, &address);
	char expected[128];
	pid_t pid;
	int stop;

	(void)state;
	assert_int_not_equal(fd, -1);
	pid = spawn_holder("a\033[1m\xff", &stop, 0);
	(void)close(fd);
	(void)snprintf(expected, sizeof(expected), "a?[1m? (pid %d)", (int)pid);
	assert_holder(&address, expected);
	end_holder(pid, stop);
}

/* Connections of other processes carry the listener's name, too, but they don't hold it. */
static void test_connections_do_not_count(void **state)
{
	struct address_socket address = {.len = 0};
	int fd = listen_at(path_text(), false, &address);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int server;

	(void)state;
	assert_int_not_equal(fd, -1);
	assert_int_not_equal(client, -1);
	assert_int_equal(connect(client, &address.addr.sa, address.len), 0);
	server = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(server, -1);
	(void)close(fd);
	assert_holder(&address, "another process");
	(void)close(server);
	(void)close(client);
}

/* An ordinary user sees no descriptors of root's processes, but TCP's table tells the uid. */
static void test_as_ordinary_user(void **state)
{
	struct address_socket tcp;
	struct address_socket path;
	int fds[2];
	pid_t holder;
	pid_t pid;
	int status;
	int stop;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: can't become somebody else\n");
		skip();
	}
	fds[0] = listen_at("127.0.0.1:0", false, &tcp);
	fds[1] = listen_at(path_text(), false, &path);
	assert_int_not_equal(fds[0], -1);
	assert_int_not_equal(fds[1], -1);
	holder = spawn_holder("root's", &stop, 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		char text[128];

		if (setregid(65534, 65534) == -1 || setreuid(65534, 65534) == -1)
			_exit(2);
		if (strcmp(holder_describe(&tcp, text, sizeof(text)), "a process of uid 0") != 0)
			_exit(3);
		if (strcmp(holder_describe(&path, text, sizeof(text)), "another process") != 0)
			_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end_holder(holder, stop);
}

static void test_short_buffer(void **state)
{
	struct address_socket address = resolve("@berth-nobody-has-this");

	(void)state;
	for (size_t size = 1; size < 20; size++) {
		char text[20];

		memset(text, 'x', sizeof(text));
		(void)holder_describe(&address, text, size);
		assert_true(strlen(text) < size);
	}
}

#define folder_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_own_unix),	    cmocka_unit_test(test_own_abstract),
		cmocka_unit_test(test_own_tcp),	    folder_test(test_others),
		folder_test(test_name_is_cleaned),  folder_test(test_connections_do_not_count),
		folder_test(test_as_ordinary_user), cmocka_unit_test(test_short_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
