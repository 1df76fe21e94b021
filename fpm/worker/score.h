/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's own entry of the scoreboard. */
#ifndef FPM_WORKER_SCORE_H
#define FPM_WORKER_SCORE_H

#include <stdbool.h>

struct template_worker;

/**
 * score_open() - map the scoreboard and take our entry
 * @worker:	What the manager sent
 *
 * If that fails the worker works all the same; the manager just knows less of it.
 */
void score_open(const struct template_worker *worker);

/* Waits for a connection or a request. */
void score_idle(void);

/* Has a connection that may carry a request. */
void score_busy(void);

/* A request was answered to its end; at the limit this asks the manager for a successor. */
void score_served(void);

/* Does another worker of the pool say that it waits? */
bool score_others_idle(void);

/* From now on nothing is written there: the process is a copy of the worker. */
void score_abandon(void);

#endif
