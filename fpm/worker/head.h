/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the scoreboard shows out of a request's head. */
#ifndef FPM_WORKER_HEAD_H
#define FPM_WORKER_HEAD_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct head_text - a place for one parameter's value
 * @name:	Name of the parameter
 * @text:	Where its value goes, cut to fit, with a NUL
 * @size:	Bytes of @text
 */
struct head_text {
	const char *name;
	char *text;
	size_t size;
};

/**
 * head_read() - copy some parameters
 * @data:	A head: records from BEGIN_REQUEST on, maybe more behind it
 * @size:	Bytes of @data
 * @texts:	What to look for; each @text is set, to "" if there is no such parameter
 * @count:	Entries of @texts
 *
 * A pair that is cut by a record's end is passed over: it is read from one record at a time.
 */
void head_read(const uint8_t *data, size_t size, const struct head_text texts[], size_t count);

#endif
