/* SPDX-License-Identifier: BSD-2-Clause */
/* A live line on a terminal; nothing anywhere else. */

#include "progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define WIDTH	    79
#define INTERVAL_NS 200000000U

static bool shown;

static bool is_time(void)
{
	static uint64_t last;
	struct timespec t;
	uint64_t now;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
	if (last != 0 && now - last < INTERVAL_NS)
		return false;
	last = now;
	return true;
}

void progress_show(const char *format, ...)
{
	char text[WIDTH + 1];
	va_list args;

	if (!isatty(STDERR_FILENO) || !is_time())
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)fprintf(stderr, "\r%-*s", WIDTH, text);
	(void)fflush(stderr);
	shown = true;
}

void progress_clear(void)
{
	if (!shown)
		return;
	(void)fprintf(stderr, "\r%*s\r", WIDTH, "");
	(void)fflush(stderr);
	shown = false;
}
