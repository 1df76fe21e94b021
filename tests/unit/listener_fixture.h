/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of listening sockets share: a folder, short cuts, assertions. */
#ifndef TESTS_LISTENER_FIXTURE_H
#define TESTS_LISTENER_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "fpm/listener/listener.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Backlog 16, mode 0660, owner and group left alone, blocking. */
extern const struct listener_options fixture_defaults;

/* The test's own folder, whose name has a blank, and the text of the last error. */
extern char fixture_folder[64];
extern char fixture_error[512];

/* Make and remove the folder, with all that is in it. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* The path of a file in the folder; one at a time. */
const char *fixture_path_of(const char *name);
bool fixture_exists(const char *path);
int fixture_count_fds(void);

/* The socket address that a text means. */
struct address_socket fixture_resolve(const char *text);

/* listener_open() with the address as text; the second one fails the test if that fails. */
int fixture_open_at(const char *text, const struct listener_options *options,
		    struct listener *ret_listener);
struct listener fixture_must_open(const char *text, const struct listener_options *options);

/* Refused with this code and text, and the result left alone. */
void fixture_assert_refused(const char *text, const struct listener_options *options, int code,
			    const char *says);

/* The last error has this part. */
void fixture_assert_says(const char *part);

/* A connected socket, or -1. */
int fixture_connect_to(const struct address_socket *address);

/* A byte that a client sends arrives at the listener. */
void fixture_assert_serves(const struct listener *listener);

/* A unix socket of any type at a path, made without the module. */
int fixture_bind_raw(const char *path, int type, bool listening);

/* In a child a failed assertion can't be told to CMocka, so this one leaves by abort(). */
void fixture_require(bool ok);

#endif
