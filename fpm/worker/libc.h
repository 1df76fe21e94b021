/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's own versions of the intercepted calls. */
#ifndef FPM_WORKER_LIBC_H
#define FPM_WORKER_LIBC_H

#include <sys/socket.h>

struct libc_calls {
	int (*accept)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*accept4)(int fd, struct sockaddr *addr, socklen_t *len, int flags);
};

/**
 * libc_calls() - the originals, looked up once
 *
 * Return: table without NULL entries
 */
const struct libc_calls *libc_calls(void);

#endif
