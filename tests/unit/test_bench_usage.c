/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU time, memory and context switches of a process tree whose use is known, and the machine's. */

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/server/tree.h"
#include "bench/server/usage.h"
#include "fpm/process/proc_stat.h"

/* Long against the clock ticks in which the kernel tells of children that were waited for. */
#define BURN_NS	   UINT64_C(500000000)
#define TURNS	   200
#define MEMORY_KIB (32U * 1024U)

/*
 * The tree: a parent, and a child of it that does the work. Each obeys a byte and answers with
 * what it did; a failed assertion can't be told to CMocka from there, so they use none.
 */
struct tree {
	pid_t pid;
	int order;
	int answer;
};

static uint64_t own_cpu_ns(void)
{
	struct rusage own;

	(void)getrusage(RUSAGE_SELF, &own);
	return (uint64_t)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1000000000U +
	       (uint64_t)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1000U;
}

static void *burn(void *data)
{
	uint64_t end = own_cpu_ns() + BURN_NS / 2;

	while (own_cpu_ns() < end)
		continue;
	return data;
}

static uint64_t work(char order, int in, int out)
{
	pthread_t thread;
	char *memory;
	char byte = 0;

	switch (order) {
	case 'b': /* burn, half of it in a thread that ends */
		(void)burn(NULL);
		if (pthread_create(&thread, NULL, burn, NULL) != 0)
			abort();
		(void)pthread_join(thread, NULL);
		break;
	case 'm': /* take memory */
		memory = malloc(MEMORY_KIB * 1024U);
		if (!memory)
			abort();
		for (size_t i = 0; i < MEMORY_KIB * 1024U; i += 4096)
			memory[i] = 1;
		/* To be seen by the test, so it stays. */
		__asm__ volatile("" : : "r"(memory) : "memory");
		break;
	case 's': /* sleep and be woken up */
		for (int i = 0; i < TURNS; i++)
			if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
				abort();
		break;
	default:
		_exit(0);
	}
	return own_cpu_ns();
}

static void play_child(int in, int out)
{
	for (char order; read(in, &order, 1) == 1;) {
		uint64_t used = work(order, in, out);

		if (write(out, &used, sizeof(used)) != sizeof(used))
			_exit(1);
	}
	_exit(0);
}

static void play_parent(int in, int out)
{
	pid_t child = fork();
	uint64_t used = 0;

	if (child == 0)
		play_child(in, out);
	(void)waitpid(child, NULL, 0);
	if (write(out, &used, sizeof(used)) != sizeof(used))
		_exit(1);
	(void)pause();
	_exit(0);
}

static struct tree tree_start(void)
{
	int order[2], answer[2];
	struct tree tree;

	assert_int_equal(pipe(order), 0);
	assert_int_equal(pipe(answer), 0);
	tree.pid = fork();
	assert_int_not_equal(tree.pid, -1);
	if (tree.pid == 0) {
		(void)close(order[1]);
		(void)close(answer[0]);
		play_parent(order[0], answer[1]);
	}
	(void)close(order[0]);
	(void)close(answer[1]);
	tree.order = order[1];
	tree.answer = answer[0];
	return tree;
}

static void tell(const struct tree *tree, char order)
{
	assert_int_equal(write(tree->order, &order, 1), 1);
}

/* CPU time of the child; 0 when it has been waited for. */
static uint64_t answer(const struct tree *tree)
{
	uint64_t used;

	assert_int_equal(read(tree->answer, &used, sizeof(used)), sizeof(used));
	return used;
}

static void tree_end(struct tree *tree)
{
	(void)kill(tree->pid, SIGKILL);
	(void)waitpid(tree->pid, NULL, 0);
	(void)close(tree->order);
	(void)close(tree->answer);
}

static void assert_close(uint64_t seen, uint64_t wanted)
{
	uint64_t off = seen > wanted ? seen - wanted : wanted - seen;

	if (off * 20 > wanted)
		fail_msg("%llu ns were seen, %llu used", (unsigned long long)seen,
			 (unsigned long long)wanted);
}

static void test_cpu_of_child(void **state)
{
	struct usage before, during, after, used;
	struct tree tree = tree_start();
	uint64_t burnt;

	(void)state;
	usage_read(tree.pid, false, &before);
	tell(&tree, 'b');
	burnt = answer(&tree);
	assert_true(burnt >= BURN_NS);
	usage_read(tree.pid, false, &during);
	assert_int_equal(during.processes, 2);
	usage_since(&before, &during, &used);
	assert_close(used.cpu_ns, burnt);
	assert_true(used.machine_ns > BURN_NS / 2);

	tell(&tree, 'x');
	(void)answer(&tree);
	usage_read(tree.pid, false, &after);
	assert_int_equal(after.processes, 1);
	usage_since(&before, &after, &used);
	assert_close(used.cpu_ns, burnt);
	/* What ended and was counted before is not counted again. */
	usage_since(&during, &after, &used);
	assert_true(used.cpu_ns < BURN_NS / 20);
	tree_end(&tree);
}

static void await_sleep(pid_t pid)
{
	struct proc_stat stat = {.state = 'R'};

	while (proc_stat_read(pid, &stat) == 0 && stat.state != 'S')
		(void)sched_yield();
}

/* Each turn puts the child to sleep, as it is only told to go on once it sleeps. */
static void test_switches(void **state)
{
	struct usage before, after, used;
	struct tree tree = tree_start();
	pid_t pids[2] = {0};
	char byte;

	(void)state;
	tell(&tree, 's');
	for (int i = 0; i < TURNS; i++) {
		assert_int_equal(read(tree.answer, &byte, 1), 1);
		if (i == 0) {
			assert_int_equal(tree_list(tree.pid, pids, 2), 2);
			usage_read(tree.pid, false, &before);
		}
		await_sleep(pids[1]);
		tell(&tree, 0);
	}
	(void)answer(&tree);
	usage_read(tree.pid, false, &after);
	usage_since(&before, &after, &used);
	/* At the first reading it may have been asleep already. */
	assert_true(used.voluntary >= TURNS - 1);
	assert_true(used.voluntary <= 2 * TURNS);
	tree_end(&tree);
}

static void test_memory(void **state)
{
	struct usage before, after;
	struct tree tree = tree_start();

	(void)state;
	usage_read(tree.pid, true, &before);
	tell(&tree, 'm');
	(void)answer(&tree);
	usage_read(tree.pid, true, &after);
	assert_true(before.pss_kib > 0);
	assert_true(after.pss_kib >= before.pss_kib + MEMORY_KIB);
	usage_read(tree.pid, false, &after);
	assert_int_equal(after.pss_kib, 0);
	tree_end(&tree);
}

static void test_nobody(void **state)
{
	struct usage usage;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
	usage_read(pid, true, &usage);
	assert_int_equal(usage.processes, 0);
	assert_int_equal(usage.cpu_ns, 0);
	assert_true(usage.machine_ns > 0);
	usage_read(0, true, &usage);
	assert_int_equal(usage.processes, 0);
}

static void test_tree_limit(void **state)
{
	struct tree tree = tree_start();
	pid_t pids[2] = {0};

	(void)state;
	assert_int_equal(tree_list(tree.pid, pids, 1), 1);
	assert_int_equal(pids[0], tree.pid);
	/* An answer of the child says that it is there. */
	tell(&tree, 'm');
	(void)answer(&tree);
	assert_int_equal(tree_list(tree.pid, pids, 2), 2);
	assert_int_not_equal(pids[1], tree.pid);
	tree_end(&tree);
}

static void test_never_negative(void **state)
{
	const struct usage before = {.cpu_ns = 10, .voluntary = 5, .processes = 3, .pss_kib = 9};
	const struct usage after = {.cpu_ns = 7, .voluntary = 9, .processes = 2, .pss_kib = 4};
	struct usage used;

	(void)state;
	usage_since(&before, &after, &used);
	assert_int_equal(used.cpu_ns, 0);
	assert_int_equal(used.voluntary, 4);
	assert_int_equal(used.processes, 2);
	assert_int_equal(used.pss_kib, 4);
}

/* Connections beyond what a TCP queue takes are counted by the kernel. */
static void test_overflows(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(in);
	struct usage before, after, used;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int clients[4];

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&in, &length), 0);
	usage_read(0, false, &before);
	for (size_t i = 0; i < 4; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (connect(clients[i], (struct sockaddr *)&in, sizeof(in)) == -1)
			assert_int_equal(errno, EINPROGRESS);
	}
	usage_read(0, false, &after);
	usage_since(&before, &after, &used);
	assert_true(used.overflows >= 1);
	for (size_t i = 0; i < 4; i++)
		(void)close(clients[i]);
	(void)close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_of_child), cmocka_unit_test(test_switches),
		cmocka_unit_test(test_memory),	     cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_tree_limit),   cmocka_unit_test(test_never_negative),
		cmocka_unit_test(test_overflows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
