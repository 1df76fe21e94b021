/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the messages with descriptors, over real sockets. */
#include "fpm/worker/message.h"

#include "fpm/worker/abi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The kernel's own limit of descriptors in a message. */
enum {
	KERNEL_FDS_MAX = 253
};

/* Ends of the socket under test. */
static int here, there;
static unsigned int descriptors_before;

static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static int setup(void **state)
{
	int pair[2];

	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == -1)
		return -1;
	here = pair[0];
	there = pair[1];
	descriptors_before = count_descriptors();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)close(here);
	(void)close(there);
	return 0;
}

static ino_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* @count read ends of pipes, which their inodes tell apart. */
static void make_fds(int fds[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int pair[2];

		assert_int_equal(pipe(pair), 0);
		fds[i] = pair[0];
		(void)close(pair[1]);
	}
}

static void close_fds(const int fds[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

static void allow_credentials(int fd)
{
	const int on = 1;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
}

/* A message of any size and content with any number of descriptors. */
static void send_raw(const void *data, size_t size, const int fds[], size_t count)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * KERNEL_FDS_MAX)];
	} control = {0};
	struct iovec iov = {.iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	memcpy(&iov.iov_base, &data, sizeof(data));
	if (count > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(count * sizeof(int))};
		memcpy(CMSG_DATA(&control.align), fds, count * sizeof(int));
	}
	assert_int_equal(sendmsg(there, &msg, 0), size);
}

static void test_content(void **state)
{
	struct abi_message sent = {.abi = ABI_VERSION,
				   .type = ABI_EXITED,
				   .epoch = UINT64_MAX,
				   .sequence = 1,
				   .slot = 2,
				   .score = 3,
				   .scores = 4,
				   .listeners = 5,
				   .pid = -6,
				   .error = 7,
				   .status = 8,
				   .threads = 9,
				   .descriptors = 10,
				   .max_rss_kib = INT64_MAX,
				   .user_us = 11,
				   .system_us = 12};
	struct abi_message seen;
	size_t count = 9;
	pid_t sender = 9;
	int fd = -9;

	(void)state;
	assert_int_equal(message_send(there, &sent, NULL, 0), 0);
	assert_int_equal(message_receive(here, &seen, &fd, 1, &count, &sender), 1);
	assert_memory_equal(&sent, &seen, sizeof(sent));
	assert_int_equal(count, 0);
	assert_int_equal(fd, -9);
	assert_int_equal(sender, 0);
}

static void test_descriptors_keep_their_order(void **state)
{
	const size_t counts[] = {1, 2, 3, ABI_SPAWN_FDS_MAX - 1, ABI_SPAWN_FDS_MAX};
	const struct abi_message sent = {.abi = ABI_VERSION, .type = ABI_SPAWN};

	(void)state;
	/* The credential takes room too. */
	for (size_t i = 0; i < 2 * COUNT(counts); i++) {
		const size_t wanted = counts[i % COUNT(counts)];
		int out[ABI_SPAWN_FDS_MAX], in[ABI_SPAWN_FDS_MAX];
		struct abi_message seen;
		size_t count = 0;

		if (i == COUNT(counts))
			allow_credentials(here);
		make_fds(out, wanted);
		assert_int_equal(message_send(there, &sent, out, wanted), 0);
		assert_int_equal(message_receive(here, &seen, in, COUNT(in), &count, NULL), 1);
		assert_int_equal(count, wanted);
		for (size_t j = 0; j < count; j++) {
			assert_int_equal(inode(in[j]), inode(out[j]));
			assert_int_not_equal(in[j], out[j]);
			assert_true(fcntl(in[j], F_GETFD) & FD_CLOEXEC);
		}
		close_fds(in, count);
		close_fds(out, wanted);
		assert_int_equal(count_descriptors(), descriptors_before);
	}
}

static void test_what_finds_no_room_is_closed(void **state)
{
	const struct abi_message sent = {.abi = ABI_VERSION, .type = ABI_SPAWN};

	(void)state;
	for (size_t size = 0; size < 5; size++) {
		int out[6], in[6] = {-9, -9, -9, -9, -9, -9};
		struct abi_message seen;
		size_t count = 0;

		make_fds(out, COUNT(out));
		assert_int_equal(message_send(there, &sent, out, COUNT(out)), 0);
		assert_int_equal(message_receive(here, &seen, in, size, &count, NULL), 1);
		assert_int_equal(count, size);
		for (size_t i = 0; i < COUNT(in); i++) {
			if (i < size)
				assert_int_equal(inode(in[i]), inode(out[i]));
			else
				assert_int_equal(in[i], -9);
		}
		close_fds(in, count);
		close_fds(out, COUNT(out));
		assert_int_equal(count_descriptors(), descriptors_before);
	}
}

/* Sends @size bytes of a message with descriptors, which must be refused and leave none. */
static void check_refused(uint32_t abi, size_t size, size_t fd_count)
{
	struct {
		struct abi_message message;
		char more[64];
	} sent = {.message = {.abi = abi, .type = ABI_SPAWN}};
	const struct abi_message good = {.abi = ABI_VERSION, .type = ABI_SHUTDOWN};
	int out[KERNEL_FDS_MAX], in[ABI_SPAWN_FDS_MAX];
	struct abi_message seen;
	size_t count = 9;
	pid_t sender;

	make_fds(out, fd_count);
	send_raw(&sent, size, out, fd_count);
	errno = 0;
	assert_int_equal(message_receive(here, &seen, in, COUNT(in), &count, &sender), -1);
	assert_int_equal(errno, EPROTO);
	close_fds(out, fd_count);
	assert_int_equal(count_descriptors(), descriptors_before);
	/* The next good one gets through. */
	send_raw(&good, sizeof(good), NULL, 0);
	assert_int_equal(message_receive(here, &seen, in, COUNT(in), &count, &sender), 1);
}

static void test_other_messages_are_refused(void **state)
{
	const size_t size = sizeof(struct abi_message);
	const struct {
		uint32_t abi;
		size_t size;
		size_t fd_count;
	} cases[] = {
		{ABI_VERSION + 1, size, 0},
		{ABI_VERSION + 1, size, 3},
		{0, size, 1},
		{ABI_VERSION, size - 1, 2},
		{ABI_VERSION, 1, 2},
		{ABI_VERSION, size + 1, 2},
		{ABI_VERSION, size + 64, 0},
		/* More descriptors than anybody of ours sends: the kernel cuts them off. */
		{ABI_VERSION, size, ABI_SPAWN_FDS_MAX + 20},
		{ABI_VERSION, size, KERNEL_FDS_MAX},
	};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		if (i == COUNT(cases))
			allow_credentials(here);
		check_refused(cases[i % COUNT(cases)].abi, cases[i % COUNT(cases)].size,
			      cases[i % COUNT(cases)].fd_count);
	}
}

static void test_sender_is_who_sent(void **state)
{
	const struct abi_message sent = {.abi = ABI_VERSION, .type = ABI_READY};
	struct abi_message seen;
	pid_t sender = 0, child;
	size_t count;
	int status;

	(void)state;
	allow_credentials(here);
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0)
		_exit(message_send(there, &sent, NULL, 0) == 0 ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(message_receive(here, &seen, NULL, 0, &count, &sender), 1);
	assert_int_equal(sender, child);
	assert_int_equal(message_send(there, &sent, NULL, 0), 0);
	assert_int_equal(message_receive(here, &seen, NULL, 0, &count, &sender), 1);
	assert_int_equal(sender, getpid());
}

static void test_nothing_there_yet(void **state)
{
	struct abi_message seen;
	size_t count;

	(void)state;
	errno = 0;
	assert_int_equal(message_receive(here, &seen, NULL, 0, &count, NULL), -1);
	assert_int_equal(errno, EAGAIN);
}

static void test_end_of_the_stream(void **state)
{
	const struct abi_message sent = {.abi = ABI_VERSION, .type = ABI_READY};
	struct abi_message seen;
	size_t count;

	(void)state;
	assert_int_equal(message_send(there, &sent, NULL, 0), 0);
	(void)close(there);
	there = -1;
	/* What was sent before still arrives. */
	assert_int_equal(message_receive(here, &seen, NULL, 0, &count, NULL), 1);
	assert_int_equal(message_receive(here, &seen, NULL, 0, &count, NULL), 0);
	/* Without a signal, which would end us here. */
	errno = 0;
	assert_int_equal(message_send(here, &sent, NULL, 0), -1);
	assert_int_equal(errno, EPIPE);
}

static void test_full_socket(void **state)
{
	const struct abi_message sent = {.abi = ABI_VERSION, .type = ABI_SPAWN};
	struct abi_message seen;
	unsigned int out = 0, in = 0;
	size_t count;

	(void)state;
	while (message_send(there, &sent, NULL, 0) == 0)
		out++;
	assert_int_equal(errno, EAGAIN);
	assert_int_not_equal(out, 0);
	while (message_receive(here, &seen, NULL, 0, &count, NULL) == 1)
		in++;
	assert_int_equal(in, out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_keep_their_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_finds_no_room_is_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_messages_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sender_is_who_sent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_there_yet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_of_the_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_socket, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
