/* SPDX-License-Identifier: BSD-2-Clause */
/* What only all options together can tell: what is missing, and what has no effect. */
#ifndef BENCH_OPTIONS_CHECK_H
#define BENCH_OPTIONS_CHECK_H

#include "options.h"

#include <stddef.h>
#include <stdint.h>

/**
 * options_check() - check options against each other, and fill in what follows from others
 * @o:		Options as they were given
 * @given:	A bit for every entry of options_table that was on the command line
 * @error:	On failure: the option, what is wrong, what is accepted; without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or -EINVAL
 */
int options_check(struct options *o, uint64_t given, char *error, size_t size);

#endif
