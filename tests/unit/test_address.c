/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of listen addresses: what is accepted, what is refused and how, and what it stands for. */
#include "fpm/listener/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME_50	 "01234567890123456789012345678901234567890123456789"
#define NAME_105 NAME_50 NAME_50 "01234"
#define NAME_107 NAME_105 "56"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct accepted_row {
	const char *text;
	unsigned int slots;
	enum address_kind kind;
	const char *host;
	unsigned int port;
	bool per_slot;
	unsigned int slot;
	const char *formatted;
};

static const struct accepted_row accepted[] = {
	/* Paths. */
	{"/run/berth/www.sock", 4, ADDRESS_PATH, NULL, 0, false, 3, "/run/berth/www.sock"},
	{"/run/berth/www-%n.sock", 4, ADDRESS_PATH, NULL, 0, true, 3, "/run/berth/www-3.sock"},
	{"/run/%n/www-%n", 12, ADDRESS_PATH, NULL, 0, true, 12, "/run/12/www-12"},
	{"/a b/c d.sock", 1, ADDRESS_PATH, NULL, 0, false, 1, "/a b/c d.sock"},
	{"/100%/%%n/%d%s", 9, ADDRESS_PATH, NULL, 0, true, 7, "/100%/%7/%d%s"},
	{"/a%", 9, ADDRESS_PATH, NULL, 0, false, 7, "/a%"},
	{"/a%N", 9, ADDRESS_PATH, NULL, 0, false, 7, "/a%N"},
	{"/a:9000", 9, ADDRESS_PATH, NULL, 0, false, 7, "/a:9000"},
	{"/\xc3\xa4.sock", 1, ADDRESS_PATH, NULL, 0, false, 1, "/\xc3\xa4.sock"},
	/* The limits of a path: 107 bytes with the longest number. */
	{"/" NAME_105 "x", 1, ADDRESS_PATH, NULL, 0, false, 1, "/" NAME_105 "x"},
	{"/" NAME_105 "%n", 9, ADDRESS_PATH, NULL, 0, true, 9, "/" NAME_105 "9"},
	{"/" NAME_50 NAME_50 "%n", 10000, ADDRESS_PATH, NULL, 0, true, 10000,
	 "/" NAME_50 NAME_50 "10000"},
	/* Abstract names. */
	{"pipe:/run/www-%n", 9, ADDRESS_PIPE, NULL, 0, true, 9, "pipe:/run/www-9.in"},
	{"pipe:/w", 1, ADDRESS_PIPE, NULL, 0, false, 1, "pipe:/w.in"},

	{"@www", 4, ADDRESS_ABSTRACT, NULL, 0, false, 1, "@www"},
	{"@www-%n", 4, ADDRESS_ABSTRACT, NULL, 0, true, 4, "@www-4"},
	{"@%n", 4, ADDRESS_ABSTRACT, NULL, 0, true, 4, "@4"},
	{"@a/b:1 @", 4, ADDRESS_ABSTRACT, NULL, 0, false, 4, "@a/b:1 @"},
	{"@" NAME_107, 1, ADDRESS_ABSTRACT, NULL, 0, false, 1, "@" NAME_107},
	/* TCP. */
	{"9000", 4, ADDRESS_INET, "127.0.0.1", 9000, false, 3, "127.0.0.1:9000"},
	{":9000", 4, ADDRESS_INET, "127.0.0.1", 9000, false, 3, "127.0.0.1:9000"},
	{"9000+%n", 4, ADDRESS_INET, "127.0.0.1", 9000, true, 3, "127.0.0.1:9003"},
	{":9000+%n", 4, ADDRESS_INET, "127.0.0.1", 9000, true, 1, "127.0.0.1:9001"},
	{"10.0.0.7:9000+%n", 4, ADDRESS_INET, "10.0.0.7", 9000, true, 4, "10.0.0.7:9004"},
	{"0.0.0.0:9000", 4, ADDRESS_INET, "0.0.0.0", 9000, false, 4, "0.0.0.0:9000"},
	{"127.0.0.1:0", 4, ADDRESS_INET, "127.0.0.1", 0, false, 4, "127.0.0.1:0"},
	{"0", 4, ADDRESS_INET, "127.0.0.1", 0, false, 4, "127.0.0.1:0"},
	{"65535", 4, ADDRESS_INET, "127.0.0.1", 65535, false, 4, "127.0.0.1:65535"},
	{"65525+%n", 10, ADDRESS_INET, "127.0.0.1", 65525, true, 10, "127.0.0.1:65535"},
	{"1+%n", 10, ADDRESS_INET, "127.0.0.1", 1, true, 10, "127.0.0.1:11"},
	{"[::1]:9000", 4, ADDRESS_INET, "::1", 9000, false, 4, "[::1]:9000"},
	{"[::1]:9000+%n", 4, ADDRESS_INET, "::1", 9000, true, 4, "[::1]:9004"},
	{"[::]:9000", 4, ADDRESS_INET, "::", 9000, false, 4, "[::]:9000"},
	{"[2001:DB8:0:0::7]:1", 4, ADDRESS_INET, "2001:DB8:0:0::7", 1, false, 4, "[2001:db8::7]:1"},
	{"[fe80::1%lo]:9000+%n", 4, ADDRESS_INET, "fe80::1%lo", 9000, true, 2, "[fe80::1%lo]:9002"},
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(accepted); i++) {
		const struct accepted_row *row = &accepted[i];
		struct address address;
		struct address_socket sockets[ADDRESS_RESOLVE_MAX];
		char text[ADDRESS_TEXT_MAX];
		char error[256] = "";
		size_t count = 0;

		if (address_parse(row->text, row->slots, &address, error, sizeof(error)) != 0)
			fail_msg("%s: %s", row->text, error);
		assert_int_equal(address.kind, row->kind);
		assert_string_equal(address.text, row->text);
		assert_int_equal(address.per_slot, row->per_slot);
		if (row->kind == ADDRESS_INET) {
			assert_string_equal(address.host, row->host);
			assert_int_equal(address.port, row->port);
		}
		if (address_resolve(&address, row->slot, sockets, &count, error, sizeof(error)) !=
		    0)
			fail_msg("%s: %s", row->text, error);
		assert_int_equal(count, row->kind == ADDRESS_PIPE ? 2 : 1);
		assert_string_equal(address_format(&sockets[0], text, sizeof(text)),
				    row->formatted);
		address_done(&address);
	}
}

struct refused_row {
	const char *text;
	unsigned int slots;
	const char *says; /* part of the message */
};

static const struct refused_row refused[] = {
	{"", 1, "accepted are"},
	{"/run/a\tb", 1, "0x09 at byte 7"},
	{"/run/a\n", 1, "0x0a"},
	{"\x7f", 1, "0x7f"},
	{"run/www.sock", 1, "start with '/'"},
	{"./www.sock", 1, "start with '/'"},
	{"host/9000", 1, "start with '/'"},
	{"127.0.0.1:9000/", 1, "start with '/'"},
	{"unix:/run/www.sock", 1, "alone, without \"unix:\""},
	{"unix:@www", 1, "alone, without \"unix:\""},
	{"/", 1, "names a folder"},
	{"/run/", 1, "names a folder"},
	{"@", 1, "followed by a name"},
	/* One byte too long, and too long only with the last slot's number. */
	{"/" NAME_107, 1, "108 bytes long, at most 107"},
	{"/" NAME_105 "%n", 10, "108 bytes long in slot 10, at most 107"},
	{"@" NAME_107 "8", 1, "108 bytes long, at most 107"},
	{"@" NAME_105 "-%n", 10, "108 bytes long in slot 10, at most 107"},
	/* Ports. */
	{"09000", 1, "starts with a zero"},
	{"00", 1, "starts with a zero"},
	{"127.0.0.1:01", 1, "starts with a zero"},
	{"+9000", 1, "no port"},
	{"-1", 1, "no port"},
	{" 9000", 1, "no port"},
	{"9000 ", 1, "no port"},
	{"9000x", 1, "no port"},
	{"0x10", 1, "no port"},
	{"localhost", 1, "accepted are /PATH"},
	{":", 1, "no port"},
	{"127.0.0.1:", 1, "no port"},
	{"127.0.0.1:http", 1, "no port"},
	{"65536", 1, "65536 is above 65535"},
	{"127.0.0.1:99999", 1, "99999 is above 65535"},
	{"99999999999999999999999999", 1, "is above 65535"},
	{"18446744073709560616", 1, "is above 65535"},
	/* Placeholders of ports. */
	{"9000%n", 1, "BASE+%n"},
	{"9000+%n%n", 1, "BASE+%n"},
	{"9000+ %n", 1, "BASE+%n"},
	{"9000+1", 1, "BASE+%n"},
	{"%n", 1, "BASE+%n"},
	{"+%n", 1, "BASE+%n"},
	{"%n+9000", 1, "BASE+%n"},
	{"0+%n", 1, "base of 1 or more"},
	{"65526+%n", 10, "65526 + 10 = 65536, which is above 65535"},
	{"65535+%n", 1, "65535 + 1 = 65536"},
	{"65536+%n", 1, "is above 65535"},
	/* Hosts. */
	{"host%n:9000", 1, "%n can't stand in the host"},
	{"127.0.0.%n:9000", 1, "%n can't stand in the host"},
	{"*:9000", 1, "0.0.0.0"},
	{"a b:9000", 1, "no host name"},
	{" 127.0.0.1:9000", 1, "no host name"},
	{"b\xc3\xa4r:9000", 1, "no host name"},
	{"256.0.0.1:9000", 1, "no IPv4 address"},
	{"127.1:9000", 1, "no IPv4 address"},
	{"1234:9000", 1, "no IPv4 address"},
	{"127.0.0.01:9000", 1, "no IPv4 address"},
	{"0x7f000001:9000", 1, "no IPv4 address"},
	{NAME_107 NAME_107 NAME_50 ":9000", 1, "264 bytes long, at most 253"},
	/* IPv6. */
	{"::1:9000", 1, "brackets: [::1]:9000"},
	{"::1:9000+%n", 1, "brackets: [::1]:9000+%n"},
	{"2001:db8::7:9000", 1, "brackets: [2001:db8::7]:9000"},
	{"::1", 1, "brackets: [::1]:PORT"},
	{"::", 1, "brackets: [::]:PORT"},
	{"a:b:c:", 1, "brackets: [ADDRESS]:PORT"},
	{"fe80::1%lo:9000", 1, "brackets: [fe80::1%lo]:9000"},
	{"[::1]", 1, "followed by :PORT"},
	{"[::1]9000", 1, "followed by :PORT"},
	{"[::1", 1, "without ']'"},
	{"[]:9000", 1, "no address in the brackets"},
	{"[::1]:", 1, "no port"},
	{"[127.0.0.1]:9000", 1, "no IPv6 address"},
	{"[localhost]:9000", 1, "no IPv6 address"},
	{"[::1 ]:9000", 1, "no IPv6 address"},
	{"[1:2:3:4:5:6:7:8:9]:9000", 1, "no IPv6 address"},
	{"[" NAME_107 "::]:9000", 1, "no IPv6 address"},
	{"[fe80::1%]:9000", 1, "no interface name"},
	{"[fe80::1%a b]:9000", 1, "no interface name"},
	{"[fe80::1%0123456789abcdef]:9000", 1, "no interface name"},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		const struct refused_row *row = &refused[i];
		struct address address = {.port = 4711};
		char error[256] = "";

		if (address_parse(row->text, row->slots, &address, error, sizeof(error)) != -EINVAL)
			fail_msg("\"%s\" is not refused", row->text);
		if (strstr(error, row->says) == NULL)
			fail_msg("\"%s\": \"%s\" doesn't say \"%s\"", row->text, error, row->says);
		assert_null(strchr(error, '\n'));
		/* Results are left alone on failure. */
		assert_int_equal(address.port, 4711);
		assert_null(address.text);
	}
}

/* Whatever the room for the message, it ends inside of it. */
static void test_short_message(void **state)
{
	(void)state;
	for (size_t size = 1; size < 40; size++) {
		struct address address;
		char error[40];

		memset(error, 'x', sizeof(error));
		assert_int_equal(address_parse("99999", 1, &address, error, size), -EINVAL);
		assert_true(strlen(error) < size);
	}
}

/* "%n" in the brackets is an interface, so nothing is replaced there. */
static void test_zone_is_no_placeholder(void **state)
{
	struct address address;
	char error[256] = "";

	(void)state;
	assert_int_equal(address_parse("[fe80::1%n]:9000", 4, &address, error, sizeof(error)), 0);
	assert_string_equal(address.host, "fe80::1%n");
	assert_false(address.per_slot);
	address_done(&address);
}

static void test_bytes(void **state)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	char error[256];
	size_t count;

	(void)state;
	assert_int_equal(address_parse("/a-%n", 9, &address, error, sizeof(error)), 0);
	assert_int_equal(address_resolve(&address, 9, sockets, &count, error, sizeof(error)), 0);
	assert_int_equal(sockets[0].len, offsetof(struct sockaddr_un, sun_path) + sizeof("/a-9"));
	assert_int_equal(sockets[0].addr.un.sun_family, AF_UNIX);
	assert_memory_equal(sockets[0].addr.un.sun_path, "/a-9", sizeof("/a-9"));
	address_done(&address);

	/* An abstract name has no zero byte behind it: that would be a part of the name. */
	assert_int_equal(address_parse("@a-%n", 9, &address, error, sizeof(error)), 0);
	assert_int_equal(address_resolve(&address, 9, sockets, &count, error, sizeof(error)), 0);
	assert_int_equal(sockets[0].len, offsetof(struct sockaddr_un, sun_path) + 1 + 3);
	assert_memory_equal(sockets[0].addr.un.sun_path, "\0a-9", 4);
	address_done(&address);

	/* A second release is harmless. */
	address_done(&address);
}

static void resolve_one(const char *text, struct address_socket *ret_socket)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	char error[256] = "";
	size_t count;

	if (address_parse(text, 1, &address, error, sizeof(error)) != 0 ||
	    address_resolve(&address, 1, sockets, &count, error, sizeof(error)) != 0)
		fail_msg("%s: %s", text, error);
	*ret_socket = sockets[0];
	address_done(&address);
}

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **res);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **res);

/* Names of which each letter is an address of its own: "a.test" is 10.0.0.97. */
static bool is_made_up(const char *node)
{
	const char *dot = strchr(node, '.');

	return dot != NULL && strcmp(dot, ".test") == 0;
}

/*
 * Linked in place of getaddrinfo(): gives made-up names several addresses, and sees to it that
 * numbers are never looked up as names.
 */
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **res)
{
	struct addrinfo **end = res;
	struct in_addr addr;
	char number[INET_ADDRSTRLEN];

	if (strchr(node, ':') != NULL || inet_pton(AF_INET, node, &addr) == 1)
		assert_int_not_equal(hints->ai_flags & AI_NUMERICHOST, 0);
	if (!is_made_up(node))
		return __real_getaddrinfo(node, service, hints, res);
	assert_int_equal(hints->ai_flags & AI_NUMERICHOST, 0);
	for (const char *p = node; *p != '.'; p++) {
		if (*p == '6')
			(void)snprintf(number, sizeof(number), "::1");
		else
			(void)snprintf(number, sizeof(number), "10.0.0.%d", *p);
		assert_int_equal(__real_getaddrinfo(number, service, hints, end), 0);
		end = &(*end)->ai_next;
	}
	return 0;
}

struct name_row {
	const char *text;
	const char *formatted[ADDRESS_RESOLVE_MAX + 1];
};

static const struct name_row name_rows[] = {
	{"a.test:9000", {"10.0.0.97:9000"}},
	{"6a.test:9000+%n", {"[::1]:9002", "10.0.0.97:9002"}},
	{"ba6.test:9000", {"10.0.0.98:9000", "10.0.0.97:9000", "[::1]:9000"}},
	/* Each once, in the order of the first. */
	{"aa.test:9000", {"10.0.0.97:9000"}},
	{"ba6aab6.test:9000", {"10.0.0.98:9000", "10.0.0.97:9000", "[::1]:9000"}},
	{"aa6.test:0", {"10.0.0.97:0", "[::1]:0"}},
	{"abcdefghhgfedcba.test:1",
	 {"10.0.0.97:1", "10.0.0.98:1", "10.0.0.99:1", "10.0.0.100:1", "10.0.0.101:1",
	  "10.0.0.102:1", "10.0.0.103:1", "10.0.0.104:1"}},
};

static void test_names_with_several_addresses(void **state)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	char error[256] = "";
	size_t count;

	(void)state;
	for (size_t i = 0; i < COUNT(name_rows); i++) {
		const char *const *formatted = name_rows[i].formatted;

		assert_int_equal(
			address_parse(name_rows[i].text, 4, &address, error, sizeof(error)), 0);
		if (address_resolve(&address, 2, sockets, &count, error, sizeof(error)) != 0)
			fail_msg("%s: %s", name_rows[i].text, error);
		address_done(&address);
		for (size_t j = 0; j < count; j++) {
			char text[ADDRESS_TEXT_MAX];

			assert_non_null(formatted[j]);
			assert_string_equal(address_format(&sockets[j], text, sizeof(text)),
					    formatted[j]);
		}
		assert_null(formatted[count]);
	}

	assert_int_equal(address_parse("abcdefghi.test:1", 4, &address, error, sizeof(error)), 0);
	assert_int_equal(address_resolve(&address, 2, sockets, &count, error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "more than 8 addresses"));
	address_done(&address);
}

/* The resolver's files differ from machine to machine, so only what must hold is looked at. */
static void test_name(void **state)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	char error[256] = "";
	size_t count = 0;
	bool found = false;

	(void)state;
	assert_int_equal(address_parse("localhost:9000+%n", 4, &address, error, sizeof(error)), 0);
	assert_string_equal(address.host, "localhost");
	if (address_resolve(&address, 2, sockets, &count, error, sizeof(error)) != 0)
		fail_msg("localhost: %s", error);
	address_done(&address);
	assert_in_range(count, 1, ADDRESS_RESOLVE_MAX);
	for (size_t i = 0; i < count; i++) {
		char text[ADDRESS_TEXT_MAX];

		(void)address_format(&sockets[i], text, sizeof(text));
		found |= strcmp(text, "127.0.0.1:9002") == 0 || strcmp(text, "[::1]:9002") == 0;
		for (size_t j = 0; j < i; j++)
			assert_false(address_equal(&sockets[i], &sockets[j]));
	}
	assert_true(found);
}

static void test_resolve_failure(void **state)
{
	struct address_socket sockets[ADDRESS_RESOLVE_MAX];
	struct address address;
	char error[256] = "";
	size_t count = 77;
	int rc;

	(void)state;
	/* "invalid" is a top-level domain that never exists; -EAGAIN where there is no server. */
	assert_int_equal(address_parse("no.such.invalid:1", 1, &address, error, sizeof(error)), 0);
	rc = address_resolve(&address, 1, sockets, &count, error, sizeof(error));
	assert_true(rc < 0);
	assert_non_null(strstr(error, "no.such.invalid"));
	assert_int_equal(count, 77);
	address_done(&address);

	/* A slot beyond the number that was announced. */
	assert_int_equal(address_parse("65530+%n", 5, &address, error, sizeof(error)), 0);
	assert_int_equal(address_resolve(&address, 6, sockets, &count, error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "65536"));
	address_done(&address);

	assert_int_equal(address_parse("/" NAME_105 "%n", 9, &address, error, sizeof(error)), 0);
	assert_int_equal(address_resolve(&address, 10, sockets, &count, error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "108 bytes"));
	address_done(&address);

	assert_int_equal(address_parse("[fe80::1%nosuch]:1", 1, &address, error, sizeof(error)), 0);
	assert_true(address_resolve(&address, 1, sockets, &count, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "fe80::1%nosuch"));
	address_done(&address);
}

struct equal_row {
	const char *a;
	const char *b;
	bool equal;
};

static const struct equal_row equals[] = {
	{"/a", "/a", true},
	{"/a", "/b", false},
	{"/a", "/ab", false},
	{"/a", "@a", false},
	{"@/a", "/a", false},
	{"@a", "@a", true},
	{"@a", "@b", false},
	{"@a", "@ab", false},
	{"9000", "127.0.0.1:9000", true},
	{"9000", "9001", false},
	{"9000", "127.0.0.2:9000", false},
	{"0.0.0.0:9000", "127.0.0.1:9000", false},
	{"127.0.0.1:0", "127.0.0.1:0", false},
	{"[::1]:0", "[::1]:0", false},
	{"[::1]:9000", "[0:0::1]:9000", true},
	{"[::1]:9000", "[::2]:9000", false},
	{"[::1]:9000", "[::1]:9001", false},
	{"[::]:9000", "0.0.0.0:9000", false},
	{"[fe80::1%1]:9000", "[fe80::1%2]:9000", false},
	{"[fe80::1%1]:9000", "[fe80::1%1]:9000", true},
};

static void test_equal(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(equals); i++) {
		struct address_socket a;
		struct address_socket b;

		resolve_one(equals[i].a, &a);
		resolve_one(equals[i].b, &b);
		if (address_equal(&a, &b) != equals[i].equal ||
		    address_equal(&b, &a) != equals[i].equal)
			fail_msg("%s and %s", equals[i].a, equals[i].b);
	}
}

static void test_format_odd(void **state)
{
	struct address_socket unnamed = {.addr.un.sun_family = AF_UNIX, .len = sizeof(sa_family_t)};
	struct address_socket unknown = {.addr.sa.sa_family = AF_UNSPEC, .len = 2};
	struct address_socket path;
	char text[ADDRESS_TEXT_MAX];

	(void)state;
	assert_string_equal(address_format(&unnamed, text, sizeof(text)), "");
	assert_string_equal(address_format(&unknown, text, sizeof(text)), "unknown address");
	assert_false(address_equal(&unknown, &unknown));
	resolve_one("/run/www.sock", &path);
	assert_string_equal(address_format(&path, text, 5), "/run");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_short_message),
		cmocka_unit_test(test_zone_is_no_placeholder),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_names_with_several_addresses),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_resolve_failure),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_format_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
