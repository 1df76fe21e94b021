/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians, their exact intervals, ratios that are paired by round, and what may be said of them. */

#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#define COVERAGE	0.95
#define BOOTSTRAP_DRAWS 10000

/* More rounds than any run has; what lies beyond is not looked at. */
#define VALUES_MAX 1024

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

static size_t sort_copy(double *sorted, const double *values, size_t count)
{
	if (count > VALUES_MAX)
		count = VALUES_MAX;
	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare_doubles);
	return count;
}

static double sorted_median(const double *sorted, size_t count)
{
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double statistics_median(const double *values, size_t count)
{
	double sorted[VALUES_MAX];

	count = sort_copy(sorted, values, count);
	return sorted_median(sorted, count);
}

/*
 * The median lies below the k-th smallest value exactly if less than k values lie below the median,
 * and each of them does so with probability 1/2: a binomial distribution, whatever theirs is.
 */
static double interval_coverage(size_t k, size_t count)
{
	return 1 - 2 * gsl_cdf_binomial_P((unsigned int)(k - 1), 0.5, (unsigned int)count);
}

struct statistics_interval statistics_median_interval(const double *values, size_t count)
{
	struct statistics_interval interval = {0};
	double sorted[VALUES_MAX];
	size_t k = 1;

	count = sort_copy(sorted, values, count);
	while (2 * (k + 1) <= count && interval_coverage(k + 1, count) >= COVERAGE)
		k++;
	interval.median = sorted_median(sorted, count);
	interval.low = sorted[k - 1];
	interval.high = sorted[count - k];
	interval.coverage = interval_coverage(k, count);
	if (interval.coverage < COVERAGE)
		interval.coverage = 0;
	return interval;
}

static size_t log_ratios(double *logs, const double *a, const double *b, size_t count)
{
	if (count > VALUES_MAX)
		count = VALUES_MAX;
	for (size_t i = 0; i < count; i++)
		logs[i] = log(a[i] / b[i]);
	return count;
}

static struct statistics_interval from_logs(struct statistics_interval interval)
{
	interval.median = exp(interval.median);
	interval.low = exp(interval.low);
	interval.high = exp(interval.high);
	return interval;
}

struct statistics_interval statistics_ratio(const double *a, const double *b, size_t count)
{
	double logs[VALUES_MAX];

	count = log_ratios(logs, a, b, count);
	return from_logs(statistics_median_interval(logs, count));
}

struct statistics_interval statistics_ratio_bootstrap(const double *a, const double *b,
						      size_t count, struct rng *rng)
{
	struct statistics_interval interval = {.coverage = COVERAGE};
	double medians[BOOTSTRAP_DRAWS];
	double logs[VALUES_MAX];
	double drawn[VALUES_MAX] = {0};

	count = log_ratios(logs, a, b, count);
	for (size_t draw = 0; draw < BOOTSTRAP_DRAWS; draw++) {
		for (size_t i = 0; i < count; i++)
			drawn[i] = logs[rng_below(rng, count)];
		qsort(drawn, count, sizeof(*drawn), compare_doubles);
		medians[draw] = sorted_median(drawn, count);
	}
	qsort(medians, BOOTSTRAP_DRAWS, sizeof(*medians), compare_doubles);
	interval.median = statistics_median(logs, count);
	interval.low = medians[(size_t)(BOOTSTRAP_DRAWS * (1 - COVERAGE) / 2)];
	interval.high = medians[(size_t)(BOOTSTRAP_DRAWS * (1 + COVERAGE) / 2) - 1];
	return from_logs(interval);
}

static double two_sided(double z)
{
	const double p = 2 * gsl_cdf_ugaussian_Q(fabs(z));

	return p > 1 ? 1 : p;
}

/* A step towards zero, as whole numbers are judged by a continuous distribution. */
static double toward_zero(double value, double step)
{
	if (fabs(value) <= step)
		return 0;
	return value > 0 ? value - step : value + step;
}

/* Sum over groups of equal values of weight(t), t being the size of a group. */
static double tie_sum(const double *values, size_t count, double (*weight)(double size))
{
	double sorted[VALUES_MAX];
	double sum = 0;
	size_t start = 0;

	count = sort_copy(sorted, values, count);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && sorted[i] == sorted[start])
			continue;
		sum += weight((double)(i - start));
		start = i;
	}
	return sum;
}

static double trend_tie(double t)
{
	return t * (t - 1) * (2 * t + 5);
}

static double rank_tie(double t)
{
	return t * t * t - t;
}

double statistics_trend(const double *values, size_t count)
{
	const double n = (double)count;
	double score = 0;
	double variance;

	if (count < 4 || count > VALUES_MAX)
		return 1;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count; j++)
			score += (values[j] > values[i]) - (values[j] < values[i]);
	}
	variance = (trend_tie(n) - tie_sum(values, count, trend_tie)) / 18;
	return variance > 0 ? two_sided(toward_zero(score, 1) / sqrt(variance)) : 1;
}

static double rank_sum_p(const double *a, size_t a_count, const double *b, size_t b_count)
{
	const double n = (double)(a_count + b_count);
	const double product = (double)a_count * (double)b_count;
	double all[VALUES_MAX];
	double above = 0;
	double variance;

	for (size_t i = 0; i < a_count; i++) {
		for (size_t j = 0; j < b_count; j++)
			above += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
	}
	memcpy(all, a, a_count * sizeof(*a));
	memcpy(all + a_count, b, b_count * sizeof(*b));
	variance = product / 12 *
		   (n + 1 - tie_sum(all, a_count + b_count, rank_tie) / (n * (n > 1 ? n - 1 : 1)));
	if (variance <= 0)
		return 1;
	return two_sided(toward_zero(above - product / 2, 0.5) / sqrt(variance));
}

double statistics_shift(const double *a, size_t a_count, const double *b, size_t b_count,
			double *ret_p)
{
	double *logs;
	double median;

	a_count = a_count > VALUES_MAX / 2 ? VALUES_MAX / 2 : a_count;
	b_count = b_count > VALUES_MAX / 2 ? VALUES_MAX / 2 : b_count;
	logs = malloc(a_count * b_count * sizeof(*logs));
	*ret_p = rank_sum_p(a, a_count, b, b_count);
	if (logs == NULL)
		return NAN;
	for (size_t i = 0; i < a_count; i++) {
		for (size_t j = 0; j < b_count; j++)
			logs[i * b_count + j] = log(a[i] / b[j]);
	}
	qsort(logs, a_count * b_count, sizeof(*logs), compare_doubles);
	median = exp(sorted_median(logs, a_count * b_count));
	free(logs);
	return median;
}

double statistics_noise(const struct statistics_interval *control)
{
	return fmax(control->high, 1 / control->low) - 1;
}

enum statistics_verdict statistics_judge(const struct statistics_interval *ratio,
					 const struct statistics_interval *control, double delta)
{
	double noise;

	if (ratio->coverage == 0 || control->coverage == 0)
		return VERDICT_UNKNOWN;
	noise = statistics_noise(control);
	if (noise <= delta && ratio->low >= 1 - delta && ratio->high <= 1 + delta)
		return VERDICT_SAME;
	if (ratio->low > 1 + noise)
		return VERDICT_FASTER;
	if (ratio->high < 1 / (1 + noise))
		return VERDICT_SLOWER;
	return VERDICT_UNKNOWN;
}
