/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the INI reader, and the configuration with the same text. What is accepted is dumped. */
#include "fpm/conf/conf.h"
#include "fpm/conf/conf_dump.h"
#include "fpm/conf/ini.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Stands in front of the C library's: no name server may be asked. The library's names of the
 * parameters are reserved ones.
 */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **result)
{
	static int (*original)(const char *, const char *, const struct addrinfo *,
			       struct addrinfo **);

	if (hints == NULL || (hints->ai_flags & AI_NUMERICHOST) == 0)
		return EAI_NONAME;
	if (original == NULL)
		*(void **)&original = dlsym(RTLD_NEXT, "getaddrinfo");
	return original(node, service, hints, result);
}

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "%s\n", what);
	abort();
}

/* What the reader promises of its lines. */
struct check {
	unsigned int number;
	size_t bytes;
};

/* A value, read, written again as it stood, and read again. */
struct again {
	const struct ini_line *line;
	unsigned int lines;
};

static int again_cb(void *data, const struct ini_line *line)
{
	struct again *const again = data;
	const char *const value = again->line->value;

	require(strcmp(line->raw, again->line->raw) == 0, "another raw value");
	require((value == NULL) == (line->value == NULL), "a value that comes or goes");
	require(value == NULL || strcmp(value, line->value) == 0, "another value");
	again->lines++;
	return 0;
}

static void again_error_cb(void *data, unsigned int number, const char *message)
{
	(void)data;
	(void)number;
	require(false, message);
}

static void check_raw(const struct ini_line *line)
{
	struct again again = {.line = line};
	char *text = NULL;
	/* The CR keeps the line's end away from one that belongs to the value. */
	const int bytes = asprintf(&text, "a=%s\r\n", line->raw);

	require(bytes != -1, "no text");
	require(ini_parse(text, (size_t)bytes, again_cb, again_error_cb, &again) == 0 &&
			again.lines == 1,
		"a raw value that can't be read");
	free(text);
}

static int line_cb(void *data, const struct ini_line *line)
{
	struct check *const check = data;

	require(line->number >= check->number, "line numbers go back");
	require(line->key != NULL || line->section != NULL, "a line that says nothing");
	require(line->key == NULL || line->raw != NULL, "a key without a value");
	require(line->value == NULL || strlen(line->value) <= strlen(line->raw), "a value grew");
	require(line->key == NULL || *line->key != '\0', "an empty key");
	check->number = line->number;
	if (line->key == NULL)
		return 0;
	check->bytes += strlen(line->key) + strlen(line->raw) +
			(line->index != NULL ? strlen(line->index) : 0);
	check_raw(line);
	return 0;
}

static void error_cb(void *data, unsigned int number, const char *message)
{
	struct check *const check = data;

	require(number >= check->number, "line numbers go back");
	require(*message != '\0', "an error that says nothing");
	check->number = number;
}

static void report_cb(void *data, enum conf_severity severity, const char *text)
{
	unsigned int *const errors = data;

	require(*text != '\0' && strchr(text, '\n') == NULL, "a report of no line or several");
	if (severity == CONF_ERROR)
		(*errors)++;
}

/* Return: what the text means, or NULL after at least one error */
static struct conf *read_conf(const char *text, size_t size, const struct conf_rules *rules)
{
	unsigned int errors = 0;
	struct conf_builder *builder = conf_builder_new(report_cb, &errors);
	struct conf *conf = NULL;
	int r;

	require(builder != NULL, "no builder");
	conf_builder_text(builder, "text", text, size);
	r = conf_builder_finish(builder, rules, &conf);
	require((r == 0) == (errors == 0), "errors and result don't agree");
	require((r == 0) == (conf != NULL), "configuration and result don't agree");
	conf_builder_free(builder);
	return conf;
}

static char *dump(const struct conf *conf, size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	require(out != NULL, "no stream");
	conf_dump(conf, out);
	require(fclose(out) == 0, "no dump");
	return text;
}

static void check_programs(const struct conf_pool *first, const struct conf_pool *second)
{
	for (; first != NULL && second != NULL; first = first->next, second = second->next) {
		size_t i = 0;

		for (; first->argv[i] != NULL && second->argv[i] != NULL; i++)
			require(strcmp(first->argv[i], second->argv[i]) == 0, "another word");
		require(first->argv[i] == second->argv[i], "more words or less");
	}
	require(first == second, "more pools or less");
}

static void check_conf(const char *text, size_t size, const struct conf_rules *rules)
{
	struct conf *conf = read_conf(text, size, rules);
	struct conf *again;
	char *first;
	char *second;
	size_t first_size = 0;
	size_t second_size = 0;

	if (conf == NULL)
		return;
	first = dump(conf, &first_size);
	again = read_conf(first, first_size, rules);
	require(again != NULL, first);
	check_programs(conf->pools, again->pools);
	second = dump(again, &second_size);
	require(strcmp(first, second) == 0, first);
	free(second);
	conf_free(again);
	free(first);
	conf_free(conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct conf_rules rules[] = {{.euid = 1000}, {.euid = 0, .allow_root = true}};
	const char *const text = (const char *)data;
	struct check check = {.number = 1};

	require(ini_parse(text, size, line_cb, error_cb, &check) == 0, "reading failed");
	require(check.bytes <= size, "more was read than there is");
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		check_conf(text, size, &rules[i]);
	return 0;
}
