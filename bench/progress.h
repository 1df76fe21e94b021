/* SPDX-License-Identifier: BSD-2-Clause */
/* A live line on a terminal; nothing anywhere else. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

/* Shows a text in place of the last one, at most five times a second. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Erases it. */
void progress_clear(void);

#endif
