/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures as JSON and back, by tables that say what their members are. */

#include "fpm/manager/record.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where in a record the reader is, for messages. */
struct place {
	const struct place *outer;
	const char *name;
	size_t index;
	char *error;
	size_t size;
};

static void *member(const void *record, size_t offset)
{
	return (char *)(uintptr_t)record + offset;
}

static void *entry(const struct record_field *field, const void *record, size_t i)
{
	void **pointer = member(record, field->offset);

	return (char *)*pointer + i * field->layout->size;
}

static size_t entries(const struct record_field *field, const void *record)
{
	void **pointer = member(record, field->offset);

	if (field->type == RECORD_LIST)
		return *(size_t *)member(record, field->count_offset);
	return field->type == RECORD_ONE && *pointer ? 1 : 0;
}

/* Writing. Paths and output are bytes: each becomes the character of its number. */

static json_t *text_to_json(const char *text)
{
	size_t length = strlen(text);
	char *utf8 = malloc(2 * length + 1);
	char *p = utf8;
	json_t *json;

	if (!utf8)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x80) {
			*p++ = (char)(0xc0 | (c >> 6));
			c = 0x80 | (c & 0x3f);
		}
		*p++ = (char)c;
	}
	json = json_stringn(utf8, (size_t)(p - utf8));
	free(utf8);
	return json;
}

static json_t *list_to_json(const struct record_field *field, const void *record)
{
	json_t *list = json_array();
	size_t count = entries(field, record);

	for (size_t i = 0; list && i < count; i++) {
		if (json_array_append_new(
			    list, record_write(field->layout, entry(field, record, i))) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

static json_t *field_to_json(const struct record_field *field, const void *record)
{
	const void *at = member(record, field->offset);
	const char *text;

	switch (field->type) {
	case RECORD_INT:
		return json_integer(*(const int64_t *)at);
	case RECORD_FD:
		return json_integer(*(const int *)at);
	case RECORD_TEXT:
		text = *(char *const *)at;
		return text ? text_to_json(text) : json_null();
	case RECORD_ONE:
		if (entries(field, record) == 0)
			return json_null();
		return record_write(field->layout, entry(field, record, 0));
	case RECORD_LIST:
		return list_to_json(field, record);
	}
	return NULL;
}

json_t *record_write(const struct record_layout *layout, const void *record)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < layout->count; i++) {
		const struct record_field *field = &layout->fields[i];

		if (json_object_set_new(object, field->name, field_to_json(field, record)) == 0)
			continue;
		json_decref(object);
		object = NULL;
	}
	return object;
}

/* Reading */

static size_t write_place(const struct place *place, char *buffer, size_t size)
{
	size_t length = place->outer ? write_place(place->outer, buffer, size) : 0;

	if (length >= size)
		return length;
	if (place->index == SIZE_MAX)
		return length + (size_t)snprintf(buffer + length, size - length, "%s%s",
						 length > 0 ? "." : "", place->name);
	return length + (size_t)snprintf(buffer + length, size - length, "%s%s[%zu]",
					 length > 0 ? "." : "", place->name, place->index);
}

__attribute__((format(printf, 2, 3))) static int fail(const struct place *place, const char *format,
						      ...)
{
	char where[256] = "", what[128];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	(void)write_place(place, where, sizeof(where));
	(void)snprintf(place->error, place->size, "%s: %s", where, what);
	return -EPROTO;
}

static int read_text(const struct place *place, const struct record_field *field,
		     const json_t *json, char **ret_text)
{
	const unsigned char *utf8 = (const unsigned char *)json_string_value(json);
	size_t length = json_string_length(json);
	char *text, *p;

	if (field->min == -1 && json_is_null(json))
		return 0;
	if (!utf8)
		return fail(place, "it is no text");
	p = text = malloc(length + 1);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		unsigned int c = utf8[i];

		if (c >= 0x80 && c <= 0xc3)
			c = (c & 0x03) << 6 | (utf8[++i] & 0x3f);
		else if (c >= 0x80)
			c = 0;
		if (c == 0) {
			free(text);
			return fail(place, "it has a character that is no byte");
		}
		*p++ = (char)c;
	}
	*p = '\0';
	*ret_text = text;
	return 0;
}

static int read_number(const struct place *place, const struct record_field *field,
		       const json_t *json, int64_t max, int64_t *ret_number)
{
	int64_t number = json_integer_value(json);

	if (!json_is_integer(json))
		return fail(place, "it is no whole number");
	if (number < field->min || number > max)
		return fail(place, "%lld is not from %lld to %lld", (long long)number,
			    (long long)field->min, (long long)max);
	*ret_number = number;
	return 0;
}

static int read_record(const struct place *place, const struct record_layout *layout, json_t *json,
		       void *record);

static int read_entries(const struct place *place, const struct record_field *field, json_t *json,
			void *record)
{
	bool list = field->type == RECORD_LIST;
	size_t count = list ? json_array_size(json) : 1;
	void **pointer = member(record, field->offset);
	int result = 0;

	if (!list && json_is_null(json))
		return 0;
	if (list && !json_is_array(json))
		return fail(place, "it is no list");
	if (list && count > (size_t)field->max)
		return fail(place, "%zu entries are more than %lld", count, (long long)field->max);
	*pointer = calloc(count + 1, field->layout->size);
	if (!*pointer)
		return -ENOMEM;
	/* From now on they are released, as far as they have been read. */
	if (list)
		*(size_t *)member(record, field->count_offset) = count;
	for (size_t i = 0; result == 0 && i < count; i++) {
		struct place inner = *place;

		inner.index = list ? i : SIZE_MAX;
		result = read_record(&inner, field->layout, list ? json_array_get(json, i) : json,
				     entry(field, record, i));
	}
	return result;
}

static int read_field(const struct place *place, const struct record_field *field, json_t *json,
		      void *record)
{
	void *at = member(record, field->offset);
	int64_t number = 0;
	int result;

	if (!json)
		return field->may_be_missing ? 0 : fail(place, "it is missing");
	switch (field->type) {
	case RECORD_INT:
		return read_number(place, field, json, field->max, at);
	case RECORD_FD:
		result = read_number(place, field, json, INT_MAX, &number);
		*(int *)at = result == 0 ? (int)number : -1;
		return result;
	case RECORD_TEXT:
		return read_text(place, field, json, at);
	case RECORD_ONE:
	case RECORD_LIST:
		break;
	}
	return read_entries(place, field, json, record);
}

static int read_record(const struct place *place, const struct record_layout *layout, json_t *json,
		       void *record)
{
	int result = 0;

	if (!json_is_object(json))
		return fail(place, "it is no object");
	for (size_t i = 0; result == 0 && i < layout->count; i++) {
		const struct record_field *field = &layout->fields[i];
		const struct place inner = {.outer = place,
					    .name = field->name,
					    .index = SIZE_MAX,
					    .error = place->error,
					    .size = place->size};

		result = read_field(&inner, field, json_object_get(json, field->name), record);
	}
	return result;
}

int record_read(const struct record_layout *layout, json_t *json, void *record, char *error,
		size_t size)
{
	const struct place place = {.name = "", .index = SIZE_MAX, .error = error, .size = size};
	int result = read_record(&place, layout, json, record);

	if (result == -ENOMEM)
		(void)snprintf(error, size, "%s", strerror(ENOMEM));
	return result;
}

void record_release(const struct record_layout *layout, void *record)
{
	for (size_t i = 0; i < layout->count; i++) {
		const struct record_field *field = &layout->fields[i];
		void **pointer = member(record, field->offset);
		size_t count = entries(field, record);

		if (field->type == RECORD_INT || field->type == RECORD_FD)
			continue;
		for (size_t n = 0; field->layout && *pointer && n < count; n++)
			record_release(field->layout, entry(field, record, n));
		free(*pointer);
	}
	memset(record, 0, layout->size);
}

int record_each_fd(const struct record_layout *layout, void *record, record_fd_fn each, void *data)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < layout->count; i++) {
		const struct record_field *field = &layout->fields[i];
		int *fd = member(record, field->offset);
		size_t count = field->layout ? entries(field, record) : 0;

		if (field->type == RECORD_FD && *fd != -1) {
			result = each(data, field, *fd);
			*fd = result < 0 ? *fd : result;
		}
		for (size_t n = 0; result >= 0 && n < count; n++)
			result = record_each_fd(field->layout, entry(field, record, n), each, data);
	}
	return result < 0 ? result : 0;
}
