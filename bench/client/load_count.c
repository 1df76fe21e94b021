/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread of a load counts. */
#include "clock.h"
#include "load_internal.h"

#include <sys/resource.h>

static const struct load_options *options_of(const struct load_thread *thread)
{
	return &thread->shared->options;
}

static uint64_t since_start(const struct load_thread *thread, uint64_t now_ns)
{
	const uint64_t start_ns = atomic_load(&thread->shared->start_ns);

	return now_ns > start_ns ? now_ns - start_ns : 0;
}

static uint64_t switches(void)
{
	struct rusage usage = {.ru_nivcsw = 0};

	(void)getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nivcsw;
}

void load_count_start(struct load_thread *thread, uint64_t now_ns)
{
	uint64_t never = 0;

	thread->recording = true;
	(void)atomic_compare_exchange_strong(&thread->shared->record_ns, &never, now_ns);
	thread->cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	thread->switches = switches();
}

void load_count_stop(struct load_thread *thread)
{
	if (!thread->recording)
		return;
	thread->result->client_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - thread->cpu_ns;
	thread->result->client_switches = switches() - thread->switches;
}

/* An answer during the warm-up. Returns true if it comes after the last one of it. */
static bool is_past_warm_up(struct load_thread *thread, uint64_t now_ns)
{
	const uint64_t good = atomic_fetch_add(&thread->shared->good, 1) + 1;

	if (good >= options_of(thread)->skip)
		load_count_start(thread, now_ns);
	return good > options_of(thread)->skip;
}

void load_count_answer(struct load_thread *thread, const struct connection *connection,
		       uint64_t now_ns)
{
	struct load_result *result = thread->result;

	if (!thread->recording && !is_past_warm_up(thread, now_ns))
		return;
	result->answered++;
	histogram_add(&result->service, now_ns - connection->start_ns);
	histogram_add(&result->first_byte, connection->first_ns - connection->start_ns);
	if (options_of(thread)->arrivals != LOAD_CLOSED)
		histogram_add(&result->response, now_ns - connection->intended_ns);
	result->body_length = connection->response.body_length;
	thread->last_ns = now_ns;
}

void load_count_failure(struct load_thread *thread, enum failure failure, uint64_t now_ns,
			uint64_t start_ns)
{
	struct load_result *result = thread->result;

	failures_add(&result->failures, failure, since_start(thread, now_ns), now_ns - start_ns);
	if (failure == FAILURE_LENGTH || failure == FAILURE_CONTENT)
		result->wrong_body++;
	if (failure == FAILURE_DEADLINE)
		result->in_flight++;
}

void load_count_progress(struct load_thread *thread, uint64_t now_ns)
{
	struct load_shared *shared = thread->shared;
	const struct load_options *options = options_of(thread);
	const uint64_t answered = thread->result->answered;
	const uint64_t failed = failures_total(&thread->result->failures);

	(void)atomic_fetch_add(&shared->answered, answered - thread->told_answered);
	(void)atomic_fetch_add(&shared->failed, failed - thread->told_failed);
	thread->told_answered = answered;
	thread->told_failed = failed;
	if (options->progress != NULL && thread->index == 0)
		options->progress(atomic_load(&shared->answered), atomic_load(&shared->failed),
				  since_start(thread, now_ns), options->data);
}
