/* SPDX-License-Identifier: BSD-2-Clause */
/* berth: reads its command line and configuration, and runs. */

#include "command.h"
#include "conf.h"
#include "conf_dump.h"
#include "log.h"
#include "manager.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void report(void *data, enum conf_severity severity, const char *text)
{
	(void)data;
	(void)fprintf(stderr, "berth: %s%s\n", severity == CONF_WARNING ? "warning: " : "", text);
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

static int run(const struct conf *conf)
{
	int result = log_open(conf->error_log, conf->log_level);

	if (result < 0) {
		(void)fprintf(stderr, "berth: error_log %s: %s\n", conf->error_log,
			      strerror(-result));
		return COMMAND_EXIT_SYSTEM;
	}
	log_set_echo(true);
	return manager_run(conf);
}

static int check(const struct conf *conf)
{
	conf_dump(conf, stdout);
	(void)puts("; configuration OK");
	return fflush(stdout) == 0 ? COMMAND_EXIT_OK : COMMAND_EXIT_SYSTEM;
}

static int run_or_check(const struct command *command, struct conf_builder *builder)
{
	const struct conf_rules rules = {.euid = geteuid(), .allow_root = command->allow_root};
	struct conf *conf;
	int status;

	if (command->conf_path)
		conf_builder_read(builder, command->conf_path);
	if (conf_builder_finish(builder, &rules, &conf) < 0)
		return COMMAND_EXIT_USAGE;
	status = command->verb == COMMAND_RUN ? run(conf) : check(conf);
	conf_free(conf);
	return status;
}

int main(int argc, char *argv[])
{
	struct conf_builder *builder;
	struct command command;
	int status = COMMAND_EXIT_OK;
	char error[512];

	open_standard_descriptors();
	builder = conf_builder_new(report, NULL);
	if (!builder)
		return COMMAND_EXIT_SYSTEM;
	if (command_parse(argc, argv, builder, &command, error, sizeof(error)) < 0) {
		(void)fprintf(stderr, "berth: %s\n", error);
		status = COMMAND_EXIT_USAGE;
	} else if (command.verb == COMMAND_HELP) {
		command_help(stdout);
	} else if (command.verb == COMMAND_VERSION) {
		(void)puts("berth " BERTH_VERSION);
	} else {
		status = run_or_check(&command, builder);
	}
	conf_builder_free(builder);
	return status;
}
