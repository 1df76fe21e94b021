/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a timer still runs, for the next manager. */
#ifndef FPM_TIMER_H
#define FPM_TIMER_H

#include <ev.h>
#include <stdint.h>

/**
 * timer_left_ms() - how long a timer still runs
 * @loop:	Its event loop
 * @timer:	Timer
 *
 * Return: milliseconds, 0 or more; -1 if it does not run
 */
static inline int64_t timer_left_ms(struct ev_loop *loop, const ev_timer *timer)
{
	/* libev takes no constant watcher, although it changes nothing here. */
	ev_timer *watcher = (ev_timer *)(uintptr_t)timer;
	double left;

	if (!ev_is_active(watcher))
		return -1;
	left = ev_timer_remaining(loop, watcher);
	return left > 0. ? (int64_t)(left * 1000.) : 0;
}

#endif
