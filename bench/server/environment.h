/* SPDX-License-Identifier: BSD-2-Clause */
/* What a figure depends on besides what is measured: kernel, CPU, virtualisation, limits. */
#ifndef BENCH_SERVER_ENVIRONMENT_H
#define BENCH_SERVER_ENVIRONMENT_H

#include <stddef.h>

#define ENVIRONMENT_MAX 40

/**
 * struct environment - facts in a fixed order
 * @fact.name:	Lower-case words with '_', a key of the JSON report: "kernel", "cpu", "cpus",
 *		"virtualisation", "mitigations", "clocksource", "governor", "idle_driver",
 *		"somaxconn", "tcp_tw_reuse", "loopback_mtu", "load_average", ...
 * @fact.value:	Text; "unknown" if it can't be read
 */
struct environment {
	size_t count;
	struct {
		char name[32];
		char value[160];
	} fact[ENVIRONMENT_MAX];
};

/**
 * environment_read() - read all
 * @ret_environment: Set
 */
void environment_read(struct environment *ret_environment);

/**
 * environment_add() - add a fact, e.g. of the target
 * @environment: Facts
 * @name:	Name
 * @format:	As printf()
 */
void environment_add(struct environment *environment, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
