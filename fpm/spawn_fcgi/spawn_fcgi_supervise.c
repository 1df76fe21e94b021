/* SPDX-License-Identifier: BSD-2-Clause */
/* --supervise: spawn-fcgi's options as those of `berth run`. */
#include "fpm/spawn_fcgi/spawn_fcgi_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX   40
#define BACKLOG_MAX 65535
#define PROGRAM	    "php-cgi"

/**
 * struct words - a command line in the making
 * @word:	Its words, each allocated
 * @count:	How many
 * @failed:	Memory was short
 */
struct words {
	char *word[WORDS_MAX];
	size_t count;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (words->count == WORDS_MAX || vasprintf(&text, format, args) == -1)
		words->failed = true;
	else
		words->word[words->count++] = text;
	va_end(args);
}

static void words_done(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->word[i]);
}

/* php-cgi can be forked from a template, as "php-cgi8.2" or in whatever folder. */
static bool is_php(const struct spawn_fcgi_options *options)
{
	const char *slash = options->argv ? strrchr(options->argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : options->argv ? options->argv[0] : "";

	return strncmp(name, PROGRAM, strlen(PROGRAM)) == 0;
}

/* /run/php.sock becomes /run/php-%n.sock, for sockets of their own. */
static void add_path(struct words *words, const struct spawn_fcgi_options *options)
{
	const char *root = options->chroot && !options->before_chroot ? options->chroot : "";
	const char *path = options->path;
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(path, '.');
	char folder[PATH_MAX] = "";
	size_t head = strlen(path);

	if (dot && dot > (slash ? slash + 1 : path))
		head = (size_t)(dot - path);
	if (*path != '/' && *root == '\0' && !getcwd(folder, sizeof(folder))) {
		words->failed = true;
		return;
	}
	add(words, "%s%s%s%.*s%s%s", root, folder, *path == '/' ? "" : "/", (int)head, path,
	    options->own_sockets && !strstr(path, "%n") ? "-%n" : "", path + head);
}

/* The first of several ports is the one that was given; slots are counted from 1. */
static void add_port(struct words *words, const struct spawn_fcgi_options *options)
{
	const char *address = options->address ? options->address : "0.0.0.0";
	const bool v6 = strchr(address, ':') != NULL;

	if (options->own_sockets)
		add(words, "%s%s%s:%u+%%n", v6 ? "[" : "", address, v6 ? "]" : "",
		    options->port - 1);
	else
		add(words, "%s%s%s:%u", v6 ? "[" : "", address, v6 ? "]" : "", options->port);
}

/* Who the workers are: numbers would lose the supplementary groups, so names stay names. */
static void add_identity(struct words *words, const struct spawn_fcgi_options *options,
			 const struct spawn_fcgi_ids *ids)
{
	if (options->user) {
		add(words, "--user");
		add(words, "%s", options->user);
	} else if (geteuid() == 0) {
		add(words, "-R");
	}
	if (options->group) {
		add(words, "--group");
		add(words, "%s", options->group);
	}
	if (options->path && ids->socket_uid != (uid_t)-1)
		add(words, "-olisten.owner=%lu", (unsigned long)ids->socket_uid);
	if (options->path && ids->socket_gid != (gid_t)-1)
		add(words, "-olisten.group=%lu", (unsigned long)ids->socket_gid);
}

/* A family of N workers in each of F programs is F times N workers here. */
static unsigned int count_workers(const struct spawn_fcgi_options *options)
{
	unsigned int family = is_php(options) && options->php_children > 1
				      ? (unsigned int)options->php_children
				      : 1;

	return family <= SPAWN_FCGI_FORKS_MAX / options->forks ? family * options->forks : 0;
}

static void add_pool(struct words *words, const struct spawn_fcgi_options *options)
{
	int backlog = options->backlog;

	if (backlog < 1 || backlog > BACKLOG_MAX)
		backlog = backlog == 0 ? 1 : BACKLOG_MAX;
	add(words, "--listen");
	if (options->path)
		add_path(words, options);
	else
		add_port(words, options);
	add(words, "--children");
	add(words, "%u", count_workers(options));
	add(words, "--spawn");
	add(words, "%s", is_php(options) ? "template" : "exec");
	add(words, "-olisten.backlog=%d", backlog);
	if (options->path)
		add(words, "-olisten.mode=%04o", (unsigned int)spawn_fcgi_socket_mode(options));
	add(words, "-oclear_env=no");
	if (options->chroot)
		add(words, "-ochroot=%s", options->chroot);
	if (options->chdir)
		add(words, "-ochdir=%s", options->chdir);
}

static void add_global(struct words *words, const struct spawn_fcgi_options *options)
{
	const char *error_log = options->error_log;

	if (!error_log && !options->no_fork)
		error_log = "/dev/null";
	if (error_log) {
		add(words, "--error-log");
		add(words, "%s", error_log);
	}
	if (options->no_fork)
		return;
	add(words, "--daemonize");
	if (options->pid_path) {
		add(words, "--pid");
		add(words, "%s", options->pid_path);
	}
}

/* Executes @program with @words, "--" and @argv. */
static int become(const char *program, const struct words *words, char *const argv[])
{
	size_t count = 0, own = words->count;
	char **all;
	int code;

	while (argv[count])
		count++;
	all = calloc(own + 1 + count + 1, sizeof(*all));
	if (!all)
		return spawn_fcgi_error("not enough memory");
	memcpy((void *)all, (const void *)words->word, own * sizeof(*all));
	all[own] = (char[]){"--"};
	memcpy((void *)(all + own + 1), (const void *)argv, count * sizeof(*all));
	(void)execv(program, all);
	code = errno;
	free((void *)all);
	return spawn_fcgi_error("exec failed: %s: %s", program, strerror(code));
}

int spawn_fcgi_supervise(const struct spawn_fcgi_options *options)
{
	char program[PATH_MAX];
	struct words words = {.count = 0};
	struct spawn_fcgi_ids ids;
	char **argv = NULL;
	int status;
	ssize_t n;

	if (options->forks == 0 || count_workers(options) == 0)
		return spawn_fcgi_error("--supervise: accepted are 1 to %d programs",
					SPAWN_FCGI_FORKS_MAX);
	status = spawn_fcgi_ids_resolve(options, &ids);
	if (status != 0)
		return status;
	n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (n == -1)
		return spawn_fcgi_error("/proc/self/exe: %s", strerror(errno));
	program[n] = '\0';
	add(&words, "%s", program);
	add(&words, "run");
	add_global(&words, options);
	add_pool(&words, options);
	add_identity(&words, options, &ids);
	if (words.failed || spawn_fcgi_arguments(options, &argv) < 0)
		status = spawn_fcgi_error("not enough memory");
	else
		status = become(program, &words, argv);
	words_done(&words);
	if (argv && !options->argv)
		free(argv[2]);
	free((void *)argv);
	return status;
}
