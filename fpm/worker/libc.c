/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's own versions of the intercepted calls. */

#include "libc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Until bind_all() has run, and for a name that is missing: the system call itself. */
static int direct_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return (int)syscall(SYS_accept, fd, addr, len);
}

static int direct_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return (int)syscall(SYS_accept4, fd, addr, len, flags);
}

static ssize_t direct_write(int fd, const void *data, size_t size)
{
	return syscall(SYS_write, fd, data, size);
}

static int direct_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static ssize_t direct_read(int fd, void *data, size_t size)
{
	return syscall(SYS_read, fd, data, size);
}

static ssize_t direct_recv(int fd, void *data, size_t size, int flags)
{
	return syscall(SYS_recvfrom, fd, data, size, flags, NULL, NULL);
}

static int direct_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return (int)syscall(SYS_poll, fds, count, timeout);
}

static int direct_shutdown(int fd, int how)
{
	return (int)syscall(SYS_shutdown, fd, how);
}

static struct libc_calls calls = {
	.accept = direct_accept,
	.accept4 = direct_accept4,
	.write = direct_write,
	.close = direct_close,
	.read = direct_read,
	.recv = direct_recv,
	.poll = direct_poll,
	.shutdown = direct_shutdown,
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* POSIX lets a data pointer of dlsym() be a function; ISO C knows no cast for that. */
static void bind_next(const char *name, void *pointer)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		memcpy(pointer, &found, sizeof(found));
}

static void bind_all(void)
{
	bind_next("accept", &calls.accept);
	bind_next("accept4", &calls.accept4);
	bind_next("write", &calls.write);
	bind_next("close", &calls.close);
	bind_next("read", &calls.read);
	bind_next("recv", &calls.recv);
	bind_next("poll", &calls.poll);
	bind_next("shutdown", &calls.shutdown);
}

void libc_bind(void)
{
	(void)pthread_once(&once, bind_all);
}

const struct libc_calls *libc_calls(void)
{
	return &calls;
}
