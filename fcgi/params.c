/* SPDX-License-Identifier: BSD-2-Clause */
/* Name-value pairs: encoder and incremental decoder. */
#include "wire.h"

#include <string.h>

/* The first byte of a length has this bit if three more follow. */
#define LONG_FORM 0x80U

#define SHORT_MAX  127U
#define SHORT_SIZE 1U
#define LONG_SIZE  4U

static size_t length_size(size_t length)
{
	return length > SHORT_MAX ? LONG_SIZE : SHORT_SIZE;
}

static uint8_t *length_write(uint8_t *to, size_t length)
{
	if (length > SHORT_MAX) {
		*to++ = (uint8_t)(length >> 24 | LONG_FORM);
		*to++ = (uint8_t)(length >> 16);
		*to++ = (uint8_t)(length >> 8);
	}
	*to++ = (uint8_t)length;
	return to;
}

static uint8_t *part_write(uint8_t *to, const char *part, size_t size)
{
	if (size > 0)
		memcpy(to, part, size);
	return to + size;
}

enum wire_status wire_pair_size(const struct wire_pair *pair, size_t *ret_size)
{
	size_t size;

	if (pair->name_size > WIRE_PAIR_LENGTH_MAX || pair->value_size > WIRE_PAIR_LENGTH_MAX)
		return WIRE_E_RANGE;
	/* Two of the longest parts and their lengths are more than 32 bits can count. */
	size = length_size(pair->name_size) + length_size(pair->value_size) + pair->name_size;
	if (__builtin_add_overflow(size, pair->value_size, &size))
		return WIRE_E_RANGE;
	*ret_size = size;
	return WIRE_OK;
}

enum wire_status wire_put_pair(struct wire_buffer *out, const struct wire_pair *pair)
{
	enum wire_status status;
	uint8_t *to;
	size_t size;

	status = wire_pair_size(pair, &size);
	if (status != WIRE_OK)
		return status;
	to = wire_buffer_take(out, size);
	if (to == NULL)
		return WIRE_E_SPACE;
	to = length_write(to, pair->name_size);
	to = length_write(to, pair->value_size);
	to = part_write(to, pair->name, pair->name_size);
	(void)part_write(to, pair->value, pair->value_size);
	return WIRE_OK;
}

bool wire_pair_is(const struct wire_pair *pair, const char *name)
{
	const size_t size = strlen(name);

	return pair->name_size == size && (size == 0 || memcmp(pair->name, name, size) == 0);
}

void wire_params_init(struct wire_params *p, void *scratch, size_t size)
{
	*p = (struct wire_params){.scratch = scratch, .limit = size};
}

static size_t form_size(uint8_t first)
{
	return first & LONG_FORM ? LONG_SIZE : SHORT_SIZE;
}

static uint32_t length_read(const uint8_t *from)
{
	if ((*from & LONG_FORM) == 0)
		return *from;
	return (uint32_t)(from[0] & ~LONG_FORM) << 24 | (uint32_t)from[1] << 16 |
	       (uint32_t)from[2] << 8 | from[3];
}

/* Bytes that both lengths take, or one more than there are while that can't be told. */
static size_t lengths_needed(const struct wire_params *p)
{
	size_t name_form;

	if (p->lengths_have == 0)
		return 1;
	name_form = form_size(p->lengths[0]);
	if (p->lengths_have <= name_form)
		return name_form + 1;
	return name_form + form_size(p->lengths[name_form]);
}

static uint64_t pair_total(const struct wire_params *p)
{
	return (uint64_t)p->name_size + p->value_size;
}

/* Bytes that can be taken of what the pair still needs. */
static size_t pair_take(const struct wire_params *p, size_t size)
{
	const uint64_t left = pair_total(p) - p->have;

	return left < size ? (size_t)left : size;
}

/* The decoder stands before a pair. */
static void pair_reset(struct wire_params *p)
{
	p->state = WIRE_PARAMS_LENGTHS;
	p->lengths_have = 0;
	p->have = 0;
}

static enum wire_status pair_skip(struct wire_params *p, size_t size, size_t *ret_used)
{
	const size_t take = pair_take(p, size);

	*ret_used += take;
	p->have += take;
	if (p->have < pair_total(p))
		return WIRE_MORE;
	pair_reset(p);
	return WIRE_OK;
}

static enum wire_status pair_lengths(struct wire_params *p, const uint8_t *data, size_t size,
				     size_t *ret_used)
{
	while (p->lengths_have < lengths_needed(p)) {
		if (*ret_used == size)
			return WIRE_MORE;
		p->lengths[p->lengths_have++] = data[(*ret_used)++];
	}
	p->name_size = length_read(p->lengths);
	p->value_size = length_read(p->lengths + form_size(p->lengths[0]));
	if (pair_total(p) > p->limit) {
		p->state = WIRE_PARAMS_REFUSED;
		return WIRE_E_LIMIT;
	}
	p->state = WIRE_PARAMS_DATA;
	return WIRE_OK;
}

static enum wire_status pair_data(struct wire_params *p, const uint8_t *data, size_t size,
				  size_t *ret_used, struct wire_pair *ret_pair)
{
	const uint8_t *start = data + *ret_used;
	const size_t take = pair_take(p, size - *ret_used);

	*ret_used += take;
	/* True also for the rest of a pair that was cut. */
	if (take < pair_total(p)) {
		if (take > 0)
			memcpy(p->scratch + p->have, start, take);
		p->have += take;
		if (p->have < pair_total(p))
			return WIRE_MORE;
		start = p->scratch;
	}
	*ret_pair = (struct wire_pair){
		.name = (const char *)start,
		.name_size = p->name_size,
		.value = (const char *)start + p->name_size,
		.value_size = p->value_size,
	};
	pair_reset(p);
	return WIRE_OK;
}

enum wire_status wire_params_next(struct wire_params *p, const void *data, size_t size,
				  size_t *ret_used, struct wire_pair *ret_pair)
{
	enum wire_status status = WIRE_OK;

	*ret_used = 0;
	if (p->state == WIRE_PARAMS_REFUSED)
		return WIRE_E_LIMIT;
	/* No pair ends without a byte, and NULL must not be computed with. */
	if (size == 0)
		return WIRE_MORE;
	if (p->state == WIRE_PARAMS_SKIP)
		status = pair_skip(p, size, ret_used);
	if (status == WIRE_OK && p->state == WIRE_PARAMS_LENGTHS)
		status = pair_lengths(p, data, size, ret_used);
	if (status == WIRE_OK)
		status = pair_data(p, data, size, ret_used, ret_pair);
	return status;
}

void wire_params_skip(struct wire_params *p)
{
	if (p->state == WIRE_PARAMS_REFUSED)
		p->state = WIRE_PARAMS_SKIP;
}

enum wire_status wire_params_end(const struct wire_params *p)
{
	if (p->state == WIRE_PARAMS_LENGTHS && p->lengths_have == 0)
		return WIRE_OK;
	return WIRE_E_TRUNCATED;
}
