/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options: numbers, times, sizes, lists, and what to say of a wrong one. */
#ifndef BENCH_OPTIONS_VALUE_H
#define BENCH_OPTIONS_VALUE_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct value - the option that has the value
 * @option:	As messages name it, e.g. "--rate"
 * @error:	Where a message goes
 * @size:	Bytes of @error
 */
struct value {
	char option[40];
	char *error;
	size_t size;
};

/* "OPTION: 'TEXT' is not accepted; accepted is ACCEPTED"; returns -EINVAL. */
int value_refuse(const struct value *value, const char *text, const char *accepted);

/* "OPTION: TEXT"; returns -EINVAL. */
int value_fail(const struct value *value, const char *text);

/* A whole number from @min to @max. Return: 0 or -EINVAL */
int value_number(const struct value *value, const char *text, uint64_t min, uint64_t max,
		 uint64_t *ret_number);

/* A decimal number from @min to @max. Return: 0 or -EINVAL */
int value_real(const struct value *value, const char *text, double min, double max,
	       double *ret_number);

/* A time: a number with us, ms, s or m behind it, s if there is none; 1 us to 1 day, as ns. */
int value_time(const struct value *value, const char *text, uint64_t *ret_ns);

/* A number of bytes, with k or M behind it for 1024 and 1024 * 1024; at most 1 GiB. */
int value_size(const struct value *value, const char *text, uint64_t *ret_bytes);

/* Calls @each for every word between commas, until one is refused. Return: 0 or -EINVAL */
int value_list(const struct value *value, char *text,
	       int (*each)(const struct value *value, const char *word, void *data), void *data);

#endif
