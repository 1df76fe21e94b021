/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of environment_read(). */
#ifndef BENCH_SERVER_ENVIRONMENT_INTERNAL_H
#define BENCH_SERVER_ENVIRONMENT_INTERNAL_H

struct environment;

/**
 * environment_add_cpu() - CPU model and count, affinity, virtualisation, mitigations, memory
 * @environment: Facts
 */
void environment_add_cpu(struct environment *environment);

#endif
