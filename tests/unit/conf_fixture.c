/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the configuration share. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf_fixture.h"

const struct conf_rules as_root = {.euid = 0};
const struct conf_rules as_allowed_root = {.euid = 0, .allow_root = true};
const struct conf_rules as_user = {.euid = 1000};

static void report_cb(void *data, enum conf_severity severity, const char *text)
{
	(void)fprintf(data, "%c %s\n", severity == CONF_ERROR ? 'E' : 'W', text);
}

char *read_text(const char *text, const struct conf_rules *rules, struct conf **ret_conf)
{
	struct conf_builder *builder;
	char *said = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&said, &size);
	int r;

	assert_non_null(out);
	builder = conf_builder_new(report_cb, out);
	assert_non_null(builder);
	*ret_conf = NULL;
	conf_builder_text(builder, "f", text, strlen(text));
	r = conf_builder_finish(builder, rules, ret_conf);
	conf_builder_free(builder);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(r, *ret_conf != NULL ? 0 : -EINVAL);
	return said;
}

struct conf *read_good(const char *text, const struct conf_rules *rules)
{
	struct conf *conf;
	char *said = read_text(text, rules, &conf);

	assert_string_equal(said, "");
	assert_non_null(conf);
	free(said);
	return conf;
}

void check_said(const char *text, const struct conf_rules *rules, const char *expected)
{
	struct conf *conf;
	char *said = read_text(text, rules, &conf);

	assert_string_equal(said, expected);
	assert_int_equal(conf == NULL, strstr(expected, "E ") != NULL);
	conf_free(conf);
	free(said);
}
