/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the state that one manager leaves to the next: written and read, and what does not fit. */
#include "fpm/manager/state.h"
#include "fpm/worker/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char odd[] = "a \"b\" \\ \n \xff\x80\xc3 \x01";
static char plain[] = "plain", empty[] = "", address[] = "0100";

static struct state_output output = {.fd = 7, .label = plain, .last = odd, .line = empty};
static struct state_worker current = {.pid = 4711,
				      .pidfd = 8,
				      .output = &output,
				      .lifeline = 9,
				      .score = 5,
				      .started_ms = 123456789012,
				      .template_serial = 2,
				      .deadline_ms = -1};
static struct state_listener listener = {
	.fd = 10, .address = address, .dev = -3, .ino = INT64_MAX, .made_parent = 1};
static struct state_slot slot = {.listeners = &listener,
				 .listener_count = 1,
				 .handoff_in = 11,
				 .handoff_out = 12,
				 .current = &current,
				 .wait_ms = -1};
static struct state_pool pool = {.name = plain,
				 .path = odd,
				 .slots = &slot,
				 .slot_count = 1,
				 .board = 13,
				 .board_count = 6,
				 .attention = 14,
				 .fresh_in = 15,
				 .fresh_out = 16,
				 .peers = -1,
				 .template_wait_ms = -1};
static const struct state whole = {.version = STATE_VERSION,
				   .abi = ABI_VERSION,
				   .berth = plain,
				   .program = odd,
				   .conf = odd,
				   .nofile_soft = -1,
				   .nofile_hard = 1024,
				   .pools = &pool,
				   .pool_count = 1,
				   .log = -1,
				   .pid_file = -1};

static void test_round_trip(void **unused)
{
	struct state read = {0};
	char error[256];
	int fd;

	(void)unused;
	assert_int_equal(state_write(&whole, &fd), 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(state_read(fd, &read, error, sizeof(error)), 0);
	assert_string_equal(read.program, odd);
	assert_int_equal(read.nofile_soft, -1);
	assert_int_equal(read.log, -1);
	assert_null(read.control);
	assert_int_equal(read.pool_count, 1);
	assert_string_equal(read.pools[0].path, odd);
	assert_null(read.pools[0].ini_dir);
	assert_null(read.pools[0].template);
	assert_int_equal(read.pools[0].slots[0].listeners[0].ino, INT64_MAX);
	assert_int_equal(read.pools[0].slots[0].listeners[0].dev, -3);
	assert_int_equal(read.pools[0].slots[0].retiring_count, 0);
	assert_int_equal(read.pools[0].slots[0].current->started_ms, 123456789012);
	assert_string_equal(read.pools[0].slots[0].current->output->last, odd);
	state_release(&read);
	(void)close(fd);
}

/* The state as text with @from replaced by @to, read; returns what state_read() does. */
static int read_changed(const char *from, const char *to, char *error, size_t size)
{
	char text[16384], changed[16384];
	struct state read = {0};
	int fd, result;
	ssize_t n;
	char *at;

	assert_int_equal(state_write(&whole, &fd), 0);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	at = strstr(text, from);
	assert_non_null(at);
	(void)snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to,
		       at + strlen(from));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, changed, strlen(changed), 0), (ssize_t)strlen(changed));
	result = state_read(fd, &read, error, size);
	state_release(&read);
	(void)close(fd);
	return result;
}

static void test_what_does_not_fit(void **unused)
{
	static const struct {
		const char *from;
		const char *to;
		const char *error; /* NULL: it fits */
	} cases[] = {
		{"\"version\": 3", "\"version\": 3, \"unknown\": [1, 2]", NULL},
		{"\"version\": 3", "\"version\": 4", "version: 4 is not from 3 to 3"},
		{"\"version\": 3", "\"version\": 0", "version: 0 is not"},
		{"\"version\"", "\"another\"", "version: it is missing"},
		{"\"version\": 3", "\"version\": 3, \"version\": 3", "no JSON"},
		{"\"pid\": 4711", "\"pid\": 1", "pools[0].slots[0].current.pid: 1 is not"},
		{"\"pid\": 4711", "\"pid\": -4711", "current.pid: -4711 is not"},
		{"\"pid\": 4711", "\"pid\": 4711.0", "current.pid: it is no whole number"},
		{"\"pid\": 4711", "\"pid\": \"4711\"", "current.pid: it is no whole number"},
		{"\"pidfd\": 8", "\"pidfd\": -1", "current.pidfd: -1 is not"},
		{"\"pidfd\": 8", "\"pidfd\": 2", "current.pidfd: 2 is not"},
		{"\"pidfd\": 8", "\"pidfd\": 2147483648", "current.pidfd: 2147483648 is not"},
		{"\"lifeline\": 9", "\"lifeline\": -1", NULL},
		{"\"lifeline\": 9", "\"lifeline\": -2", "current.lifeline: -2 is not"},
		{"\"most\": 0", "\"least\": 0", NULL},
		{"\"most\": 0", "\"most\": -1", "pools[0].most: -1 is not"},
		{"\"most\": 0", "\"most\": 10001", "pools[0].most: 10001 is not"},
		{"\"asked\": 0", "\"asked\": 2", "current.asked: 2 is not"},
		{"\"retiring\": []", "\"retiring\": {}", "slots[0].retiring: it is no list"},
		{"\"retiring\": []", "\"retiring\": [{}]", "retiring[0].pid: it is missing"},
		{"\"retiring\": []", "\"retiring\": [1,2,3,4,5]", "5 entries are more than 4"},
		{"\"template\": null", "\"template\": 1", "pools[0].template: it is no object"},
		{"\"name\": \"plain\"", "\"name\": null", "pools[0].name: it is no text"},
		{"\"name\": \"plain\"", "\"name\": \"\\u0100\"", "name: it has a character"},
		{"\"name\": \"plain\"", "\"name\": \"\xe2\x82\xac\"", "name: it has a character"},
		{"\"ini_dir\": null", "\"ini_dir\": \"\\u00ff\"", NULL},
		{"{", "", "no JSON"},
		{"{", "[", "no JSON"},
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char error[256] = "";
		int result = read_changed(cases[i].from, cases[i].to, error, sizeof(error));

		assert_int_equal(result, cases[i].error ? -EPROTO : 0);
		if (cases[i].error && !strstr(error, cases[i].error))
			fail_msg("case %zu: %s", i, error);
	}
}

static void test_no_state(void **unused)
{
	struct state read;
	char error[256];
	int pair[2];

	(void)unused;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(state_read(pair[0], &read, error, sizeof(error)), -EPROTO);
	assert_int_equal(state_read(1 << 20, &read, error, sizeof(error)), -EPROTO);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* A state with nothing but outputs, of which each has one of @fds. */
static int take(const int fds[], size_t count, char *error, size_t size)
{
	struct state_output outputs[4] = {{0}};
	struct state state = {.outputs = outputs, .output_count = count, .log = -1, .pid_file = -1};

	for (size_t i = 0; i < count; i++)
		outputs[i].fd = fds[i];
	return state_take_descriptors(&state, error, size);
}

static void test_descriptors(void **unused)
{
	char error[256];
	int pair[2], memory = memfd_create("test", 0);

	(void)unused;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(take(pair, 2, error, sizeof(error)), 0);
	assert_int_equal(fcntl(pair[1], F_GETFD), FD_CLOEXEC);
	assert_int_equal(take((int[]){pair[0], pair[0]}, 2, error, sizeof(error)), -EPROTO);
	assert_non_null(strstr(error, "is there twice"));
	assert_int_equal(take((int[]){pair[0], memory}, 2, error, sizeof(error)), -EPROTO);
	assert_non_null(strstr(error, "is not what it should be"));
	(void)close(memory);
	assert_int_equal(take((int[]){memory}, 1, error, sizeof(error)), -EPROTO);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_what_does_not_fit),
		cmocka_unit_test(test_no_state),
		cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
