/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool that one manager leaves to the next. */

#include "fpm/conf/conf.h"
#include "fpm/process/environment.h"
#include "fpm/pool/pool.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/pool/pool_sizing.h"
#include "fpm/manager/state.h"
#include "fpm/pool/template.h"
#include "fpm/timer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int copy_text(char **target, const char *text)
{
	if (!text)
		return 0;
	*target = strdup(text);
	return *target ? 0 : -ENOMEM;
}

static int export_template(const struct pool *pool, struct state_pool *state)
{
	/*
	 * One that has ended is about to be replaced. One that starts and has a root folder of its own
	 * is left out: its helper ends with our end of their channel, and so does the template.
	 */
	if (!pool->template || template_pid(pool->template) == 0 ||
	    (pool->conf->chroot && !template_is_ready(pool->template)))
		return 0;
	state->template = calloc(1, sizeof(*state->template));
	return state->template ? template_export(pool->template, state->template) : -ENOMEM;
}

static int export_parts(const struct pool *pool, struct state_pool *state)
{
	int result = copy_text(&state->name, pool->conf->name);

	if (result == 0)
		result = copy_text(&state->path, pool->path);
	if (result == 0)
		result = copy_text(&state->ini_dir, pool->ini_dir);
	if (result == 0)
		result = listener_export(pool->shared, pool->shared_count, &state->shared,
					 &state->shared_count);
	if (result == 0)
		result = export_template(pool, state);
	return result;
}

int pool_export(const struct pool *pool, struct state_pool *ret_state)
{
	unsigned int count = pool->conf->max_children;
	int result;

	*ret_state = (struct state_pool){
		.board = pool->board.fd,
		.board_count = pool->board.count,
		.attention = pool->attention.fd,
		.fresh_in = pool->fresh[0],
		.fresh_out = pool->fresh[1],
		.peers = pool->peers,
		.most = pool->most,
		.template_serial = pool->template_serial,
		.template_failures = pool->template_respawn.failures,
		.template_started_ms = (int64_t)pool->template_respawn.started_ms,
		.template_wait_ms = timer_left_ms(pool->loop, &pool->template_timer),
		.slots = calloc(count, sizeof(*ret_state->slots)),
	};
	if (!ret_state->slots)
		return -ENOMEM;
	result = export_parts(pool, ret_state);
	for (unsigned int i = 0; result == 0 && i < count; i++) {
		ret_state->slot_count++;
		result = slot_export(&pool->slots[i], &ret_state->slots[i]);
	}
	return result;
}

/* Adoption: whatever fails, pool_free() releases what was taken until then. */

static int adopt_template(struct pool *pool, const struct state_pool *state, bool usable)
{
	char name[80];

	if (!state->template)
		return 0;
	(void)snprintf(name, sizeof(name), "pool %s", pool->conf->name);
	pool->template =
		template_adopt(pool->loop, name, pool->path, pool->conf->process_start_timeout_ms,
			       state->template, usable, &pool_template_events, pool);
	return pool->template ? 0 : -ENOMEM;
}

static int adopt_program(struct pool *pool, const struct state_pool *state,
			 const struct rlimit *nofile)
{
	int result = copy_text(&pool->path, state->path);

	if (result == 0)
		result = copy_text(&pool->ini_dir, state->ini_dir);
	if (result < 0)
		return result;
	pool_prepare_spawn(pool, nofile);
	pool->envp = environment_new(pool->conf, pool->ini_dir);
	pool->spawn.envp = pool->envp;
	return pool->envp ? 0 : -ENOMEM;
}

static int adopt_parts(struct pool *pool, const struct state_pool *state,
		       const struct rlimit *nofile, bool usable)
{
	int result;

	pool->state = POOL_READY;
	pool->fresh[0] = state->fresh_in;
	pool->fresh[1] = state->fresh_out;
	pool->peers = state->peers;
	if (state->most > 0)
		pool->most = (unsigned int)state->most;
	pool->template_serial = (unsigned int)state->template_serial;
	pool->template_respawn.failures = (unsigned int)state->template_failures;
	pool->template_respawn.started_ms = (uint64_t)state->template_started_ms;
	pool_watch_attention(pool, state->attention);
	/* What a foreign scoreboard says can't be read; nothing is started with it any more. */
	if (usable) {
		result = scoreboard_adopt(&pool->board, state->board, (uint32_t)state->board_count);
	} else {
		(void)close(state->board);
		result = 0;
	}
	if (result == 0)
		result = listener_adopt(state->shared, state->shared_count, &pool->shared);
	if (result < 0)
		return result;
	pool->shared_count = state->shared_count;
	result = adopt_program(pool, state, nofile);
	return result == 0 ? adopt_template(pool, state, usable) : result;
}

struct pool *pool_adopt(const struct pool_start *start, const struct state_pool *state, bool usable,
			char *error, size_t size)
{
	struct pool *pool = pool_alloc(start);
	int result = pool ? adopt_parts(pool, state, start->nofile, usable) : -ENOMEM;

	for (unsigned int i = 0; result == 0 && i < pool->conf->max_children; i++)
		result = slot_adopt(&pool->slots[i], &state->slots[i]);
	if (result == 0)
		result = pool_sizing_init(pool);
	if (result == 0) {
		if (state->template_wait_ms >= 0 || (!pool->template && state->template_serial > 0))
			pool_template_later(pool, state->template_wait_ms);
		return pool;
	}
	(void)snprintf(error, size, "%s", strerror(-result));
	pool_free(pool);
	return NULL;
}

void pool_resume(struct pool *pool)
{
	if (pool->template && template_is_ready(pool->template))
		pool_limits_template(pool);
	for (unsigned int i = 0; i < pool->conf->max_children; i++) {
		if (pool_sizing_is_fixed(&pool->slots[i]) || pool->slots[i].state != SLOT_EMPTY)
			slot_start(&pool->slots[i]);
		slot_look(&pool->slots[i]);
	}
	pool_limits_look(pool);
	pool_sizing_begin(pool);
}
