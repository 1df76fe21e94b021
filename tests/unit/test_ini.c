/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the INI reader: what each kind of line means, and which line an error is about. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fpm/conf/ini.h"

/*
 * What the reader says is written down as text: "1 [a]" for a section, "2 a|key|index|value" for a
 * key ("-" for NULL), and "3 !message" for an error. With @raw the raw value takes the value's place.
 */
struct record {
	FILE *out;
	bool raw;
	int stop_at;
};

static int line_cb(void *data, const struct ini_line *line)
{
	const struct record *const record = data;
	const char *const value = record->raw ? line->raw : line->value;

	if (record->stop_at == (int)line->number)
		return -EINTR;
	if (line->key == NULL)
		(void)fprintf(record->out, "%u [%s]\n", line->number, line->section);
	else
		(void)fprintf(record->out, "%u %s|%s|%s|%s\n", line->number,
			      line->section != NULL ? line->section : "-", line->key,
			      line->index != NULL ? line->index : "-", value != NULL ? value : "-");
	return 0;
}

static void error_cb(void *data, unsigned int number, const char *message)
{
	const struct record *const record = data;

	(void)fprintf(record->out, "%u !%s\n", number, message);
}

/* Reads a copy that ends with its last byte, so that sanitizers see any read behind it. */
static char *read_text(const char *text, size_t size, bool raw)
{
	struct record record = {.raw = raw};
	char *copy = malloc(size > 0 ? size : 1);
	char *said = NULL;
	size_t said_size = 0;

	assert_non_null(copy);
	memcpy(copy, text, size);
	record.out = open_memstream(&said, &said_size);
	assert_non_null(record.out);
	assert_int_equal(ini_parse(copy, size, line_cb, error_cb, &record), 0);
	assert_int_equal(fclose(record.out), 0);
	free(copy);
	return said;
}

struct example {
	const char *text;
	const char *said;
};

static void check_examples(const struct example *examples, size_t count, bool raw)
{
	for (size_t i = 0; i < count; i++) {
		char *said = read_text(examples[i].text, strlen(examples[i].text), raw);

		assert_string_equal(said, examples[i].said);
		free(said);
	}
}
#define CHECK_EXAMPLES(examples) \
	check_examples(examples, sizeof(examples) / sizeof((examples)[0]), false)

static void test_lines(void **state)
{
	static const struct example examples[] = {
		{"", ""},
		{"\n", ""},
		{" \t \n\n;\n ; a = b\n", ""},
		{"a = b", "1 -|a|-|b\n"},
		{"a=b\n", "1 -|a|-|b\n"},
		{"\n\n \ta\t=\tb \t\n", "3 -|a|-|b\n"},
		{"a =\nb = \nc = ; d\n", "1 -|a|-|\n2 -|b|-|\n3 -|c|-|\n"},
		{"a = b = c\n", "1 -|a|-|b = c\n"},
		{"a.b-c = d e  f\n", "1 -|a.b-c|-|d e  f\n"},
		{"[www]\na = b\n  c = d\n[x]\n e = f\n",
		 "1 [www]\n2 www|a|-|b\n3 www|c|-|d\n4 [x]\n5 x|e|-|f\n"},
		{" [ www ] ; first\n[x];second\n[]\n", "1 [www]\n2 [x]\n3 []\n"},
		{"a = \xc3\xa4\xff\n", "1 -|a|-|\xc3\xa4\xff\n"},
	};

	(void)state;
	CHECK_EXAMPLES(examples);
}

static void test_line_ends(void **state)
{
	static const struct example examples[] = {
		{"[w]\r\na = b\r\n\r\n; c\r\nd = \"e\"\r\nf =\r\n",
		 "1 [w]\n2 w|a|-|b\n5 w|d|-|e\n6 w|f|-|\n"},
		{"a = b\r", "1 -|a|-|b\n"},
		{"a = \"b\r\r\"\r\n", "1 -|a|-|b\r\r\n"},
		{"\xef\xbb\xbf[w]\na = b\n", "1 [w]\n2 w|a|-|b\n"},
		{"\xef\xbb\xbf", ""},
		{"a = b\n\xef\xbb\xbf"
		 "c = d\n",
		 "1 -|a|-|b\n2 -|\xef\xbb\xbf"
		 "c|-|d\n"},
	};

	(void)state;
	CHECK_EXAMPLES(examples);
}

static void test_comments(void **state)
{
	static const struct example examples[] = {
		{"a = b ; c\n", "1 -|a|-|b\n"},
		{"a = b\t;c\n", "1 -|a|-|b\n"},
		{"a = b;c\n", "1 -|a|-|b;c\n"},
		{"a = b;c ;d\n", "1 -|a|-|b;c\n"},
		{"a =;b\n", "1 -|a|-|;b\n"},
		{"a = \"b ; c\" ; d\n", "1 -|a|-|b ; c\n"},
		{"a = 'b ; c';d\n", "1 -|a|-|b ; c\n"},
		{"a = b 'c ; d' ; e\n", "1 -|a|-|b 'c ; d'\n"},
		{"a = b -d x=\"c \\\" ; d\" ; e\n", "1 -|a|-|b -d x=\"c \\\" ; d\"\n"},
		{"a = don't ; isn't\n", "1 -|a|-|don't\n"},
		{"a = b # c\n", "1 -|a|-|b # c\n"},
		{"# a\n  #b = c\nd = e\n",
		 "1 !'#' does not start a comment; a comment starts with ';'\n"
		 "2 !'#' does not start a comment; a comment starts with ';'\n3 -|d|-|e\n"},
	};

	(void)state;
	CHECK_EXAMPLES(examples);
}

static void test_quotes(void **state)
{
	static const struct example examples[] = {
		{"a = \"\"\nb = ''\n", "1 -|a|-|\n2 -|b|-|\n"},
		{"a = \" b = c \"\n", "1 -|a|-| b = c \n"},
		{"a = \"b\\\"c\\\\d\\e\\\\\"\n", "1 -|a|-|b\"c\\d\\e\\\n"},
		{"a = 'b\\'\n", "1 -|a|-|b\\\n"},
		{"a = 'b\"c'\nd = \"e'f\"\n", "1 -|a|-|b\"c\n2 -|d|-|e'f\n"},
		/* More than one quoted text is no value, but may be a list of words. */
		{"a = \"b\" c\n", "1 -|a|-|-\n"},
		{"a = 'b'c\nd = e\n", "1 -|a|-|-\n2 -|d|-|e\n"},
		{"a = \"b\n\"\n", "1 !the quote in front of the value is not closed in this line\n"
				  "2 !'=' is missing; accepted are \"key = value\", \"[section]\" "
				  "and \"; comment\"\n"},
		{"a = \"b\\\"\n",
		 "1 !the quote in front of the value is not closed in this line\n"},
		{"a = 'b\n", "1 !the quote in front of the value is not closed in this line\n"},
		{"a = b 'c\n", "1 !a quote in the value is not closed in this line\n"},
		{"a = b=\"c\\\n", "1 !a quote in the value is not closed in this line\n"},
	};

	(void)state;
	CHECK_EXAMPLES(examples);
}

static void test_raw(void **state)
{
	static const struct example examples[] = {
		{"a = b\n[c]\nd =\ne = ;f\n", "1 -|a|-|b\n2 [c]\n3 c|d|-|\n4 c|e|-|\n"},
		{"a =\t\"b  c\" \n", "1 -|a|-|\"b  c\"\n"},
		{"a = \"b\\\"c\\\\\" ; d\n", "1 -|a|-|\"b\\\"c\\\\\"\n"},
		{"a = 'b ; c';d\n", "1 -|a|-|'b ; c'\n"},
		{"a = \"b c\" -d x=1 ; e\n", "1 -|a|-|\"b c\" -d x=1\n"},
		{"a = 'b ; c'd 'e ; f' ; g\n", "1 -|a|-|'b ; c'd 'e ; f'\n"},
		{"a = '' \"\"\n", "1 -|a|-|'' \"\"\n"},
		{"a = 'b' \"c\n", "1 !a quote in the value is not closed in this line\n"},
		{"a = b;c 'd ; e' ; f\n", "1 -|a|-|b;c 'd ; e'\n"},
	};

	(void)state;
	check_examples(examples, sizeof(examples) / sizeof(examples[0]), true);
}

static void test_index(void **state)
{
	static const struct example examples[] = {
		{"env[PATH] = /bin\n", "1 -|env|PATH|/bin\n"},
		{"env[ a=b;[c ]=d\n", "1 -|env| a=b;[c |d\n"},
		{"env [A] = b\n", "1 -|env|A|b\n"},
		{"env[] = b\n", "1 -|env||b\n"},
		{"a = b[c]\n", "1 -|a|-|b[c]\n"},
		{"env[A = b\nc = d\n", "1 !']' is missing behind the key\n2 -|c|-|d\n"},
		{"env[A]b = c\n", "1 !'=' is missing; accepted are \"key = value\", "
				  "\"[section]\" and \"; comment\"\n"},
	};

	(void)state;
	CHECK_EXAMPLES(examples);
}

static void test_broken_lines(void **state)
{
	static const struct example examples[] = {
		{"[w]\na\nb = c\n", "1 [w]\n2 !'=' is missing; accepted are \"key = value\", "
				    "\"[section]\" and \"; comment\"\n3 w|b|-|c\n"},
		{"a b = c\n", "1 !'=' is missing; accepted are \"key = value\", \"[section]\" and "
			      "\"; comment\"\n"},
		{"= a\n", "1 !there is no key in front of the '='\n"},
		{"[A] = a\n", "1 !only a comment may follow the ']' of a section\n1 [A]\n"},
		/* The section is opened all the same, or its keys would be taken for others. */
		{"[w ; x\na = b\n",
		 "1 !']' is missing behind the name of the section\n1 [w]\n2 w|a|-|b\n"},
		{"[w] x\na = b\n",
		 "1 !only a comment may follow the ']' of a section\n1 [w]\n2 w|a|-|b\n"},
	};

	(void)state;
	CHECK_EXAMPLES(examples);
}

static void test_nul(void **state)
{
	static const char text[] = "a = b\0c\n\0\nd = e\n\0";
	char *said = read_text(text, sizeof(text) - 1, false);

	(void)state;
	assert_string_equal(said, "1 !the line holds a NUL byte; only text is accepted\n"
				  "2 !the line holds a NUL byte; only text is accepted\n"
				  "3 -|d|-|e\n"
				  "4 !the line holds a NUL byte; only text is accepted\n");
	free(said);
}

/* Lines beyond what readers with a fixed buffer take. */
static void test_long_lines(void **state)
{
	static const size_t lengths[] = {199, 200, 201, 4096, 65535, 65536, 65537, 1U << 20};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *value = malloc(lengths[i] + 1);
		char *text = NULL;
		char *expected = NULL;
		char *said;

		assert_non_null(value);
		memset(value, 'x', lengths[i]);
		value[lengths[i]] = '\0';
		assert_int_not_equal(asprintf(&text, ";%s\na = %s\nb = \"%s\"\n%s = c\n", value,
					      value, value, value),
				     -1);
		assert_int_not_equal(asprintf(&expected, "2 -|a|-|%s\n3 -|b|-|%s\n4 -|%s|-|c\n",
					      value, value, value),
				     -1);
		said = read_text(text, strlen(text), false);
		assert_string_equal(said, expected);
		free(said);
		free(expected);
		free(text);
		free(value);
	}
}

static void test_many_lines(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	char *said;

	(void)state;
	assert_non_null(out);
	for (int i = 1; i < 100000; i++)
		(void)fputs(i % 2 == 0 ? "\n" : "; c\r\n", out);
	(void)fputs("a = b", out);
	assert_int_equal(fclose(out), 0);
	said = read_text(text, size, false);
	assert_string_equal(said, "100000 -|a|-|b\n");
	free(said);
	free(text);
}

static void test_stop(void **state)
{
	static const char text[] = "a = b\n[c]\nd = e\n";
	char *said = NULL;
	size_t size = 0;
	struct record record = {.out = open_memstream(&said, &size), .stop_at = 2};

	(void)state;
	assert_non_null(record.out);
	assert_int_equal(ini_parse(text, strlen(text), line_cb, error_cb, &record), -EINTR);
	assert_int_equal(fclose(record.out), 0);
	assert_string_equal(said, "1 -|a|-|b\n");
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	   cmocka_unit_test(test_line_ends),
		cmocka_unit_test(test_comments),   cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_index),	   cmocka_unit_test(test_broken_lines),
		cmocka_unit_test(test_nul),	   cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_many_lines), cmocka_unit_test(test_stop),
		cmocka_unit_test(test_raw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
