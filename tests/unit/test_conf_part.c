/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of parts of a configuration: finding, keeping and exchanging a pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf_fixture.h"
#include "fpm/conf/conf.h"

#define POOL_OF(name, count) "[" name "]\nlisten = /run/" name "-%n\npm.max_children = " count "\n"

/* "a=1 b=2 c=3" for the pools of a configuration and their sizes. */
static const char *list(const struct conf *conf)
{
	static char text[256];
	size_t len = 0;

	text[0] = '\0';
	for (const struct conf_pool *p = conf->pools; p != NULL; p = p->next)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%u",
					len > 0 ? " " : "", p->name, p->max_children);
	return text;
}

static struct conf *three(void)
{
	return read_good(POOL_OF("a", "1") POOL_OF("b", "2") POOL_OF("c", "3"), &as_user);
}

static void test_find(void **state)
{
	struct conf *conf = three();

	(void)state;
	assert_int_equal(conf_pool_find(conf, "a")->max_children, 1);
	assert_int_equal(conf_pool_find(conf, "c")->max_children, 3);
	assert_null(conf_pool_find(conf, "d"));
	assert_null(conf_pool_find(conf, ""));
	conf_free(conf);
}

static void test_keep(void **state)
{
	static const struct {
		const char *name;
		const char *left;
	} cases[] = {{"a", "a=1"}, {"b", "b=2"}, {"c", "c=3"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf *conf = three();

		conf_keep_pool(conf, cases[i].name);
		assert_string_equal(list(conf), cases[i].left);
		conf_free(conf);
	}
}

static void test_exchange(void **state)
{
	static const struct {
		const char *name;
		const char *one;
		const char *other;
	} cases[] = {
		{"a", "a=7 b=2 c=3", "c=9 a=1 b=8"},
		{"b", "a=1 b=8 c=3", "c=9 a=7 b=2"},
		{"c", "a=1 b=2 c=9", "c=3 a=7 b=8"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf *one = three();
		struct conf *other =
			read_good(POOL_OF("c", "9") POOL_OF("a", "7") POOL_OF("b", "8"), &as_user);
		const struct conf_pool *pool = conf_pool_find(other, cases[i].name);

		conf_exchange_pool(one, other, cases[i].name);
		assert_string_equal(list(one), cases[i].one);
		assert_string_equal(list(other), cases[i].other);
		assert_ptr_equal(conf_pool_find(one, cases[i].name), pool);
		/* What it says of itself must not be in the other one's memory. */
		conf_free(other);
		assert_string_equal(pool->origin.file, "");
		assert_string_equal(pool->listen[0].origin.file, "");
		conf_free(one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_exchange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
