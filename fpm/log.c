/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines of the manager: to standard error or a file, never blocking the caller. */

#include "fpm/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * The manager must never wait for its log: a worker that writes to a full pipe would wait for
 * the manager in turn, and a request with it. Standard error may be a pipe or a terminal that
 * nobody reads, and its O_NONBLOCK flag belongs to whoever shares it, so it can't be set. What
 * helps is that a pipe which polls writable has room for PIPE_BUF bytes, and so have, in
 * practice, terminals and sockets: everything but a regular file is written in such pieces, each
 * after a poll that does not wait. What does not fit stays in a bounded buffer; the manager
 * watches log_fd() and calls log_flush() when there is room again.
 */

static struct {
	int fd;
	bool regular;
	bool echo;
	enum log_level level;
	char *pending;
	size_t pending_len;
	size_t pending_size;
	uint64_t dropped;
} sink = {.fd = STDERR_FILENO, .level = LOG_LEVEL_NOTICE};

const char *log_level_name(enum log_level level)
{
	static const char *const names[] = {
		[LOG_LEVEL_DEBUG] = "debug",	 [LOG_LEVEL_NOTICE] = "notice",
		[LOG_LEVEL_WARNING] = "warning", [LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_ALERT] = "alert",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == LOG_LEVEL_MAX, "a name a level");

	return names[level];
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int log_open(const char *path, enum log_level level)
{
	int fd = STDERR_FILENO;

	if (path && strcmp(path, "stderr") != 0) {
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			  0600);
		if (fd == -1)
			return -errno;
	}
	log_close();
	sink.fd = fd;
	sink.regular = is_regular(fd);
	sink.level = level;
	return 0;
}

void log_set_echo(bool on)
{
	sink.echo = on;
}

int log_fd(void)
{
	return sink.fd;
}

size_t log_pending(void)
{
	return sink.pending_len;
}

/* Writes what the destination takes at once; returns the number of bytes that it took. */
static size_t write_some(int fd, bool regular, const char *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		size_t piece = size - done;
		ssize_t n;

		if (!regular) {
			/* An error counts as room: write() tells which it is. */
			if (poll(&p, 1, 0) != 1)
				break;
			if (piece > PIPE_BUF)
				piece = PIPE_BUF;
		}
		n = write(fd, data + done, piece);
		if (n == -1 && errno == EINTR)
			continue;
		/* A destination that is broken for good must not fill the buffer up. */
		if (n == -1 && errno != EAGAIN)
			return size;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void keep(const char *data, size_t size)
{
	if (sink.pending_len + size > LOG_PENDING_MAX) {
		sink.dropped++;
		return;
	}
	if (sink.pending_len + size > sink.pending_size) {
		size_t want = (sink.pending_len + size) * 2;
		char *grown = realloc(sink.pending, want);

		if (!grown) {
			sink.dropped++;
			return;
		}
		sink.pending = grown;
		sink.pending_size = want;
	}
	memcpy(sink.pending + sink.pending_len, data, size);
	sink.pending_len += size;
}

static void emit(const char *data, size_t size)
{
	size_t done = 0;

	if (sink.pending_len == 0)
		done = write_some(sink.fd, sink.regular, data, size);
	if (done < size)
		keep(data + done, size - done);
}

void log_flush(void)
{
	size_t done = write_some(sink.fd, sink.regular, sink.pending, sink.pending_len);

	if (done < sink.pending_len && done > 0)
		memmove(sink.pending, sink.pending + done, sink.pending_len - done);
	sink.pending_len -= done;
	if (sink.pending_len > 0)
		return;
	free(sink.pending);
	sink.pending = NULL;
	sink.pending_size = 0;
	if (sink.dropped > 0) {
		unsigned long long dropped = sink.dropped;

		sink.dropped = 0;
		log_write(sink.level > LOG_LEVEL_WARNING ? sink.level : LOG_LEVEL_WARNING,
			  "the log was not read in time: %llu lines are missing here", dropped);
	}
}

int log_export(int *ret_fd, char **ret_pending)
{
	*ret_fd = sink.fd == STDERR_FILENO ? -1 : sink.fd;
	*ret_pending = strndup(sink.pending ? sink.pending : "", sink.pending_len);
	return *ret_pending ? 0 : -ENOMEM;
}

void log_adopt(int fd, enum log_level level, const char *pending)
{
	log_close();
	if (fd != -1)
		sink.fd = fd;
	sink.regular = is_regular(sink.fd);
	sink.level = level;
	if (pending)
		emit(pending, strlen(pending));
}

void log_close(void)
{
	for (int i = 0; i < 10 && sink.pending_len > 0; i++) {
		struct pollfd p = {.fd = sink.fd, .events = POLLOUT};

		(void)poll(&p, 1, 100);
		log_flush();
	}
	free(sink.pending);
	sink.pending = NULL;
	sink.pending_len = sink.pending_size = 0;
	if (sink.fd != STDERR_FILENO)
		(void)close(sink.fd);
	sink.fd = STDERR_FILENO;
	sink.regular = is_regular(STDERR_FILENO);
}

static size_t stamp(char *buffer, size_t size, enum log_level level)
{
	const char *prefix = sink.fd == STDERR_FILENO ? log_prefix(level) : "";
	struct timespec now;
	struct tm tm;
	size_t len;

	/* The journal has a time of its own for each line. */
	if (prefix[0])
		return (size_t)snprintf(buffer, size, "%s%s: ", prefix, log_level_name(level));
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)localtime_r(&now.tv_sec, &tm);
	len = strftime(buffer, size, "%Y-%m-%d %H:%M:%S", &tm);
	len += (size_t)snprintf(buffer + len, size - len, ".%03ld %s: ", now.tv_nsec / 1000000,
				log_level_name(level));
	return len;
}

/* @line ends in a newline; @head bytes of it are the stamp. */
static void write_line(enum log_level level, const char *line, size_t head, size_t size)
{
	const char *prefix;

	emit(line, size);
	if (!sink.echo || level < LOG_LEVEL_ERROR || sink.fd == STDERR_FILENO)
		return;
	prefix = log_prefix(level);
	(void)write_some(STDERR_FILENO, is_regular(STDERR_FILENO), prefix, strlen(prefix));
	(void)write_some(STDERR_FILENO, is_regular(STDERR_FILENO), line + head, size - head);
}

void log_write(enum log_level level, const char *format, ...)
{
	int saved_errno = errno;
	char fixed[1024];
	char *line = fixed;
	size_t head;
	va_list args;
	int body;

	if (level < sink.level)
		return;
	head = stamp(fixed, sizeof(fixed), level);
	va_start(args, format);
	body = vsnprintf(fixed + head, sizeof(fixed) - head, format, args);
	va_end(args);
	if (body < 0)
		goto out;
	if (head + (size_t)body + 1 > sizeof(fixed)) {
		line = malloc(head + (size_t)body + 1);
		if (!line) {
			sink.dropped++;
			goto out;
		}
		memcpy(line, fixed, head);
		va_start(args, format);
		(void)vsnprintf(line + head, (size_t)body + 1, format, args);
		va_end(args);
	}
	/* The NUL's place takes the newline: one write a line. */
	line[head + (size_t)body] = '\n';
	write_line(level, line, head, head + (size_t)body + 1);
	if (line != fixed)
		free(line);
out:
	errno = saved_errno;
}

void log_bytes(enum log_level level, const char *label, const char *text, size_t len)
{
	int saved_errno = errno;
	char fixed[64];
	char *line, *p;
	size_t head;

	if (level < sink.level)
		return;
	head = stamp(fixed, sizeof(fixed), level);
	line = malloc(head + strlen(label) + 2 + len + 1);
	if (!line) {
		sink.dropped++;
		goto out;
	}
	memcpy(line, fixed, head);
	p = stpcpy(stpcpy(line + head, label), ": ");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		*p++ = (c < ' ' && c != '\t') || c == 0x7f ? '?' : (char)c;
	}
	*p++ = '\n';
	write_line(level, line, head, (size_t)(p - line));
	free(line);
out:
	errno = saved_errno;
}

bool log_limit_pass(struct log_limit *limit, uint64_t now_ms, unsigned int *ret_left_out)
{
	*ret_left_out = 0;
	if (limit->lines == 0 || now_ms - limit->window_ms >= LOG_LIMIT_WINDOW_MS) {
		*ret_left_out = limit->left_out;
		*limit = (struct log_limit){.window_ms = now_ms};
	}
	if (limit->lines >= LOG_LIMIT_LINES) {
		limit->left_out++;
		return false;
	}
	limit->lines++;
	return true;
}
