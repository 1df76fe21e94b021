/* SPDX-License-Identifier: BSD-2-Clause */
/* A live line on a terminal; nothing anywhere else. */

#include "progress.h"

#include "bench/client/clock.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_USUAL 80
#define INTERVAL_NS UINT64_C(200000000)

static bool shown;
static uint64_t next_ns;

static bool is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col < 2)
		return WIDTH_USUAL;
	return size.ws_col;
}

/* Whatever happens to this line, the measurement goes on. */
static void put(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));

	(void)n;
}

void progress_show(const char *format, ...)
{
	const uint64_t now_ns = clock_now_ns();
	char text[sizeof(PROGRESS_ERASE) + 256] = PROGRESS_ERASE;
	char *const line = text + strlen(text);
	const size_t room = (size_t)(text + sizeof(text) - line);
	size_t width;
	va_list args;

	if (now_ns < next_ns || !is_terminal())
		return;
	va_start(args, format);
	(void)vsnprintf(line, room, format, args);
	va_end(args);
	/* In the last column some terminals begin a new line. */
	width = terminal_width() - 1;
	if (width < room)
		line[width] = '\0';
	put(text);
	shown = true;
	next_ns = now_ns + INTERVAL_NS;
}

void progress_clear(void)
{
	if (!shown)
		return;
	put(PROGRESS_ERASE);
	shown = false;
	next_ns = 0;
}
