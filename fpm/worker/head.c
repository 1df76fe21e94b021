/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the scoreboard shows out of a request's head. */

#include "head.h"

#include "fcgi/wire.h"

#include <string.h>

static void take_pair(const struct wire_pair *pair, const struct head_text texts[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = pair->value_size;

		if (!wire_pair_is(pair, texts[i].name))
			continue;
		if (size > texts[i].size - 1)
			size = texts[i].size - 1;
		memcpy(texts[i].text, pair->value, size);
		texts[i].text[size] = '\0';
		return;
	}
}

static void read_pairs(const uint8_t *data, size_t size, const struct head_text texts[],
		       size_t count)
{
	/* Bytes that a pair which the record's end cuts would be collected in. */
	static uint8_t scratch[65536];
	struct wire_params params;

	wire_params_init(&params, scratch, sizeof(scratch));
	while (size > 0) {
		struct wire_pair pair;
		size_t used;

		if (wire_params_next(&params, data, size, &used, &pair) != WIRE_OK)
			return;
		data += used;
		size -= used;
		take_pair(&pair, texts, count);
	}
}

void head_read(const uint8_t *data, size_t size, const struct head_text texts[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		texts[i].text[0] = '\0';
	while (size >= FCGI_HEADER_LEN) {
		struct wire_header header;
		size_t record;

		if (wire_header_decode(data, &header) != WIRE_OK)
			return;
		record = FCGI_HEADER_LEN + header.content_length + header.padding_length;
		if (record > size || (header.type == FCGI_PARAMS && header.content_length == 0) ||
		    (header.type != FCGI_PARAMS && header.type != FCGI_BEGIN_REQUEST))
			return;
		if (header.type == FCGI_PARAMS)
			read_pairs(data + FCGI_HEADER_LEN, header.content_length, texts, count);
		data += record;
		size -= record;
	}
}
