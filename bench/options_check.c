/* SPDX-License-Identifier: BSD-2-Clause */
/* What only all options together can tell: what is missing, and what has no effect. */

#include "options_check.h"

#include "options_table.h"

#include "bench/compare/ramp.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))
/* Of ramp: enough that it is the responder that has no more to give. */
#define RAMP_CONNECTIONS 8

#define DURATION_NS UINT64_C(10000000000)

static_assert(OPTIONS_TABLE_SIZE <= 64, "a bit for each option");

/* Who gives the first one without the second believes in an effect that it does not have. */
static const struct {
	int option;
	int needs;
} needs[] = {
	{OPTION_ARRIVALS, OPTION_RATE},	  {OPTION_MAX_QUEUE, OPTION_RATE},
	{OPTION_TRANSPORT, OPTION_START}, {OPTION_SIZE, OPTION_START},
	{OPTION_BACKLOG, OPTION_START},
};

static size_t entry_of(int id)
{
	size_t entry = 0;

	while (options_table[entry].id != id)
		entry++;
	return entry;
}

static bool is_given(uint64_t given, int id)
{
	return given >> entry_of(id) & 1;
}

static int check_needs(uint64_t given, char *error, size_t size)
{
	for (size_t i = 0; i < COUNT(needs); i++) {
		if (!is_given(given, needs[i].option) || is_given(given, needs[i].needs))
			continue;
		(void)snprintf(error, size, "--%s: needs --%s",
			       options_table[entry_of(needs[i].option)].name,
			       options_table[entry_of(needs[i].needs)].name);
		return -EINVAL;
	}
	return 0;
}

/* Return: what is wrong, or NULL */
static const char *check_run(const struct options *o, uint64_t given)
{
	if (!o->address == !o->starts)
		return "run needs an ADDRESS, or --start KIND";
	if (o->concurrency_count > 1)
		return "--connections: run accepts one number, compare a list";
	if (o->starts && is_given(given, OPTION_SERVER_PID))
		return "--server-pid: is for an ADDRESS; what --start has started is known";
	return NULL;
}

/* Return: what is wrong, or NULL */
static const char *check_ramp(const struct options *o, uint64_t given)
{
	if (o->concurrency_count > 1)
		return "--connections: ramp accepts one number, compare a list";
	if (o->address && (o->starts || o->transport_count > 0 || is_given(given, OPTION_SIZE) ||
			   is_given(given, OPTION_BACKLOG)))
		return "--start, --transports, --size and --backlog are for what ramp starts, not "
		       "for an ADDRESS";
	if (o->rounds > RAMP_BRACKETS_MAX)
		return "--rounds: ramp accepts at most 12";
	if (!o->address && is_given(given, OPTION_SERVER_PID))
		return "--server-pid: is for an ADDRESS; what ramp has started is known";
	return NULL;
}

static bool is_standard_output(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* A kept connection has a worker for itself, so with more of them than workers some would starve. */
static unsigned int choose_connections(const struct options *o)
{
	if (o->concurrency_count > 0)
		return o->concurrencies[0];
	if (o->command != COMMAND_RAMP)
		return 1;
	if (o->address && o->keep)
		return o->workers > 0 ? o->workers : 1;
	return RAMP_CONNECTIONS;
}

static void fill_in(struct options *o)
{
	const bool ramp = o->command == COMMAND_RAMP;

	o->connections = choose_connections(o);
	if ((o->command == COMMAND_RUN || ramp) && o->threads > o->connections)
		o->threads = o->connections;
	if (o->duration_ns == 0 && o->requests == 0)
		o->duration_ns = DURATION_NS;
	/* With fewer workers than kept connections some would starve, and pipes can't be shared. */
	if (o->workers == 0 && (o->starts || (ramp && !o->address)))
		o->workers = options_workers(o->connections);
}

int options_check(struct options *o, uint64_t given, char *error, size_t size)
{
	const char *fault = NULL;

	if (o->command == COMMAND_RUN) {
		fault = check_run(o, given);
		if (!fault && check_needs(given, error, size) < 0)
			return -EINVAL;
	}
	if (o->command == COMMAND_RAMP)
		fault = check_ramp(o, given);
	if (o->command == COMMAND_DIFF && !o->files[1])
		fault = "diff needs two files that --json has written";
	if (!fault && is_standard_output(o->json) && is_standard_output(o->csv))
		fault = "--json and --csv can't both go to standard output";
	if (fault) {
		(void)snprintf(error, size, "%s", fault);
		return -EINVAL;
	}
	fill_in(o);
	return 0;
}
