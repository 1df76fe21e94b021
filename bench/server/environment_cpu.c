/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine is: CPU, virtualisation, mitigations, memory. */

#include "environment_internal.h"

#include "environment.h"
#include "proc_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What stands behind the colon of a line of /proc/cpuinfo. */
static bool cpuinfo_value(const char *text, const char *name, char *buffer, size_t size)
{
	const char *line = strstr(text, name);

	if (!line)
		return false;
	line += strcspn(line, ":\n");
	line += strspn(line, ": ");
	(void)snprintf(buffer, size, "%.*s", (int)strcspn(line, "\n"), line);
	return buffer[0] != '\0';
}

static void add_cpus(struct environment *environment, const char *cpuinfo)
{
	cpu_set_t allowed;
	char model[128];

	if (!cpuinfo_value(cpuinfo, "model name", model, sizeof(model)) &&
	    !cpuinfo_value(cpuinfo, "CPU part", model, sizeof(model)))
		(void)snprintf(model, sizeof(model), "unknown");
	environment_add(environment, "cpu", "%s", model);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) == -1)
		environment_add(environment, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	else
		environment_add(environment, "cpus", "%ld online, %d allowed",
				sysconf(_SC_NPROCESSORS_ONLN), CPU_COUNT(&allowed));
}

static void add_virtualisation(struct environment *environment, const char *cpuinfo)
{
	bool container = access("/.dockerenv", F_OK) == 0 ||
			 access("/run/.containerenv", F_OK) == 0 ||
			 access("/run/systemd/container", F_OK) == 0;
	char flags[4096], product[64], hypervisor[64];
	bool guest = cpuinfo_value(cpuinfo, "flags\t", flags, sizeof(flags)) &&
		     strstr(flags, " hypervisor");

	(void)proc_file_line("/sys/class/dmi/id/product_name", product, sizeof(product));
	(void)proc_file_line("/sys/hypervisor/type", hypervisor, sizeof(hypervisor));
	if (strcmp(hypervisor, "unknown") != 0)
		guest = true;
	else
		hypervisor[0] = '\0';
	environment_add(environment, "virtualisation", "%s%s%s%s%s%s%s",
			guest ? "virtual machine" : "none seen", hypervisor[0] ? " (" : "",
			hypervisor, hypervisor[0] ? ")" : "",
			strcmp(product, "unknown") == 0 ? "" : ", ",
			strcmp(product, "unknown") == 0 ? "" : product,
			container ? ", in a container" : "");
}

/* Which of the known faults are worked around at some cost, and which are open. */
static void add_mitigations(struct environment *environment)
{
	static const char folder_path[] = "/sys/devices/system/cpu/vulnerabilities";
	unsigned int mitigated = 0, vulnerable = 0, other = 0;
	DIR *folder = opendir(folder_path);
	char text[256], branch[96];

	if (!folder) {
		environment_add(environment, "mitigations", "unknown");
		return;
	}
	for (const struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		(void)proc_file_read(dirfd(folder), entry->d_name, text, sizeof(text));
		mitigated += strncmp(text, "Mitigation", 10) == 0;
		vulnerable += strncmp(text, "Vulnerable", 10) == 0;
		other += strncmp(text, "Not affected", 12) == 0;
	}
	(void)closedir(folder);
	(void)snprintf(text, sizeof(text), "%s/spectre_v2", folder_path);
	(void)proc_file_line(text, branch, sizeof(branch));
	branch[strcspn(branch, ";,")] = '\0';
	environment_add(environment, "mitigations",
			"%u mitigated, %u vulnerable, %u not affected; spectre_v2: %s", mitigated,
			vulnerable, other, branch);
}

static void add_memory(struct environment *environment)
{
	char text[4096];

	if (proc_file_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) <= 0)
		environment_add(environment, "memory_mib", "unknown");
	else
		environment_add(environment, "memory_mib", "%llu",
				(unsigned long long)proc_file_number(text, "MemTotal:") / 1024);
}

void environment_add_cpu(struct environment *environment)
{
	/* The first CPU's lines are enough, and there may be hundreds. */
	char cpuinfo[8192];

	(void)proc_file_read(AT_FDCWD, "/proc/cpuinfo", cpuinfo, sizeof(cpuinfo));
	add_cpus(environment, cpuinfo);
	add_virtualisation(environment, cpuinfo);
	add_mitigations(environment);
	add_memory(environment);
}
