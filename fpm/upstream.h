/* SPDX-License-Identifier: BSD-2-Clause */
/* What a web server's configuration has to say to use a pool. */
#ifndef FPM_UPSTREAM_H
#define FPM_UPSTREAM_H

#include <stddef.h>
#include <stdio.h>

struct conf;

/* The servers that are known, for messages. */
#define UPSTREAM_SERVERS "nginx, haproxy, lighttpd, apache and caddy"

/**
 * upstream_write() - print a commented configuration
 * @conf:	berth's configuration
 * @server:	Name of the web server, one of UPSTREAM_SERVERS
 * @pool:	Name of the pool; NULL = the only one
 * @out:	Stream; nothing is written on failure
 * @error:	On failure: what is wrong and what is accepted, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0, -EINVAL, or what a host name's look-up failed with
 */
int upstream_write(const struct conf *conf, const char *server, const char *pool, FILE *out,
		   char *error, size_t size);

#endif
