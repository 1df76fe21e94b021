/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of times: fixed memory, known error, mergeable. */
#ifndef BENCH_CLIENT_HISTOGRAM_H
#define BENCH_CLIENT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Values below 2^HISTOGRAM_SUB_BITS have a bucket each; above, each power of two is cut into
 * 2^(HISTOGRAM_SUB_BITS - 1) buckets of one width. A bucket stands for its middle, so a value is
 * off by less than 0.1 %. Longer times than HISTOGRAM_MAX are counted as that.
 */
#define HISTOGRAM_SUB_BITS 10
#define HISTOGRAM_MAX	   ((UINT64_C(1) << 42) - 1) /* 73 minutes in nanoseconds */
#define HISTOGRAM_BUCKETS  ((42 - HISTOGRAM_SUB_BITS + 2) << (HISTOGRAM_SUB_BITS - 1))

/**
 * struct histogram - all zero is an empty one
 * @count:	Values recorded
 * @min:	Least of them, exact; only valid if @count is not 0
 * @max:	Greatest of them, exact
 * @sum:	Sum of all
 * @buckets:	How many fell into each
 */
struct histogram {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	uint64_t sum;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

/**
 * histogram_add() - record a value; no allocation
 * @histogram:	Histogram
 * @value:	Value, e.g. nanoseconds
 */
void histogram_add(struct histogram *histogram, uint64_t value);

/**
 * histogram_merge() - add what another one recorded
 * @into:	Changed
 * @from:	Left alone
 */
void histogram_merge(struct histogram *into, const struct histogram *from);

/**
 * histogram_quantile() - the value that a share of all values does not exceed
 * @histogram:	Histogram
 * @share:	0..1: 0.5 is the median, 0.99 is p99
 *
 * Return: middle of the bucket that holds it, within min and max; 0 if nothing was recorded
 */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/**
 * histogram_mean() - average
 * @histogram:	Histogram
 *
 * Return: mean, 0 if nothing was recorded
 */
double histogram_mean(const struct histogram *histogram);

/**
 * histogram_bucket_low() - the least value of a bucket
 * @bucket:	0..HISTOGRAM_BUCKETS-1
 *
 * Return: value
 */
uint64_t histogram_bucket_low(size_t bucket);

#endif
