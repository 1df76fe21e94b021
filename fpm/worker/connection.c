/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection that the program serves now: what it has answered. */

#include "connection.h"

#include "fcgi/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * A request is over for its client when END_REQUEST has arrived, and nothing but the program's
 * own writes tells when that is: a kept connection is not closed, and a program that leaves at
 * its request limit never comes back to accept().
 */
static struct {
	int fd;
	struct wire_parser written;
} present = {.fd = -1};

void connection_begin(int fd)
{
	present.fd = fd;
	wire_parser_init(&present.written);
}

bool connection_is(int fd)
{
	return fd >= 0 && fd == present.fd;
}

void connection_closed(void)
{
	present.fd = -1;
}

void connection_abandon(void)
{
	int saved_errno = errno;
	int null;

	if (present.fd == -1)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null == -1 || dup3(null, present.fd, O_CLOEXEC) == -1)
		(void)close(present.fd);
	if (null != -1)
		(void)close(null);
	present.fd = -1;
	errno = saved_errno;
}

unsigned int connection_wrote(const void *data, size_t size)
{
	const unsigned char *at = data;
	unsigned int ends = 0;

	for (;;) {
		struct wire_event event;
		size_t used;
		enum wire_status status =
			wire_parser_next(&present.written, at, size, &used, &event);

		at += used;
		size -= used;
		if (status != WIRE_OK)
			/* WIRE_MORE; or not FastCGI, which is the program's affair, not ours. */
			return ends;
		if (event.type == WIRE_EVENT_END && present.written.header.type == FCGI_END_REQUEST)
			ends++;
	}
}
