/* SPDX-License-Identifier: BSD-2-Clause */
/* The responders that are measured: started and stopped by us, or already there. */
#ifndef BENCH_SERVER_TARGET_H
#define BENCH_SERVER_TARGET_H

#include "bench/client/endpoint.h"
#include "guard.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum target_kind {
	TARGET_ADDRESS = 0, /* already there */
	TARGET_NULL,	    /* the null responder: answers at once, the client's ceiling */
	TARGET_BERTH,	    /* php-cgi through berth's template, a socket for each worker */
	TARGET_FPM,	    /* php-fpm, pm = static */
	TARGET_SPAWN_FCGI,  /* php-cgi with PHP_FCGI_CHILDREN, started by spawn-fcgi */
	TARGET_KINDS,
};

/**
 * struct target_options - what to start
 * @kind:	Kind
 * @transport:	Transport; only TARGET_NULL and TARGET_BERTH can do TRANSPORT_PIPE
 * @workers:	Processes that answer, 1 or more
 * @backlog:	Length of the accept queue, 0 = 511
 * @php:	php-cgi, NULL = from PATH
 * @fpm:	php-fpm, NULL = from PATH or /usr/sbin (Debian calls it php-fpm8.2)
 * @berth:	berth, NULL = beside us, then from PATH
 * @body_size:	Bytes of body that a good answer has; the script or responder is made for it; 0 = 100
 * @script_text: PHP script in place of the usual one, NULL = the usual one
 * @cpus:	Where it runs, NULL = anywhere
 */
struct target_options {
	enum target_kind kind;
	enum transport transport;
	unsigned int workers;
	unsigned int backlog;
	const char *php;
	const char *fpm;
	const char *berth;
	size_t body_size;
	const char *script_text;
	const cpu_set_t *cpus;
};

/**
 * struct target - a running responder
 * @name:	For reports: "php-cgi (berth)", "null responder"
 * @version:	What it says of itself, e.g. "PHP 8.2.36, cgi-fcgi, opcache on"; may be empty
 * @endpoints:	Where it answers (owned)
 * @endpoint_count: Entries: 1, or one for each worker
 * @workers:	Processes that answer, 0 = not known
 * @script:	SCRIPT_FILENAME of its script; all body sizes are served by "?size=N"
 * @pid:	Root of its process tree, 0 = not known
 */
struct target {
	char name[64];
	char version[192];
	struct endpoint *endpoints;
	size_t endpoint_count;
	unsigned int workers;
	char script[256];
	pid_t pid;
	/* private to target*.c */
	enum target_kind kind;
	char folder[128];
	struct guard guard;
};

/**
 * target_kind_name() - as the command line has it
 * @kind:	Kind
 *
 * Return: "address", "null", "berth", "php-fpm" or "spawn-fcgi"
 */
const char *target_kind_name(enum target_kind kind);

/**
 * target_start() - start a responder and wait until it answers
 * @options:	What
 * @ret_target:	Set on success, to be released by target_stop()
 * @error:	On failure: what is wrong (the last line of the program's own words included) and
 *		what would help, e.g. the package to install
 * @size:	Bytes of @error
 *
 * Everything that it needs (configuration, sockets, scripts) is in a new folder below $TMPDIR.
 * Its CPU affinity is set before it starts. It ends when we end, whatever ends us. The script of a
 * PHP target answers with the body size that the query "size=N" asks for.
 *
 * Return: 0, -ENOENT (a program is not installed), -EINVAL (that kind can't do that transport),
 * -ETIMEDOUT, or another negative errno
 */
int target_start(const struct target_options *options, struct target *ret_target, char *error,
		 size_t size);

/**
 * target_attach() - take a responder that is already there
 * @text:	As for endpoint_parse()
 * @workers:	Its workers, if the text has "%n"; else 1
 * @pid:	Root of its process tree, 0 = find it (SO_PEERCRED or the listener's owner)
 * @ret_target:	Set on success, to be released by target_stop()
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int target_attach(const char *text, unsigned int workers, pid_t pid, struct target *ret_target,
		  char *error, size_t size);

/**
 * target_alive() - is what target_start() started still there
 * @target:	Target
 *
 * Return: true for one that was attached, too
 */
bool target_alive(const struct target *target);

/**
 * target_stop() - end it, remove its folder, release
 * @target:	Target, may be all zero
 */
void target_stop(struct target *target);

#endif
