/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of listening sockets share. */
#include "listener_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

const struct listener_options fixture_defaults = {
	.backlog = 16,
	.mode = 0660,
	.uid = (uid_t)-1,
	.gid = (gid_t)-1,
};

char fixture_folder[64];
char fixture_error[512];

int fixture_setup(void **state)
{
	(void)state;
	(void)snprintf(fixture_folder, sizeof(fixture_folder), "/tmp/berth test.XXXXXX");
	fixture_error[0] = '\0';
	return mkdtemp(fixture_folder) == NULL ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int fixture_teardown(void **state)
{
	(void)state;
	return nftw(fixture_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of a file in the test's folder; one at a time. */
const char *fixture_path_of(const char *name)
{
	static char path[108];

	(void)snprintf(path, sizeof(path), "%s/%s", fixture_folder, name);
	return path;
}

struct address_socket fixture_resolve(const char *text)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	size_t count;

	if (address_parse(text, 1, &address, fixture_error, sizeof(fixture_error)) != 0 ||
	    address_resolve(&address, 1, sockets, &count, fixture_error, sizeof(fixture_error)) !=
		    0)
		fail_msg("%s: %s", text, fixture_error);
	address_done(&address);
	return sockets[0];
}

int fixture_open_at(const char *text, const struct listener_options *options,
		    struct listener *ret_listener)
{
	struct address_socket address = fixture_resolve(text);

	return listener_open(&address, options, ret_listener, fixture_error, sizeof(fixture_error));
}

struct listener fixture_must_open(const char *text, const struct listener_options *options)
{
	struct listener listener = {.fd = -1};

	if (fixture_open_at(text, options, &listener) != 0)
		fail_msg("%s: %s", text, fixture_error);
	return listener;
}

void fixture_assert_says(const char *part)
{
	if (strstr(fixture_error, part) == NULL)
		fail_msg("\"%s\" doesn't say \"%s\"", fixture_error, part);
}

/* Refused with this code and text, and the result left alone. */
void fixture_assert_refused(const char *text, const struct listener_options *options, int code,
			    const char *says)
{
	struct listener listener = {.fd = -77};
	int rc = fixture_open_at(text, options, &listener);

	if (rc == 0)
		fail_msg("%s is not refused", text);
	fixture_assert_says(says);
	assert_int_equal(rc, code);
	assert_int_equal(listener.fd, -77);
}

int fixture_connect_to(const struct address_socket *address)
{
	int fd = socket(address->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_not_equal(fd, -1);
	if (connect(fd, &address->addr.sa, address->len) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* A byte that a client sends arrives at the listener. */
void fixture_assert_serves(const struct listener *listener)
{
	int client = fixture_connect_to(&listener->address);
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

bool fixture_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* A socket of any type at a path, made without the module. */
int fixture_bind_raw(const char *path, int type, bool listening)
{
	struct address_socket address = fixture_resolve(path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_int_not_equal(fd, -1);
	assert_int_equal(bind(fd, &address.addr.sa, address.len), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

int fixture_count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

/* In a child a failed assertion can't be told to CMocka, so these leave by abort(). */
void fixture_require(bool ok)
{
	if (ok)
		return;
	(void)fprintf(stderr, "in a child: %s\n", fixture_error);
	abort();
}
