/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of sockets that systemd passes: whose they are, and that they are left as they are. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf_fixture.h"
#include "fpm/listener/activation.h"
#include "fpm/listener/listener.h"
#include "listener_fixture.h"

static char warnings[1024];

static void warn(void *data, const char *text)
{
	assert_ptr_equal(data, warnings);
	(void)snprintf(warnings + strlen(warnings), sizeof(warnings) - strlen(warnings), "%s\n",
		       text);
}

static int teardown(void **state)
{
	activation_done();
	warnings[0] = '\0';
	return fixture_teardown(state);
}

static int open_unix(const char *name)
{
	return fixture_bind_raw(fixture_path_of(name), SOCK_STREAM, true);
}

/* A listening TCP socket; its address is set to what getsockname() says. */
static int open_inet(const char *text, struct address_socket *ret_address)
{
	struct address_socket address = fixture_resolve(text);
	int fd = socket(address.addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_not_equal(fd, -1);
	assert_int_equal(bind(fd, &address.addr.sa, address.len), 0);
	assert_int_equal(listen(fd, 8), 0);
	address.len = sizeof(address.addr);
	assert_int_equal(getsockname(fd, &address.addr.sa, &address.len), 0);
	if (ret_address)
		*ret_address = address;
	return fd;
}

static void add(int fd, const char *name)
{
	assert_int_not_equal(fd, -1);
	assert_int_equal(activation_add(fd, name, fixture_error, sizeof(fixture_error)), 0);
}

static int claim(const char *name, const char *pool)
{
	const struct address_socket address = fixture_resolve(fixture_path_of(name));

	return activation_claim(&address, pool);
}

/* Pools www and app, each at its own file; one with %n if www has more than one worker. */
static struct conf *conf_of(unsigned int children, const char *www, const char *app)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "[www]\nlisten = %s/%s\npm.max_children = %u\n"
		       "[app]\nlisten = %s/%s\npm.max_children = 1\n",
		       fixture_folder, www, children, fixture_folder, app);
	return read_good(text, &as_user);
}

static void test_by_address(void **state)
{
	int one = open_unix("a-1"), two = open_unix("a-2");

	(void)state;
	add(one, "other");
	add(two, "another");
	assert_int_equal(claim("a-2", "www"), two);
	assert_int_equal(claim("a-1", "www"), one);
	/* Once each, until it is given back. */
	assert_int_equal(claim("a-1", "www"), -1);
	assert_true(activation_release(one));
	assert_int_equal(claim("a-1", "www"), one);
	assert_int_equal(claim("a-3", "www"), -1);
	assert_false(activation_release(-1));
	activation_close_unused(warn, warnings);
	assert_string_equal(warnings, "");
}

static void test_by_name(void **state)
{
	int first = open_unix("x"), second = open_unix("y"), tcp = open_inet("127.0.0.1:0", NULL);

	(void)state;
	add(tcp, "www");
	add(first, "www");
	add(second, "www");
	assert_int_equal(claim("a", "app"), -1);
	/* In their order, and none of another kind. */
	assert_int_equal(claim("a", "www"), first);
	assert_int_equal(claim("b", "www"), second);
	assert_int_equal(claim("c", "www"), -1);
}

static void test_address_goes_first(void **state)
{
	/* Were it for the name, www would get the socket of app. */
	int other = open_unix("one"), two = open_unix("two");
	struct conf *conf = conf_of(1, "three", "two");

	(void)state;
	add(two, "www");
	add(other, "www");
	activation_reserve(conf);
	assert_int_equal(claim("three", "www"), other);
	assert_int_equal(claim("two", "app"), two);
	conf_free(conf);
	/* The next configuration has another pool there. */
	conf = conf_of(1, "one", "four");
	assert_true(activation_release(two));
	assert_true(activation_release(other));
	activation_reserve(conf);
	assert_int_equal(claim("five", "www"), two);
	assert_int_equal(claim("one", "www"), other);
	conf_free(conf);
}

static void test_slots_are_reserved(void **state)
{
	int socket = open_unix("s-2");
	struct conf *conf = conf_of(2, "s-%n", "app");

	(void)state;
	add(socket, "www");
	activation_reserve(conf);
	assert_int_equal(claim("s-1", "www"), -1);
	assert_int_equal(claim("s-2", "www"), socket);
	conf_free(conf);
}

static void test_unused(void **state)
{
	char expected[512];
	struct address_socket address;
	int used, fds = fixture_count_fds();

	(void)state;
	used = open_unix("u");
	add(open_unix("v"), "web");
	add(used, "web");
	add(open_inet("[::1]:0", &address), "tcp");
	assert_int_equal(claim("u", "www"), used);
	activation_close_unused(warn, warnings);
	assert_int_equal(fixture_count_fds(), fds + 1);
	(void)snprintf(expected, sizeof(expected),
		       "systemd listens on %s/v, named 'web', which is no pool's address or name: "
		       "clients there wait for nothing\nsystemd listens on [::1]:%d, named 'tcp', "
		       "which is no pool's address or name: clients there wait for nothing\n",
		       fixture_folder,
		       ntohs(((struct sockaddr_in6 *)&address.addr.storage)->sin6_port));
	assert_string_equal(warnings, expected);
	assert_true(activation_release(used));
	activation_done();
	assert_int_equal(fixture_count_fds(), fds);
}

static void test_what_is_refused(void **state)
{
	int fds[4];

	(void)state;
	fds[0] = fixture_bind_raw(fixture_path_of("d"), SOCK_DGRAM, false);
	fds[1] = fixture_bind_raw(fixture_path_of("q"), SOCK_SEQPACKET, true);
	fds[2] = fixture_bind_raw(fixture_path_of("n"), SOCK_STREAM, false);
	fds[3] = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < COUNT(fds); i++) {
		char expected[256];

		(void)snprintf(expected, sizeof(expected),
			       "systemd passed descriptor %d, named 'web', which is no listening "
			       "stream socket; accepted is ListenStream= with Accept=no",
			       fds[i]);
		assert_int_equal(
			activation_add(fds[i], "web", fixture_error, sizeof(fixture_error)),
			-EINVAL);
		assert_string_equal(fixture_error, expected);
		assert_int_equal(claim("d", "web"), -1);
		(void)close(fds[i]);
	}
}

/* Neither file nor owner, mode, queue or the socket itself are changed by the end of a listener. */
static void test_left_alone(void **state)
{
	const struct listener_options options = {
		.backlog = 1, .mode = 0600, .uid = 1, .gid = 1, .nonblocking = true};
	const struct address_socket address = fixture_resolve(fixture_path_of("left"));
	int fd = open_unix("left");
	struct stat before, after;
	struct listener listener, next;

	(void)state;
	add(fd, "www");
	assert_int_equal(chmod(fixture_path_of("left"), 0640), 0);
	assert_int_equal(stat(fixture_path_of("left"), &before), 0);
	assert_int_equal(activation_claim(&address, "www"), fd);
	assert_int_equal(listener_open_passed(fd, &address, &options, &listener, fixture_error,
					      sizeof(fixture_error)),
			 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	next = listener_share(&listener);
	assert_int_equal(listener_take_over(&next, &options, fixture_error, sizeof(fixture_error)),
			 0);
	listener_close(&listener);
	fixture_assert_serves(&next);
	listener_close(&next);
	assert_int_equal(stat(fixture_path_of("left"), &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_uid, before.st_uid);
	assert_int_equal(after.st_gid, before.st_gid);
	/* It is there for the next who asks. */
	assert_int_equal(activation_claim(&address, "www"), fd);
}

static void test_tcp(void **state)
{
	const struct listener_options options = {.backlog = 1, .nonblocking = false};
	struct address_socket actual, configured = fixture_resolve("127.0.0.1:0");
	int fd = open_inet("0.0.0.0:0", &actual), on = 0;
	socklen_t size = sizeof(on);
	struct listener listener;

	(void)state;
	add(fd, "www");
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(activation_claim(&configured, "www"), fd);
	assert_int_equal(listener_open_passed(fd, &configured, &options, &listener, fixture_error,
					      sizeof(fixture_error)),
			 0);
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
	assert_true(on);
	assert_true(address_equal(&listener.address, &actual));
	/* What is told of it is the truth: everybody can reach it. */
	listener_warnings(&listener, &options, warn, warnings);
	assert_non_null(strstr(warnings, "0.0.0.0:"));
}

static void test_environment(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		char number[32];
		int fd = open_unix("e");

		fixture_require(dup2(fd, 3) == 3 && dup2(fd, 4) == 4);
		(void)snprintf(number, sizeof(number), "%d", getpid());
		(void)setenv("LISTEN_PID", number, 1);
		(void)setenv("LISTEN_FDS", "2", 1);
		(void)setenv("LISTEN_FDNAMES", "web:www", 1);
		fixture_require(activation_take(fixture_error, sizeof(fixture_error)) == 0);
		fixture_require(!getenv("LISTEN_FDS") && !getenv("LISTEN_FDNAMES") &&
				!getenv("LISTEN_PID"));
		fixture_require(fcntl(3, F_GETFD) == FD_CLOEXEC);
		fixture_require(claim("no", "www") == 4);
		fixture_require(claim("e", "no") == 3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* Meant for another process. */
	(void)setenv("LISTEN_PID", "1", 1);
	(void)setenv("LISTEN_FDS", "1", 1);
	assert_int_equal(activation_take(fixture_error, sizeof(fixture_error)), 0);
	assert_null(getenv("LISTEN_FDS"));
	activation_close_unused(warn, warnings);
	assert_string_equal(warnings, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_address, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_name, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_address_goes_first, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_slots_are_reserved, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_unused, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_refused, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_alone, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_tcp, fixture_setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment, fixture_setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
