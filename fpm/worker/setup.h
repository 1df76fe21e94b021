/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a worker of a process that the template has just forked. */
#ifndef FPM_WORKER_SETUP_H
#define FPM_WORKER_SETUP_H

struct template_worker;

/**
 * setup_worker() - take over what the manager sent
 * @worker:	Message and descriptors
 *
 * Makes the output pipe of descriptors 1 and 2, /dev/null of 0, takes the process out of the
 * template's group, and opens scoreboard and listeners.
 *
 * Return: 0, or -1 after saying why on descriptor 2
 */
int setup_worker(const struct template_worker *worker);

#endif
