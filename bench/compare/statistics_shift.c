/* SPDX-License-Identifier: BSD-2-Clause */
/* The exact interval of a shift between two samples that are not paired. */

#include "statistics.h"

#include <math.h>
#include <stdlib.h>

#define TAIL 0.025

/* More rounds than a run has. */
#define VALUES_MAX 512

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

static size_t at_most(size_t value, size_t most)
{
	return value < most ? value : most;
}

/*
 * In how many orders of @m and @n values the Mann-Whitney statistic is 0, 1, 2 ...: the coefficients
 * of the Gaussian binomial, a product of (1 - q^(n+i)) / (1 - q^i). Those of low degree, which are
 * all that is needed, depend on none of higher degree, so the large ones can't spoil them.
 */
static void count_orders(size_t m, size_t n, double *orders, size_t size)
{
	for (size_t u = 0; u < size; u++)
		orders[u] = u == 0;
	for (size_t i = 1; i <= m; i++) {
		for (size_t u = size; u-- > n + i;)
			orders[u] -= orders[u - n - i];
		for (size_t u = i; u < size; u++)
			orders[u] += orders[u - i];
	}
}

/* ln of the number of all orders. */
static double log_orders(size_t m, size_t n)
{
	return lgamma((double)(m + n) + 1) - lgamma((double)m + 1) - lgamma((double)n + 1);
}

/*
 * How many of the sorted differences lie outside at each end, as many as leave 95 % inside; and what
 * is inside exactly.
 */
static size_t count_outside(size_t m, size_t n, double *orders, double *ret_coverage)
{
	const size_t size = m * n / 2 + 1;
	const double all = log_orders(m, n);
	double tail = 0;
	size_t outside = 0;

	count_orders(m, n, orders, size);
	*ret_coverage = 0;
	while (outside < size) {
		const double more = tail + exp(log(orders[outside]) - all);

		if (!(more <= TAIL))
			break;
		tail = more;
		outside++;
		*ret_coverage = 1 - 2 * tail;
	}
	return outside;
}

static struct statistics_interval cut(double *logs, double *orders, size_t m, size_t n)
{
	struct statistics_interval interval;
	const size_t count = m * n;
	size_t outside = count_outside(m, n, orders, &interval.coverage);

	qsort(logs, count, sizeof(*logs), compare_doubles);
	/* The last one outside is the end itself: with none outside these are the extremes. */
	if (outside > 0)
		outside--;
	interval.median = exp((logs[(count - 1) / 2] + logs[count / 2]) / 2);
	interval.low = exp(logs[outside]);
	interval.high = exp(logs[count - 1 - outside]);
	return interval;
}

struct statistics_interval statistics_shift_interval(const double *a, size_t a_count,
						     const double *b, size_t b_count)
{
	struct statistics_interval interval = {NAN, NAN, NAN, 0};
	const size_t m = at_most(a_count, VALUES_MAX);
	const size_t n = at_most(b_count, VALUES_MAX);
	double *logs = malloc(m * n * sizeof(*logs));
	double *orders = malloc((m * n / 2 + 1) * sizeof(*orders));

	if (logs != NULL && orders != NULL) {
		for (size_t i = 0; i < m; i++) {
			for (size_t j = 0; j < n; j++)
				logs[i * n + j] = log(a[i] / b[j]);
		}
		interval = cut(logs, orders, m, n);
	}
	free(orders);
	free(logs);
	return interval;
}
