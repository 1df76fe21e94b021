/* SPDX-License-Identifier: BSD-2-Clause */
/* berth's command line. */
#ifndef FPM_COMMAND_H
#define FPM_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

struct conf_builder;

#define COMMAND_CONF_DEFAULT "/etc/berth/berth.conf"

/* Exit statuses, as s6 and its like have them. */
enum command_exit {
	COMMAND_EXIT_OK = 0,
	COMMAND_EXIT_USAGE = 100,  /* wrong usage or configuration: trying again won't help */
	COMMAND_EXIT_SYSTEM = 111, /* a system call failed, or a pool did not get ready */
};

enum command_verb {
	COMMAND_HELP = 0, /* help was asked for */
	COMMAND_VERSION,
	COMMAND_RUN,
	COMMAND_CHECK,
	COMMAND_PROVE,	  /* what a manager asks the program that is to go on in its place */
	COMMAND_UPSTREAM, /* print what a web server is to be told */
	/* these are requests to a running berth, see control_client.h */
	COMMAND_STATUS,
	COMMAND_RELOAD,
	COMMAND_SCALE,
	COMMAND_UPGRADE,
	COMMAND_STOP,
	COMMAND_IMPORT, /* no request, but it reads its words itself as well, see import.h */
};

/**
 * struct command - what the command line asks for
 * @verb:	What to do
 * @conf_path:	Configuration file, NULL if the pool is given by options
 * @server:	UPSTREAM: name of the web server
 * @pool:	UPSTREAM: name of the pool, NULL = the only one
 * @allow_root:	-R: workers may run as root
 */
struct command {
	enum command_verb verb;
	const char *conf_path;
	const char *server;
	const char *pool;
	bool allow_root;
};

/**
 * command_parse() - read the command line
 * @argc:	Of main()
 * @argv:	Of main()
 * @builder:	Given the settings that options stand for; the file is not read here
 * @ret_command: Set on success; points into @argv
 * @error:	On failure: what is wrong and what is accepted, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or -EINVAL
 */
int command_parse(int argc, char *argv[], struct conf_builder *builder, struct command *ret_command,
		  char *error, size_t size);

/**
 * command_help() - print the usage
 * @out:	Stream
 */
void command_help(FILE *out);

#endif
