/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which process holds a listening socket, for messages. */
#ifndef FPM_HOLDER_H
#define FPM_HOLDER_H

#include "fpm/listener/address.h"

#include <stddef.h>

/**
 * holder_describe() - who listens on an address
 * @address:	Address that is in use
 * @buffer:	Set to e.g. "php-cgi8.2 (pid 4711)", "3 processes, the first is nginx (pid 12)",
 *		or "a process of uid 33" where /proc doesn't show more
 * @size:	Bytes of @buffer
 *
 * Reads /proc/net/{unix,tcp,tcp6} and /proc/PID/fd. Never fails: says "another process" if
 * nothing was found.
 *
 * Return: @buffer
 */
const char *holder_describe(const struct address_socket *address, char *buffer, size_t size);

#endif
