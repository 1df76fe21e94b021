/* SPDX-License-Identifier: BSD-2-Clause */
/* Does a state fit its configuration, and do its parts fit one another. */

#include "fpm/conf/conf.h"
#include "fpm/manager/state.h"
#include "fpm/worker/abi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	const struct state_pool *pool;
	const struct conf_pool *conf;
	bool *scores;
	size_t slot;
};

static const char *check_worker(struct check *c, const struct state_worker *worker)
{
	bool forked = c->conf->spawn == CONF_SPAWN_TEMPLATE;

	if (!worker->output)
		return "a worker without output";
	if ((worker->score != -1) != forked)
		return forked ? "a worker without score" : "a score in exec mode";
	if (forked && worker->lifeline == -1 && !worker->asked)
		return "a worker without lifeline that was not asked to leave";
	if (worker->score >= c->pool->board_count)
		return "a score that the scoreboard does not have";
	if (!forked)
		return NULL;
	if (c->scores[worker->score])
		return "two workers with one score";
	c->scores[worker->score] = true;
	return NULL;
}

static const char *check_slot(struct check *c, const struct state_slot *slot)
{
	bool forked = c->conf->spawn == CONF_SPAWN_TEMPLATE;
	const char *problem = NULL;

	if ((slot->handoff_in != -1) != forked || (slot->handoff_out != -1) != forked)
		return "its pair of sockets does not fit the mode";
	if (slot->listener_count + c->pool->shared_count == 0)
		return "no listener";
	if (slot->current)
		problem = check_worker(c, slot->current);
	for (size_t i = 0; !problem && i < slot->retiring_count; i++)
		problem = check_worker(c, &slot->retiring[i]);
	return problem;
}

static const char *check_pool(struct check *c)
{
	bool forked = c->conf->spawn == CONF_SPAWN_TEMPLATE;
	const char *problem = NULL;

	if (strcmp(c->pool->name, c->conf->name) != 0)
		return "another name than in the configuration";
	if (c->pool->slot_count != c->conf->max_children)
		return "another number of slots than in the configuration";
	if (c->pool->most > c->conf->max_children)
		return "more workers than slots";
	if ((c->pool->peers != -1) != forked || (c->pool->template && !forked))
		return "a template or its parts do not fit the mode";
	if (c->pool->template && !c->pool->template->output)
		return "a template without output";
	for (size_t i = 0; !problem && i < c->pool->slot_count; i++) {
		c->slot = i + 1;
		problem = check_slot(c, &c->pool->slots[i]);
	}
	return problem;
}

int state_check(const struct state *state, const struct conf *conf, char *error, size_t size)
{
	const struct conf_pool *pool = conf->pools;

	for (size_t i = 0; i < state->pool_count; i++, pool = pool->next) {
		struct check check = {.pool = &state->pools[i], .conf = pool};
		const char *problem = "not in the configuration";

		if (pool) {
			check.scores = calloc((size_t)check.pool->board_count, sizeof(bool));
			problem = check.scores ? check_pool(&check) : strerror(ENOMEM);
			free(check.scores);
		}
		if (!problem)
			continue;
		(void)snprintf(error, size, "pool %s, slot %zu: %s", check.pool->name, check.slot,
			       problem);
		return -EPROTO;
	}
	if (pool) {
		(void)snprintf(error, size, "pool %s is missing", pool->name);
		return -EPROTO;
	}
	if (state->control && !state->control->listener) {
		(void)snprintf(error, size, "a control socket without a listener");
		return -EPROTO;
	}
	return 0;
}
