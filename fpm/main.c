/* SPDX-License-Identifier: BSD-2-Clause */
/* berth: reads its command line and configuration, and runs. */

#include "fpm/manager/adopt.h"
#include "fpm/command.h"
#include "fpm/conf/conf.h"
#include "fpm/conf/conf_dump.h"
#include "fpm/manager/control.h"
#include "fpm/manager/control_client.h"
#include "fpm/manager/daemonize.h"
#include "fpm/import/import.h"
#include "fpm/process/library.h"
#include "fpm/log.h"
#include "fpm/manager/manager.h"
#include "fpm/spawn_fcgi/spawn_fcgi.h"
#include "fpm/manager/state.h"
#include "fpm/manager/store.h"
#include "fpm/upstream.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void report(void *data, enum conf_severity severity, const char *text)
{
	const bool warning = severity == CONF_WARNING;

	(void)data;
	(void)fprintf(stderr, "%sberth: %s%s\n",
		      log_prefix(warning ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR),
		      warning ? "warning: " : "", text);
}

/* A descriptor that becomes 0, 1 or 2 by accident would be written to as if it were those. */
static void open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd != -1 && fd <= STDERR_FILENO);
	if (fd != -1)
		(void)close(fd);
}

/* What the command line said, for a reload. */
struct invocation {
	int argc;
	char **argv;
	int state;    /* what another manager has left, -1 = nothing */
	bool revived; /* and it died: systemd has kept it */
};

/* Keeps the first error for whoever asked for the reload. */
static char first_error[512];

static void log_report(void *data, enum conf_severity severity, const char *text)
{
	(void)data;
	if (severity == CONF_ERROR && first_error[0] == '\0')
		(void)snprintf(first_error, sizeof(first_error), "%s", text);
	log_write(severity == CONF_WARNING ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, "%s", text);
}

/*
 * The one berth of a machine, so to say, can be found without being told where, and so can one to
 * which systemd has given a folder of its own.
 */
static char *default_control(const char *conf_path)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");
	char *path = NULL;

	if (conf_path && strcmp(conf_path, COMMAND_CONF_DEFAULT) == 0)
		return strdup(CONTROL_DEFAULT);
	if (folder && folder[0] &&
	    asprintf(&path, "%.*s/berth.sock", (int)strcspn(folder, ":"), folder) == -1)
		return NULL;
	return path;
}

/* Reads command line and file; sets no configuration if the verb needs none. */
static int read_all(const struct invocation *invocation, conf_report_fn report_line,
		    struct command *ret_command, struct conf **ret_conf)
{
	struct conf_builder *builder = conf_builder_new(report_line, NULL);
	int status = COMMAND_EXIT_OK;
	char error[512];

	*ret_conf = NULL;
	if (!builder)
		return COMMAND_EXIT_SYSTEM;
	if (command_parse(invocation->argc, invocation->argv, builder, ret_command, error,
			  sizeof(error)) < 0) {
		report_line(NULL, CONF_ERROR, error);
		status = COMMAND_EXIT_USAGE;
	} else if (ret_command->verb == COMMAND_CHECK || ret_command->verb == COMMAND_PROVE ||
		   ret_command->verb == COMMAND_UPSTREAM ||
		   (ret_command->verb == COMMAND_RUN && invocation->state == -1)) {
		const struct conf_rules rules = {.euid = geteuid(),
						 .allow_root =
							 ret_command->allow_root ||
							 ret_command->verb == COMMAND_UPSTREAM};

		if (ret_command->conf_path)
			conf_builder_read(builder, ret_command->conf_path);
		if (conf_builder_finish(builder, &rules, ret_conf) < 0)
			status = COMMAND_EXIT_USAGE;
		else if (!(*ret_conf)->control)
			(*ret_conf)->control = default_control(ret_command->conf_path);
	}
	conf_builder_free(builder);
	return status;
}

static struct conf *load(void *data, char *error, size_t size)
{
	struct command command;
	struct conf *conf;

	first_error[0] = '\0';
	(void)read_all(data, log_report, &command, &conf);
	(void)snprintf(error, size, "the configuration has errors: %s", first_error);
	return conf;
}

static int start(struct conf *conf, struct invocation *invocation, struct state *state)
{
	const struct manager_start given = {.load = load,
					    .data = invocation,
					    .argv = invocation->argv,
					    .revived = invocation->revived};

	return manager_run(conf, &given, state);
}

/* Takes the configuration over. */
static int serve(struct conf *conf, struct invocation *invocation)
{
	int result = log_open(conf->error_log, conf->log_level);

	if (result < 0) {
		(void)fprintf(stderr, "%sberth: error_log %s: %s\n", log_prefix(LOG_LEVEL_ERROR),
			      conf->error_log, strerror(-result));
		conf_free(conf);
		return COMMAND_EXIT_SYSTEM;
	}
	log_set_echo(true);
	return start(conf, invocation, NULL);
}

/* Reads what another manager has left; @ret_conf is the configuration in it. */
static int read_state(const struct invocation *invocation, const struct command *command,
		      struct state *ret_state, struct conf **ret_conf)
{
	const struct conf_rules rules = {.euid = geteuid(), .allow_root = command->allow_root};
	char error[1024] = "there is none";

	if (invocation->state != -1 &&
	    adopt_read(invocation->state, &rules, ret_state, ret_conf, error, sizeof(error)) == 0) {
		if (!invocation->revived || store_resolve(ret_state, error, sizeof(error)) == 0)
			return 0;
		conf_free(*ret_conf);
		state_release(ret_state);
	}
	(void)fprintf(stderr, "berth %s: what the other manager has left does not fit: %s\n",
		      BERTH_VERSION, error);
	return -1;
}

/* Takes the configuration over. */
static int run(struct conf *conf, struct invocation *invocation)
{
	int status;

	if (conf->daemonize && daemonize(&status)) {
		conf_free(conf);
		return status;
	}
	status = serve(conf, invocation);
	daemonize_ended(status);
	return status;
}

/* What systemd has kept is of no use: those that depend on it end with it. */
static int start_afresh(struct invocation *invocation)
{
	struct command command;
	struct conf *conf;
	int status;

	store_discard();
	invocation->revived = false;
	status = read_all(invocation, report, &command, &conf);
	return conf ? run(conf, invocation) : status;
}

/* Goes on where another manager has left. */
static int resume(struct invocation *invocation, const struct command *command)
{
	struct state state;
	struct conf *conf;
	int result, status;

	result = read_state(invocation, command, &state, &conf);
	(void)close(invocation->state);
	invocation->state = -1;
	if (result < 0)
		return invocation->revived ? start_afresh(invocation) : COMMAND_EXIT_SYSTEM;
	status = start(conf, invocation, &state);
	state_release(&state);
	return status;
}

/* Could we go on where the manager that asks is now? Takes the configuration over. */
static int prove(struct conf *conf, const struct invocation *invocation,
		 const struct command *command)
{
	struct state state;
	struct conf *running;
	char error[512];
	int library;

	conf_free(conf);
	if (read_state(invocation, command, &state, &running) < 0)
		return COMMAND_EXIT_SYSTEM;
	conf_free(running);
	state_release(&state);
	if (library_open(&library, error, sizeof(error)) < 0) {
		report(NULL, CONF_ERROR, error);
		return COMMAND_EXIT_SYSTEM;
	}
	(void)close(library);
	return COMMAND_EXIT_OK;
}

static int check(struct conf *conf)
{
	conf_dump(conf, stdout);
	conf_free(conf);
	(void)puts("; configuration OK");
	return fflush(stdout) == 0 ? COMMAND_EXIT_OK : COMMAND_EXIT_SYSTEM;
}

static int upstream(struct conf *conf, const struct command *command)
{
	char error[512];
	int result =
		upstream_write(conf, command->server, command->pool, stdout, error, sizeof(error));

	conf_free(conf);
	if (result < 0) {
		report(NULL, CONF_ERROR, error);
		return COMMAND_EXIT_USAGE;
	}
	return fflush(stdout) == 0 ? COMMAND_EXIT_OK : COMMAND_EXIT_SYSTEM;
}

int main(int argc, char *argv[])
{
	struct invocation invocation = {.argc = argc, .argv = argv, .state = adopt_descriptor()};
	struct command command;
	struct conf *conf;
	const int skip = spawn_fcgi_is_called(argc, argv);
	int status;

	open_standard_descriptors();
	if (skip >= 0)
		return spawn_fcgi_run(argc - skip, argv + skip);
	if (invocation.state == -1) {
		invocation.state = store_inherit();
		invocation.revived = invocation.state != -1;
	}
	status = read_all(&invocation, report, &command, &conf);
	if (status != COMMAND_EXIT_OK)
		return status;
	switch (command.verb) {
	case COMMAND_RUN:
		return conf ? run(conf, &invocation) : resume(&invocation, &command);
	case COMMAND_PROVE:
		return prove(conf, &invocation, &command);
	case COMMAND_CHECK:
		return check(conf);
	case COMMAND_UPSTREAM:
		return upstream(conf, &command);
	case COMMAND_VERSION:
		(void)puts("berth " BERTH_VERSION);
		break;
	case COMMAND_HELP:
		command_help(stdout);
		break;
	case COMMAND_STATUS:
	case COMMAND_RELOAD:
	case COMMAND_SCALE:
	case COMMAND_UPGRADE:
	case COMMAND_STOP:
		return control_client_run(argc - 1, argv + 1);
	case COMMAND_IMPORT:
		return import_run(argc - 1, argv + 1);
	}
	return COMMAND_EXIT_OK;
}
