/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of a php-fpm pool as addresses of berth's workers, one each. */
#include "fpm/import/import_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define PORT_MAX	65535U
#define UNIX_PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)
#define NUMBER_BYTES	5 /* the longest number of a worker */
#define PREFIX_DEFAULT	"/usr"
#define PREFIX_VARIABLE "$prefix"

char *import_absolute(const struct import_section *section, const char *value)
{
	const struct import_entry *entry = import_find(section, "prefix", NULL);
	const char *prefix = entry && *entry->value == '/' ? entry->value : PREFIX_DEFAULT;
	char *path = NULL;

	if (strncmp(value, PREFIX_VARIABLE, strlen(PREFIX_VARIABLE)) == 0)
		value += strlen(PREFIX_VARIABLE);
	else if (*value == '/')
		return strdup(value);
	while (*value == '/')
		value++;
	if (asprintf(&path, "%s/%s", prefix, value) == -1)
		return NULL;
	return path;
}

static unsigned int count_children(const struct import_section *section)
{
	const struct import_entry *entry = import_find(section, "pm.max_children", NULL);
	const unsigned long count = entry ? strtoul(entry->value, NULL, 10) : 1;

	return count >= 1 && count <= CONF_CHILDREN_MAX ? (unsigned int)count : 1;
}

static bool is_taken(const struct import_ports *ports, unsigned int first, unsigned int last)
{
	for (size_t i = 0; i < ports->count; i++) {
		if (first <= ports->ranges[i].last && last >= ports->ranges[i].first)
			return true;
	}
	return false;
}

/*
 * The first port at or above @wanted + 1 from which @count are free, or else below.
 *
 * Return: the port in front of them, 0 if there are none
 */
static unsigned int find_base(struct import_ports *ports, unsigned int wanted, unsigned int count)
{
	unsigned int base;

	for (base = wanted; base + count <= PORT_MAX; base++) {
		if (!is_taken(ports, base + 1, base + count))
			goto found;
	}
	for (base = wanted < PORT_MAX - count ? wanted : PORT_MAX - count; base > 0; base--) {
		if (!is_taken(ports, base + 1, base + count))
			goto found;
	}
	return 0;
found:
	if (ports->count < IMPORT_POOLS_MAX) {
		ports->ranges[ports->count].first = base + 1;
		ports->ranges[ports->count].last = base + count;
		ports->count++;
	}
	return base;
}

static void write_inet(const struct import_section *section, const char *value, size_t host_length,
		       unsigned int port, struct import_ports *ports, FILE *out)
{
	const unsigned int count = count_children(section);
	const unsigned int base = find_base(ports, port, count);
	const bool all = host_length == 0 || (host_length == 1 && *value == '*');

	if (base == 0) {
		(void)fprintf(out,
			      "; There are not as many free ports as workers: all share one.\n"
			      "listen = %s\n",
			      value);
		return;
	}
	(void)fprintf(out,
		      "; php-fpm has one port, %u. Each worker has a port of its own here: %u to "
		      "%u.\n",
		      port, base + 1, base + count);
	if (base != port)
		(void)fprintf(out, "; They do not follow %u, as other pools have ports there.\n",
			      port);
	if (all)
		(void)fprintf(out,
			      "; For IPv6, too, add: listen = [::]:%u+%%n\n"
			      "listen = 0.0.0.0:%u+%%n\n",
			      base, base);
	else
		(void)fprintf(out, "listen = %.*s:%u+%%n\n", (int)host_length, value, base);
}

static void write_unix(const struct import_section *section, const char *value, FILE *out)
{
	static const char suffix[] = ".sock";
	char *path = import_absolute(section, value);
	char *own = NULL;
	size_t stem;

	if (!path)
		return;
	stem = strlen(path);
	if (stem > strlen(suffix) && strcmp(path + stem - strlen(suffix), suffix) == 0)
		stem -= strlen(suffix);
	/* $pool may still grow to the name of the pool. */
	if (strchr(path, '%') ||
	    strlen(path) + strlen(section->name) + NUMBER_BYTES + 1 >= UNIX_PATH_BYTES)
		(void)fputs("; All workers share one socket: the path is too long, or has a '%', "
			    "for one each.\n",
			    out);
	else if (asprintf(&own, "%.*s-%%n%s", (int)stem, path, path + stem) == -1)
		own = NULL;
	else
		(void)fprintf(out,
			      "; php-fpm has one socket, %s. Each worker has one of its own here,\n"
			      "; and \"berth upstream\" prints what the web server needs.\n",
			      path);
	(void)fputs("listen = ", out);
	import_write_value(own ? own : path, out);
	(void)fputc('\n', out);
	free(own);
	free(path);
}

void import_listen(const struct import_section *section, const struct import_entry *entry,
		   struct import_ports *ports, FILE *out)
{
	const char *value = entry->value;
	const char *colon = strrchr(value, ':');
	const char *digits = colon ? colon + 1 : value;
	const size_t host_length = colon ? (size_t)(colon - value) : 0;
	unsigned long port;

	if (!isdigit((unsigned char)*digits) || digits[strspn(digits, "0123456789")] != '\0' ||
	    memchr(value, '/', host_length)) {
		write_unix(section, value, out);
		return;
	}
	port = strtoul(digits, NULL, 10);
	if (port < 1 || port > PORT_MAX)
		(void)fprintf(out, "listen = %s\n", value);
	else
		write_inet(section, value, host_length, (unsigned int)port, ports, out);
}
