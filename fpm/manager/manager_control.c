/* SPDX-License-Identifier: BSD-2-Clause */
/* What the manager answers at its control socket. */

#include "fpm/conf/conf.h"
#include "fpm/manager/control.h"
#include "fpm/pool/generation.h"
#include "fpm/log.h"
#include "fpm/manager/manager_internal.h"
#include "fpm/manager/status.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void manager_answer(struct manager_waiters *waiters, bool ok, const char *text)
{
	for (size_t i = 0; i < waiters->count; i++)
		control_answer(waiters->list[i], ok, text);
	waiters->count = 0;
}

static const char *state_name(const struct manager *m)
{
	if (m->state == MANAGER_RUNNING)
		return m->next || m->old   ? "reloading"
		       : m->upgrade.active ? "upgrading"
					   : "running";
	return m->state == MANAGER_STARTING ? "starting" : "stopping";
}

static void answer_status(struct manager *m, struct control_request *request)
{
	json_t *pools = json_array(), *root;
	char *text;
	size_t count;
	struct pool *const *list = generation_pools(m->current, &count);

	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(pools, status_of_pool(list[i]));
	root = json_pack("{s:s, s:i, s:s, s:o}", "version", BERTH_VERSION, "pid", (int)getpid(),
			 "state", state_name(m), "pools", pools);
	text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(root);
	control_answer(request, text != NULL, text ? text : "out of memory\n");
	free(text);
}

static bool ask_for_upgrade(struct manager *m, struct control_request *request)
{
	struct manager_waiters *waiters = &m->upgrade.waiters;

	if (waiters->count == sizeof(waiters->list) / sizeof(waiters->list[0]))
		return false;
	waiters->list[waiters->count++] = request;
	manager_ask_for_upgrade(m);
	return true;
}

/* Those who change what runs wait until it is done. */
static void wait_for_task(struct manager *m, struct control_request *request, bool upgrade,
			  const char *pool)
{
	if (m->state == MANAGER_STOPPING || m->state == MANAGER_SWEEPING)
		control_answer(request, false, "it is stopping\n");
	else if (!(upgrade ? ask_for_upgrade(m, request)
			   : manager_ask_for_reload(m, request, pool)))
		control_answer(request, false, "too many wait\n");
}

static void request_cb(void *data, struct control_request *request, const char *verb,
		       const char *argument)
{
	struct manager *m = data;
	bool leaving = m->state == MANAGER_STOPPING || m->state == MANAGER_SWEEPING;

	if (strcmp(verb, "scale") == 0) {
		manager_scale(m, request, argument);
	} else if (argument[0] && strcmp(verb, "reload") != 0) {
		control_answer(request, false, "an argument is not accepted\n");
	} else if (strcmp(verb, "status") == 0) {
		answer_status(m, request);
	} else if (strcmp(verb, "stop") == 0) {
		control_answer(request, true, "");
		if (!leaving) {
			log_notice("control: stopping");
			manager_stop(m);
		}
	} else if (strcmp(verb, "upgrade") == 0 && m->upgrade.done) {
		control_answer(request, true, "");
	} else if (strcmp(verb, "upgrade") == 0 || strcmp(verb, "reload") == 0) {
		wait_for_task(m, request, verb[0] == 'u', argument);
	} else {
		control_answer(request, false,
			       "unknown; accepted are status, reload, scale, upgrade and stop\n");
	}
}

static const struct control_events events = {.request = request_cb};

struct control *manager_control_adopt(struct manager *m, const struct state_control *state)
{
	return control_adopt(m->loop, state, &events, m);
}

bool manager_control_open(struct manager *m)
{
	const char *path = generation_conf(m->current)->control;
	char error[512];

	if (!path || strcmp(path, "none") == 0)
		return true;
	m->control = control_new(m->loop, path, &events, m, error, sizeof(error));
	if (!m->control)
		log_error("control = %s: %s", path, error);
	return m->control != NULL;
}
