/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of spawn-fcgi, and what berth adds to them. */
#include "fpm/spawn_fcgi/spawn_fcgi_internal.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG_DEFAULT 1024
#define MODE_MAX	07777

enum {
	OPTION_SUPERVISE = UCHAR_MAX + 1,
	OPTION_OWN_SOCKETS,
	OPTION_ERROR_LOG,
};

static const char letters[] = "c:d:f:g:?hna:p:b:u:vC:F:s:P:U:G:M:S";
static const struct option names[] = {
	{"supervise", no_argument, NULL, OPTION_SUPERVISE},
	{"own-sockets", no_argument, NULL, OPTION_OWN_SOCKETS},
	{"error-log", required_argument, NULL, OPTION_ERROR_LOG},
	{NULL, 0, NULL, 0},
};

static const char version[] = "spawn-fcgi v1.6.4 (ipv6) - as berth " BERTH_VERSION " has it\n";

static void print_help(void)
{
	(void)printf(
		"Usage: spawn-fcgi [options] [-- PROGRAM [ARG...]]\n"
		"\n"
		"%s"
		"\n"
		"Where:\n"
		"  -a ADDRESS     IPv4 or IPv6 address for -p (default: 0.0.0.0)\n"
		"  -p PORT        TCP port, 1 to 65535\n"
		"  -s PATH        unix socket\n"
		"  -M MODE        octal mode of the unix socket (default: 0660 less the umask)\n"
		"  -b BACKLOG     length of the queue of connections (default: 1024)\n"
		"What:\n"
		"  -- PROGRAM     program with its arguments\n"
		"  -f COMMAND     the same for a shell; PROGRAM is taken if both are given\n"
		"  -d FOLDER      working folder, changed to before the program starts\n"
		"How:\n"
		"  -C N           PHP_FCGI_CHILDREN in the program's environment\n"
		"  -F N           start the program N times (default: 1)\n"
		"  -P FILE        file for the pids, not with -n\n"
		"  -n             do not fork, become the program (for supervisors)\n"
		"  --supervise    stay, and start again what ends: berth run\n"
		"  --own-sockets  with --supervise: a socket for each of the N programs\n"
		"  --error-log FILE  with --supervise: the log (default: none; with -n: stderr)\n"
		"Of root only:\n"
		"  -c FOLDER      root folder\n"
		"  -S             make the socket before the root folder changes\n"
		"  -u USER        user of the program\n"
		"  -g GROUP       group of the program (default: the user's)\n"
		"  -U USER        owner of the unix socket (default: -u)\n"
		"  -G GROUP       group of the unix socket (default: that of -U, or of -u and -g)\n"
		"Else:\n"
		"  -v             version\n"
		"  -?, -h         this help\n",
		version);
}

/* Return: 0, or the exit status after a message; blanks and a sign are as strtol() has them */
static int read_number(int letter, const char *text, int base, long min, long max, long *ret_value)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, base);
	if (*text == '\0' || *end != '\0' || errno != 0 || value < min || value > max)
		return spawn_fcgi_error(base == 8 ? "-%c: invalid number: %s; accepted is %lo to "
						    "%lo, octal"
						  : "-%c: invalid number: %s; accepted is %ld to "
						    "%ld",
					letter, text, min, max);
	*ret_value = value;
	return 0;
}

/* Port 0 is as good as none, as it always was. */
static int read_port(const char *text, unsigned int *ret_port)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (*end != '\0' || errno != 0 || value < 0 || value > 65535)
		return spawn_fcgi_error("invalid port: %s; accepted is 1 to 65535", text);
	*ret_port = (unsigned int)value;
	return 0;
}

/* Return: 0, or the exit status after a message */
static int take_number(struct spawn_fcgi_options *options, int letter, const char *text)
{
	long value = 0;
	int status;

	switch (letter) {
	case 'p':
		return read_port(text, &options->port);
	case 'M':
		status = read_number(letter, text, 8, 0, MODE_MAX, &value);
		options->mode = (mode_t)value;
		return status;
	case 'C':
		status = read_number(letter, text, 10, INT_MIN, INT_MAX, &value);
		options->php_children = (int)value;
		return status;
	case 'F':
		status = read_number(letter, text, 10, INT_MIN, SPAWN_FCGI_FORKS_MAX, &value);
		options->forks = value > 0 ? (unsigned int)value : 0;
		return status;
	default:
		status = read_number(letter, text, 10, INT_MIN, INT_MAX, &value);
		options->backlog = (int)value;
		return status;
	}
}

static const char **find_text(struct spawn_fcgi_options *options, int id)
{
	switch (id) {
	case 'a':
		return &options->address;
	case 's':
		return &options->path;
	case 'P':
		return &options->pid_path;
	case 'd':
		return &options->chdir;
	case 'f':
		return &options->command;
	case 'c':
		return &options->chroot;
	case 'u':
		return &options->user;
	case 'g':
		return &options->group;
	case 'U':
		return &options->socket_user;
	case 'G':
		return &options->socket_group;
	case OPTION_ERROR_LOG:
		return &options->error_log;
	default:
		return NULL;
	}
}

static bool *find_flag(struct spawn_fcgi_options *options, int id)
{
	switch (id) {
	case 'n':
		return &options->no_fork;
	case 'S':
		return &options->before_chroot;
	case OPTION_SUPERVISE:
		return &options->supervise;
	case OPTION_OWN_SOCKETS:
		return &options->own_sockets;
	default:
		return NULL;
	}
}

/* Return: -1 if it is to be gone on, or the exit status */
static int take(struct spawn_fcgi_options *options, int id)
{
	const char **text = find_text(options, id);
	bool *flag = find_flag(options, id);
	int status;

	if (text) {
		*text = optarg;
		return -1;
	}
	if (flag) {
		*flag = true;
		return -1;
	}
	if (id == 'v') {
		(void)fputs(version, stdout);
		return 0;
	}
	if (id == 'h' || id == '?') {
		print_help();
		return 0;
	}
	status = take_number(options, id, optarg);
	return status == 0 ? -1 : status;
}

/* A question mark is an option, and what getopt_long() answers after it has complained. */
static bool is_refused(char *argv[], int id)
{
	const char *word = argv[optind - 1];

	return id == '?' && (optopt != 0 || strncmp(word, "--", 2) == 0);
}

/* Return: -1 if they fit together, or the exit status */
static int check(const struct spawn_fcgi_options *options)
{
	if (!options->argv && !options->command)
		return spawn_fcgi_error("no FastCGI application given: name one behind --");
	if (options->port == 0 && !options->path)
		return spawn_fcgi_error("no socket given: name one with -p or -s");
	if (options->port != 0 && options->path)
		return spawn_fcgi_error(
			"-p and -s exclude each other: a TCP port or a unix socket");
	if (options->own_sockets && !options->supervise)
		return spawn_fcgi_error("--own-sockets takes --supervise");
	if (options->error_log && !options->supervise)
		return spawn_fcgi_error("--error-log takes --supervise");
	return -1;
}

/* Root's options do nothing for others, but they shall know it. */
static void ignore_roots(struct spawn_fcgi_options *options)
{
	const char **const texts[] = {&options->chroot, &options->user, &options->group,
				      &options->socket_user, &options->socket_group};
	static const char text_letters[] = "cugUG";

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (*texts[i])
			(void)spawn_fcgi_error("warning: -%c is ignored, as it takes root",
					       text_letters[i]);
		*texts[i] = NULL;
	}
	if (options->before_chroot)
		(void)spawn_fcgi_error("warning: -S is ignored, as it takes root");
	options->before_chroot = false;
}

int spawn_fcgi_parse(int argc, char *argv[], struct spawn_fcgi_options *ret_options)
{
	struct spawn_fcgi_options options = {
		.mode = (mode_t)-1, .php_children = -1, .forks = 1, .backlog = BACKLOG_DEFAULT};
	int id, status = -1;

	if (argc < 2) {
		print_help();
		return SPAWN_FCGI_EXIT_ERROR;
	}
	optind = 0;
	while (status == -1 &&
	       (optopt = 0, id = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		if (is_refused(argv, id)) {
			print_help();
			return SPAWN_FCGI_EXIT_ERROR;
		}
		status = take(&options, id);
	}
	if (status != -1)
		return status;
	options.argv = optind < argc ? argv + optind : NULL;
	status = check(&options);
	if (status != -1)
		return status;
	if (geteuid() != 0)
		ignore_roots(&options);
	*ret_options = options;
	return -1;
}
