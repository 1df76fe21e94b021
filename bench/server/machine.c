/* SPDX-License-Identifier: BSD-2-Clause */
/* What the whole machine used: CPU time, steal, pressure, refused connections. */

#include "machine.h"

#include "proc_file.h"
#include "usage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum cpu_field {
	CPU_USER = 0,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_IRQ,
	CPU_SOFTIRQ,
	CPU_STEAL,
	CPU_FIELDS,
};

static void read_cpu(struct usage *usage)
{
	uint64_t field[CPU_FIELDS] = {0}, tick_ns = 1000000000U / (uint64_t)sysconf(_SC_CLK_TCK);
	char text[256], *at = text + strlen("cpu");

	/* The first line is the sum of all CPUs. */
	if (proc_file_read(AT_FDCWD, "/proc/stat", text, sizeof(text)) < (int)strlen("cpu "))
		return;
	for (int i = 0; i < CPU_FIELDS; i++)
		field[i] = strtoull(at, &at, 10);
	usage->machine_ns = (field[CPU_USER] + field[CPU_NICE] + field[CPU_SYSTEM] +
			     field[CPU_IRQ] + field[CPU_SOFTIRQ]) *
			    tick_ns;
	usage->steal_ns = field[CPU_STEAL] * tick_ns;
}

/* The word at a position of a line, which ends where the line does. */
static const char *word_at(const char *line, unsigned int position)
{
	while (position-- > 0) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	return line;
}

/* Two lines belong together: "TcpExt: name name ...", then "TcpExt: number number ...". */
static uint64_t netstat_value(const char *text, const char *name)
{
	const char *names = strstr(text, "TcpExt:"), *values, *word;
	size_t length = strlen(name);

	values = names ? strstr(names + 1, "TcpExt:") : NULL;
	for (unsigned int i = 1; values; i++) {
		word = word_at(names, i);
		if (*word == '\n' || *word == '\0')
			break;
		if (strncmp(word, name, length) == 0 && strchr(" \n", word[length]))
			return strtoull(word_at(values, i), NULL, 10);
	}
	return 0;
}

static void read_network(struct usage *usage)
{
	char text[16384];

	if (proc_file_read(AT_FDCWD, "/proc/net/netstat", text, sizeof(text)) > 0)
		usage->overflows = netstat_value(text, "ListenOverflows");
}

static void read_pressure(struct usage *usage)
{
	const char *total;
	char text[512];

	if (proc_file_read(AT_FDCWD, "/proc/pressure/cpu", text, sizeof(text)) <= 0)
		return;
	total = strncmp(text, "some ", 5) == 0 ? strstr(text, "total=") : NULL;
	if (total)
		usage->pressure_us = strtoull(total + strlen("total="), NULL, 10);
}

void machine_read(struct usage *usage)
{
	usage->machine_ns = usage->steal_ns = usage->overflows = usage->pressure_us = 0;
	read_cpu(usage);
	read_network(usage);
	read_pressure(usage);
}
