/* SPDX-License-Identifier: BSD-2-Clause */
/* One step of a ramp: a rate for some time, and whether it was sustained. */

#include "ramp_internal.h"

#include "bench/client/schedule.h"
#include "bench/server/usage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ACHIEVED_LEAST 0.98
#define FAILURES_MOST  0.001
#define CLIENT_CPU     0.8
#define SLO_FACTOR     5
#define TIMEOUT_FACTOR 4
#define GROWTH_P       0.01

/* Fewer arrivals have no p99; more time is given if there is some. */
#define REQUESTS_LEAST 1000

#define UNLOADED_REQUESTS 500
#define UNLOADED_NS	  UINT64_C(1000000000)

#define QUEUE_INTERVAL_MS 10
#define SAMPLES_MAX	  512

/* How many requests were in flight, or waited, each time when the load told how far it was. */
struct flight {
	struct schedule schedules[64];
	unsigned int threads;
	uint64_t due[64];
	double samples[SAMPLES_MAX];
	size_t count;
	uint64_t duration_ns;
};

uint64_t ramp_now_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct load_options make_load(const struct ramp_runner *runner, size_t target)
{
	const struct ramp_options *options = &runner->ramp->options;
	const struct ramp_target *me = &runner->ramp->targets[target];
	struct load_options load = options->load;

	load.endpoints = me->target->endpoints;
	load.endpoint_count = me->target->endpoint_count;
	load.request = me->request;
	load.expect = &me->expect;
	load.keep = load.keep || me->target->endpoints[0].transport == TRANSPORT_PIPE;
	load.threads = load.threads > 0 ? load.threads : 1;
	load.stop = options->stop;
	load.progress = NULL;
	if (options->plan != NULL && options->plan->placement != PLACEMENT_FREE)
		load.cpus = &options->plan->client;
	return load;
}

int ramp_unloaded(struct ramp_runner *runner, size_t target)
{
	struct ramp_target *me = &runner->ramp->targets[target];
	struct load_options load = make_load(runner, target);
	int status;

	load.threads = 1;
	load.connections = 1;
	load.arrivals = LOAD_CLOSED;
	load.requests = UNLOADED_REQUESTS;
	load.duration_ns = UNLOADED_NS;
	load.skip = 10;
	status = load_run(&load, runner->result, runner->error, runner->size);
	if (status < 0)
		return status;
	if (runner->result->answered == 0) {
		(void)snprintf(runner->error, runner->size,
			       "%s: not even one request at a time is answered", me->target->name);
		return -ENODATA;
	}
	me->unloaded_us = (double)histogram_quantile(&runner->result->service, 0.5) / 1e3;
	me->unloaded_p99_us = (double)histogram_quantile(&runner->result->service, 0.99) / 1e3;
	me->slo_us = runner->ramp->options.slo_us > 0 ? runner->ramp->options.slo_us
						      : SLO_FACTOR * me->unloaded_p99_us;
	return 0;
}

/* The load does not tell how many arrivals were due, but its schedule can be had again. */
static void progress_cb(uint64_t answered, uint64_t failed, uint64_t elapsed_ns, void *data)
{
	struct flight *flight = data;
	uint64_t due = 0;

	if (flight->count == SAMPLES_MAX || elapsed_ns > flight->duration_ns)
		return;
	for (unsigned int i = 0; i < flight->threads; i++) {
		while (flight->schedules[i].next_ns <= elapsed_ns) {
			flight->due[i]++;
			schedule_advance(&flight->schedules[i]);
		}
		due += flight->due[i];
	}
	flight->samples[flight->count++] =
		due > answered + failed ? (double)(due - answered - failed) : 0;
}

static void start_flight(struct flight *flight, const struct load_options *load)
{
	memset(flight, 0, sizeof(*flight));
	flight->duration_ns = load->duration_ns;
	/* With more threads than that nobody knows. */
	if (load->threads > sizeof(flight->due) / sizeof(flight->due[0]))
		return;
	flight->threads = load->threads < load->connections ? load->threads : load->connections;
	for (unsigned int i = 0; i < flight->threads; i++)
		schedule_start(&flight->schedules[i], load->arrivals == LOAD_POISSON, load->rate,
			       load->seed, i, flight->threads);
}

/* A trend may also fall, as the first requests of a step open connections. */
static bool is_growing(const struct flight *flight)
{
	const size_t third = flight->count / 3;
	double first = 0;
	double last = 0;

	for (size_t i = 0; i < third; i++) {
		first += flight->samples[i];
		last += flight->samples[flight->count - 1 - i];
	}
	return last > first && statistics_trend(flight->samples, flight->count) < GROWTH_P;
}

static bool is_client_bound(const struct ramp *ramp, const struct ramp_step *step)
{
	const unsigned int threads =
		ramp->options.load.threads > 0 ? ramp->options.load.threads : 1;
	const bool own_cpu =
		ramp->options.plan != NULL && ramp->options.plan->placement == PLACEMENT_SPLIT;

	/* It spins before arrivals, which is no work: there the lag alone tells. */
	if (own_cpu && !ramp->options.load.spin && step->client_cpu > CLIENT_CPU * threads)
		return true;
	return step->lag_us > ramp->targets[step->target].slo_us / 2;
}

static enum ramp_reason judge(const struct ramp *ramp, const struct ramp_step *step,
			      const struct flight *flight)
{
	enum ramp_reason reason = RAMP_PASS;

	if (step->achieved < ACHIEVED_LEAST * step->offered)
		reason = RAMP_BEHIND;
	else if (step->failures > FAILURES_MOST)
		reason = RAMP_FAILURES;
	else if (!(step->p99_us <= ramp->targets[step->target].slo_us))
		reason = RAMP_LATE;
	else if (is_growing(flight))
		reason = RAMP_GROWING;
	return is_client_bound(ramp, step) ? RAMP_CLIENT : reason;
}

static void take(struct ramp_runner *runner, struct ramp_step *step, const struct usage *used,
		 uint64_t wall_ns)
{
	const struct load_result *result = runner->result;
	const double answer_s = runner->ramp->targets[step->target].unloaded_p99_us / 1e6;
	const double duration_s = (double)step->duration_ns / 1e9;
	const double failed = (double)failures_total(&result->failures);
	/* The answer to the last arrival may come after it. */
	const double answering_s = fmax(duration_s, (double)result->elapsed_ns / 1e9 - answer_s);

	step->offered = (double)result->arrivals / duration_s;
	step->achieved = (double)result->answered / answering_s;
	step->failures = result->arrivals > 0 ? failed / (double)result->arrivals : 0;
	step->p50_us = result->response.count > 0
			       ? (double)histogram_quantile(&result->response, 0.5) / 1e3
			       : NAN;
	step->p99_us = result->response.count > 0
			       ? (double)histogram_quantile(&result->response, 0.99) / 1e3
			       : NAN;
	step->lag_us = result->send_lag.count > 0
			       ? (double)histogram_quantile(&result->send_lag, 0.99) / 1e3
			       : 0;
	step->waiting = result->queue_max;
	step->server_cpu =
		used->processes > 0 ? (double)used->cpu_ns / fmax(1, (double)wall_ns) : NAN;
	step->client_cpu = (double)result->client_cpu_ns / fmax(1, (double)result->elapsed_ns);
}

/* As long as the budget has made it, longer for slow rates if there is no budget. */
static uint64_t choose_duration(const struct ramp *ramp, double rate)
{
	const double least_ns = REQUESTS_LEAST / rate * 1e9;

	if (ramp->step_ns >= RAMP_STEP_NS && least_ns > (double)ramp->step_ns)
		return (uint64_t)least_ns;
	return ramp->step_ns;
}

/* What takes that long has failed the step anyway, and is not worth waiting for. */
static uint64_t choose_timeout(const struct ramp_target *target)
{
	return (uint64_t)fmax(1e9, TIMEOUT_FACTOR * target->slo_us * 1e3);
}

const struct ramp_step *ramp_step(struct ramp_runner *runner, size_t target, unsigned int bracket,
				  double rate)
{
	struct ramp *ramp = runner->ramp;
	struct ramp_step *step = &ramp->steps[ramp->step_count];
	const struct target *me = ramp->targets[target].target;
	struct load_options load = make_load(runner, target);
	struct flight flight;
	struct queue_watch *watch;
	struct usage before;
	struct usage after;
	struct usage used;
	double mean;
	uint64_t began_ns;
	int status;

	*step = (struct ramp_step){.target = target,
				   .bracket = bracket,
				   .rate = rate,
				   .duration_ns = choose_duration(ramp, rate)};
	load.rate = rate;
	load.requests = 0;
	load.skip = 0;
	load.duration_ns = step->duration_ns;
	if (load.timeout_ns == 0)
		load.timeout_ns = choose_timeout(&ramp->targets[target]);
	/* All targets of a bracket face the same arrivals. */
	load.seed = ramp->options.seed + bracket;
	load.progress = progress_cb;
	load.data = &flight;
	start_flight(&flight, &load);
	watch = queue_watch_start(me->endpoints, me->endpoint_count, QUEUE_INTERVAL_MS);
	began_ns = ramp_now_ns();
	usage_read(me->pid, false, &before);
	status = load_run(&load, runner->result, runner->error, runner->size);
	usage_read(me->pid, false, &after);
	queue_watch_stop(watch, &mean, &step->queue);
	/* Half a step says nothing. */
	if (status < 0 || runner->result->interrupted)
		return NULL;
	usage_since(&before, &after, &used);
	take(runner, step, &used, ramp_now_ns() - began_ns);
	step->reason = judge(ramp, step, &flight);
	ramp->step_count++;
	return step;
}
