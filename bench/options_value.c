/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options: numbers, times, sizes, lists, and what to say of a wrong one. */

#include "options_value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int value_refuse(const struct value *value, const char *text, const char *accepted)
{
	(void)snprintf(value->error, value->size, "%s: '%.64s' is not accepted; accepted is %s",
		       value->option, text, accepted);
	return -EINVAL;
}

int value_fail(const struct value *value, const char *text)
{
	(void)snprintf(value->error, value->size, "%s: %s", value->option, text);
	return -EINVAL;
}

int value_number(const struct value *value, const char *text, uint64_t min, uint64_t max,
		 uint64_t *ret_number)
{
	char accepted[80];
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && number >= min &&
	    number <= max) {
		*ret_number = number;
		return 0;
	}
	(void)snprintf(accepted, sizeof(accepted), "a number from %" PRIu64 " to %" PRIu64, min,
		       max);
	return value_refuse(value, text, accepted);
}

int value_real(const struct value *value, const char *text, double min, double max,
	       double *ret_number)
{
	char accepted[80];
	char *end;
	double number = strtod(text, &end);

	if ((isdigit((unsigned char)text[0]) || text[0] == '.') && *end == '\0' &&
	    isfinite(number) && number >= min && number <= max) {
		*ret_number = number;
		return 0;
	}
	(void)snprintf(accepted, sizeof(accepted), "a number from %g to %g", min, max);
	return value_refuse(value, text, accepted);
}

/* A number and a unit of a list; returns the product, negative if it is none. */
static double with_unit(const char *text, const char *const names[], const double factors[],
			size_t count)
{
	char *end;
	double number = strtod(text, &end);

	/* strtod() knows more than people mean: 0x10, 1e3, infinity. */
	if (!isdigit((unsigned char)text[0]) || !isfinite(number) ||
	    (size_t)(end - text) != strspn(text, "0123456789."))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (strcmp(end, names[i]) == 0)
			return number * factors[i];
	return -1;
}

int value_time(const struct value *value, const char *text, uint64_t *ret_ns)
{
	static const char *const names[] = {"", "us", "ms", "s", "m"};
	static const double factors[] = {1e9, 1e3, 1e6, 1e9, 60e9};
	double ns = with_unit(text, names, factors, 5);

	if (ns < 1e3 || ns > 86400e9)
		return value_refuse(value, text,
				    "a time from 1us to 1440m, such as 500ms, 10s or 2m");
	*ret_ns = (uint64_t)ns;
	return 0;
}

int value_size(const struct value *value, const char *text, uint64_t *ret_bytes)
{
	static const char *const names[] = {"", "k", "M"};
	static const double factors[] = {1, 1024, 1048576};
	double bytes = with_unit(text, names, factors, 3);

	if (bytes < 0 || bytes > 1073741824. || bytes != floor(bytes))
		return value_refuse(value, text, "a size from 0 to 1024M, such as 9000, 64k or 1M");
	*ret_bytes = (uint64_t)bytes;
	return 0;
}

int value_list(const struct value *value, char *text,
	       int (*each)(const struct value *value, const char *word, void *data), void *data)
{
	int rc = 0;

	while (rc == 0 && text) {
		char *word = strsep(&text, ",");

		rc = each(value, word, data);
	}
	return rc;
}
