/* SPDX-License-Identifier: BSD-2-Clause */
/* What the whole machine used: CPU time, steal, pressure, refused connections. */
#ifndef BENCH_SERVER_MACHINE_H
#define BENCH_SERVER_MACHINE_H

struct usage;

/**
 * machine_read() - read it
 * @usage:	Its members about the machine are set, to 0 if unknown; others are left alone
 */
void machine_read(struct usage *usage);

#endif
