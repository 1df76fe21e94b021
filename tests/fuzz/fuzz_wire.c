/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzing of the wire parsers and encoders: any bytes, cut anywhere, give the same result. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/wire.h"

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

#define CONTROL_SIZE 4
#define SCRATCH_MAX  255

/**
 * struct options - what the first bytes of an input choose
 * @limit:	Most bytes of a pair
 * @skip:	Go on behind pairs that are refused
 * @accept:	Go on behind versions that are refused
 * @pad:	Pad the records that are encoded
 * @max_content: Most content of the records that are encoded
 * @seed:	Where the input is cut
 */
struct options {
	size_t limit;
	bool skip;
	bool accept;
	bool pad;
	size_t max_content;
	uint32_t seed;
};

/**
 * struct run - one way through an input
 * @options:	Options
 * @parser:	Record parser
 * @params:	Decoder of all content that holds pairs
 * @scratch:	Its memory, allocated
 * @records:	Digest of what the parser delivered, but not of the borders between chunks
 * @pairs:	Digest of what the decoder delivered; on its own, as pairs come later than chunks
 * @stopped:	An error ended it
 */
struct run {
	const struct options *options;
	struct wire_parser parser;
	struct wire_params params;
	uint8_t *scratch;
	uint64_t records;
	uint64_t pairs;
	bool stopped;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* FNV-1a. */
static void digest_add(uint64_t *digest, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		*digest = (*digest ^ bytes[i]) * 0x100000001b3U;
}

static void digest_number(uint64_t *digest, char tag, uint64_t number)
{
	digest_add(digest, &tag, sizeof(tag));
	digest_add(digest, &number, sizeof(number));
}

static void params_start(struct run *run)
{
	wire_params_init(&run->params, run->scratch, run->options->limit);
}

/* What was decoded must be what comes out when it is encoded and decoded again. */
static void check_pair(const struct wire_pair *pair)
{
	uint8_t bytes[SCRATCH_MAX + 8];
	struct wire_buffer out = {.data = bytes, .size = sizeof(bytes)};
	struct wire_params params;
	struct wire_pair again;
	size_t size;
	size_t used;

	REQUIRE(wire_pair_size(pair, &size) == WIRE_OK);
	REQUIRE(wire_put_pair(&out, pair) == WIRE_OK);
	REQUIRE(out.used == size);
	wire_params_init(&params, NULL, 0);
	params.limit = SCRATCH_MAX;
	REQUIRE(wire_params_next(&params, bytes, size, &used, &again) == WIRE_OK);
	REQUIRE(used == size);
	REQUIRE(again.name_size == pair->name_size && again.value_size == pair->value_size);
	REQUIRE(memcmp(again.name, pair->name, pair->name_size) == 0);
	REQUIRE(memcmp(again.value, pair->value, pair->value_size) == 0);
}

static void params_feed(struct run *run, const uint8_t *data, size_t size)
{
	/* Each call but the last takes a byte or more. */
	size_t turns_left = size + 1;
	enum wire_status status;

	do {
		struct wire_pair pair;
		size_t used = SIZE_MAX;

		REQUIRE(turns_left-- > 0);
		status = wire_params_next(&run->params, data, size, &used, &pair);
		REQUIRE(used <= size);
		data += used;
		size -= used;
		if (status == WIRE_OK) {
			REQUIRE(used > 0);
			REQUIRE(pair.name_size + pair.value_size <= run->options->limit);
			digest_number(&run->pairs, 'n', pair.name_size);
			digest_add(&run->pairs, pair.name, pair.name_size);
			digest_number(&run->pairs, 'v', pair.value_size);
			digest_add(&run->pairs, pair.value, pair.value_size);
			check_pair(&pair);
		} else if (status == WIRE_E_LIMIT) {
			/* Said again at each call if it isn't skipped, so it can't be counted. */
			if (run->options->skip || used > 0)
				digest_number(&run->pairs, 'l', run->params.name_size);
			if (run->options->skip)
				wire_params_skip(&run->params);
		}
	} while (status == WIRE_OK || (status == WIRE_E_LIMIT && run->options->skip));
	REQUIRE(status == WIRE_E_LIMIT || (status == WIRE_MORE && size == 0));
}

static void on_header(struct run *run)
{
	const struct wire_header *header = &run->parser.header;
	uint8_t bytes[FCGI_HEADER_LEN];
	struct wire_header again;

	digest_number(&run->records, 'h', header->version);
	digest_number(&run->records, 't', header->type);
	digest_number(&run->records, 'i', header->request_id);
	digest_number(&run->records, 's', header->content_length);
	digest_number(&run->records, 'p', header->padding_length);
	REQUIRE(wire_header_encode(header, bytes) == WIRE_OK);
	REQUIRE(wire_header_decode(bytes, &again) == WIRE_OK);
	REQUIRE(again.type == header->type && again.request_id == header->request_id);
	REQUIRE(again.content_length == header->content_length);
	REQUIRE(again.padding_length == header->padding_length);
}

static bool holds_pairs(uint8_t type)
{
	return type == FCGI_PARAMS || type == FCGI_GET_VALUES || type == FCGI_GET_VALUES_RESULT;
}

static void on_end(struct run *run)
{
	const size_t size = run->parser.header.content_length;
	const uint8_t *body = run->parser.body;
	struct wire_begin begin;
	struct wire_end end;
	uint8_t type;

	digest_number(&run->records, 'e', 0);
	REQUIRE(wire_parser_is_between(&run->parser));
	if (holds_pairs(run->parser.header.type) && size == 0) {
		digest_number(&run->records, 'x', wire_params_end(&run->params));
		params_start(run);
	}
	if (wire_begin_decode(body, size, &begin) == WIRE_OK)
		digest_number(&run->records, 'b', (uint64_t)begin.role << 8 | begin.flags);
	if (wire_end_decode(body, size, &end) == WIRE_OK)
		digest_number(&run->records, 'q',
			      (uint64_t)end.app_status << 8 | end.protocol_status);
	if (wire_unknown_decode(body, size, &type) == WIRE_OK)
		digest_number(&run->records, 'u', type);
}

static void on_event(struct run *run, const struct wire_event *event, const uint8_t *data,
		     size_t used)
{
	switch (event->type) {
	case WIRE_EVENT_HEADER:
		on_header(run);
		break;
	case WIRE_EVENT_CONTENT:
		REQUIRE(event->content == data && event->size == used && used > 0);
		digest_add(&run->records, event->content, event->size);
		if (holds_pairs(run->parser.header.type))
			params_feed(run, event->content, event->size);
		break;
	case WIRE_EVENT_END:
		on_end(run);
		break;
	}
}

static void run_feed(struct run *run, const uint8_t *data, size_t size)
{
	/* A record gives three events at most, or four answers if its version is refused, and but
	 * for one that was begun before takes 8 bytes or more. */
	size_t turns_left = 5 + size;

	while (!run->stopped) {
		struct wire_event event;
		size_t used = SIZE_MAX;
		enum wire_status status;

		REQUIRE(turns_left-- > 0);
		status = wire_parser_next(&run->parser, data, size, &used, &event);
		REQUIRE(used <= size);
		if (status == WIRE_OK)
			on_event(run, &event, data, used);
		data += used;
		size -= used;
		if (status == WIRE_MORE) {
			REQUIRE(size == 0);
			return;
		}
		if (status == WIRE_E_VERSION) {
			REQUIRE(run->parser.header.version != FCGI_VERSION_1);
			digest_number(&run->records, 'r', run->parser.header.version);
			if (run->options->accept)
				wire_parser_accept(&run->parser);
			else
				run->stopped = true;
		}
	}
}

/* The size of the next piece; seed 0 is byte by byte. */
static size_t piece_size(uint32_t *seed, size_t left)
{
	size_t size = 1;

	if (*seed != 0) {
		*seed = *seed * 1664525U + 1013904223U;
		size = *seed >> 24 & 7 ? *seed >> 16 & 15 : *seed >> 16 & 255;
	}
	return size < left ? size : left;
}

/* Each piece lies in memory of its own size, so that a read past it is seen. */
static uint64_t run_input(const struct options *options, const uint8_t *data, size_t size,
			  bool whole, uint32_t seed)
{
	struct run run = {.options = options,
			  .scratch = malloc(options->limit > 0 ? options->limit : 1)};

	REQUIRE(run.scratch != NULL);
	wire_parser_init(&run.parser);
	params_start(&run);
	while (size > 0 && !run.stopped) {
		const size_t piece = whole ? size : piece_size(&seed, size);
		uint8_t *copy = malloc(piece > 0 ? piece : 1);

		REQUIRE(copy != NULL);
		if (piece > 0)
			memcpy(copy, data, piece);
		run_feed(&run, copy, piece);
		free(copy);
		data += piece;
		size -= piece;
	}
	digest_number(&run.records, 'z', wire_parser_end(&run.parser));
	digest_number(&run.records, 'y', wire_params_end(&run.params));
	digest_number(&run.records, 'd', run.pairs);
	free(run.scratch);
	return run.records;
}

/* A stream that is cut into records comes out of the parser as it was. */
static void check_stream(const struct options *options, const uint8_t *data, size_t size)
{
	const struct wire_stream stream = {FCGI_STDIN, options->seed & 0xffff, options->max_content,
					   options->pad};
	struct wire_buffer out = {.used = 0};
	struct wire_parser parser = {.state = WIRE_PARSER_HEADER};
	struct wire_event event;
	size_t offset = 0;
	size_t seen = 0;
	size_t used;

	REQUIRE(wire_stream_size(&stream, size, &out.size) == WIRE_OK);
	out.data = malloc(out.size);
	REQUIRE(wire_put_stream(&out, &stream, data, size) == WIRE_OK);
	REQUIRE(out.used == out.size);
	REQUIRE(wire_put_stream_end(&out, &stream) == WIRE_E_SPACE);
	while (wire_parser_next(&parser, out.data + offset, out.size - offset, &used, &event) ==
	       WIRE_OK) {
		offset += used;
		if (event.type != WIRE_EVENT_CONTENT)
			continue;
		REQUIRE(memcmp(event.content, data + seen, event.size) == 0);
		seen += event.size;
	}
	REQUIRE(offset == out.size && seen == size && wire_parser_is_between(&parser));
	free(out.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options options;
	uint64_t digest;

	if (size < CONTROL_SIZE)
		return 0;
	options = (struct options){
		.limit = data[0],
		.skip = data[1] & 1,
		.accept = data[1] & 2,
		.pad = data[1] & 4,
		.max_content = data[2],
		.seed = (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3],
	};
	data += CONTROL_SIZE;
	size -= CONTROL_SIZE;
	digest = run_input(&options, data, size, true, 0);
	REQUIRE(run_input(&options, data, size, false, 0) == digest);
	REQUIRE(run_input(&options, data, size, false, options.seed | 1) == digest);
	if (size > 0)
		check_stream(&options, data, size);
	return 0;
}
