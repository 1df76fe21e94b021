/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of listeners of all kinds: flags, backlog, TCP, abstract names, warnings. */
#include "fpm/listener/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "listener_fixture.h"

static void test_flags(void **state)
{
	static const char *const texts[] = {"unix", "127.0.0.1:0", "@berth-test-flags"};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(texts); i++) {
		struct listener_options options = fixture_defaults;
		const char *text = i / 2 == 0 ? fixture_path_of("flags.sock") : texts[i / 2];
		struct listener listener;
		int flags;

		options.nonblocking = i % 2 == 1;
		listener = fixture_must_open(text, &options);
		flags = fcntl(listener.fd, F_GETFL);
		assert_int_equal(flags & O_NONBLOCK, options.nonblocking ? O_NONBLOCK : 0);
		assert_int_equal(fcntl(listener.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		listener_close(&listener);
	}
}

/* The queue takes as many as asked for: the kernel lets one more in. */
static void test_backlog(void **state)
{
	struct listener_options options = fixture_defaults;
	struct listener listener;
	int clients[64];
	size_t count = 0;

	(void)state;
	options.backlog = 5;
	listener = fixture_must_open(fixture_path_of("backlog.sock"), &options);
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
	struct address_socket address = fixture_resolve("[::1]:0");
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = fd != -1 && bind(fd, &address.addr.sa, address.len) == 0;

	if (fd != -1)
		(void)close(fd);
	return ok;
}

/* One family's life: a port is chosen, the options hold, a second opener is told who has it. */
static void check_tcp(const char *any_port)
{
	struct listener listener = fixture_must_open(any_port, &fixture_defaults);
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
	fixture_assert_serves(&listener);

	client = fixture_connect_to(&listener.address);
	server = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(server, -1);
	assert_int_not_equal(option_of(server, IPPROTO_TCP, TCP_NODELAY), 0);

	fixture_assert_refused(text, &fixture_defaults, -EADDRINUSE, "in use by this process (pid");
	fixture_assert_says(text);

	/* At once again, although connections of before are not forgotten yet. */
	(void)close(server);
	(void)close(client);
	listener_close(&listener);
	listener = fixture_must_open(text, &fixture_defaults);
	fixture_assert_serves(&listener);
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
	ipv6 = fixture_must_open("[::]:0", &fixture_defaults);
	assert_int_not_equal(option_of(ipv6.fd, IPPROTO_IPV6, IPV6_V6ONLY), 0);
	in6 = (const struct sockaddr_in6 *)&ipv6.address.addr.storage;
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(in6->sin6_port));
	ipv4 = fixture_must_open(text, &fixture_defaults);
	listener_close(&ipv4);
	listener_close(&ipv6);
}

static void test_tcp_refused(void **state)
{
	int fds = fixture_count_fds();

	(void)state;
	/* Reserved for documentation, so it is on no machine. */
	fixture_assert_refused("192.0.2.1:0", &fixture_defaults, -EADDRNOTAVAIL,
			       "no interface of this machine");
	assert_int_equal(fixture_count_fds(), fds);
}

static void test_abstract(void **state)
{
	struct listener listener;
	char name[64];

	(void)state;
	(void)snprintf(name, sizeof(name), "@berth test %d", (int)getpid());
	listener = fixture_must_open(name, &fixture_defaults);
	assert_int_equal(listener.ino, 0);
	fixture_assert_serves(&listener);
	fixture_assert_refused(name, &fixture_defaults, -EADDRINUSE, "in use by this process");
	fixture_assert_says(name);
	listener_close(&listener);
	listener = fixture_must_open(name, &fixture_defaults);
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
	struct listener listener = fixture_must_open(text, options);
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
	assert_int_equal(chmod(fixture_folder, 0755), 0);
	assert_int_equal(mkdir(fixture_path_of("in"), 0755), 0);
	(void)snprintf(inner, sizeof(inner), "%s", fixture_path_of("in"));
	for (size_t i = 0; i < COUNT(folder_rows); i++) {
		const struct folder_row *row = &folder_rows[i];
		struct listener_options options = fixture_defaults;
		struct warnings warnings;

		if (!row->own_group && geteuid() != 0)
			continue;
		options.mode = row->socket;
		options.gid = row->own_group ? (gid_t)-1 : 4712;
		assert_int_equal(chmod(inner, row->folder), 0);
		warnings = warnings_of(fixture_path_of("in/1.sock"), &options);
		if (warnings.count != (row->says == NULL ? 0 : 1))
			fail_msg("row %zu: %zu warnings", i, warnings.count);
		if (row->says != NULL) {
			assert_non_null(strstr(warnings.last, row->says));
			assert_non_null(strstr(warnings.last, inner));
		}
	}

	/* The folder above counts just the same. */
	assert_int_equal(chmod(inner, 0755), 0);
	assert_int_equal(chmod(fixture_folder, 0700), 0);
	assert_int_equal(warnings_of(fixture_path_of("in/1.sock"), &fixture_defaults).count, 1);
}

static void test_address_warnings(void **state)
{
	struct warnings warnings;

	(void)state;
	assert_int_equal(warnings_of("127.0.0.1:0", &fixture_defaults).count, 0);
	assert_int_equal(warnings_of("@berth-test-warnings", &fixture_defaults).count, 0);
	warnings = warnings_of("0.0.0.0:0", &fixture_defaults);
	assert_int_equal(warnings.count, 1);
	assert_non_null(strstr(warnings.last, "0.0.0.0:"));
	assert_non_null(strstr(warnings.last, "every host"));
	if (!have_ipv6()) {
		print_message("no IPv6 on this machine\n");
		skip();
	}
	assert_int_equal(warnings_of("[::1]:0", &fixture_defaults).count, 0);
	assert_int_equal(warnings_of("[::]:0", &fixture_defaults).count, 1);
}

#define folder_test(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_flags),	   folder_test(test_backlog),
		folder_test(test_folder_warnings), cmocka_unit_test(test_tcp4),
		cmocka_unit_test(test_tcp6),	   cmocka_unit_test(test_tcp_refused),
		cmocka_unit_test(test_abstract),   cmocka_unit_test(test_address_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
