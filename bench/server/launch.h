/* SPDX-License-Identifier: BSD-2-Clause */
/* The command that starts a target, while it is put together. */
#ifndef BENCH_SERVER_LAUNCH_H
#define BENCH_SERVER_LAUNCH_H

#include "target.h"

#include <stddef.h>

#define LAUNCH_WORDS_MAX 32

/**
 * struct launch - what is going to be started
 * @options:	What was asked for
 * @folder:	Where its files are
 * @backlog:	Length of the accept queue
 * @body_size:	Bytes of body if the query does not say
 * @user:	Who PHP runs as, NULL = we
 * @group:	Their group, likewise
 * @program:	Path of the program, argv[0]
 * @listen:	Where it is going to answer, as for endpoint_parse()
 * @name:	For struct target
 * @note:	What is to be known about how its workers are made
 * @argv:	Words of the command, NULL at the end
 * @envp:	Its environment, likewise
 * @text:	Memory of the words
 * @used:	Bytes of @text
 * @error:	-E2BIG if something did not fit
 */
struct launch {
	const struct target_options *options;
	const char *folder;
	unsigned int backlog;
	size_t body_size;
	const char *user;
	char group[64];
	char program[512];
	char listen[192];
	char name[64];
	char note[64];
	char *argv[LAUNCH_WORDS_MAX];
	char *envp[LAUNCH_WORDS_MAX];
	char text[8192];
	size_t used;
	int error;
};

/**
 * launch_init() - an empty command with the environment that all targets have
 * @launch:	Set up
 * @options:	What was asked for
 * @folder:	Must stay where it is
 *
 * What PHP takes from its environment would make targets differ, as some of them hand it on and
 * others do not; so it is left out.
 */
void launch_init(struct launch *launch, const struct target_options *options, const char *folder);

/**
 * launch_word() - append a word to the command
 * @launch:	Launch
 * @format:	As printf()
 */
void launch_word(struct launch *launch, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * launch_variable() - append a variable to the environment
 * @launch:	Launch
 * @format:	"NAME=VALUE", as printf()
 */
void launch_variable(struct launch *launch, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * launch_listen() - choose where it answers
 * @launch:	Launch; @listen is set
 * @each:	An address for each worker, not one for all
 *
 * Return: 0 or negative errno
 */
int launch_listen(struct launch *launch, bool each);

#endif
