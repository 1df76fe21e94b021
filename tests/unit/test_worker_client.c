/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of fpm/worker/client.c against a plain reader: heads, ends of input, and when to lend. */
#include "fpm/worker/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client_model.h"
#include "client_play.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint8_t *stream;
static struct client client;

static int set_up(void **state)
{
	(void)state;
	stream = malloc(MODEL_STREAM_MAX);
	client.buffer = malloc(CLIENT_BUFFER_SIZE);
	if (!stream || !client.buffer)
		return -1;
	client_start(&client, 7);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(stream);
	free(client.buffer);
	return 0;
}

static void put(size_t *size, uint8_t type, size_t content, size_t padding)
{
	*size = model_put(stream, *size, type, 1, content, padding);
}

/* The usual request, with parameters and a body in one record each. */
static size_t put_request(size_t size, size_t params, size_t body)
{
	put(&size, FCGI_BEGIN_REQUEST, 8, 0);
	if (params > 0)
		put(&size, FCGI_PARAMS, params, 5);
	put(&size, FCGI_PARAMS, 0, 0);
	if (body > 0)
		put(&size, FCGI_STDIN, body, 0);
	put(&size, FCGI_STDIN, 0, 0);
	return size;
}

static bool receive(const uint8_t *data, size_t size)
{
	uint8_t *at;

	assert_true(client_room(&client, &at) >= size);
	memcpy(at, data, size);
	client.end += (uint32_t)size;
	return client_look(&client);
}

/* What a program gets that asks for a number of bytes. */
static size_t take(size_t size)
{
	size_t most = client_pending(&client);

	size = client_take(&client, client.buffer + client.start, size < most ? size : most);
	client.start += (uint32_t)size;
	return size;
}

static unsigned int wrote(uint8_t type, unsigned int id, size_t content)
{
	uint8_t record[512];

	return client_wrote(&client, record, model_put(record, 0, type, id, content, 0));
}

/* Receives the stream and gives it to the program. */
static void serve(size_t size)
{
	assert_true(receive(stream, size));
	client.phase = CLIENT_SERVED;
}

static void play(const struct play *how, uint64_t seed, size_t size, unsigned int *ret_turns)
{
	struct dice dice = {.state = seed};
	const char *error = play_stream(how, &dice, stream, size, ret_turns);

	if (error)
		fail_msg("seed %lu, split %zu, piece %zu, read %zu, take %d, write %zu: %s",
			 (unsigned long)seed, how->split, how->piece, how->read, how->take,
			 how->write, error);
}

/* The reader that all else is compared with says what was counted by hand. */
static void test_plain_reader(void **state)
{
	size_t size = put_request(0, 30, 10);
	struct model_turn turn = model_turn_at(stream, size, 0);

	(void)state;
	assert_int_equal(size, 16 + 43 + 8 + 18 + 8);
	assert_int_equal(turn.kind, MODEL_REQUEST);
	assert_int_equal(turn.ready, 16 + 43 + 8);
	assert_int_equal(turn.head_end, 16 + 43 + 8);
	assert_int_equal(turn.end, size);
	assert_true(turn.ended);
	assert_int_equal(model_after(stream, size, &turn, 16 + 43 + 8), size);
	assert_int_equal(model_after(stream, size, &turn, size), size);
	/* Its STDIN is not ended: the next request does that. */
	turn = model_turn_at(stream, put_request(size - 8, 0, 0), 0);
	assert_int_equal(turn.end, size - 8);
	assert_false(turn.ended);
	turn = model_turn_at(stream, 16 + 43 + 7, 0);
	assert_true(turn.ready == SIZE_MAX);
	turn = model_turn_at(stream, 16 + 43 + 8, 0);
	assert_int_equal(turn.ready, 16 + 43 + 8);
	assert_false(turn.ended);
}

/* Each request is served: no comparison with a reader that has stopped. */
static void test_all_turns_are_played(void **state)
{
	const struct play how = {.piece = PLAY_WHOLE, .read = 8, .write = PLAY_WHOLE};
	unsigned int turns;
	size_t size = put_request(0, 100, 0);

	(void)state;
	size = put_request(size, 0, 60000);
	put(&size, FCGI_GET_VALUES, 20, 4);
	size = put_request(size, 1, 1);
	play(&how, 1, size, &turns);
	assert_int_equal(turns, 4);
}

static const size_t reads[] = {1, 8, 8192, PLAY_RANDOM};
static const size_t writes[] = {1, PLAY_WHOLE};
static const enum play_take takes[] = {PLAY_TAKE_ALL, PLAY_TAKE_HEAD, PLAY_TAKE_SOME};

/* Calls back with each way of a program to read and write. */
static void each_program(struct play how, uint64_t seed, size_t size)
{
	for (size_t i = 0; i < COUNT(reads) * COUNT(writes) * COUNT(takes); i++) {
		how.read = reads[i % COUNT(reads)];
		how.write = writes[i / COUNT(reads) % COUNT(writes)];
		how.take = takes[i / COUNT(reads) / COUNT(writes)];
		how.early = (i + how.split) % 2;
		play(&how, seed + i, size, NULL);
	}
}

static void test_every_split(void **state)
{
	const struct play how = {.piece = PLAY_WHOLE, .largest = 300};
	unsigned int streams = 0;

	(void)state;
	for (uint64_t seed = 0; streams < 6; seed++) {
		struct dice dice = {.state = seed};
		size_t size = model_make(&dice, 30, stream);

		/* The time that this takes grows with the square of it. */
		if (size > 250)
			continue;
		streams++;
		for (size_t split = 1; split < size; split++) {
			struct play split_how = how;

			split_how.split = split;
			each_program(split_how, seed, size);
		}
	}
}

static void test_byte_by_byte(void **state)
{
	const struct play how = {.piece = 1, .largest = 3000};

	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct dice dice = {.state = seed};

		each_program(how, seed, model_make(&dice, seed % 8 == 0 ? 2000 : 100, stream));
	}
}

static void test_large_bodies(void **state)
{
	const struct play how = {.piece = PLAY_RANDOM, .largest = 200000};

	(void)state;
	for (uint64_t seed = 0; seed < 2; seed++) {
		struct dice dice = {.state = seed};

		each_program(how, seed, model_make(&dice, 70000, stream));
	}
}

static void test_random_streams(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct dice dice = {.state = seed};
		struct play how = {.largest = 1000};

		how.piece = dice_roll(&dice, 2) ? PLAY_RANDOM : PLAY_WHOLE;
		how.take = (enum play_take)dice_roll(&dice, 3);
		how.write = dice_roll(&dice, 2) ? PLAY_RANDOM : PLAY_WHOLE;
		how.early = dice_roll(&dice, 2);
		play(&how, seed, model_make(&dice, dice_roll(&dice, 4) ? 200 : 9000, stream), NULL);
	}
}

/* A stream that breaks off anywhere keeps nobody waiting who was not waiting before. */
static void test_truncated_streams(void **state)
{
	const struct play how = {.piece = PLAY_RANDOM, .write = PLAY_WHOLE, .largest = 100};

	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct dice dice = {.state = seed};
		size_t size = model_make(&dice, 60, stream);

		for (size_t cut = 1; cut < size; cut++)
			play(&how, seed, cut, NULL);
	}
}

/* More than the buffer holds is given to the program as it is. */
static void test_head_larger_than_buffer(void **state)
{
	const struct play how = {.piece = PLAY_RANDOM, .write = PLAY_WHOLE};
	const size_t params[] = {FCGI_MAX_LENGTH, FCGI_MAX_LENGTH, 2000};
	unsigned int turns;
	size_t size = 0;

	(void)state;
	put(&size, FCGI_BEGIN_REQUEST, 8, 0);
	for (size_t i = 0; i < COUNT(params); i++)
		put(&size, FCGI_PARAMS, params[i], 255);
	put(&size, FCGI_PARAMS, 0, 0);
	put(&size, FCGI_STDIN, 0, 0);
	size = put_request(size, 3, 3);
	assert_true(model_turn_at(stream, size, 0).head_end > CLIENT_BUFFER_SIZE);
	for (uint64_t seed = 0; seed < 20; seed++) {
		play(&how, seed, size, &turns);
		assert_int_equal(turns, 2);
	}
	assert_false(receive(stream, CLIENT_BUFFER_SIZE - 1));
	assert_true(receive(stream + CLIENT_BUFFER_SIZE - 1, 1));
}

/* The largest head that fits is collected as a whole. */
static void test_head_as_large_as_buffer(void **state)
{
	size_t size = 0;

	(void)state;
	put(&size, FCGI_BEGIN_REQUEST, 8, 0);
	put(&size, FCGI_PARAMS, FCGI_MAX_LENGTH, 0);
	put(&size, FCGI_PARAMS, CLIENT_BUFFER_SIZE - size - 16, 0);
	put(&size, FCGI_PARAMS, 0, 0);
	assert_int_equal(size, CLIENT_BUFFER_SIZE);
	assert_false(receive(stream, size - 1));
	assert_true(receive(stream + size - 1, 1));
	client.phase = CLIENT_SERVED;
	assert_int_equal(take(SIZE_MAX), size);
}

/* What is no FastCGI is the program's to refuse, as soon as that can be told. */
static void test_garbage(void **state)
{
	static const char *const texts[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"\1\6\0\1\0\0\0\0",
		"\1\13\0\1\0\0\0\0",
		"\1\4\0\1\0\0\0\0",
		"\0\0\0\0\0\0\0\0\0\0\0\0",
		"\xff\xff\xff\xff\xff\xff\xff\xff",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		client_start(&client, 7);
		assert_false(receive((const uint8_t *)texts[i], 7));
		assert_true(receive((const uint8_t *)texts[i] + 7, 1));
		assert_int_equal(client.phase, CLIENT_READY);
		client.phase = CLIENT_SERVED;
		assert_int_equal(take(SIZE_MAX), 8);
		assert_false(client_is_answered(&client));
	}
}

static void test_random_bytes(void **state)
{
	const struct play how = {.piece = PLAY_RANDOM, .write = PLAY_WHOLE, .largest = 50};

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct dice dice = {.state = seed};
		size_t size = model_make(&dice, 200, stream), hits = 1 + dice_roll(&dice, 20);

		if (seed % 3 == 0)
			for (size_t i = 0; i < size; i++)
				stream[i] = (uint8_t)dice_roll(&dice, 256);
		while (hits-- > 0)
			stream[dice_roll(&dice, size)] = (uint8_t)dice_roll(&dice, 256);
		play(&how, seed, size, NULL);
	}
}

/* A record of the largest size is begun by eight bytes; the head behind it may be complete. */
static void test_begin_that_lies(void **state)
{
	size_t size = 0;

	(void)state;
	put(&size, FCGI_BEGIN_REQUEST, FCGI_MAX_LENGTH, 255);
	assert_false(receive(stream, size));
	assert_int_equal(client.phase, CLIENT_HEAD);
	size = 0;
	put(&size, FCGI_PARAMS, 0, 0);
	assert_true(receive(stream, size));
}

static void test_several_ends_in_one_write(void **state)
{
	uint8_t answer[256];
	size_t size = 0;

	(void)state;
	serve(put_request(0, 10, 0));
	(void)take(SIZE_MAX);
	size = model_put(answer, size, FCGI_STDOUT, 1, 40, 0);
	size = model_put(answer, size, FCGI_END_REQUEST, 1, 8, 0);
	size = model_put(answer, size, FCGI_END_REQUEST, 1, 8, 0);
	assert_int_equal(client_wrote(&client, answer, size), 2);
	assert_true(client_is_answered(&client));
}

/* Behind END_REQUEST the program stands in a record again: it is not its client's end yet. */
static void test_record_after_the_end(void **state)
{
	uint8_t answer[256];
	size_t size;

	(void)state;
	serve(put_request(0, 10, 0));
	(void)take(SIZE_MAX);
	assert_int_equal(wrote(FCGI_END_REQUEST, 1, 8), 1);
	assert_true(client_is_answered(&client));
	size = model_put(answer, 0, FCGI_STDERR, 1, 40, 0);
	assert_int_equal(client_wrote(&client, answer, size - 1), 0);
	assert_false(client_is_answered(&client));
	assert_int_equal(client_wrote(&client, answer + size - 1, 1), 0);
	assert_true(client_is_answered(&client));
}

/* An answer that is no FastCGI, or of a version of its own, never lends the program. */
static void test_foreign_answers(void **state)
{
	uint8_t record[64] = "HTTP/1.1 200 OK\r\n\r\nhello, world";

	(void)state;
	serve(put_request(0, 10, 0));
	(void)take(SIZE_MAX);
	assert_int_equal(client_wrote(&client, record, sizeof(record)), 0);
	assert_int_equal(wrote(FCGI_END_REQUEST, 1, 8), 0);
	assert_false(client_is_answered(&client));
}

/*
 * libfcgi answers a second BEGIN_REQUEST, with an id of its own, at once: CANT_MPX_CONN. The first
 * request goes on; who lends the program now gives its answer to somebody else.
 */
static void test_answer_of_another_request(void **state)
{
	size_t size = 0;

	(void)state;
	put(&size, FCGI_BEGIN_REQUEST, 8, 0);
	put(&size, FCGI_PARAMS, 0, 0);
	put(&size, FCGI_STDIN, 5, 0);
	size = model_put(stream, size, FCGI_BEGIN_REQUEST, 2, 8, 0);
	serve(size);
	/* The program gets it, as nobody else could refuse it. */
	assert_int_equal(take(SIZE_MAX), size);
	assert_false(client.input_ended);
	assert_int_equal(wrote(FCGI_END_REQUEST, 2, 8), 0);
	assert_false(client_is_answered(&client));
	assert_int_equal(wrote(FCGI_END_REQUEST, 257, 8), 0);
	assert_false(client_is_answered(&client));
	assert_int_equal(wrote(FCGI_END_REQUEST, 1, 8), 1);
	assert_true(client_is_answered(&client));
}

/* A management record may come, and be answered, in the middle of a request. */
static void test_values_inside_request(void **state)
{
	size_t size = 0;

	(void)state;
	put(&size, FCGI_BEGIN_REQUEST, 8, 0);
	put(&size, FCGI_PARAMS, 0, 0);
	put(&size, FCGI_GET_VALUES, 17, 0);
	put(&size, FCGI_STDIN, 0, 0);
	serve(size);
	assert_int_equal(take(16 + 8 + 25), 16 + 8 + 25);
	assert_false(client.input_ended);
	assert_int_equal(wrote(FCGI_GET_VALUES_RESULT, 0, 20), 0);
	assert_false(client_is_answered(&client));
	assert_int_equal(take(SIZE_MAX), 8);
	assert_true(client.input_ended);
	assert_int_equal(wrote(FCGI_END_REQUEST, 1, 8), 1);
	assert_true(client_is_answered(&client));
}

/*
 * Records of a request that is over (here: a second end of STDIN, or an abort that came too late)
 * are no request: a program that was given them would pass over them and wait.
 */
static void test_late_records(void **state)
{
	static const uint8_t types[] = {FCGI_STDIN, FCGI_ABORT_REQUEST};

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		size_t size = put_request(0, 10, 10), first = size;

		client_start(&client, 7);
		put(&size, types[i], 0, 8);
		serve(first);
		assert_int_equal(take(SIZE_MAX), first);
		assert_int_equal(wrote(FCGI_END_REQUEST, 1, 8), 1);
		assert_false(client_next(&client));
		assert_false(receive(stream + first, size - first));
		size = put_request(0, 20, 0);
		assert_true(receive(stream, size));
		client.phase = CLIENT_SERVED;
		assert_int_equal(take(SIZE_MAX), size);
		assert_true(client.input_ended);
	}
}

/* A filter's input has two streams, and the second one ends it. */
static void test_filter_gets_its_data(void **state)
{
	size_t size = 0, first;

	(void)state;
	put(&size, FCGI_BEGIN_REQUEST, 8, 0);
	stream[FCGI_HEADER_LEN] = 0;
	stream[FCGI_HEADER_LEN + 1] = FCGI_FILTER;
	put(&size, FCGI_PARAMS, 0, 0);
	put(&size, FCGI_STDIN, 10, 0);
	put(&size, FCGI_STDIN, 0, 0);
	put(&size, FCGI_DATA, 20, 4);
	put(&size, FCGI_DATA, 0, 0);
	first = size;
	size = put_request(size, 10, 10);
	serve(size);
	assert_int_equal(take(SIZE_MAX), first);
	assert_true(client.input_ended);
	assert_int_equal(wrote(FCGI_END_REQUEST, 1, 8), 1);
	assert_true(client_next(&client));
}

/* If one reaches the program all the same, it is not told for ever that an input has ended. */
static void test_end_of_no_input(void **state)
{
	size_t size = 0;

	(void)state;
	put(&size, FCGI_STDIN, 0, 0);
	(void)receive(stream, size);
	client.phase = CLIENT_SERVED;
	(void)take(SIZE_MAX);
	assert_false(client.input_ended);
}

/*
 * A client may leave the end of STDIN out and begin its next request. One that reads ahead (libfcgi
 * asks for 8 KiB) is not to get that one with it.
 */
static void test_reader_ahead_and_no_end(void **state)
{
	size_t size = 0, first;

	(void)state;
	put(&size, FCGI_BEGIN_REQUEST, 8, 0);
	put(&size, FCGI_PARAMS, 0, 0);
	put(&size, FCGI_STDIN, 5, 3);
	first = size;
	size = put_request(size, 20, 4);
	serve(size);
	assert_int_equal(take(8192), first);
	assert_int_equal(wrote(FCGI_END_REQUEST, 1, 8), 1);
	assert_true(client_next(&client));
	client.phase = CLIENT_SERVED;
	assert_int_equal(take(8192), size - first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_turns_are_played, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_split, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_byte_by_byte, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_bodies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random_streams, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_truncated_streams, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_head_larger_than_buffer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_head_as_large_as_buffer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_garbage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_begin_that_lies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_several_ends_in_one_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_record_after_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_foreign_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answer_of_another_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_values_inside_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_filter_gets_its_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end_of_no_input, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reader_ahead_and_no_end, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
