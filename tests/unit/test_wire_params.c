/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fcgi/params.c: exact bytes of pairs, lengths that lie, pairs cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/wire.h"

#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))
#define SCRATCH_SIZE   ((size_t)256 * 1024)
#define TRANSCRIPT_MAX 4096

static char filler[SCRATCH_SIZE];
static uint8_t scratch[SCRATCH_SIZE];

struct length_case {
	size_t name_size;
	size_t value_size;
	size_t head_size;
	uint8_t head[8];
};

/* Every form of a length, on both sides, with the bytes it has to give. */
static const struct length_case length_cases[] = {
	{0, 0, 2, {0, 0}},
	{0, 1, 2, {0, 1}},
	{1, 0, 2, {1, 0}},
	{127, 0, 2, {127, 0}},
	{0, 127, 2, {0, 127}},
	{127, 127, 2, {127, 127}},
	{128, 0, 5, {0x80, 0, 0, 0x80, 0}},
	{0, 128, 5, {0, 0x80, 0, 0, 0x80}},
	{127, 128, 5, {127, 0x80, 0, 0, 0x80}},
	{128, 127, 5, {0x80, 0, 0, 0x80, 127}},
	{128, 128, 8, {0x80, 0, 0, 0x80, 0x80, 0, 0, 0x80}},
	{255, 256, 8, {0x80, 0, 0, 0xff, 0x80, 0, 1, 0}},
	{5, 65535, 5, {5, 0x80, 0, 0xff, 0xff}},
	{65535, 65536, 8, {0x80, 0, 0xff, 0xff, 0x80, 1, 0, 0}},
	{3, 0x010203, 5, {3, 0x80, 1, 2, 3}},
};

static void test_lengths(void **state)
{
	uint8_t *bytes = malloc(SCRATCH_SIZE);

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < COUNT(length_cases); i++) {
		const struct length_case *c = &length_cases[i];
		const struct wire_pair pair = {filler, c->name_size, filler + 7, c->value_size};
		const size_t golden = c->head_size + c->name_size + c->value_size;
		struct wire_buffer out = {.data = bytes, .size = golden};
		struct wire_params params;
		struct wire_pair got;
		size_t size = 0;
		size_t used = 0;

		assert_int_equal(wire_pair_size(&pair, &size), WIRE_OK);
		assert_int_equal(size, golden);
		assert_int_equal(wire_put_pair(&out, &pair), WIRE_OK);
		assert_int_equal(out.used, golden);
		assert_memory_equal(bytes, c->head, c->head_size);
		assert_memory_equal(bytes + c->head_size, pair.name, pair.name_size);
		assert_memory_equal(bytes + c->head_size + pair.name_size, pair.value,
				    pair.value_size);

		wire_params_init(&params, scratch, sizeof(scratch));
		assert_int_equal(wire_params_next(&params, bytes, golden, &used, &got), WIRE_OK);
		assert_int_equal(used, golden);
		assert_int_equal(got.name_size, c->name_size);
		assert_int_equal(got.value_size, c->value_size);
		assert_ptr_equal(got.name, bytes + c->head_size);
		assert_ptr_equal(got.value, bytes + c->head_size + c->name_size);
		assert_int_equal(wire_params_end(&params), WIRE_OK);
	}
	free(bytes);
}

static void test_put_appends(void **state)
{
	static const uint8_t golden[] = {1, 2, 'a', 'b', 'c', 0, 0, 0, 1, '=', 3, 0, 'k', 'e', 'y'};
	static const struct wire_pair pairs[] = {
		{"a", 1, "bc", 2}, {NULL, 0, NULL, 0}, {NULL, 0, "=", 1}, {"key", 3, NULL, 0}};
	uint8_t bytes[sizeof(golden)];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++)
		assert_int_equal(wire_put_pair(&out, &pairs[i]), WIRE_OK);
	assert_int_equal(out.used, sizeof(golden));
	assert_memory_equal(bytes, golden, sizeof(golden));
	assert_int_equal(wire_put_pair(&out, &pairs[1]), WIRE_E_SPACE);
	assert_int_equal(out.used, sizeof(golden));
}

static void test_put_no_space(void **state)
{
	const struct wire_pair pair = {"name", 4, filler, 128};
	uint8_t bytes[256];

	(void)state;
	for (size_t size = 0; size <= 137; size++) {
		struct wire_buffer out = {.data = bytes, .size = size};

		assert_int_equal(wire_put_pair(&out, &pair), size < 137 ? WIRE_E_SPACE : WIRE_OK);
		assert_int_equal(out.used, size < 137 ? 0 : 137);
	}
}

/* The name and value of these pairs don't exist: nothing may look at them. */
static void test_put_longest(void **state)
{
	const size_t longest = 0x7fffffff;
	const struct wire_pair refused[] = {
		{NULL, longest + 1, NULL, 0},
		{NULL, 0, NULL, longest + 1},
		{NULL, SIZE_MAX, NULL, 0},
		{NULL, SIZE_MAX, NULL, SIZE_MAX},
	};
	const struct wire_pair longest_name = {NULL, longest, NULL, 0};
	uint8_t bytes[64];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
	size_t size = 0;

	(void)state;
	assert_int_equal(wire_pair_size(&longest_name, &size), WIRE_OK);
	assert_int_equal(size, longest + 5);
	assert_int_equal(wire_put_pair(&out, &longest_name), WIRE_E_SPACE);
	for (size_t i = 0; i < COUNT(refused); i++) {
		assert_int_equal(wire_pair_size(&refused[i], &size), WIRE_E_RANGE);
		assert_int_equal(wire_put_pair(&out, &refused[i]), WIRE_E_RANGE);
	}
	assert_int_equal(size, longest + 5);
	assert_int_equal(out.used, 0);
}

static void test_pair_is(void **state)
{
	const struct wire_pair pair = {"REQUEST_METHOD", 14, "GET", 3};
	const struct wire_pair empty = {NULL, 0, NULL, 0};

	(void)state;
	assert_true(wire_pair_is(&pair, "REQUEST_METHOD"));
	assert_false(wire_pair_is(&pair, "REQUEST_METHO"));
	assert_false(wire_pair_is(&pair, "REQUEST_METHODS"));
	assert_false(wire_pair_is(&pair, "REQUEST_METHOX"));
	assert_false(wire_pair_is(&pair, ""));
	assert_true(wire_pair_is(&empty, ""));
}

/* What a decoder said, as text: "name=value;" a pair, "!" a refusal, "$" a clean end, "~" a cut. */
struct transcript {
	char text[TRANSCRIPT_MAX];
	size_t used;
};

static void transcript_add(struct transcript *t, const char *data, size_t size)
{
	assert_true(size < sizeof(t->text) - t->used);
	memcpy(t->text + t->used, data, size);
	t->used += size;
	t->text[t->used] = '\0';
}

/* Feed one piece. It is copied to memory of its own size, so that sanitizers see a read past it. */
static bool feed(struct wire_params *params, const uint8_t *data, size_t size, bool skip,
		 struct transcript *t)
{
	uint8_t *piece = malloc(size > 0 ? size : 1);
	size_t offset = 0;
	enum wire_status status;
	struct wire_pair pair;

	assert_non_null(piece);
	memcpy(piece, data, size);
	do {
		size_t used = SIZE_MAX;

		status = wire_params_next(params, piece + offset, size - offset, &used, &pair);
		assert_true(used <= size - offset);
		offset += used;
		if (status == WIRE_OK) {
			transcript_add(t, pair.name, pair.name_size);
			transcript_add(t, "=", 1);
			transcript_add(t, pair.value, pair.value_size);
			transcript_add(t, ";", 1);
		} else if (status == WIRE_E_LIMIT) {
			transcript_add(t, "!", 1);
			wire_params_skip(params);
		}
	} while (status == WIRE_OK || (status == WIRE_E_LIMIT && skip));
	if (status == WIRE_MORE)
		assert_int_equal(offset, size);
	free(piece);
	return status == WIRE_MORE;
}

struct decode_case {
	const char *title;
	size_t limit;
	size_t size;
	uint8_t bytes[64];
	const char *stopping; /* transcript if the first refusal ends it */
	const char *skipping; /* transcript if refused pairs are skipped, NULL = the same */
};

static const struct decode_case decode_cases[] = {
	{"nothing", 64, 0, {0}, "$", NULL},
	{"one pair", 64, 5, {1, 2, 'a', 'b', 'c'}, "a=bc;$", NULL},
	{"all empty, no scratch", 0, 4, {0, 0, 0, 0}, "=;=;$", NULL},
	{"empty value", 64, 5, {3, 0, 'k', 'e', 'y'}, "key=;$", NULL},
	{"empty name", 64, 4, {0, 2, 'o', 'k'}, "=ok;$", NULL},
	{"pairs", 8, 12, {1, 1, 'a', '1', 0, 0, 2, 0, 'b', 'c', 0, 0}, "a=1;=;bc=;=;$", NULL},
	{"small name in the long form", 64, 8, {0x80, 0, 0, 2, 1, 'a', 'b', 'c'}, "ab=c;$", NULL},
	{"small value in the long form", 64, 8, {1, 0x80, 0, 0, 2, 'a', 'b', 'c'}, "a=bc;$", NULL},
	{"zero in the long form", 64, 8, {0x80, 0, 0, 0, 0x80, 0, 0, 0}, "=;$", NULL},
	{"both in the long form",
	 64,
	 11,
	 {0x80, 0, 0, 1, 0x80, 0, 0, 2, 'a', 'b', 'c'},
	 "a=bc;$",
	 NULL},
	{"exactly the limit", 3, 5, {1, 2, 'a', 'b', 'c'}, "a=bc;$", NULL},
	{"one above the limit", 2, 5, {1, 2, 'a', 'b', 'c'}, "!", "!$"},
	{"too long, then one that fits",
	 4,
	 14,
	 {1, 1, 'x', 'y', 2, 3, 'a', 'b', 'c', 'd', 'e', 1, 0, 'z'},
	 "x=y;!",
	 "x=y;!z=;$"},
	{"too long twice", 1, 9, {1, 1, 'a', 'b', 0, 3, 'c', 'd', 'e'}, "!", "!!$"},
	{"name of 2^31-1", 64, 8, {0xff, 0xff, 0xff, 0xff, 1, 'a', 'b', 'c'}, "!", "!~"},
	{"value of 2^31-1", 64, 8, {1, 0xff, 0xff, 0xff, 0xff, 'a', 'b', 'c'}, "!", "!~"},
	{"both of 2^31-1", 64, 9, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'a'}, "!", "!~"},
	{"ends behind a length", 64, 1, {1}, "~", NULL},
	{"ends inside a long length", 64, 3, {0x80, 0, 0}, "~", NULL},
	{"ends inside the second length", 64, 4, {1, 0x80, 0, 0}, "~", NULL},
	{"ends behind the lengths", 64, 2, {1, 1}, "~", NULL},
	{"ends inside the name", 64, 3, {2, 1, 'a'}, "~", NULL},
	{"ends inside the value", 64, 8, {1, 1, 'x', 'y', 1, 2, 'a', 'b'}, "x=y;~", NULL},
};

/* Decode in pieces that end at the given offsets, and compare. */
static void check_cuts(const struct decode_case *c, const size_t *cuts, size_t cut_count, bool skip)
{
	const char *expected = skip && c->skipping != NULL ? c->skipping : c->stopping;
	struct transcript t = {.used = 0};
	struct wire_params params;
	uint8_t *memory = malloc(c->limit > 0 ? c->limit : 1);
	size_t start = 0;
	bool going = true;

	assert_non_null(memory);
	wire_params_init(&params, c->limit > 0 ? memory : NULL, c->limit);
	for (size_t i = 0; i <= cut_count && going; i++) {
		const size_t end = i < cut_count ? cuts[i] : c->size;

		going = feed(&params, c->bytes + start, end - start, skip, &t);
		start = end;
	}
	if (going)
		transcript_add(&t, wire_params_end(&params) == WIRE_OK ? "$" : "~", 1);
	if (strcmp(t.text, expected) != 0)
		fail_msg("%s: got %s instead of %s", c->title, t.text, expected);
	free(memory);
}

static void test_decode_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(decode_cases); i++) {
		check_cuts(&decode_cases[i], &decode_cases[i].size, 0, false);
		check_cuts(&decode_cases[i], &decode_cases[i].size, 0, true);
	}
}

static void test_decode_cut_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(decode_cases); i++) {
		const struct decode_case *c = &decode_cases[i];

		for (size_t first = 0; first <= c->size; first++) {
			for (size_t second = first; second <= c->size; second++) {
				check_cuts(c, (const size_t[]){first, second}, 2, false);
				check_cuts(c, (const size_t[]){first, second}, 2, true);
			}
		}
	}
}

static void test_decode_by_byte(void **state)
{
	size_t cuts[64];

	(void)state;
	for (size_t i = 0; i < COUNT(cuts); i++)
		cuts[i] = i;
	for (size_t i = 0; i < COUNT(decode_cases); i++) {
		check_cuts(&decode_cases[i], cuts, decode_cases[i].size, false);
		check_cuts(&decode_cases[i], cuts, decode_cases[i].size, true);
	}
}

/* Long pairs, cut around each byte of their lengths, with the cut in front of the last byte too. */
static void test_decode_long_pairs_cut(void **state)
{
	static const size_t sizes[] = {127, 128, 65535};
	uint8_t *bytes = malloc(SCRATCH_SIZE);

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		const struct wire_pair pair = {filler, sizes[i], filler + 7, sizes[i]};
		struct wire_buffer out = {.data = bytes, .size = SCRATCH_SIZE};

		assert_int_equal(wire_put_pair(&out, &pair), WIRE_OK);
		for (size_t cut = 0; cut < out.used; cut += cut < 300 ? 1 : 997) {
			struct wire_params params;
			struct wire_pair got;
			size_t used;

			wire_params_init(&params, scratch, 2 * sizes[i]);
			assert_int_equal(wire_params_next(&params, bytes, cut, &used, &got),
					 WIRE_MORE);
			assert_int_equal(used, cut);
			assert_int_equal(wire_params_end(&params),
					 cut == 0 ? WIRE_OK : WIRE_E_TRUNCATED);
			assert_int_equal(
				wire_params_next(&params, bytes + cut, out.used - cut, &used, &got),
				WIRE_OK);
			assert_int_equal(used, out.used - cut);
			assert_int_equal(got.name_size, sizes[i]);
			assert_int_equal(got.value_size, sizes[i]);
			assert_memory_equal(got.name, pair.name, sizes[i]);
			assert_memory_equal(got.value, pair.value, sizes[i]);
			assert_int_equal(wire_params_end(&params), WIRE_OK);
		}
	}
	free(bytes);
}

static void test_refusal_stays(void **state)
{
	static const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0, 'a', 'b'};
	struct wire_params params;
	struct wire_pair pair = {.name_size = 99};
	size_t used = 99;

	(void)state;
	wire_params_init(&params, scratch, 16);
	wire_params_skip(&params);
	assert_int_equal(wire_params_next(&params, bytes, sizeof(bytes), &used, &pair),
			 WIRE_E_LIMIT);
	assert_int_equal(used, 5);
	assert_int_equal(params.name_size, 0x7fffffff);
	assert_int_equal(params.value_size, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wire_params_next(&params, bytes + 5, 2, &used, &pair),
				 WIRE_E_LIMIT);
		assert_int_equal(used, 0);
		assert_int_equal(wire_params_next(&params, NULL, 0, &used, &pair), WIRE_E_LIMIT);
	}
	assert_int_equal(wire_params_end(&params), WIRE_E_TRUNCATED);
	assert_int_equal(pair.name_size, 99);
}

static void test_no_input(void **state)
{
	struct wire_params params;
	struct wire_pair pair;
	size_t used = 99;

	(void)state;
	wire_params_init(&params, NULL, 0);
	assert_int_equal(wire_params_next(&params, NULL, 0, &used, &pair), WIRE_MORE);
	assert_int_equal(used, 0);
	assert_int_equal(wire_params_end(&params), WIRE_OK);
}

static int fill(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(filler); i++)
		filler[i] = (char)(i * 31 + (i >> 8));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_put_appends),
		cmocka_unit_test(test_put_no_space),
		cmocka_unit_test(test_put_longest),
		cmocka_unit_test(test_pair_is),
		cmocka_unit_test(test_decode_whole),
		cmocka_unit_test(test_decode_cut_twice),
		cmocka_unit_test(test_decode_by_byte),
		cmocka_unit_test(test_decode_long_pairs_cut),
		cmocka_unit_test(test_refusal_stays),
		cmocka_unit_test(test_no_input),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
