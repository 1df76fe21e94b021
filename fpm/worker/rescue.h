/* SPDX-License-Identifier: BSD-2-Clause */
/* While the program is busy: clients that wait go to a worker that idles, or to the next one. */
#ifndef FPM_WORKER_RESCUE_H
#define FPM_WORKER_RESCUE_H

#include <stdbool.h>

/**
 * rescue_start() - start the thread that looks after waiting clients
 * @all:	Pass on what is ready; otherwise clients go only when the worker is to leave
 *
 * Without it, or if it can't be started, they wait until the program has finished its request.
 */
void rescue_start(bool all);

/**
 * rescue_enter() - the program's thread begins to work on clients and queues
 */
void rescue_enter(void);

/**
 * rescue_leave() - it has done so
 */
void rescue_leave(void);

/**
 * rescue_busy() - the program starts on a request
 */
void rescue_busy(void);

/**
 * rescue_idle() - the program waits
 */
void rescue_idle(void);

#endif
