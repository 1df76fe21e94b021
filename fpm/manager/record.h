/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures as JSON and back, by tables that say what their members are. */
#ifndef FPM_RECORD_H
#define FPM_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_type {
	RECORD_INT = 0, /* int64_t from @min to @max */
	RECORD_FD,	/* int: a descriptor of kind @kind, or -1 if @min is -1 */
	RECORD_TEXT,	/* char *: any bytes but NUL; NULL if @min is -1 */
	RECORD_ONE,	/* pointer to one structure of @layout, NULL if there is none */
	RECORD_LIST, /* pointer to @max of them at most; a size_t at @count_offset says how many */
};

/* What a descriptor must be. */
enum record_kind {
	RECORD_KIND_ANY = 0,
	RECORD_KIND_SOCKET,
	RECORD_KIND_PIPE,
	RECORD_KIND_LISTENER, /* a socket or a pipe */
	RECORD_KIND_FILE,     /* memory or a file */
	RECORD_KIND_PIDFD,
	RECORD_KIND_EVENTFD,
};

struct record_layout;

/**
 * struct record_field - a member
 * @name:	Its name in JSON
 * @type:	What it is
 * @offset:	Where it is in the structure
 * @min:	See enum record_type
 * @max:	See enum record_type
 * @kind:	Of a descriptor
 * @layout:	Of what it points to
 * @count_offset: Where the number of entries of a list is
 * @may_be_missing: It is all zero then
 */
struct record_field {
	const char *name;
	enum record_type type;
	size_t offset;
	int64_t min;
	int64_t max;
	enum record_kind kind;
	const struct record_layout *layout;
	size_t count_offset;
	bool may_be_missing;
};

/**
 * struct record_layout - a structure
 * @size:	Its size
 * @fields:	Its members
 * @count:	Entries of @fields
 */
struct record_layout {
	size_t size;
	const struct record_field *fields;
	size_t count;
};

/**
 * record_write() - a structure as JSON
 * @layout:	What it is
 * @record:	Structure
 *
 * Return: object, or NULL if memory is short
 */
json_t *record_write(const struct record_layout *layout, const void *record);

/**
 * record_read() - a structure from JSON
 * @layout:	What it is
 * @json:	Object; members that the layout does not know are passed over
 * @record:	Storage, all zero; to be released by record_release() in any case
 * @error:	On failure: what does not fit and where, without a newline
 * @size:	Bytes of @error
 *
 * Each member must be there, with its type and within its limits.
 *
 * Return: 0, -EPROTO or -ENOMEM
 */
int record_read(const struct record_layout *layout, json_t *json, void *record, char *error,
		size_t size);

/**
 * record_release() - release what a structure's pointers hold; its descriptors stay open
 * @layout:	What it is
 * @record:	Structure, all zero afterwards
 */
void record_release(const struct record_layout *layout, void *record);

/* Called for each descriptor that is there; what it returns takes its place, a negative errno ends. */
typedef int (*record_fd_fn)(void *data, const struct record_field *field, int fd);

/**
 * record_each_fd() - walk over the descriptors of a structure
 * @layout:	What it is
 * @record:	Structure
 * @each:	Called for each
 * @data:	Passed to @each
 *
 * Return: 0, or what @each returned
 */
int record_each_fd(const struct record_layout *layout, void *record, record_fd_fn each, void *data);

#endif
