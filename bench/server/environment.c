/* SPDX-License-Identifier: BSD-2-Clause */
/* What a figure depends on besides what is measured: kernel, limits, load. */

#include "environment.h"

#include "environment_internal.h"
#include "proc_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

void environment_add(struct environment *environment, const char *name, const char *format, ...)
{
	va_list args;

	if (environment->count == ENVIRONMENT_MAX)
		return;
	(void)snprintf(environment->fact[environment->count].name,
		       sizeof(environment->fact[0].name), "%s", name);
	va_start(args, format);
	(void)vsnprintf(environment->fact[environment->count].value,
			sizeof(environment->fact[0].value), format, args);
	va_end(args);
	environment->count++;
}

static void add_kernel(struct environment *environment)
{
	struct utsname kernel;

	if (uname(&kernel) == -1)
		environment_add(environment, "kernel", "unknown");
	else
		environment_add(environment, "kernel", "%s %s %s", kernel.sysname, kernel.release,
				kernel.machine);
}

/* Facts that are the first line of a file. */
static const struct {
	const char *name;
	const char *path;
} lines[] = {
	{"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	{"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
	{"idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"},
	{"idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor"},
	{"halt_poll_ns", "/sys/module/haltpoll/parameters/guest_halt_poll_ns"},
	{"somaxconn", "/proc/sys/net/core/somaxconn"},
	{"tcp_tw_reuse", "/proc/sys/net/ipv4/tcp_tw_reuse"},
	{"port_range", "/proc/sys/net/ipv4/ip_local_port_range"},
	{"loopback_mtu", "/sys/class/net/lo/mtu"},
};

static void add_lines(struct environment *environment)
{
	char line[128];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		(void)proc_file_line(lines[i].path, line, sizeof(line));
		for (char *tab = line; (tab = strchr(tab, '\t'));)
			*tab = '-';
		environment_add(environment, lines[i].name, "%s", line);
	}
}

static void add_load(struct environment *environment)
{
	char line[128], *end = line;

	(void)proc_file_line("/proc/loadavg", line, sizeof(line));
	/* Three averages; behind them stand counts that are nobody's concern. */
	for (int i = 0; i < 3 && end; i++)
		end = strchr(end + 1, ' ');
	if (end)
		*end = '\0';
	environment_add(environment, "load_average", "%s", line);
}

void environment_read(struct environment *ret_environment)
{
	ret_environment->count = 0;
	add_kernel(ret_environment);
	environment_add_cpu(ret_environment);
	add_lines(ret_environment);
	add_load(ret_environment);
}
