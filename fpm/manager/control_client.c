/* SPDX-License-Identifier: BSD-2-Clause */
/* berth status, reload, scale, upgrade and stop: requests to a running berth over its control socket. */

#include "fpm/manager/control_client.h"

#include "fpm/command.h"
#include "fpm/conf/conf.h"
#include "fpm/manager/control.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define EXIT_REFUSED 1

#define NUMBER_DIGITS 9

struct options {
	const char *verb;
	const char *argument; /* a pool's name, "" if there is none */
	const char *number;   /* of workers, "" if there is none */
	const char *conf_path;
	const char *control;
	bool json;
};

/* What the verb takes besides options, for messages. */
static const char *words_of(const char *verb)
{
	if (strcmp(verb, "status") == 0)
		return "--json, ";
	if (strcmp(verb, "reload") == 0)
		return "a pool's name, ";
	return strcmp(verb, "scale") == 0 ? "a pool's name, a number, " : "";
}

/* The words that are no options. */
static int parse_words(int argc, char *argv[], struct options *options)
{
	bool scales = strcmp(argv[0], "scale") == 0;
	bool named = false;

	if (optind < argc && (scales || strcmp(argv[0], "reload") == 0)) {
		options->argument = argv[optind++];
		named = true;
	}
	if (optind < argc && scales)
		options->number = argv[optind++];
	if (optind < argc) {
		(void)fprintf(stderr,
			      "berth: %s: unexpected; accepted are %s-c FILE and "
			      "--control SOCKET\n",
			      argv[optind], words_of(argv[0]));
		return -EINVAL;
	}
	/* An empty one, of a variable that is not set, must not stand for all pools. */
	if ((named && !options->argument[0]) || strlen(options->argument) > CONF_POOL_NAME_MAX ||
	    options->argument[strcspn(options->argument, " \n")] != '\0') {
		(void)fprintf(stderr, "berth: '%s': that is no name of a pool\n",
			      options->argument);
		return -EINVAL;
	}
	if (scales && (!options->number[0] || strlen(options->number) > NUMBER_DIGITS ||
		       options->number[strspn(options->number, "0123456789")] != '\0')) {
		(void)fprintf(stderr,
			      "berth: scale takes a pool's name and a number of workers%s%s\n",
			      options->number[0] ? ", not " : "", options->number);
		return -EINVAL;
	}
	return 0;
}

static int parse(int argc, char *argv[], struct options *options)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'},
					      {"config", required_argument, NULL, 'c'},
					      {"control", required_argument, NULL, 's'},
					      {NULL, 0, NULL, 0}};
	int option;

	*options = (struct options){.verb = argv[0], .argument = "", .number = ""};
	while ((option = getopt_long(argc, argv, "c:", longs, NULL)) != -1) {
		if (option == 'j')
			options->json = true;
		else if (option == 'c')
			options->conf_path = optarg;
		else if (option == 's')
			options->control = optarg;
		else
			return -EINVAL;
	}
	if (options->json && strcmp(argv[0], "status") != 0) {
		(void)fprintf(stderr, "berth: %s takes no --json\n", argv[0]);
		return -EINVAL;
	}
	if (parse_words(argc, argv, options) < 0)
		return -EINVAL;
	if (options->conf_path && options->control) {
		(void)fprintf(stderr, "berth: -c and --control exclude each other\n");
		return -EINVAL;
	}
	return 0;
}

static void ignore(void *data, enum conf_severity severity, const char *text)
{
	(void)data, (void)severity, (void)text;
}

/*
 * The socket that a configuration names, to be freed. What else is wrong with it does not matter:
 * it is the running berth that says so when it is asked to reload.
 */
static char *socket_of(const char *conf_path)
{
	struct conf_builder *builder = conf_builder_new(ignore, NULL);
	const char *control;
	char *path = NULL;

	if (!builder)
		return NULL;
	conf_builder_read(builder, conf_path);
	control = conf_builder_control(builder);
	if (!control && strcmp(conf_path, COMMAND_CONF_DEFAULT) == 0)
		control = CONTROL_DEFAULT;
	if (control)
		path = strdup(control);
	conf_builder_free(builder);
	return path;
}

static int connect_to(const char *path, pid_t *ret_pid)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -errno;
	if (strlen(path) >= sizeof(un.sun_path)) {
		(void)close(fd);
		return -ENAMETOOLONG;
	}
	memcpy(un.sun_path, path, strlen(path));
	if (connect(fd, (const struct sockaddr *)&un, sizeof(un)) == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == -1) {
		int error = errno;

		(void)close(fd);
		return -error;
	}
	*ret_pid = peer.pid;
	return fd;
}

/* Sends the request and reads the whole answer, which is to be freed; NULL with errno set. */
static char *ask(int fd, const struct options *options)
{
	char line[CONTROL_LINE_MAX], chunk[4096];
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	ssize_t n;
	int length = snprintf(line, sizeof(line), "%s%s%s%s%s\n", options->verb,
			      options->argument[0] ? " " : "", options->argument,
			      options->number[0] ? " " : "", options->number);

	if (send(fd, line, (size_t)length, MSG_NOSIGNAL) != length)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		(void)fwrite(chunk, 1, (size_t)n, out);
	if (fclose(out) != 0 || n == -1) {
		free(text);
		return NULL;
	}
	return text;
}

static const char *string_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "-";
}

static long long number_of(const json_t *object, const char *name)
{
	return (long long)json_number_value(json_object_get(object, name));
}

static long long waiting(const json_t *listeners)
{
	long long sum = 0;
	size_t i;
	json_t *listener;

	json_array_foreach(listeners, i, listener) sum += number_of(listener, "queue");
	return sum;
}

static void print_slots(const json_t *slots)
{
	size_t i;
	json_t *slot;

	(void)printf("  %5s %-9s %8s %9s %7s %6s %6s  %s\n", "slot", "state", "pid", "requests",
		     "age", "kept", "queue", "last request");
	json_array_foreach(slots, i, slot)
	{
		(void)printf("  %5lld %-9s %8lld %9lld %6llds %6lld %6lld  %.6s %.60s\n",
			     number_of(slot, "slot"), string_of(slot, "state"),
			     number_of(slot, "pid"), number_of(slot, "requests"),
			     number_of(slot, "age_s"), number_of(slot, "parked"),
			     waiting(json_object_get(slot, "listeners")), string_of(slot, "method"),
			     string_of(slot, "uri"));
	}
}

static bool print_table(const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	size_t i;
	json_t *pool;
	long long slots;

	if (!root)
		return false;
	(void)printf("berth %s, pid %lld, %s\n", string_of(root, "version"), number_of(root, "pid"),
		     string_of(root, "state"));
	json_array_foreach(json_object_get(root, "pools"), i, pool)
	{
		slots = (long long)json_array_size(json_object_get(pool, "slots"));
		(void)printf("pool %s: %s, %s of %s", string_of(pool, "pool"),
			     string_of(pool, "state"), string_of(pool, "spawn"),
			     string_of(pool, "program"));
		if (number_of(pool, "workers") < slots)
			(void)printf(", scaled to %lld of %lld workers", number_of(pool, "workers"),
				     slots);
		if (json_array_size(json_object_get(pool, "listeners")) > 0)
			(void)printf(", %lld wait in shared sockets",
				     waiting(json_object_get(pool, "listeners")));
		(void)putchar('\n');
		print_slots(json_object_get(pool, "slots"));
	}
	json_decref(root);
	return true;
}

/* After stop was accepted: wait until the manager has gone. */
static void wait_for_end(pid_t pid)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

	if (p.fd == -1)
		return;
	(void)poll(&p, 1, -1);
	(void)close(p.fd);
}

static int show(const struct options *options, const char *answer, pid_t pid)
{
	const char *text = strchr(answer, '\n');

	text = text ? text + 1 : "";
	if (strncmp(answer, "ok\n", 3) != 0) {
		(void)fprintf(stderr, "berth: %s: %s", options->verb,
			      *text ? text : "no answer, it ended meanwhile\n");
		return EXIT_REFUSED;
	}
	if (strcmp(options->verb, "stop") == 0)
		wait_for_end(pid);
	else if (strcmp(options->verb, "status") != 0 || options->json)
		(void)fputs(text, stdout);
	else if (!print_table(text))
		return EXIT_REFUSED;
	return fflush(stdout) == 0 ? COMMAND_EXIT_OK : COMMAND_EXIT_SYSTEM;
}

int control_client_run(int argc, char *argv[])
{
	struct options options;
	char *named = NULL, *answer = NULL;
	const char *path;
	pid_t pid = 0;
	int fd, status = COMMAND_EXIT_SYSTEM;

	if (parse(argc, argv, &options) < 0)
		return COMMAND_EXIT_USAGE;
	if (options.conf_path)
		named = socket_of(options.conf_path);
	path = options.control ? options.control : named ? named : CONTROL_DEFAULT;
	if (options.conf_path && (!named || strcmp(named, "none") == 0)) {
		(void)fprintf(stderr,
			      "berth: %s names no control socket; accepted is control = "
			      "/PATH in [global]\n",
			      options.conf_path);
		free(named);
		return COMMAND_EXIT_USAGE;
	}
	fd = connect_to(path, &pid);
	if (fd >= 0)
		answer = ask(fd, &options);
	if (answer)
		status = show(&options, answer, pid);
	else
		(void)fprintf(stderr, "berth: %s: %s\n", path, strerror(fd < 0 ? -fd : errno));
	if (fd >= 0)
		(void)close(fd);
	free(answer);
	free(named);
	return status;
}
