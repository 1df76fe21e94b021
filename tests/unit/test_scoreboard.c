/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the scoreboard, with another process as the writer. */
#include "fpm/pool/scoreboard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	ENTRIES = 5
};

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

static void write_entry(int fd, uint32_t entry, const struct abi_score *score)
{
	pid_t pid = fork();
	int status;

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		struct abi_score *board = mmap(NULL, ENTRIES * sizeof(*board),
					       PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (board == MAP_FAILED)
			_exit(1);
		board[entry] = *score;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_is_made_and_released(void **state)
{
	const unsigned int before = count_descriptors();
	struct scoreboard board = {0};
	struct stat st;

	(void)state;
	assert_int_equal(scoreboard_init(&board, ENTRIES), 0);
	assert_int_equal(board.count, ENTRIES);
	assert_int_equal(fstat(board.fd, &st), 0);
	assert_int_equal(st.st_size, ENTRIES * sizeof(struct abi_score));
	assert_true(fcntl(board.fd, F_GETFD) & FD_CLOEXEC);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		const struct abi_score score = scoreboard_read(&board, i);

		assert_int_equal(score.state, ABI_STATE_NONE);
		assert_int_equal(score.pid, 0);
		assert_int_equal(score.served, 0);
	}
	scoreboard_done(&board);
	assert_int_equal(board.fd, -1);
	assert_null((void *)(uintptr_t)board.entries);
	scoreboard_done(&board);
	assert_int_equal(count_descriptors(), before);
}

/* Its descriptor would be 0, which is somebody else's. */
static void test_done_of_nothing(void **state)
{
	struct scoreboard board = {0};

	(void)state;
	scoreboard_done(&board);
	assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
}

static void test_entries_are_taken_once(void **state)
{
	struct scoreboard board;
	bool seen[ENTRIES] = {false};
	uint32_t entry = 77;

	(void)state;
	assert_int_equal(scoreboard_init(&board, ENTRIES), 0);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		assert_int_equal(scoreboard_take(&board, &entry), 0);
		assert_in_range(entry, 0, ENTRIES - 1);
		assert_false(seen[entry]);
		seen[entry] = true;
	}
	entry = 77;
	assert_int_equal(scoreboard_take(&board, &entry), -EAGAIN);
	assert_int_equal(entry, 77);
	scoreboard_give_back(&board, 3);
	assert_int_equal(scoreboard_take(&board, &entry), 0);
	assert_int_equal(entry, 3);
	assert_int_equal(scoreboard_take(&board, &entry), -EAGAIN);
	scoreboard_done(&board);
}

static void test_another_process_writes(void **state)
{
	const struct abi_score written = {
		.state = ABI_STATE_BUSY, .pid = 4711, .served = UINT64_MAX};
	struct scoreboard board;
	struct abi_score seen;

	(void)state;
	assert_int_equal(scoreboard_init(&board, ENTRIES), 0);
	write_entry(board.fd, 2, &written);
	seen = scoreboard_read(&board, 2);
	assert_int_equal(seen.state, ABI_STATE_BUSY);
	assert_int_equal(seen.pid, 4711);
	assert_true(seen.served == UINT64_MAX);
	assert_int_equal(scoreboard_read(&board, 1).state, ABI_STATE_NONE);
	assert_int_equal(scoreboard_read(&board, 3).state, ABI_STATE_NONE);
	scoreboard_done(&board);
}

/* What the last worker left there must not count for the next one. */
static void test_taking_clears(void **state)
{
	const struct abi_score written = {.state = ABI_STATE_BUSY, .pid = 1, .served = 9};
	struct scoreboard board;
	struct abi_score seen;
	uint32_t entry;

	(void)state;
	assert_int_equal(scoreboard_init(&board, ENTRIES), 0);
	assert_int_equal(scoreboard_take(&board, &entry), 0);
	write_entry(board.fd, entry, &written);
	scoreboard_give_back(&board, entry);
	/* Until it is taken again it says what it said. */
	assert_int_equal(scoreboard_read(&board, entry).served, 9);
	assert_int_equal(scoreboard_take(&board, &entry), 0);
	seen = scoreboard_read(&board, entry);
	assert_int_equal(seen.state, ABI_STATE_NONE);
	assert_int_equal(seen.pid, 0);
	assert_int_equal(seen.served, 0);
	scoreboard_done(&board);
}

/* A worker that shrinks it would end the manager's next read with SIGBUS. */
static void test_size_is_sealed(void **state)
{
	const off_t size = ENTRIES * (off_t)sizeof(struct abi_score);
	struct scoreboard board;

	(void)state;
	assert_int_equal(scoreboard_init(&board, ENTRIES), 0);
	assert_int_equal(ftruncate(board.fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(board.fd, size * 2), -1);
	assert_int_equal(errno, EPERM);
	/* Nor may it be made unwritable for its siblings. */
	assert_int_equal(fcntl(board.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	scoreboard_done(&board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_made_and_released),
		cmocka_unit_test(test_done_of_nothing),
		cmocka_unit_test(test_entries_are_taken_once),
		cmocka_unit_test(test_another_process_writes),
		cmocka_unit_test(test_taking_clears),
		cmocka_unit_test(test_size_is_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
