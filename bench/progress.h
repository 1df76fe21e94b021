/* SPDX-License-Identifier: BSD-2-Clause */
/* A live line on a terminal; nothing anywhere else. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

/* Erases the present line of a terminal. */
#define PROGRESS_ERASE "\r\033[K"

/**
 * progress_show() - show a text in place of the last one, at most five times a second
 * @format:	As printf(); what does not fit on one line of the terminal is cut
 *
 * Standard error is where it goes; if that is no terminal nothing happens.
 */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * progress_clear() - erase it, e.g. in front of anything else that is printed
 */
void progress_clear(void);

#endif
