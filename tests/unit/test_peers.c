/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the list of clients on the manager's side: texts, users, and what workers get. */
#include "fpm/conf/peers.h"

#include "fpm/worker/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_networks(void **state)
{
	static const char *const texts[][2] = {
		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1/32", "127.0.0.1"},
		{"10.0.0.0/8", "10.0.0.0/8"},
		{"10.1.2.254/31", "10.1.2.254/31"},
		{"128.0.0.0/1", "128.0.0.0/1"},
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"0.0.0.0", "0.0.0.0"},
		{"255.255.255.255", "255.255.255.255"},
		{"::1", "::1"},
		{"::1/128", "::1"},
		{"::", "::"},
		{"::/0", "::/0"},
		{"2001:DB8:0::/32", "2001:db8::/32"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"},
		{"::ffff:10.0.0.1", "10.0.0.1"},
		{"::ffff:10.0.0.0/104", "10.0.0.0/8"},
		{"::ffff:0:0/96", "0.0.0.0/0"},
		{"::fffe:10.0.0.1", "::fffe:a00:1"},
		{"::10.0.0.1", "::10.0.0.1"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct peers peers = {0};
		char text[PEERS_TEXT_MAX], error[256] = "";

		assert_int_equal(peers_add_network(&peers, texts[i][0], error, sizeof(error)), 0);
		assert_string_equal(error, "");
		assert_int_equal(peers.network_count, 1);
		assert_string_equal(peers_format_network(peers.networks, text, sizeof(text)),
				    texts[i][1]);
		/* What it says means the same. */
		assert_int_equal(peers_add_network(&peers, text, error, sizeof(error)), 0);
		assert_memory_equal(&peers.networks[0], &peers.networks[1],
				    sizeof(peers.networks[0]));
		peers_done(&peers);
	}
}

#define LIST                                                                                       \
	" is not accepted; accepted are IPv4 and IPv6 addresses and networks, such as 127.0.0.1, " \
	"10.0.0.0/8, ::1 or 2001:db8::/32"
#define LENGTH " is not accepted; the number behind the '/' has to be from 0 to "

static void test_refused_networks(void **state)
{
	static const char *const texts[][2] = {
		{"any", "'any' is not accepted; without this key everybody may connect"},
		{"localhost", "'localhost'" LIST},
		{"", "''" LIST},
		{"/8", "'/8'" LIST},
		{"10.0.0", "'10.0.0'" LIST},
		{"10.0.0.1.2", "'10.0.0.1.2'" LIST},
		{"10.0.0.256", "'10.0.0.256'" LIST},
		{"10.0.0.01", "'10.0.0.01'" LIST},
		{"0x7f000001", "'0x7f000001'" LIST},
		{"127.0.0.1:9000", "'127.0.0.1:9000'" LIST},
		{"10.*", "'10.*'" LIST},
		{":::", "':::'" LIST},
		{"1:2:3:4:5:6:7", "'1:2:3:4:5:6:7'" LIST},
		{"fe80::1%lo", "'fe80::1%lo'" LIST},
		{"0000:0000:0000:0000:0000:0000:0000:0000:0001",
		 "'0000:0000:0000:0000:0000:0000:0000:0000:0001'" LIST},
		{"0000000000000000000000000000000000000000000127.0.0.1",
		 "'0000000000000000000000000000000000000000000127.0.0.1'" LIST},
		{"[::1]", "'[::1]' is not accepted; write it without brackets"},
		{"[::1]:9000", "'[::1]:9000' is not accepted; write it without brackets"},
		{"10.0.0.0/33", "'10.0.0.0/33'" LENGTH "32"},
		{"10.0.0.0/128", "'10.0.0.0/128'" LENGTH "32"},
		{"10.0.0.0/4294967304", "'10.0.0.0/4294967304'" LENGTH "32"},
		{"10.0.0.0/", "'10.0.0.0/'" LENGTH "32"},
		{"10.0.0.0/-1", "'10.0.0.0/-1'" LENGTH "32"},
		{"10.0.0.0/+8", "'10.0.0.0/+8'" LENGTH "32"},
		{"10.0.0.0/08", "'10.0.0.0/08'" LENGTH "32"},
		{"10.0.0.0/8/8", "'10.0.0.0/8/8'" LENGTH "32"},
		{"10.0.0.0/255.0.0.0", "'10.0.0.0/255.0.0.0'" LENGTH "32"},
		{"10.0.0.0/8 ", "'10.0.0.0/8 '" LENGTH "32"},
		{"::/129", "'::/129'" LENGTH "128"},
		{"10.1.2.3/8",
		 "'10.1.2.3/8' has bits behind its prefix; the network is 10.0.0.0/8"},
		{"10.0.0.1/31",
		 "'10.0.0.1/31' has bits behind its prefix; the network is 10.0.0.0/31"},
		{"10.0.0.1/0", "'10.0.0.1/0' has bits behind its prefix; the network is 0.0.0.0/0"},
		{"2001:db8::1/127",
		 "'2001:db8::1/127' has bits behind its prefix; the network is 2001:db8::/127"},
		{"2001:db8:8000::/32",
		 "'2001:db8:8000::/32' has bits behind its prefix; the network is 2001:db8::/32"},
		{"::ffff:10.0.0.1/104",
		 "'::ffff:10.0.0.1/104' has bits behind its prefix; the network is "
		 "::ffff:10.0.0.0/104"},
		{"::ffff:0:0/95",
		 "'::ffff:0:0/95' has bits behind its prefix; the network is ::fffe:0:0/95"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct peers peers = {0};
		char error[256] = "";

		assert_int_equal(peers_add_network(&peers, texts[i][0], error, sizeof(error)),
				 -EINVAL);
		assert_string_equal(error, texts[i][1]);
		assert_int_equal(peers.network_count, 0);
		peers_done(&peers);
	}
}

static void test_users(void **state)
{
	struct peers peers = {0};
	char error[256] = "";

	(void)state;
	assert_int_equal(peers_add_user(&peers, "daemon", error, sizeof(error)), 0);
	assert_int_equal(peers_add_user(&peers, "0", error, sizeof(error)), 0);
	assert_int_equal(peers_add_user(&peers, "4000000000", error, sizeof(error)), 0);
	assert_string_equal(error, "");
	assert_int_equal(peers.uid_count, 3);
	assert_int_equal(peers.uids[0], 1);
	assert_int_equal(peers.uids[1], 0);
	assert_true(peers.uids[2] == 4000000000U);
	assert_int_equal(peers_add_user(&peers, "no-such-user", error, sizeof(error)), -ENOENT);
	assert_string_equal(error, "there is no user no-such-user");
	assert_int_equal(peers_add_user(&peers, "4294967295", error, sizeof(error)), -ENOENT);
	assert_int_equal(peers.uid_count, 3);
	peers_done(&peers);
	assert_null(peers.uids);
	peers_done(&peers);
}

static void test_lists_are_bounded(void **state)
{
	struct peers peers = {0};
	char error[256] = "";

	(void)state;
	for (unsigned int i = 0; i < ABI_PEERS_MAX; i++) {
		assert_int_equal(peers_add_network(&peers, "::1", error, sizeof(error)), 0);
		assert_int_equal(peers_add_user(&peers, "7", error, sizeof(error)), 0);
	}
	assert_int_equal(peers_add_network(&peers, "::1", error, sizeof(error)), -E2BIG);
	assert_string_equal(error, "more than 1000 entries are not accepted");
	assert_int_equal(peers_add_user(&peers, "7", error, sizeof(error)), -E2BIG);
	assert_int_equal(peers.network_count, ABI_PEERS_MAX);
	assert_int_equal(peers.uid_count, ABI_PEERS_MAX);
	peers_done(&peers);
}

static void test_what_workers_get(void **state)
{
	const struct {
		struct abi_peers head;
		struct abi_network networks[2];
		uint32_t uids[1];
	} expected = {
		{2, 1},
		{{AF_INET, 8, {10}}, {AF_INET6, 128, {[15] = 1}}},
		{7},
	};
	struct peers peers = {0};
	uint8_t seen[sizeof(expected) + 1];
	char error[256];
	int fd = -1;

	(void)state;
	assert_int_equal(peers_add_network(&peers, "10.0.0.0/8", error, sizeof(error)), 0);
	assert_int_equal(peers_add_network(&peers, "::1", error, sizeof(error)), 0);
	assert_int_equal(peers_add_user(&peers, "7", error, sizeof(error)), 0);
	assert_int_equal(peers_seal(&peers, &fd), 0);
	assert_int_equal(pread(fd, seen, sizeof(seen), 0), sizeof(expected));
	assert_memory_equal(seen, &expected, sizeof(expected));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	(void)close(fd);
	peers_done(&peers);
}

/* A worker runs the pool's code, and has the same file as its siblings. */
static void test_is_sealed(void **state)
{
	static const char *const networks[] = {"::1", NULL};

	(void)state;
	for (size_t i = 0; i < COUNT(networks); i++) {
		struct peers peers = {0};
		char error[256];
		struct stat st;
		int fd = -1;

		if (networks[i])
			assert_int_equal(
				peers_add_network(&peers, networks[i], error, sizeof(error)), 0);
		assert_int_equal(peers_seal(&peers, &fd), 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_size,
				 networks[i] ? sizeof(struct abi_peers) + sizeof(struct abi_network)
					     : 0);
		assert_int_equal(pwrite(fd, "", 1, 0), -1);
		assert_int_equal(errno, EPERM);
		assert_int_equal(ftruncate(fd, 4096), -1);
		assert_int_equal(errno, EPERM);
		if (networks[i])
			assert_int_equal(ftruncate(fd, 0), -1);
		assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
				 MAP_FAILED);
		(void)close(fd);
		peers_done(&peers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_refused_networks),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_lists_are_bounded),
		cmocka_unit_test(test_what_workers_get),
		cmocka_unit_test(test_is_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
