/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures as people read them. */
#ifndef BENCH_COMPARE_UNITS_H
#define BENCH_COMPARE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Long enough for whatever these functions write. */
#define UNITS_TEXT_MAX 32

/**
 * units_time() - a time with three digits that count
 * @buffer:	Set to e.g. "43.9 us", "7.31 ms", "2.05 s"; "-" for NAN
 * @size:	Bytes of @buffer
 * @ns:		Nanoseconds
 *
 * Return: @buffer
 */
const char *units_time(char *buffer, size_t size, double ns);

/**
 * units_count() - a number with its thousands set apart
 * @buffer:	Set to e.g. "27,412"; "-" for NAN
 * @size:	Bytes of @buffer
 * @count:	Rounded to a whole number
 *
 * Return: @buffer
 */
const char *units_count(char *buffer, size_t size, double count);

/**
 * units_share() - a share in percent
 * @buffer:	Set to e.g. "12 %", "3.4 %", "0.07 %", "0 %"; "-" for NAN
 * @size:	Bytes of @buffer
 * @share:	0..1 and more
 *
 * Return: @buffer
 */
const char *units_share(char *buffer, size_t size, double share);

/**
 * units_factor() - a factor with three digits that count
 * @buffer:	Set to e.g. "0.53", "2.05", "17.3", "1,004"; "-" for NAN
 * @size:	Bytes of @buffer
 * @factor:	Factor
 *
 * Return: @buffer
 */
const char *units_factor(char *buffer, size_t size, double factor);

#endif
