/* SPDX-License-Identifier: BSD-2-Clause */
/* All options of all commands: what is parsed, and what the help shows. */
#ifndef BENCH_OPTIONS_TABLE_H
#define BENCH_OPTIONS_TABLE_H

#include <limits.h>

enum option_id {
	OPTION_NEW = UCHAR_MAX + 1,
	OPTION_KEEP,
	OPTION_RATE,
	OPTION_ARRIVALS,
	OPTION_MAX_QUEUE,
	OPTION_PARAM,
	OPTION_DATA,
	OPTION_METHOD,
	OPTION_SCRIPT,
	OPTION_QUERY,
	OPTION_REQUEST,
	OPTION_SPLIT_PARAMS,
	OPTION_SPLIT_STDIN,
	OPTION_NODELAY,
	OPTION_QUICKACK,
	OPTION_EAGAIN,
	OPTION_TIMEOUT,
	OPTION_STATUS,
	OPTION_LENGTH,
	OPTION_PLACEMENT,
	OPTION_SERVER_PID,
	OPTION_WORKERS,
	OPTION_BACKLOG,
	OPTION_SEED,
	OPTION_REQUIRE,
	OPTION_JSON,
	OPTION_CSV,
	OPTION_START,
	OPTION_TRANSPORT,
	OPTION_SIZE,
	OPTION_TARGETS,
	OPTION_TRANSPORTS,
	OPTION_MODES,
	OPTION_SIZES,
	OPTION_ROUNDS,
	OPTION_PRECISION,
	OPTION_DELTA,
	OPTION_BUDGET,
	OPTION_STRICT,
	OPTION_PAD,
	OPTION_RETRY_DIRTY,
	OPTION_RESTART,
	OPTION_SLO,
	OPTION_MAX_RATE,
};

#define OPTIONS_TABLE_SIZE 49

/**
 * struct options_entry - an option
 * @name:	Long name
 * @id:		Letter, or enum option_id
 * @argument:	What the help calls its argument, NULL = takes none
 * @commands:	Bits of the commands that have it
 * @help:	What it is, in a few words, with what is usual in brackets
 */
struct options_entry {
	const char *name;
	int id;
	const char *argument;
	unsigned int commands;
	const char *help;
};

extern const struct options_entry options_table[OPTIONS_TABLE_SIZE];

#endif
