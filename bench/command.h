/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench's commands. */
#ifndef BENCH_COMMAND_H
#define BENCH_COMMAND_H

struct session;

/* Each returns an enum options_exit. */
int command_run(struct session *session);
int command_compare(struct session *session);
int command_diff(struct session *session);
int command_ramp(struct session *session);
int command_floor(struct session *session);
int command_selftest(struct session *session);

#endif
