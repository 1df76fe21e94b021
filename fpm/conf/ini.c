/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads INI text: lines of any length, indented keys, quoted values, line numbers. */
#include "fpm/conf/ini.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Theory of operation
 *
 * The text is copied once and cut up in place: a line becomes a string, and so do the key, the
 * index and the value in it. Each of them is at least one byte shorter than what it was written
 * as ('=', ']', a quote or the end of the line follows), so there is always room for the NUL. The
 * name of a section is a pointer into the copy as well, which is why it stays valid for all the
 * lines behind it without being stored anywhere. A value without its quotes has a place of its own,
 * as large as the text, because the raw one stays as it was written.
 */

/**
 * struct ini_reader - the state between two lines
 * @number:	Number of the line being read
 * @section:	Section it stands in, NULL before the first
 * @unquoted:	Where a value without its quotes is put, as large as the text
 * @line:	Told of each section and key
 * @error:	Told of each line that is neither
 * @data:	Passed to both
 */
struct ini_reader {
	unsigned int number;
	const char *section;
	char *unquoted;
	ini_line_fn line;
	ini_error_fn error;
	void *data;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char *skip_blanks(char *text)
{
	while (is_blank(*text))
		text++;
	return text;
}

/* Ends the string before the blanks that stand directly in front of @end. */
static void cut_blanks(const char *start, char *end)
{
	while (end > start && is_blank(end[-1]))
		end--;
	*end = '\0';
}

/* True if nothing but a comment may follow at @text. */
static bool is_end(const char *text)
{
	return *text == '\0' || *text == ';';
}

static void refuse(const struct ini_reader *reader, const char *message)
{
	reader->error(reader->data, reader->number, message);
}

/*
 * A section whose line is broken is opened all the same: the keys behind it would otherwise be
 * taken for the section before, and each of them would be an error of its own.
 */
static int read_section(struct ini_reader *reader, char *text)
{
	char *name = skip_blanks(text + 1);
	char *end = strchr(name, ']');

	if (end == NULL) {
		refuse(reader, "']' is missing behind the name of the section");
		end = name + strcspn(name, ";");
	} else if (!is_end(skip_blanks(end + 1))) {
		refuse(reader, "only a comment may follow the ']' of a section");
	}
	cut_blanks(name, end);
	reader->section = name;
	return reader->line(reader->data,
			    &(struct ini_line){.number = reader->number, .section = name});
}

/* Return: the quote that closes the one at @text, or NULL */
static char *find_closing_quote(char *text)
{
	const char quote = *text;

	for (text++; *text != '\0'; text++) {
		if (*text == quote)
			return text;
		if (quote == '"' && *text == '\\' && text[1] != '\0')
			text++;
	}
	return NULL;
}

/*
 * Finds the end of a value without quotes around it: the end of the line, or a ';' with a blank in
 * front. A quote at the start of a word ("php-cgi -d 'a ; b'") hides what it encloses, while an
 * apostrophe inside of a word is a character like any other.
 *
 * Return: the end, or NULL for a quote that is not closed
 */
static char *find_plain_end(char *text)
{
	char before = '\0';

	for (; *text != '\0'; before = *text++) {
		const bool after_blank = before == '\0' || is_blank(before);

		if (*text == ';' && is_blank(before))
			return text;
		if ((*text == '"' || *text == '\'') && (after_blank || before == '=')) {
			text = find_closing_quote(text);
			if (text == NULL)
				return NULL;
		}
	}
	return text;
}

/*
 * Copies what stands between the quotes at @text and @close to @to. In double quotes a backslash
 * stands for the character behind it if that is a quote or a backslash, and for itself otherwise.
 */
static void unquote(const char *text, const char *close, char *to)
{
	const char quote = *text++;

	while (text < close) {
		if (quote == '"' && *text == '\\' && (text[1] == '"' || text[1] == '\\'))
			text++;
		*to++ = *text++;
	}
	*to = '\0';
}

/* Return: NULL and the values of @line set, or what is wrong with the value */
static const char *read_value(const struct ini_reader *reader, char *text, struct ini_line *line)
{
	char *const value = skip_blanks(text);
	const bool quoted = *value == '"' || *value == '\'';
	char *const close = quoted ? find_closing_quote(value) : NULL;
	char *end;

	if (quoted && close == NULL)
		return "the quote in front of the value is not closed in this line";
	if (*value == ';' && value > text)
		end = value;
	else if (quoted && is_end(skip_blanks(close + 1)))
		end = close + 1;
	else
		end = find_plain_end(value);
	if (end == NULL)
		return "a quote in the value is not closed in this line";
	cut_blanks(value, end);
	line->raw = value;
	if (quoted && close[1] == '\0') {
		unquote(value, close, reader->unquoted);
		line->value = reader->unquoted;
	} else if (!quoted) {
		line->value = value;
	}
	return NULL;
}

/* Return: NULL and the text behind the '=' in @ret_value, or what is wrong */
static const char *read_key(char *key, const char **ret_index, char **ret_value)
{
	char *const key_end = key + strcspn(key, "=[ \t");
	char *text = skip_blanks(key_end);
	char *index_end = NULL;

	*ret_index = NULL;
	if (*text == '[') {
		index_end = strchr(text, ']');
		if (index_end == NULL)
			return "']' is missing behind the key";
		*ret_index = text + 1;
		text = skip_blanks(index_end + 1);
	}
	if (*text != '=')
		return "'=' is missing; accepted are \"key = value\", \"[section]\" and "
		       "\"; comment\"";
	if (key_end == key)
		return "there is no key in front of the '='";
	*ret_value = text + 1;
	*key_end = '\0';
	if (index_end != NULL)
		*index_end = '\0';
	return NULL;
}

static int read_setting(const struct ini_reader *reader, char *key)
{
	struct ini_line line = {
		.number = reader->number,
		.section = reader->section,
		.key = key,
	};
	char *text = NULL;
	const char *message = read_key(key, &line.index, &text);

	if (message == NULL)
		message = read_value(reader, text, &line);
	if (message != NULL) {
		refuse(reader, message);
		return 0;
	}
	return reader->line(reader->data, &line);
}

/* Reads the line of @length bytes at @text, behind which one byte may be overwritten. */
static int read_line(struct ini_reader *reader, char *text, size_t length)
{
	if (length > 0 && text[length - 1] == '\r')
		length--;
	text[length] = '\0';
	if (memchr(text, '\0', length) != NULL) {
		refuse(reader, "the line holds a NUL byte; only text is accepted");
		return 0;
	}
	text = skip_blanks(text);
	switch (*text) {
	case '\0':
	case ';':
		return 0;
	case '#':
		refuse(reader, "'#' does not start a comment; a comment starts with ';'");
		return 0;
	case '[':
		return read_section(reader, text);
	default:
		return read_setting(reader, text);
	}
}

static int read_lines(struct ini_reader *reader, char *text, const char *end)
{
	int r = 0;

	while (r == 0 && text < end) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		const size_t length =
			newline != NULL ? (size_t)(newline - text) : (size_t)(end - text);

		reader->number++;
		r = read_line(reader, text, length);
		text += length + 1;
	}
	return r;
}

int ini_parse(const char *text, size_t size, ini_line_fn line, ini_error_fn error, void *data)
{
	static const char bom[] = {'\xef', '\xbb', '\xbf'};
	struct ini_reader reader = {
		.line = line,
		.error = error,
		.data = data,
	};
	char *copy;
	int r;

	if (size >= sizeof(bom) && memcmp(text, bom, sizeof(bom)) == 0) {
		text += sizeof(bom);
		size -= sizeof(bom);
	}
	if (size == 0)
		return 0;
	copy = malloc(2 * (size + 1));
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, text, size);
	reader.unquoted = copy + size + 1;
	r = read_lines(&reader, copy, copy + size);
	free(copy);
	return r;
}
