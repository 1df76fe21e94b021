/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians, their exact intervals, ratios that are paired by round, and what may be said of them. */
#ifndef BENCH_COMPARE_STATISTICS_H
#define BENCH_COMPARE_STATISTICS_H

#include "bench/client/rng.h"

#include <stddef.h>

/**
 * struct statistics_interval - a median and where the true one is
 * @median:	Median of the values
 * @low:	Lower end of the interval
 * @high:	Upper end
 * @coverage:	Its exact coverage, at least 0.95; 0 if there are less than 6 values, and then
 *		@low and @high are the least and the greatest value
 */
struct statistics_interval {
	double median;
	double low;
	double high;
	double coverage;
};

/**
 * statistics_median() - median
 * @values:	Values, in any order, left alone
 * @count:	1 or more
 *
 * Return: median
 */
double statistics_median(const double *values, size_t count);

/**
 * statistics_median_interval() - the exact order-statistic interval of a median
 * @values:	Independent values, in any order, left alone
 * @count:	1 or more
 *
 * The narrowest pair of order statistics [k, n+1-k] that covers the median with 95 % or more: for
 * 6 values [1, 6], for 15 [4, 12], for 31 [10, 22]. No distribution is assumed.
 *
 * Return: interval
 */
struct statistics_interval statistics_median_interval(const double *values, size_t count);

/**
 * statistics_ratio() - the paired ratio a/b
 * @a:		A value for each round, more than 0
 * @b:		The other cell's, in the same order
 * @count:	Rounds
 *
 * Return: exp() of the median of log(a/b) and of its interval
 */
struct statistics_interval statistics_ratio(const double *a, const double *b, size_t count);

/**
 * statistics_ratio_bootstrap() - a second opinion on the same
 * @a:		As above
 * @b:		As above
 * @count:	Rounds
 * @rng:	Generator
 *
 * 10,000 times rounds are drawn with replacement; the percentile interval of the median.
 *
 * Return: interval
 */
struct statistics_interval statistics_ratio_bootstrap(const double *a, const double *b,
						      size_t count, struct rng *rng);

/**
 * statistics_trend() - do the values drift from round to round (Mann-Kendall)
 * @values:	In the order of rounds
 * @count:	Rounds
 *
 * Return: two-sided p-value, 1 if there are less than 4 values
 */
double statistics_trend(const double *values, size_t count);

/**
 * statistics_shift() - Mann-Whitney and Hodges-Lehmann: two runs that are not paired
 * @a:		Values of one
 * @a_count:	1 or more
 * @b:		Values of the other
 * @b_count:	1 or more
 * @ret_p:	Two-sided p-value
 *
 * Return: median of all pairwise ratios a/b, NAN without memory
 */
double statistics_shift(const double *a, size_t a_count, const double *b, size_t b_count,
			double *ret_p);

/**
 * statistics_shift_interval() - the same with the exact interval that belongs to it
 * @a:		Values of one
 * @a_count:	1 or more
 * @b:		Values of the other
 * @b_count:	1 or more
 *
 * The ends are those pairwise ratios at which the Mann-Whitney test would just not see a difference:
 * no distribution is assumed. Its coverage is 0, and its ends are the least and the greatest ratio,
 * if there are too few values for 95 %.
 *
 * Return: interval; all of it is NAN without memory
 */
struct statistics_interval statistics_shift_interval(const double *a, size_t a_count,
						     const double *b, size_t b_count);

enum statistics_verdict {
	VERDICT_FASTER = 0, /* the interval is above 1, and above the noise */
	VERDICT_SLOWER,	    /* below */
	VERDICT_SAME,	    /* within 1 +/- the asked difference */
	VERDICT_UNKNOWN,    /* the measurement does not tell */
};

/**
 * statistics_noise() - how far a control got from 1
 * @control:	Interval of a ratio of a cell with itself
 *
 * Return: distance of the farther end, the same upwards and downwards: 0.02 for [0.99, 1.02]
 */
double statistics_noise(const struct statistics_interval *control);

/**
 * statistics_judge() - what may be said of a ratio of speeds
 * @ratio:	Interval of it
 * @control:	Interval of the A/A control: a cell against itself
 * @delta:	Difference that does not matter, e.g. 0.03
 *
 * Without an interval of either there is no verdict. No verdict is finer than the control: a
 * difference counts only if the whole interval is farther from 1 than the control's farther end.
 *
 * Return: verdict
 */
enum statistics_verdict statistics_judge(const struct statistics_interval *ratio,
					 const struct statistics_interval *control, double delta);

#endif
