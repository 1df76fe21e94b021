/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP ports that nobody uses. */
#ifndef BENCH_SERVER_PORTS_H
#define BENCH_SERVER_PORTS_H

/**
 * ports_find() - neighbouring free ports of 127.0.0.1
 * @count:	How many
 * @ret_base:	Set on success: BASE + 1 to BASE + @count are free
 *
 * They are below those that the kernel gives to clients. Somebody may take one before it is used.
 *
 * Return: 0, or -EADDRINUSE if no such range was found
 */
int ports_find(unsigned int count, unsigned int *ret_base);

#endif
