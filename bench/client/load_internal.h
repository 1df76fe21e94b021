/* SPDX-License-Identifier: BSD-2-Clause */
/* What load*.c and connection.c share: one thread of a load. */
#ifndef BENCH_CLIENT_LOAD_INTERNAL_H
#define BENCH_CLIENT_LOAD_INTERNAL_H

#include "bench/client/connection.h"
#include "bench/client/load.h"
#include "bench/client/load_queue.h"
#include "bench/client/schedule.h"

#include <ev.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Large enough that an answer of usual size needs one read. */
#define LOAD_BUFFER_SIZE 65536

/* Interrupts a thread that blocks in read(); does nothing else. */
#define LOAD_ALARM SIGRTMIN

/* May the threads go? */
enum load_gate {
	LOAD_GATE_SHUT = 0,
	LOAD_GATE_OPEN,
	LOAD_GATE_CANCELLED, /* a thread is missing: end at once */
};

/**
 * struct load_shared - what all threads of a load have in common
 * @options:	As given, with defaults filled in
 * @tickets:	Requests that may be begun, 0 = no limit
 * @issued:	Those that were
 * @good:	Good answers so far, counted only until @options.skip is reached
 * @start_ns:	When it began
 * @record_ns:	When the first recorded moment was, 0 = not yet
 * @answered:	Sum over the threads, now and then, for the progress
 * @failed:	Likewise
 * @mutex:	For @gate
 * @moved:	@gate has changed
 * @gate:	All threads wait for it, so that they begin together
 */
struct load_shared {
	struct load_options options;
	uint64_t tickets;
	_Atomic uint64_t issued;
	_Atomic uint64_t good;
	_Atomic uint64_t start_ns;
	_Atomic uint64_t record_ns;
	_Atomic uint64_t answered;
	_Atomic uint64_t failed;
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	enum load_gate gate;
};

/**
 * struct load_thread - one thread with its own loop, connections and counters
 * @shared:	What all have in common
 * @index:	Which one, from 0
 * @thread:	The thread
 * @loop:	Its loop
 * @tick:	Looks for requests that took too long, and at the stop flag
 * @pause:	Ends the rest of @paused
 * @arrival:	Open loop: the next arrival is due
 * @arrival_fd:	Open loop: its timer, else -1
 * @armed_ns:	What the timer is set to, 0 = it is not
 * @connections: Its share
 * @count:	Entries of @connections, @idle and @paused
 * @idle:	Connections without a request, in the order in which they are used: a ring
 * @idle_first:	Index of the next one
 * @idle_count:	How many
 * @paused:	Connections that rest after a failed connect()
 * @paused_count: How many
 * @in_flight:	Requests begun and not finished
 * @schedule:	Open loop: arrivals
 * @queue:	Open loop: those that wait
 * @end_ns:	No request is begun after that
 * @over:	No request is begun any more, but for those in @queue
 * @aborted:	Nothing is waited for any more
 * @dispatching: The idle connections are being used
 * @recording:	The warm-up is over
 * @tick_ns:	Interval of @tick
 * @alone:	It has one connection and a closed loop: it blocks in read()
 * @alarm:	Interrupts that at each tick
 * @seen_ns:	When the last request ended
 * @turn_ns:	When the loop has to turn again, for a thread that is alone
 * @last_ns:	Last good answer
 * @told_ns:	When the progress was told last
 * @told_answered: What @shared->answered already has of us
 * @told_failed: Likewise
 * @cpu_ns:	CPU time when recording began
 * @switches:	Context switches when recording began
 * @buffer:	What is read goes through it
 * @source:	Last byte of our 127.0.0.x when ports were used up, 0 = as the kernel chooses
 * @result:	Counters
 */
struct load_thread {
	struct load_shared *shared;
	unsigned int index;
	pthread_t thread;
	struct ev_loop *loop;
	ev_timer tick;
	ev_timer pause;
	ev_io arrival;
	int arrival_fd;
	uint64_t armed_ns;
	struct connection *connections;
	unsigned int count;
	struct connection **idle;
	unsigned int idle_first;
	unsigned int idle_count;
	struct connection **paused;
	unsigned int paused_count;
	unsigned int in_flight;
	struct schedule schedule;
	struct load_queue queue;
	uint64_t end_ns;
	bool over;
	bool aborted;
	bool dispatching;
	bool recording;
	uint64_t tick_ns;
	bool alone;
	timer_t alarm;
	uint64_t seen_ns;
	uint64_t turn_ns;
	uint64_t last_ns;
	uint64_t told_ns;
	uint64_t told_answered;
	uint64_t told_failed;
	uint64_t cpu_ns;
	uint64_t switches;
	uint8_t *buffer;
	uint8_t source;
	struct load_result *result;
};

/**
 * load_thread_init() - allocate all that a thread needs; may be released even if it fails
 * @thread:	All zero
 * @shared:	What all have in common
 * @index:	Which one
 *
 * Return: 0 or negative errno
 */
int load_thread_init(struct load_thread *thread, struct load_shared *shared, unsigned int index);

/**
 * load_thread_done() - release it
 * @thread:	Thread that has ended or never ran
 */
void load_thread_done(struct load_thread *thread);

/**
 * load_thread_run() - what the thread does
 * @data:	struct load_thread
 *
 * Return: NULL
 */
void *load_thread_run(void *data);

/**
 * load_gate_wait() - wait until all threads are there
 * @shared:	What all have in common
 *
 * Return: false if the load is cancelled
 */
bool load_gate_wait(struct load_shared *shared);

/**
 * load_count_start() - the first recorded moment, of this thread at least
 * @thread:	Thread
 * @now_ns:	The time
 */
void load_count_start(struct load_thread *thread, uint64_t now_ns);

/**
 * load_count_stop() - the thread has ended: note what it used
 * @thread:	Thread
 */
void load_count_stop(struct load_thread *thread);

/**
 * load_count_answer() - a good answer, which is recorded unless it belongs to the warm-up
 * @thread:	Thread
 * @connection:	It came on that one
 * @now_ns:	The time
 */
void load_count_answer(struct load_thread *thread, const struct connection *connection,
		       uint64_t now_ns);

/**
 * load_count_failure() - a request has failed, in the warm-up or not
 * @thread:	Thread
 * @failure:	Class
 * @now_ns:	The time
 * @start_ns:	When it began
 */
void load_count_failure(struct load_thread *thread, enum failure failure, uint64_t now_ns,
			uint64_t start_ns);

/**
 * load_count_progress() - tell how far it is
 * @thread:	Thread
 * @now_ns:	The time
 */
void load_count_progress(struct load_thread *thread, uint64_t now_ns);

#endif
