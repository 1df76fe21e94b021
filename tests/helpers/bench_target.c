/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts a target of berth-bench, tells what it knows of it, and stops it at the end of its input:
 *
 *	bench-target KIND TRANSPORT WORKERS [BODY_SIZE [BACKLOG]]
 *	bench-target attach ADDRESS [WORKERS]
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/server/target.h"
#include "bench/server/usage.h"

static int parse_kind(const char *text)
{
	int kind = 0;

	while (kind < TARGET_KINDS && strcmp(target_kind_name((enum target_kind)kind), text) != 0)
		kind++;
	return kind;
}

static int parse_transport(const char *text)
{
	int transport = 0;

	while (transport < TRANSPORTS &&
	       strcmp(transport_name((enum transport)transport), text) != 0)
		transport++;
	return transport;
}

static unsigned int number(char *const argv[], int argc, int index, unsigned int otherwise)
{
	return index < argc ? (unsigned int)strtoul(argv[index], NULL, 10) : otherwise;
}

static int start(int argc, char *argv[], struct target *target, char *error, size_t size)
{
	const struct target_options options = {
		.kind = (enum target_kind)parse_kind(argv[1]),
		.transport = (enum transport)parse_transport(argv[2]),
		.workers = number(argv, argc, 3, 1),
		.body_size = number(argv, argc, 4, 0),
		.backlog = number(argv, argc, 5, 0),
		.berth = getenv("BERTH"),
		.php = getenv("PHP"),
		.fpm = getenv("FPM"),
	};

	if (strcmp(argv[1], "attach") == 0)
		return target_attach(argv[2], number(argv, argc, 3, 1), 0, target, error, size);
	return target_start(&options, target, error, size);
}

static void tell(const struct target *target)
{
	struct queue_depth depth = {0};
	struct usage usage;

	usage_read(target->pid, true, &usage);
	(void)queue_read(target->endpoints, target->endpoint_count, &depth);
	(void)printf("name %s\nversion %s\npid %ld\nscript %s\nfolder %s\nworkers %u\n"
		     "processes %llu\npss %llu\nbacklog %u\n",
		     target->name, target->version, (long)target->pid, target->script,
		     target->folder, target->workers, (unsigned long long)usage.processes,
		     (unsigned long long)usage.pss_kib, depth.limit);
	for (size_t i = 0; i < target->endpoint_count; i++)
		(void)printf("endpoint %s\n", target->endpoints[i].text);
	(void)printf("ready\n");
	(void)fflush(stdout);
}

int main(int argc, char *argv[])
{
	struct target target = {0};
	char error[1024] = "", byte;
	int ret;

	if (argc < 3) {
		(void)fprintf(stderr,
			      "usage: bench-target KIND TRANSPORT WORKERS [BODY [BACKLOG]]\n");
		return 100;
	}
	ret = start(argc, argv, &target, error, sizeof(error));
	if (ret < 0) {
		(void)printf("error %d %s\n", -ret, error);
		return 1;
	}
	tell(&target);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	(void)printf("alive %d\n", target_alive(&target));
	target_stop(&target);
	return 0;
}
