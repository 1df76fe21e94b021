/* SPDX-License-Identifier: BSD-2-Clause */
/* Between guard.c and the process that it forks. */
#ifndef BENCH_SERVER_GUARD_INTERNAL_H
#define BENCH_SERVER_GUARD_INTERNAL_H

#include <stdnoreturn.h>
#include <sys/types.h>

struct guard_options;

/* How long a program may take to end by itself after SIGTERM. */
#define GUARD_GRACE_MS 3000

/**
 * struct guard_started - the guard's first words; at its end the program's last ones follow
 * @error:	0, or why the program was not executed
 * @program:	Pid of the program
 */
struct guard_started {
	int error;
	pid_t program;
};

/**
 * guard_main() - what the guard does
 * @options:	What to run
 * @control:	At its end when all has to end
 * @report:	Where to tell
 *
 * Runs behind fork() in a process that may have had threads, so it allocates nothing before the
 * program has ended.
 */
noreturn void guard_main(const struct guard_options *options, int control, int report);

#endif
