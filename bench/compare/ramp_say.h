/* SPDX-License-Identifier: BSD-2-Clause */
/* What a ramp found out, in sentences. */
#ifndef BENCH_COMPARE_RAMP_SAY_H
#define BENCH_COMPARE_RAMP_SAY_H

#include "bench/compare/ramp.h"

#define RAMP_SENTENCE_MAX 480

/**
 * ramp_say() - one sentence after the other
 * @ramp:	Ramp
 * @number:	Which one, from 0
 * @buffer:	Set
 * @size:	Bytes of @buffer
 *
 * Return: false if there are no more
 */
bool ramp_say(const struct ramp *ramp, size_t number, char *buffer, size_t size);

/**
 * ramp_refused() - was no knee found at all
 * @ramp:	Ramp
 *
 * Return: true if so
 */
bool ramp_refused(const struct ramp *ramp);

#endif
