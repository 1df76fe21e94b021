/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines of the manager: to standard error or a file, never blocking the caller. */
#ifndef FPM_LOG_H
#define FPM_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* php-fpm's levels; a line is written if its level is at least the one set. */
enum log_level {
	LOG_LEVEL_DEBUG = 0,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_ALERT,
	LOG_LEVEL_MAX,
};

/**
 * log_level_name() - the name of a level as the configuration spells it
 * @level:	Level
 *
 * Return: a static string, e.g. "notice"
 */
const char *log_level_name(enum log_level level);

/**
 * log_prefix() - what stands in front of a line on standard error
 * @level:	Level of the line
 *
 * Return: its priority for the journal, e.g. "<4>", if standard error goes there; otherwise ""
 */
const char *log_prefix(enum log_level level);

/**
 * log_open() - direct the log to a file and set its level
 * @path:	File to append to, made with mode 0600 if missing; NULL or "stderr" for standard
 *		error
 * @level:	Lowest level that is written
 *
 * Until the first call lines go to standard error from LOG_LEVEL_NOTICE on.
 *
 * Return: 0, or negative errno with nothing changed
 */
int log_open(const char *path, enum log_level level);

/**
 * log_set_echo() - repeat lines of LOG_LEVEL_ERROR and above on standard error
 * @on:		True while somebody at a terminal waits for the result of a start
 */
void log_set_echo(bool on);

/**
 * log_fd() - the descriptor that lines are written to, to be watched while log_pending()
 *
 * Return: a descriptor
 */
int log_fd(void);

/**
 * log_pending() - bytes that the destination did not take yet
 *
 * Lines wait in a buffer of at most LOG_PENDING_MAX bytes; when it is full, lines are dropped
 * and a line that counts them follows.
 *
 * Return: number of bytes
 */
size_t log_pending(void);
#define LOG_PENDING_MAX (4U << 20)

/**
 * log_flush() - write what waits, as far as it can be done without blocking
 */
void log_flush(void);

/**
 * log_close() - flush, for at most a second, and go back to standard error
 */
void log_close(void);

/**
 * log_export() - what the next manager needs to go on with it
 * @ret_fd:	Set to the log, -1 if that is standard error
 * @ret_pending: Set to an allocated text: what waits
 *
 * Return: 0 or -ENOMEM
 */
int log_export(int *ret_fd, char **ret_pending);

/**
 * log_adopt() - go on with the log that another manager has left
 * @fd:		The log, taken over; -1 = standard error
 * @level:	Lowest level that is written
 * @pending:	What waits, NULL = nothing
 */
void log_adopt(int fd, enum log_level level, const char *pending);

/**
 * log_write() - write one line
 * @level:	Its level
 * @format:	printf format, without a newline
 *
 * errno is preserved. A line may have any length.
 */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * log_bytes() - write one line whose text comes from elsewhere
 * @level:	Its level
 * @label:	Whose text it is, written in front of it with ": "
 * @text:	Text without its newline; control characters but tabs are written as '?'
 * @len:	Bytes of @text
 *
 * errno is preserved.
 */
void log_bytes(enum log_level level, const char *label, const char *text, size_t len);

/**
 * struct log_limit - keeps one kind of line from flooding the log; all zero at first
 * @window_ms:	Start of the present window of LOG_LIMIT_WINDOW_MS
 * @lines:	Lines of the present window
 * @left_out:	Lines left out in it
 */
struct log_limit {
	uint64_t window_ms;
	unsigned int lines;
	unsigned int left_out;
};
#define LOG_LIMIT_WINDOW_MS 10000
#define LOG_LIMIT_LINES	    20

/**
 * log_limit_pass() - may one more line of this kind be written
 * @limit:	Memory of the kind
 * @now_ms:	Monotonic clock, milliseconds
 * @ret_left_out: Lines left out before, to be told in a line of its own if not 0
 *
 * Return: true for the first LOG_LIMIT_LINES of each window
 */
bool log_limit_pass(struct log_limit *limit, uint64_t now_ms, unsigned int *ret_left_out);

#define log_debug(...)	 log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_notice(...)	 log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_error(...)	 log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_alert(...)	 log_write(LOG_LEVEL_ALERT, __VA_ARGS__)

#endif
