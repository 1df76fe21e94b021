/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's own versions of the intercepted calls. */

#include "libc.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

static struct libc_calls calls;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int missing_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	(void)fd, (void)addr, (void)len;
	errno = ENOSYS;
	return -1;
}

static int missing_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	(void)flags;
	return missing_accept(fd, addr, len);
}

/* POSIX lets a data pointer of dlsym() be a function; ISO C knows no cast for that. */
static void bind_next(const char *name, void *pointer)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		memcpy(pointer, &found, sizeof(found));
}

static void bind_all(void)
{
	calls = (struct libc_calls){.accept = missing_accept, .accept4 = missing_accept4};
	bind_next("accept", &calls.accept);
	bind_next("accept4", &calls.accept4);
}

const struct libc_calls *libc_calls(void)
{
	(void)pthread_once(&once, bind_all);
	return &calls;
}
