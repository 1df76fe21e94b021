/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of times: fixed memory, known error, mergeable. */
#include "histogram.h"

#include <math.h>

/* Buckets of one width that each power of two is cut into. */
#define HALF (1U << (HISTOGRAM_SUB_BITS - 1))

/*
 * A value below 2 * HALF is its own bucket. Above, it is shifted down until it has SUB_BITS bits,
 * so that the top one is set: HALF..2*HALF-1, and each shift has HALF buckets of its own.
 */
static size_t bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < 2 * HALF)
		return (size_t)value;
	shift = 63U - (unsigned int)__builtin_clzll(value) - (HISTOGRAM_SUB_BITS - 1);
	return (size_t)shift * HALF + (size_t)(value >> shift);
}

static unsigned int shift_of(size_t bucket)
{
	return bucket < 2 * HALF ? 0 : (unsigned int)(bucket / HALF) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	if (value > HISTOGRAM_MAX)
		value = HISTOGRAM_MAX;
	if (histogram->count == 0 || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->count++;
	histogram->sum += value;
	histogram->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	if (from->count == 0)
		return;
	if (into->count == 0 || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum += from->sum;
	for (size_t i = bucket_of(from->min); i <= bucket_of(from->max); i++)
		into->buckets[i] += from->buckets[i];
}

/* How many values must not exceed the one that is looked for: at least one, at most all. */
static uint64_t rank_of(const struct histogram *histogram, double share)
{
	/* 0.07 * 100 is a little more than 7, which must not make it the eighth. */
	const double rank = ceil(share * (double)histogram->count * (1 - 1e-12));

	if (!(rank > 1))
		return 1;
	return rank < (double)histogram->count ? (uint64_t)rank : histogram->count;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t seen = 0;
	uint64_t middle;
	uint64_t rank;
	size_t i;

	if (histogram->count == 0)
		return 0;
	rank = rank_of(histogram, share);
	for (i = bucket_of(histogram->min); i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= rank)
			break;
	}
	middle = histogram_bucket_low(i) + (UINT64_C(1) << shift_of(i)) / 2;
	if (middle < histogram->min)
		return histogram->min;
	return middle < histogram->max ? middle : histogram->max;
}

double histogram_mean(const struct histogram *histogram)
{
	return histogram->count == 0 ? 0 : (double)histogram->sum / (double)histogram->count;
}

uint64_t histogram_bucket_low(size_t bucket)
{
	const unsigned int shift = shift_of(bucket);

	return (uint64_t)(bucket - (size_t)shift * HALF) << shift;
}
