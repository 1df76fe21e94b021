/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of who may connect, as a worker sees it: lists from the manager, clients of every kind. */
#include "fpm/worker/peers.h"

#include "fpm/conf/peers.h"
#include "fpm/worker/abi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The worker's clock, by --wrap: it goes when the test says so. */
static uint64_t clock_now_ms = 1000;
int __wrap_clock_gettime(clockid_t id, struct timespec *ret_now);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret_now)
{
	(void)id;
	ret_now->tv_sec = (time_t)(clock_now_ms / 1000);
	ret_now->tv_nsec = (long)(clock_now_ms % 1000) * 1000000;
	return 0;
}

/* Descriptor 2 becomes a pipe; @said is its other end. */
static int real_stderr = -1, said = -1;

static int setup(void **state)
{
	int output[2];

	(void)state;
	/* A window of its own, so that no test has to do with what another one has told. */
	clock_now_ms += 10000;
	real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (real_stderr == -1 || pipe2(output, O_CLOEXEC) == -1 ||
	    fcntl(output[0], F_SETFL, O_NONBLOCK) == -1 || dup2(output[1], STDERR_FILENO) == -1)
		return -1;
	(void)close(output[1]);
	said = output[0];
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)dup2(real_stderr, STDERR_FILENO);
	(void)close(real_stderr);
	if (said != -1)
		(void)close(said);
	said = -1;
	return 0;
}

/* What was said since the last call. */
static const char *take_said(void)
{
	static char text[8192];
	ssize_t n = read(said, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Gives the worker a list, as the manager makes it of comma-separated entries; NULL for none. */
static void use(const char *clients, const char *users)
{
	struct peers peers = {0};
	char error[256], *copy, *rest, *entry;
	int fd;

	rest = copy = strdup(clients ? clients : "");
	while (clients && (entry = strsep(&rest, ",")) != NULL)
		assert_int_equal(peers_add_network(&peers, entry, error, sizeof(error)), 0);
	free(copy);
	rest = copy = strdup(users ? users : "");
	while (users && (entry = strsep(&rest, ",")) != NULL)
		assert_int_equal(peers_add_user(&peers, entry, error, sizeof(error)), 0);
	free(copy);
	assert_int_equal(peers_seal(&peers, &fd), 0);
	peers_done(&peers);
	assert_int_equal(peers_open(fd), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static bool is_allowed(sa_family_t family, const uint8_t *address)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} peer = {.sa = {.sa_family = family}};

	if (family == AF_INET)
		memcpy(&peer.in.sin_addr, address, 4);
	else
		memcpy(&peer.in6.sin6_addr, address, 16);
	return peers_allowed(-1, &peer.sa);
}

static bool is_text_allowed(const char *text)
{
	const sa_family_t family = strchr(text, ':') ? AF_INET6 : AF_INET;
	uint8_t address[16];

	assert_int_equal(inet_pton(family, text, address), 1);
	return is_allowed(family, address);
}

static void test_clients(void **state)
{
	static const struct {
		const char *list;
		const char *client;
		bool allowed;
	} cases[] = {
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.2", false},
		{"127.0.0.1", "::1", false},
		{"127.0.0.1", "::7f00:1", false},
		{"10.0.0.0/8", "10.255.255.255", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.1.2.252/30", "10.1.2.255", true},
		{"10.1.2.252/30", "10.1.2.251", false},
		{"0.0.0.0/0", "255.255.255.255", true},
		{"0.0.0.0/0", "::1", false},
		{"::1", "::1", true},
		{"::1", "::2", false},
		{"::1", "127.0.0.1", false},
		{"2001:db8::/32", "2001:db8:ffff::1", true},
		{"2001:db8::/32", "2001:db9::1", false},
		{"::/0", "2001:db8::1", true},
		/* IPv4 has entries of its own, whatever kind of socket it came to. */
		{"::/0", "127.0.0.1", false},
		{"::/0", "::ffff:127.0.0.1", false},
		{"127.0.0.1", "::ffff:127.0.0.1", true},
		{"127.0.0.1", "::ffff:127.0.0.2", false},
		{"127.0.0.0/8", "::ffff:127.9.9.9", true},
		{"0.0.0.0/0", "::ffff:1.2.3.4", true},
		{"::ffff:127.0.0.1", "127.0.0.1", true},
		{"::ffff:127.0.0.1", "::ffff:127.0.0.1", true},
		{"::ffff:127.0.0.1", "127.0.0.2", false},
		{"::ffff:10.0.0.0/104", "10.9.9.9", true},
		{"::ffff:10.0.0.0/104", "11.0.0.0", false},
		/* Any entry of a list will do, wherever it stands. */
		{"10.0.0.1,::1,10.0.0.3,2001:db8::/32", "10.0.0.1", true},
		{"10.0.0.1,::1,10.0.0.3,2001:db8::/32", "10.0.0.2", false},
		{"10.0.0.1,::1,10.0.0.3,2001:db8::/32", "10.0.0.3", true},
		{"10.0.0.1,::1,10.0.0.3,2001:db8::/32", "2001:db8::9", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		use(cases[i].list, NULL);
		if (is_text_allowed(cases[i].client) != cases[i].allowed)
			fail_msg("list %s, client %s", cases[i].list, cases[i].client);
	}
}

static void flip(uint8_t *address, unsigned int bit)
{
	address[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

/* For each prefix: the last bit that counts, and the first one that does not. */
static void check_prefixes(int family, unsigned int bits, const char *text)
{
	for (unsigned int prefix = 0; prefix <= bits; prefix++) {
		uint8_t address[16], client[16];
		char entry[PEERS_TEXT_MAX], network[INET6_ADDRSTRLEN];

		assert_int_equal(inet_pton(family, text, address), 1);
		memcpy(client, address, sizeof(client));
		for (unsigned int bit = prefix; bit < bits; bit++)
			address[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
		assert_non_null(inet_ntop(family, address, network, sizeof(network)));
		(void)snprintf(entry, sizeof(entry), "%s/%u", network, prefix);
		use(entry, NULL);
		assert_true(is_allowed((sa_family_t)family, client));
		for (unsigned int bit = 0; bit < bits; bit++) {
			flip(client, bit);
			if (is_allowed((sa_family_t)family, client) != (bit >= prefix))
				fail_msg("%s, bit %u", entry, bit);
			flip(client, bit);
		}
	}
}

static void test_every_prefix(void **state)
{
	(void)state;
	check_prefixes(AF_INET, 32, "170.204.240.129");
	check_prefixes(AF_INET6, 128, "fedc:ba98:7654:3210:a5a5:5a5a:0f0f:f0f1");
}

static void test_every_byte_of_an_address(void **state)
{
	static const uint8_t address[16] = {0x20, 1,  0xd, 0xb8, 5,  6,	 7,  8,
					    9,	  10, 11,  12,	 13, 14, 15, 16};

	(void)state;
	use("2001:db8:506:708:90a:b0c:d0e:f10", NULL);
	assert_true(is_allowed(AF_INET6, address));
	for (size_t i = 0; i < sizeof(address); i++) {
		uint8_t other[16];

		memcpy(other, address, sizeof(other));
		other[i]++;
		assert_false(is_allowed(AF_INET6, other));
	}
}

/* Each kind of client has its own list, and passes by the other. */
static void test_unix_clients(void **state)
{
	const struct sockaddr unnamed = {.sa_family = AF_UNIX};
	char own[16], other[16], both[64], line[128];
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	(void)snprintf(own, sizeof(own), "%u", geteuid());
	(void)snprintf(other, sizeof(other), "%u", geteuid() + 1);
	(void)snprintf(both, sizeof(both), "%s,12345,%s", other, own);
	use(NULL, own);
	assert_true(peers_allowed(pair[0], &unnamed));
	assert_true(is_text_allowed("192.0.2.1"));
	assert_true(is_text_allowed("2001:db8::1"));
	use(NULL, both);
	assert_true(peers_allowed(pair[0], &unnamed));
	use("10.0.0.1", NULL);
	assert_true(peers_allowed(pair[0], &unnamed));
	assert_false(is_text_allowed("10.0.0.2"));
	(void)take_said();
	use("10.0.0.1", other);
	assert_false(peers_allowed(pair[0], &unnamed));
	assert_true(is_text_allowed("10.0.0.1"));
	(void)snprintf(line, sizeof(line),
		       "berth: client of uid %s, pid %d refused: not in listen.allowed_uids\n", own,
		       (int)getpid());
	assert_string_equal(take_said(), line);
	/* A client that the kernel can't name is refused. */
	(void)close(pair[1]);
	(void)close(pair[0]);
	use(NULL, own);
	assert_false(peers_allowed(pair[0], &unnamed));
}

static void test_unknown_families(void **state)
{
	const struct sockaddr vsock = {.sa_family = AF_VSOCK}, none = {.sa_family = AF_UNSPEC};

	(void)state;
	use("0.0.0.0/0,::/0", NULL);
	assert_false(peers_allowed(-1, &vsock));
	assert_false(peers_allowed(-1, &none));
	use(NULL, NULL);
	assert_true(peers_allowed(-1, &vsock));
}

static void test_no_list(void **state)
{
	const struct sockaddr unnamed = {.sa_family = AF_UNIX};

	(void)state;
	use("10.0.0.1", "12345");
	use(NULL, NULL);
	assert_true(is_text_allowed("10.0.0.2"));
	assert_true(is_text_allowed("::1"));
	assert_true(peers_allowed(-1, &unnamed));
	assert_string_equal(take_said(), "");
}

static void test_what_is_told(void **state)
{
	static const char *const clients[][2] = {
		{"10.0.0.2", "10.0.0.2"},
		{"2001:db8::2", "2001:db8::2"},
		{"::ffff:10.0.0.3", "10.0.0.3"},
	};
	const struct sockaddr vsock = {.sa_family = AF_VSOCK};
	char expected[128];

	(void)state;
	use("10.0.0.1", NULL);
	for (size_t i = 0; i < COUNT(clients); i++) {
		assert_false(is_text_allowed(clients[i][0]));
		(void)snprintf(expected, sizeof(expected),
			       "berth: client %s refused: not in listen.allowed_clients\n",
			       clients[i][1]);
		assert_string_equal(take_said(), expected);
	}
	assert_false(peers_allowed(-1, &vsock));
	assert_string_equal(take_said(), "berth: client of an unknown kind refused: not in "
					 "listen.allowed_clients\n");
	clock_now_ms += 1000;
	assert_true(is_text_allowed("10.0.0.1"));
	assert_string_equal(take_said(), "");
}

static unsigned int count_lines(const char *text)
{
	unsigned int count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static void test_a_flood_is_told_of_briefly(void **state)
{
	(void)state;
	use("10.0.0.1", NULL);
	for (unsigned int i = 0; i < 1000; i++)
		assert_false(is_text_allowed("10.0.0.2"));
	assert_int_equal(count_lines(take_said()), PEERS_LINES);
	clock_now_ms += 999;
	assert_false(is_text_allowed("10.0.0.2"));
	assert_string_equal(take_said(), "");
	clock_now_ms += 1;
	for (unsigned int i = 0; i < 2; i++)
		assert_false(is_text_allowed("10.0.0.2"));
	assert_string_equal(take_said(),
			    "berth: client 10.0.0.2 refused: not in listen.allowed_clients (not "
			    "told: 997 more before)\n"
			    "berth: client 10.0.0.2 refused: not in listen.allowed_clients\n");
}

/* The worker must not wait for a manager that does not read. */
static void test_a_full_pipe_is_not_waited_for(void **state)
{
	static char junk[4096];
	const int flags = fcntl(STDERR_FILENO, F_GETFL);

	(void)state;
	use("10.0.0.1", NULL);
	assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK), 0);
	while (write(STDERR_FILENO, junk, sizeof(junk)) > 0)
		;
	assert_int_equal(fcntl(STDERR_FILENO, F_SETFL, flags), 0);
	(void)alarm(20);
	assert_false(is_text_allowed("10.0.0.2"));
	assert_false(is_text_allowed("10.0.0.2"));
	(void)alarm(0);
	while (read(said, junk, sizeof(junk)) > 0)
		;
	assert_false(is_text_allowed("10.0.0.3"));
	assert_string_equal(take_said(), "berth: client 10.0.0.3 refused: not in "
					 "listen.allowed_clients (not told: 2 more before)\n");
}

static void test_a_pipe_without_reader_is_left_alone(void **state)
{
	(void)state;
	use("10.0.0.1", NULL);
	(void)close(said);
	said = -1;
	/* SIGPIPE would end this program. */
	(void)signal(SIGPIPE, SIG_DFL);
	assert_false(is_text_allowed("10.0.0.2"));
}

static void test_unsound_lists(void **state)
{
	static const struct {
		struct abi_peers head;
		struct abi_network network;
		size_t size;
	} lists[] = {
		{{1, 0}, {AF_INET, 32, {1}}, 4},		      /* cut in the head */
		{{1, 0}, {AF_INET, 32, {1}}, 8},		      /* no entry */
		{{1, 0}, {AF_INET, 32, {1}}, 31},		      /* cut in the entry */
		{{0, 0}, {AF_INET, 32, {1}}, 32},		      /* more than it says */
		{{1, 1}, {AF_INET, 32, {1}}, 32},		      /* no uid */
		{{1, 0}, {AF_INET, 33, {1}}, 32},		      /* too long a prefix */
		{{1, 0}, {AF_INET6, 129, {1}}, 32},		      /* likewise */
		{{ABI_PEERS_MAX + 1, 0}, {AF_INET, 32, {1}}, 32},     /* too many */
		{{0x80000001U, 0x40000000U}, {AF_INET, 32, {1}}, 32}, /* a sum that wraps around */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lists); i++) {
		const int fd = memfd_create("list", MFD_CLOEXEC);

		assert_int_not_equal(fd, -1);
		assert_int_equal(write(fd, &lists[i], lists[i].size), lists[i].size);
		errno = 0;
		assert_int_equal(peers_open(fd), -1);
		assert_int_equal(errno, EPROTO);
		assert_int_equal(fcntl(fd, F_GETFD), -1);
	}
	assert_int_equal(peers_open(-1), -1);
	assert_int_equal(errno, EBADF);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_clients),
		TEST(test_every_prefix),
		TEST(test_every_byte_of_an_address),
		TEST(test_unix_clients),
		TEST(test_unknown_families),
		TEST(test_no_list),
		TEST(test_what_is_told),
		TEST(test_a_flood_is_told_of_briefly),
		TEST(test_a_full_pipe_is_not_waited_for),
		TEST(test_a_pipe_without_reader_is_left_alone),
		TEST(test_unsound_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
