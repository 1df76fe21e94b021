/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocking ping-pong with a process that answers: no event loop, no FastCGI. */

#include "floor.h"

#include "bench/client/histogram.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Round trips that are not recorded: caches and the scheduler are still at something else. */
#define SKIP 50

/* Larger messages would measure copying, and nothing of FastCGI is larger in one piece. */
#define MESSAGE_MAX ((size_t)1 << 20)

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int read_all(int fd, uint8_t *buffer, size_t size)
{
	while (size > 0) {
		const ssize_t count = read(fd, buffer, size);

		if (count == 0)
			return -EPIPE;
		if (count == -1 && errno != EINTR)
			return -errno;
		if (count > 0) {
			buffer += count;
			size -= (size_t)count;
		}
	}
	return 0;
}

static int write_all(int fd, const uint8_t *buffer, size_t size)
{
	while (size > 0) {
		const ssize_t count = write(fd, buffer, size);

		if (count == -1 && errno != EINTR)
			return -errno;
		if (count > 0) {
			buffer += count;
			size -= (size_t)count;
		}
	}
	return 0;
}

static void no_delay(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static bool is_new(enum floor_kind kind)
{
	return kind == FLOOR_UNIX_NEW || kind == FLOOR_TCP_NEW;
}

static bool is_tcp(enum floor_kind kind)
{
	return kind == FLOOR_TCP || kind == FLOOR_TCP_NEW;
}

/* The process that answers, on a connection that stays. */
static void answer_kept(const struct floor_echo *echo, int in, int out)
{
	for (;;) {
		if (read_all(in, echo->buffer, echo->request_bytes) < 0 ||
		    write_all(out, echo->buffer, echo->answer_bytes) < 0)
			return;
	}
}

/* The process that answers, and closes first: no local port of the client is used up. */
static void answer_new(const struct floor_echo *echo, int listener)
{
	for (;;) {
		const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd == -1)
			return;
		if (is_tcp(echo->kind))
			no_delay(fd);
		if (read_all(fd, echo->buffer, echo->request_bytes) == 0)
			(void)write_all(fd, echo->buffer, echo->answer_bytes);
		(void)close(fd);
	}
}

static int listen_for(enum floor_kind kind, struct address_socket *ret_address)
{
	struct address_socket address = {.len = sizeof(sa_family_t)};
	int fd;
	int status;

	/* A family and nothing more makes the kernel choose a name or a port. */
	address.addr.storage.ss_family = AF_UNIX;
	if (is_tcp(kind)) {
		struct sockaddr_in *in = (struct sockaddr_in *)&address.addr.storage;

		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		address.len = sizeof(*in);
	}
	fd = socket(address.addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -errno;
	if (bind(fd, &address.addr.sa, address.len) == -1)
		goto fail;
	address.len = sizeof(address.addr.storage);
	if (getsockname(fd, &address.addr.sa, &address.len) == -1 || listen(fd, 511) == -1)
		goto fail;
	*ret_address = address;
	return fd;
fail:
	status = -errno;
	(void)close(fd);
	return status;
}

static int connect_to(const struct floor_echo *echo)
{
	const int fd = socket(echo->address.addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int status;

	if (fd == -1)
		return -errno;
	if (connect(fd, &echo->address.addr.sa, echo->address.len) == -1) {
		status = -errno;
		(void)close(fd);
		return status;
	}
	if (is_tcp(echo->kind))
		no_delay(fd);
	return fd;
}

static int open_pipes(struct floor_echo *echo, int ret_theirs[2])
{
	int requests[2];
	int answers[2];
	int status;

	if (pipe2(requests, O_CLOEXEC) == -1)
		return -errno;
	if (pipe2(answers, O_CLOEXEC) == -1) {
		status = -errno;
		(void)close(requests[0]);
		(void)close(requests[1]);
		return status;
	}
	echo->in = answers[0];
	echo->out = requests[1];
	ret_theirs[0] = requests[0];
	ret_theirs[1] = answers[1];
	return 0;
}

/* A connected pair of real TCP sockets. */
static int open_tcp(struct floor_echo *echo, int ret_theirs[2])
{
	const int listener = listen_for(echo->kind, &echo->address);
	int status = 0;

	if (listener < 0)
		return listener;
	echo->in = connect_to(echo);
	echo->out = echo->in;
	if (echo->in < 0) {
		status = echo->in;
	} else {
		ret_theirs[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		ret_theirs[1] = ret_theirs[0];
		if (ret_theirs[0] == -1)
			status = -errno;
		else
			no_delay(ret_theirs[0]);
	}
	(void)close(listener);
	return status;
}

static int open_ends(struct floor_echo *echo, int ret_theirs[2])
{
	int pair[2];

	if (is_new(echo->kind)) {
		ret_theirs[0] = listen_for(echo->kind, &echo->address);
		ret_theirs[1] = ret_theirs[0];
		return ret_theirs[0] < 0 ? ret_theirs[0] : 0;
	}
	if (echo->kind == FLOOR_PIPE)
		return open_pipes(echo, ret_theirs);
	if (echo->kind == FLOOR_TCP)
		return open_tcp(echo, ret_theirs);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -errno;
	echo->in = pair[0];
	echo->out = pair[0];
	ret_theirs[0] = pair[1];
	ret_theirs[1] = pair[1];
	return 0;
}

/* In the new process; it must not outlive us, nor end by itself when ^C is for us to handle. */
static _Noreturn void answer(const struct floor_echo *echo, const struct placement_plan *plan,
			     const int theirs[2], pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	if (plan != NULL)
		(void)sched_setaffinity(0, sizeof(plan->server), &plan->server);
	if (getppid() == parent) {
		if (is_new(echo->kind))
			answer_new(echo, theirs[0]);
		else
			answer_kept(echo, theirs[0], theirs[1]);
	}
	_exit(0);
}

static void close_pair(const int fds[2])
{
	if (fds[0] >= 0)
		(void)close(fds[0]);
	if (fds[1] >= 0 && fds[1] != fds[0])
		(void)close(fds[1]);
}

int floor_echo_start(enum floor_kind kind, const struct floor_options *options,
		     struct floor_echo *ret_echo)
{
	const size_t request = options->request_bytes > 0 ? options->request_bytes : 64;
	const size_t back = options->answer_bytes > 0 ? options->answer_bytes : 64;
	struct floor_echo echo = {
		.kind = kind, .in = -1, .out = -1, .request_bytes = request, .answer_bytes = back};
	const pid_t parent = getpid();
	int theirs[2] = {-1, -1};
	int status;

	if (request > MESSAGE_MAX || back > MESSAGE_MAX)
		return -EMSGSIZE;
	echo.buffer = calloc(1, request > back ? request : back);
	if (echo.buffer == NULL)
		return -ENOMEM;
	status = open_ends(&echo, theirs);
	if (status == 0) {
		echo.pid = fork();
		if (echo.pid == 0)
			answer(&echo, options->plan, theirs, parent);
		if (echo.pid == -1) {
			status = -errno;
			echo.pid = 0;
		}
	}
	close_pair(theirs);
	if (status < 0)
		floor_echo_stop(&echo);
	else
		*ret_echo = echo;
	return status;
}

static int trip(struct floor_echo *echo)
{
	int in = echo->in;
	int out = echo->out;
	int status;

	if (is_new(echo->kind)) {
		in = out = connect_to(echo);
		if (in < 0)
			return in;
	}
	status = write_all(out, echo->buffer, echo->request_bytes);
	if (status == 0)
		status = read_all(in, echo->buffer, echo->answer_bytes);
	if (is_new(echo->kind))
		(void)close(in);
	return status;
}

static int ping_pong(struct floor_echo *echo, uint64_t duration_ns, struct histogram *times)
{
	const uint64_t start = clock_ns(CLOCK_MONOTONIC);
	uint64_t now = start;

	while (now - start < duration_ns) {
		const int status = trip(echo);
		const uint64_t end = clock_ns(CLOCK_MONOTONIC);

		if (status < 0)
			return status;
		histogram_add(times, end - now);
		now = end;
	}
	return 0;
}

int floor_echo_slice(struct floor_echo *echo, uint64_t duration_ns, struct floor_sample *ret_sample)
{
	struct histogram *times = calloc(1, sizeof(*times));
	clockid_t server;
	uint64_t client_before;
	uint64_t server_before;
	int status = 0;

	if (times == NULL)
		return -ENOMEM;
	if (clock_getcpuclockid(echo->pid, &server) != 0)
		status = -ESRCH;
	for (int i = 0; i < SKIP && status == 0; i++)
		status = trip(echo);
	client_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	server_before = clock_ns(server);
	if (status == 0)
		status = ping_pong(echo, duration_ns, times);
	if (status == 0) {
		const double trips = (double)times->count;
		const uint64_t ours = clock_ns(CLOCK_THREAD_CPUTIME_ID) - client_before;
		const uint64_t theirs = clock_ns(server) - server_before;

		*ret_sample = (struct floor_sample){
			.trips = times->count,
			.rtt_us = (double)histogram_quantile(times, 0.5) / 1e3,
			.client_cpu_us = (double)ours / trips / 1e3,
			.server_cpu_us = (double)theirs / trips / 1e3,
		};
	}
	free(times);
	return status;
}

void floor_echo_stop(struct floor_echo *echo)
{
	if (echo->pid > 0) {
		(void)kill(echo->pid, SIGKILL);
		while (waitpid(echo->pid, NULL, 0) == -1 && errno == EINTR)
			;
		echo->pid = 0;
	}
	/* A zeroed one has no descriptors, and no buffer either. */
	if (echo->buffer != NULL) {
		const int ours[2] = {echo->in, echo->out};

		close_pair(ours);
	}
	free(echo->buffer);
	echo->buffer = NULL;
}
