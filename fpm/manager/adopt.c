/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what another manager has left, without touching any of it. */

#include "fpm/manager/adopt.h"

#include "fpm/conf/conf.h"
#include "fpm/manager/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct complaint - keeps the first error of a configuration
 * @text:	The error
 */
struct complaint {
	char text[512];
};

static void report(void *data, enum conf_severity severity, const char *text)
{
	struct complaint *complaint = data;

	if (severity == CONF_ERROR && !complaint->text[0])
		(void)snprintf(complaint->text, sizeof(complaint->text), "%s", text);
}

static struct conf *read_conf(const char *text, const struct conf_rules *rules, char *error,
			      size_t size)
{
	struct complaint complaint = {""};
	struct conf_builder *builder = conf_builder_new(report, &complaint);
	struct conf *conf = NULL;

	if (builder) {
		conf_builder_text(builder, "what runs", text, strlen(text));
		if (conf_builder_finish(builder, rules, &conf) < 0)
			conf = NULL;
	}
	conf_builder_free(builder);
	if (!conf)
		(void)snprintf(error, size, "%s",
			       complaint.text[0] ? complaint.text : strerror(ENOMEM));
	return conf;
}

int adopt_read(int fd, const struct conf_rules *rules, struct state *ret_state,
	       struct conf **ret_conf, char *error, size_t size)
{
	struct state state = {0};
	struct conf *conf;
	int result = state_read(fd, &state, error, size);

	if (result < 0)
		return result;
	conf = read_conf(state.conf, rules, error, size);
	result = conf ? state_check(&state, conf, error, size) : -EINVAL;
	if (result == 0) {
		*ret_state = state;
		*ret_conf = conf;
		return 0;
	}
	conf_free(conf);
	state_release(&state);
	return result;
}

int adopt_descriptor(void)
{
	const char *text = getenv(STATE_ENV);
	long fd = text ? strtol(text, NULL, 10) : -1;

	(void)unsetenv(STATE_ENV);
	return fd > 2 && fd < 1 << 30 ? (int)fd : -1;
}
