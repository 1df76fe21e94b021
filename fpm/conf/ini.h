/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads INI text: lines of any length, indented keys, quoted values, line numbers. No meaning, no I/O. */
#ifndef FPM_INI_H
#define FPM_INI_H

#include <stddef.h>

/**
 * struct ini_line - one thing that a line says; all but @section is there for the call only
 * @number:	Line number from 1
 * @section:	Section it stands in, NULL before the first
 * @key:	Key without its index; NULL for the line that opens @section
 * @index:	What stood in brackets behind the key ("env[PATH]" -> "PATH"), NULL if none
 * @value:	Value without quotes and trailing comment; NULL if it starts with a quote and goes on
 *		behind the closing one, which only makes sense for a list of words
 * @raw:	Value without trailing comment, its quotes as written; NULL without a key
 */
struct ini_line {
	unsigned int number;
	const char *section;
	const char *key;
	const char *index;
	const char *value;
	const char *raw;
};

/* Return: 0 to go on, anything else stops the reading and is handed on. */
typedef int (*ini_line_fn)(void *data, const struct ini_line *line);
/* Called for a line that can't be read; the reading goes on behind it. */
typedef void (*ini_error_fn)(void *data, unsigned int number, const char *message);

/**
 * ini_parse() - read INI text
 * @text:	Text, need not end in a newline or NUL; a NUL byte in it is an error of its line
 * @size:	Bytes of @text
 * @line:	Called for each section and each key in order
 * @error:	Called for each line that is neither
 * @data:	Passed to both
 *
 * Return: 0, -ENOMEM, or what @line returned
 */
int ini_parse(const char *text, size_t size, ini_line_fn line, ini_error_fn error, void *data);

#endif
