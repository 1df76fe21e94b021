/* SPDX-License-Identifier: BSD-2-Clause */
/* One thread of a load: its loop, and when requests are begun. */
#include "clock.h"
#include "load_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 *	closed loop	an idle connection begins its next request at once
 *	open loop	the schedule says when requests arrive. An arrival takes an idle connection or
 *			waits in the queue; beyond the queue's limit it is dropped. Response times
 *			count from the arrival, whatever delayed it
 *
 * Both use the same ring of idle connections. load_thread_finished() counts, puts the connection
 * into the ring and uses the ring again, so that the usual request costs no turn of its own. A
 * request that fails at once ends inside connection_begin(), hence @dispatching: the ring is worked
 * off by the outermost call, once for each connection that was in it, and the loop is asked for
 * events of the others before the next time.
 *
 * A closed loop pauses for 1 ms after a connect() that failed: nobody learns more from a million
 * refused connections than from a thousand, and the CPU may be the responder's, too.
 *
 * A thread with one connection in a closed loop blocks in read(): between CPUs the loop's epoll_wait()
 * costs a third more CPU a request, and that much less throughput, than a client that just blocks,
 * which is what one connection is compared with. A timer's signal interrupts read() at each tick, as
 * a pipe has no timeout of its own; one that comes too early to interrupt is followed by the next.
 * The loop turns at each tick, too, and whenever there is something else to wait for.
 *
 * There is no timer for each request. A tick, some times a second, looks for requests that took too
 * long, so a timeout is noticed up to a twentieth of it (at most 50 ms) late; what is recorded is
 * the time that really passed.
 *
 * The end: when the time is over or all tickets are used, no request is begun any more, and those
 * in flight are waited for, up to the timeout. On the stop flag they are not. Whatever is
 * unfinished then counts as FAILURE_DEADLINE with the time that it has taken so far.
 */

#define PAUSE_S	      0.001
#define TICK_MAX_NS   UINT64_C(50000000)
#define TICK_MIN_NS   UINT64_C(1000000)
#define TICKS_TIMEOUT 20
#define PROGRESS_NS   UINT64_C(200000000)

/* How long before an arrival a client that may spin stops to sleep, as a sleep may take longer. */
#define SPIN_NS UINT64_C(200000)

/* Most arrivals that can wait in one thread: 8 MiB. */
#define QUEUE_MAX (UINT64_C(1) << 20)

static const struct load_options *options_of(const struct load_thread *thread)
{
	return &thread->shared->options;
}

static bool is_open(const struct load_thread *thread)
{
	return options_of(thread)->arrivals != LOAD_CLOSED;
}

static bool is_stopped(const struct load_thread *thread)
{
	const volatile sig_atomic_t *stop = options_of(thread)->stop;

	return stop != NULL && *stop != 0;
}

static void push_idle(struct load_thread *thread, struct connection *connection)
{
	unsigned int at = thread->idle_first + thread->idle_count++;

	if (at >= thread->count)
		at -= thread->count;
	thread->idle[at] = connection;
}

static struct connection *pop_idle(struct load_thread *thread)
{
	struct connection *connection = thread->idle[thread->idle_first];

	if (++thread->idle_first == thread->count)
		thread->idle_first = 0;
	thread->idle_count--;
	return connection;
}

static bool take_ticket(struct load_shared *shared)
{
	return shared->tickets == 0 ||
	       atomic_fetch_add_explicit(&shared->issued, 1, memory_order_relaxed) <
		       shared->tickets;
}

/* Whether one more request may be begun at that time; it has its ticket then. */
static bool may_begin(struct load_thread *thread, uint64_t at_ns)
{
	if (thread->over)
		return false;
	if (at_ns < thread->end_ns && !is_stopped(thread) && take_ticket(thread->shared))
		return true;
	thread->over = true;
	/* What waits in the queue may need any number of turns, so the last ticket is an end, too. */
	if (at_ns < thread->end_ns)
		thread->end_ns = at_ns;
	return false;
}

static void begin(struct load_thread *thread, uint64_t due_ns, uint64_t now_ns)
{
	thread->in_flight++;
	connection_begin(pop_idle(thread), due_ns, now_ns);
}

static void dispatch(struct load_thread *thread)
{
	if (thread->dispatching || thread->aborted)
		return;
	thread->dispatching = true;
	for (unsigned int turns = thread->idle_count; turns > 0; turns--) {
		const uint64_t now_ns = clock_now_ns();

		if (is_open(thread) ? thread->queue.count == 0 : !may_begin(thread, now_ns))
			break;
		begin(thread, is_open(thread) ? load_queue_pop(&thread->queue) : now_ns, now_ns);
	}
	thread->dispatching = false;
}

static void arrive(struct load_thread *thread, uint64_t due_ns, uint64_t now_ns)
{
	struct load_result *result = thread->result;

	result->arrivals++;
	if (thread->idle_count > 0 && thread->queue.count == 0) {
		if (thread->recording)
			histogram_add(&result->send_lag, now_ns - due_ns);
		begin(thread, due_ns, now_ns);
	} else if (!load_queue_push(&thread->queue, due_ns)) {
		load_count_failure(thread, FAILURE_DROPPED, now_ns, due_ns);
	}
	if (thread->queue.count > result->queue_max)
		result->queue_max = thread->queue.count;
}

/* All arrivals that are due. Returns when the next one is. */
static uint64_t arrive_all(struct load_thread *thread)
{
	const uint64_t start_ns = atomic_load(&thread->shared->start_ns);
	uint64_t due_ns = start_ns + thread->schedule.next_ns;
	uint64_t now_ns;

	while (!thread->over && due_ns <= (now_ns = clock_now_ns())) {
		if (!may_begin(thread, due_ns))
			break;
		arrive(thread, due_ns, now_ns);
		schedule_advance(&thread->schedule);
		due_ns = start_ns + thread->schedule.next_ns;
	}
	/* The rest of the schedule lies behind the end. */
	if (due_ns >= thread->end_ns)
		thread->over = true;
	return due_ns;
}

static void pause_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct load_thread *thread = w->data;

	(void)loop;
	(void)events;
	while (thread->paused_count > 0)
		push_idle(thread, thread->paused[--thread->paused_count]);
}

static void set_aside(struct load_thread *thread, struct connection *connection,
		      enum failure failure)
{
	const bool unconnected = failure >= FAILURE_EAGAIN && failure <= FAILURE_LOCAL;

	/* In an open loop it is the schedule that bounds the number of tries. */
	if (is_open(thread) || !unconnected) {
		push_idle(thread, connection);
		return;
	}
	thread->paused[thread->paused_count++] = connection;
	if (!ev_is_active(&thread->pause)) {
		ev_now_update(thread->loop);
		ev_timer_set(&thread->pause, PAUSE_S, 0.);
		ev_timer_start(thread->loop, &thread->pause);
	}
}

void load_thread_finished(struct load_thread *thread, struct connection *connection,
			  enum failure failure, uint64_t now_ns)
{
	thread->in_flight--;
	thread->seen_ns = now_ns;
	thread->result->stderr_bytes += connection->response.stderr_length;
	if (failure == FAILURE_NONE)
		load_count_answer(thread, connection, now_ns);
	else
		load_count_failure(thread, failure, now_ns, connection->start_ns);
	set_aside(thread, connection, failure);
	dispatch(thread);
}

static void abort_all(struct load_thread *thread, uint64_t now_ns)
{
	thread->over = true;
	thread->aborted = true;
	for (unsigned int i = 0; i < thread->count; i++)
		connection_abort(&thread->connections[i], now_ns);
	while (thread->queue.count > 0)
		load_count_failure(thread, FAILURE_DEADLINE, now_ns,
				   load_queue_pop(&thread->queue));
}

static void tick_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct load_thread *thread = w->data;
	const uint64_t timeout_ns = options_of(thread)->timeout_ns;
	const uint64_t now_ns = clock_now_ns();

	(void)loop;
	(void)events;
	for (unsigned int i = 0; i < thread->count; i++)
		connection_check(&thread->connections[i], now_ns, timeout_ns);
	if (is_stopped(thread))
		abort_all(thread, now_ns);
	if (now_ns >= thread->end_ns && now_ns - thread->end_ns >= timeout_ns)
		abort_all(thread, now_ns);
	if (now_ns - thread->told_ns >= PROGRESS_NS) {
		thread->told_ns = now_ns;
		load_count_progress(thread, now_ns);
	}
}

static void arrival_cb(struct ev_loop *loop, ev_io *w, int events)
{
	struct load_thread *thread = w->data;
	uint64_t expirations;

	(void)loop;
	(void)events;
	if (read(thread->arrival_fd, &expirations, sizeof(expirations)) != -1)
		thread->armed_ns = 0;
}

static void arm(struct load_thread *thread, uint64_t at_ns)
{
	const struct itimerspec when = {
		.it_value.tv_sec = (time_t)(at_ns / CLOCK_SECOND_NS),
		.it_value.tv_nsec = (long)(at_ns % CLOCK_SECOND_NS),
	};

	if (thread->armed_ns == at_ns)
		return;
	(void)timerfd_settime(thread->arrival_fd, TFD_TIMER_ABSTIME, &when, NULL);
	thread->armed_ns = at_ns;
}

static void turn_open(struct load_thread *thread)
{
	const uint64_t early_ns = options_of(thread)->spin ? SPIN_NS : 0;
	uint64_t due_ns;
	int flags = EVRUN_ONCE;

	dispatch(thread);
	due_ns = arrive_all(thread);
	if (thread->over && thread->in_flight == 0 && thread->queue.count == 0)
		return;
	/* What waits although a connection is free has to go on without an event. */
	if ((thread->queue.count > 0 && thread->idle_count > 0) ||
	    (!thread->over && clock_now_ns() + early_ns >= due_ns))
		flags = EVRUN_NOWAIT;
	else if (!thread->over)
		arm(thread, due_ns - early_ns);
	ev_run(thread->loop, flags);
}

/* Waits for the answer of the only connection; false if that is not what is to be waited for. */
static bool turn_alone(struct load_thread *thread)
{
	struct connection *connection = &thread->connections[0];

	if (!thread->alone || !connection_awaits(connection))
		return false;
	/* Interrupted by the alarm, which means that the loop's tick is due. */
	if (connection_receive(connection, true) == -EINTR)
		thread->turn_ns = 0;
	if (thread->seen_ns >= thread->turn_ns) {
		thread->turn_ns = thread->seen_ns + thread->tick_ns;
		ev_run(thread->loop, EVRUN_NOWAIT);
	}
	return true;
}

static void turn_closed(struct load_thread *thread)
{
	dispatch(thread);
	if (thread->over && thread->in_flight == 0)
		return;
	if (!turn_alone(thread))
		ev_run(thread->loop,
		       thread->idle_count > 0 && !thread->over ? EVRUN_NOWAIT : EVRUN_ONCE);
}

static bool is_finished(const struct load_thread *thread)
{
	return thread->aborted ||
	       (thread->over && thread->in_flight == 0 && thread->queue.count == 0);
}

static void start(struct load_thread *thread)
{
	const struct load_options *options = options_of(thread);
	const uint64_t start_ns = atomic_load(&thread->shared->start_ns);

	thread->end_ns = options->duration_ns != 0 ? start_ns + options->duration_ns : UINT64_MAX;
	thread->told_ns = start_ns;
	if (is_open(thread))
		schedule_start(&thread->schedule, options->arrivals == LOAD_POISSON, options->rate,
			       options->seed, thread->index, options->threads);
	if (options->skip == 0)
		load_count_start(thread, is_open(thread) ? start_ns : clock_now_ns());
}

/* Has read() interrupted at each tick; without that nothing may block. */
static bool set_alarm(struct load_thread *thread)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = LOAD_ALARM};
	struct itimerspec tick = {.it_value.tv_nsec = (long)thread->tick_ns};
	sigset_t alarm;

	event._sigev_un._tid = gettid();
	tick.it_interval = tick.it_value;
	if (timer_create(CLOCK_MONOTONIC, &event, &thread->alarm) == -1)
		return false;
	(void)sigemptyset(&alarm);
	(void)sigaddset(&alarm, LOAD_ALARM);
	(void)pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	(void)timer_settime(thread->alarm, 0, &tick, NULL);
	return true;
}

void *load_thread_run(void *data)
{
	struct load_thread *thread = data;

	if (!load_gate_wait(thread->shared))
		return NULL;
	if (thread->alone)
		thread->alone = set_alarm(thread);
	start(thread);
	while (!is_finished(thread)) {
		if (is_open(thread))
			turn_open(thread);
		else
			turn_closed(thread);
	}
	load_count_stop(thread);
	if (thread->alone)
		(void)timer_delete(thread->alarm);
	load_count_progress(thread, clock_now_ns());
	return NULL;
}

/* Shares out the connections: thread I has I, I + threads, I + 2 * threads ... */
static int init_connections(struct load_thread *thread)
{
	const struct load_options *options = options_of(thread);

	thread->count =
		(options->connections - thread->index + options->threads - 1) / options->threads;
	thread->connections = calloc(thread->count, sizeof(*thread->connections));
	thread->idle = calloc(thread->count, sizeof(struct connection *));
	thread->paused = calloc(thread->count, sizeof(struct connection *));
	if (thread->connections == NULL || thread->idle == NULL || thread->paused == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < thread->count; i++) {
		const size_t number = thread->index + (size_t)i * options->threads;

		connection_init(&thread->connections[i], thread,
				&options->endpoints[number % options->endpoint_count]);
		push_idle(thread, &thread->connections[i]);
	}
	thread->alone = thread->count == 1 && !is_open(thread);
	return 0;
}

static void init_tick(struct load_thread *thread)
{
	uint64_t tick_ns = options_of(thread)->timeout_ns / TICKS_TIMEOUT;

	if (tick_ns > TICK_MAX_NS)
		tick_ns = TICK_MAX_NS;
	if (tick_ns < TICK_MIN_NS)
		tick_ns = TICK_MIN_NS;
	thread->tick_ns = tick_ns;
	ev_timer_init(&thread->tick, tick_cb, (double)tick_ns / 1e9, (double)tick_ns / 1e9);
	ev_timer_init(&thread->pause, pause_cb, PAUSE_S, 0.);
	thread->tick.data = thread;
	thread->pause.data = thread;
	ev_timer_start(thread->loop, &thread->tick);
}

static int init_arrivals(struct load_thread *thread)
{
	const struct load_options *options = options_of(thread);
	uint64_t limit = options->max_queue / options->threads;

	thread->arrival_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (thread->arrival_fd == -1)
		return -errno;
	ev_io_init(&thread->arrival, arrival_cb, thread->arrival_fd, EV_READ);
	thread->arrival.data = thread;
	ev_io_start(thread->loop, &thread->arrival);
	if (thread->index < options->max_queue % options->threads)
		limit++;
	return load_queue_init(&thread->queue, limit < QUEUE_MAX ? limit : QUEUE_MAX);
}

/* Memory that was never written to is mapped at the first use, which would be in a measurement. */
static void *allocate_mapped(size_t size)
{
	void *memory = malloc(size);

	/* Unlike memset() after calloc(), this is not left out. */
	if (memory != NULL)
		explicit_bzero(memory, size);
	return memory;
}

int load_thread_init(struct load_thread *thread, struct load_shared *shared, unsigned int index)
{
	int rc;

	thread->shared = shared;
	thread->index = index;
	thread->arrival_fd = -1;
	thread->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	thread->buffer = allocate_mapped(LOAD_BUFFER_SIZE);
	thread->result = allocate_mapped(sizeof(*thread->result));
	if (thread->loop == NULL || thread->buffer == NULL || thread->result == NULL)
		return -ENOMEM;
	init_tick(thread);
	rc = init_connections(thread);
	if (rc == 0 && is_open(thread))
		rc = init_arrivals(thread);
	return rc;
}

void load_thread_done(struct load_thread *thread)
{
	if (thread->shared == NULL)
		return;
	for (unsigned int i = 0; thread->connections != NULL && i < thread->count; i++)
		connection_done(&thread->connections[i]);
	if (thread->loop != NULL)
		ev_loop_destroy(thread->loop);
	if (thread->arrival_fd != -1)
		(void)close(thread->arrival_fd);
	load_queue_done(&thread->queue);
	free(thread->connections);
	free(thread->idle);
	free(thread->paused);
	free(thread->buffer);
	free(thread->result);
}
