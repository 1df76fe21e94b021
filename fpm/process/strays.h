/* SPDX-License-Identifier: BSD-2-Clause */
/* What scripts left running: descendants of ours that belong to no pool. */
#ifndef FPM_STRAYS_H
#define FPM_STRAYS_H

/**
 * strays_signal() - send a signal to every descendant
 * @signal:	Signal, 0 to count only
 *
 * As the subreaper we inherit whatever our workers leave behind, whichever session or group it
 * is in. Zombies are not counted.
 *
 * Return: number of descendants found
 */
unsigned int strays_signal(int signal);

#endif
