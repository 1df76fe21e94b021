/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the INI reader, and the configuration with the same text. What is accepted is dumped. */
#include "fpm/conf.h"
#include "fpm/conf_dump.h"
#include "fpm/ini.h"

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

static int line_cb(void *data, const struct ini_line *line)
{
	struct check *const check = data;

	require(line->number >= check->number, "line numbers go back");
	require(line->key != NULL || line->section != NULL, "a line that says nothing");
	require(line->key == NULL || line->value != NULL, "a key without a value");
	require(line->key == NULL || *line->key != '\0', "an empty key");
	check->number = line->number;
	if (line->key != NULL)
		check->bytes += strlen(line->key) + strlen(line->value) +
				(line->index != NULL ? strlen(line->index) : 0);
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
