/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures as people read them. */

#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits behind the point that make three in all; the borders are where rounding adds a digit. */
static int decimals(double value)
{
	value = fabs(value);
	if (value >= 99.95)
		return 0;
	return value >= 9.995 ? 1 : 2;
}

const char *units_time(char *buffer, size_t size, double ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;

	if (isnan(ns)) {
		(void)snprintf(buffer, size, "-");
		return buffer;
	}
	/* 999.6 us would be written as 1000 us. */
	while (i < 3 && fabs(ns) < units[i].ns * 0.9995)
		i++;
	ns /= units[i].ns;
	(void)snprintf(buffer, size, "%.*f %s", i == 3 ? 0 : decimals(ns), ns, units[i].name);
	return buffer;
}

const char *units_count(char *buffer, size_t size, double count)
{
	char digits[UNITS_TEXT_MAX];
	size_t length;
	size_t used = 0;

	if (isnan(count) || fabs(count) > 1e18) {
		(void)snprintf(buffer, size, "-");
		return buffer;
	}
	(void)snprintf(digits, sizeof(digits), "%.0f", count);
	length = strlen(digits);
	for (size_t i = 0; i < length && used + 2 < size; i++) {
		buffer[used++] = digits[i];
		if (digits[i] != '-' && i + 1 < length && (length - i - 1) % 3 == 0)
			buffer[used++] = ',';
	}
	buffer[used] = '\0';
	return buffer;
}

const char *units_share(char *buffer, size_t size, double share)
{
	const double percent = share * 100;

	if (isnan(share))
		(void)snprintf(buffer, size, "-");
	else if (percent == 0 || percent >= 9.95)
		(void)snprintf(buffer, size, "%.0f %%", percent);
	else
		(void)snprintf(buffer, size, "%.*f %%", percent >= 0.995 ? 1 : 2, percent);
	return buffer;
}

const char *units_factor(char *buffer, size_t size, double factor)
{
	if (isnan(factor) || factor >= 999.5)
		return units_count(buffer, size, factor);
	(void)snprintf(buffer, size, "%.*f", decimals(factor), factor);
	return buffer;
}
