/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts load on a responder: starts the threads, waits for them, adds up what they counted. */
#include "load.h"

#include "clock.h"
#include "load_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_DEFAULT_NS UINT64_C(10000000000)

/* Open loop: no arrival is due before all threads are awake. */
#define AWAKE_NS UINT64_C(1000000)

static void add(struct load_result *into, const struct load_result *from)
{
	into->answered += from->answered;
	histogram_merge(&into->service, &from->service);
	histogram_merge(&into->response, &from->response);
	histogram_merge(&into->connect, &from->connect);
	histogram_merge(&into->first_byte, &from->first_byte);
	histogram_merge(&into->send_lag, &from->send_lag);
	histogram_merge(&into->close_lag, &from->close_lag);
	failures_merge(&into->failures, &from->failures);
	into->wrong_body += from->wrong_body;
	if (from->answered > 0)
		into->body_length = from->body_length;
	into->bytes_in += from->bytes_in;
	into->bytes_out += from->bytes_out;
	into->stderr_bytes += from->stderr_bytes;
	into->connections_made += from->connections_made;
	into->source_changes += from->source_changes;
	into->arrivals += from->arrivals;
	into->in_flight += from->in_flight;
	into->client_cpu_ns += from->client_cpu_ns;
	into->client_switches += from->client_switches;
	into->interrupted = into->interrupted || from->interrupted;
}

void load_merge(struct load_result *into, const struct load_result *from)
{
	add(into, from);
	into->elapsed_ns += from->elapsed_ns;
	if (from->queue_max > into->queue_max)
		into->queue_max = from->queue_max;
}

bool load_gate_wait(struct load_shared *shared)
{
	enum load_gate gate;

	(void)pthread_mutex_lock(&shared->mutex);
	while (shared->gate == LOAD_GATE_SHUT)
		(void)pthread_cond_wait(&shared->moved, &shared->mutex);
	gate = shared->gate;
	(void)pthread_mutex_unlock(&shared->mutex);
	return gate == LOAD_GATE_OPEN;
}

static void move_gate(struct load_shared *shared, enum load_gate gate)
{
	const bool open_loop = shared->options.arrivals != LOAD_CLOSED;

	(void)pthread_mutex_lock(&shared->mutex);
	atomic_store(&shared->start_ns, clock_now_ns() + (open_loop ? AWAKE_NS : 0));
	shared->gate = gate;
	(void)pthread_cond_broadcast(&shared->moved);
	(void)pthread_mutex_unlock(&shared->mutex);
}

static int refuse(char *error, size_t size, const char *reason)
{
	(void)snprintf(error, size, "%s", reason);
	return -EINVAL;
}

static int check(const struct load_options *options, char *error, size_t size)
{
	if (options->endpoint_count == 0 || options->connections == 0 || options->threads == 0)
		return refuse(error, size, "no endpoint, connection or thread");
	if (options->duration_ns == 0 && options->requests == 0)
		return refuse(error, size, "neither a duration nor a number of requests");
	if (options->arrivals != LOAD_CLOSED && !(options->rate > 0))
		return refuse(error, size, "an open loop needs a rate above 0");
	for (size_t i = 0; i < options->endpoint_count; i++) {
		if (options->endpoints[i].transport == TRANSPORT_PIPE &&
		    options->connections > options->endpoint_count)
			return refuse(error, size,
				      "more connections than pairs of pipes, and each can carry "
				      "one only");
	}
	return 0;
}

static struct load_options with_defaults(const struct load_options *given)
{
	struct load_options options = *given;

	if (options.timeout_ns == 0)
		options.timeout_ns = TIMEOUT_DEFAULT_NS;
	if (options.eagain_retry_ns == 0)
		options.eagain_retry_ns = UINT64_C(1000000);
	if (options.threads > options.connections)
		options.threads = options.connections;
	return options;
}

/* Threads that have a CPU each, as far as there are enough, do not move between them. */
static void choose_cpus(const struct load_options *options, unsigned int index, cpu_set_t *ret_set)
{
	unsigned int seen = 0;

	if ((unsigned int)CPU_COUNT(options->cpus) < options->threads) {
		*ret_set = *options->cpus;
		return;
	}
	CPU_ZERO(ret_set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, options->cpus) && seen++ == index)
			CPU_SET(cpu, ret_set);
	}
}

static int start_thread(struct load_thread *thread)
{
	const struct load_options *options = &thread->shared->options;
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int rc;

	rc = pthread_attr_init(&attributes);
	if (rc != 0)
		return -rc;
	if (options->cpus != NULL) {
		choose_cpus(options, thread->index, &cpus);
		rc = pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	if (rc == 0)
		rc = pthread_create(&thread->thread, &attributes, load_thread_run, thread);
	(void)pthread_attr_destroy(&attributes);
	return -rc;
}

static void alarm_cb(int signal)
{
	(void)signal;
}

/* Runs all threads to their end. Signals are for the caller's thread; SIGPIPE is for nobody. */
static int run_threads(struct load_shared *shared, struct load_thread *threads, unsigned int count)
{
	unsigned int started = 0;
	sigset_t before;
	sigset_t all;
	struct sigaction alarm = {.sa_handler = alarm_cb};
	int rc = 0;

	/* Without SA_RESTART, so that it interrupts. */
	(void)sigaction(LOAD_ALARM, &alarm, NULL);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (rc == 0 && started < count) {
		rc = start_thread(&threads[started]);
		if (rc == 0)
			started++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	move_gate(shared, rc == 0 ? LOAD_GATE_OPEN : LOAD_GATE_CANCELLED);
	while (started > 0)
		(void)pthread_join(threads[--started].thread, NULL);
	return rc;
}

static void collect(struct load_shared *shared, const struct load_thread *threads,
		    unsigned int count, struct load_result *ret_result)
{
	const volatile sig_atomic_t *stop = shared->options.stop;
	uint64_t from_ns = atomic_load(&shared->record_ns);
	uint64_t last_ns = 0;

	memset(ret_result, 0, sizeof(*ret_result));
	for (unsigned int i = 0; i < count; i++) {
		add(ret_result, threads[i].result);
		ret_result->queue_max += threads[i].result->queue_max;
		if (threads[i].last_ns > last_ns)
			last_ns = threads[i].last_ns;
	}
	if (from_ns == 0)
		from_ns = atomic_load(&shared->start_ns);
	if (last_ns == 0)
		last_ns = clock_now_ns();
	ret_result->elapsed_ns = last_ns > from_ns ? last_ns - from_ns : 0;
	ret_result->interrupted = stop != NULL && *stop != 0;
}

int load_run(const struct load_options *options, struct load_result *ret_result, char *error,
	     size_t size)
{
	struct load_shared shared = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.moved = PTHREAD_COND_INITIALIZER,
	};
	struct load_thread *threads;
	unsigned int count;
	int rc;

	rc = check(options, error, size);
	if (rc < 0)
		return rc;
	shared.options = with_defaults(options);
	if (options->requests != 0)
		shared.tickets = options->skip + options->requests;
	count = shared.options.threads;
	threads = calloc(count, sizeof(*threads));
	rc = threads != NULL ? 0 : -ENOMEM;
	for (unsigned int i = 0; rc == 0 && i < count; i++)
		rc = load_thread_init(&threads[i], &shared, i);
	if (rc == 0)
		rc = run_threads(&shared, threads, count);
	if (rc == 0)
		collect(&shared, threads, count, ret_result);
	else
		(void)snprintf(error, size, "can't start the client's threads: %s", strerror(-rc));
	for (unsigned int i = 0; threads != NULL && i < count; i++)
		load_thread_done(&threads[i]);
	free(threads);
	return rc;
}
