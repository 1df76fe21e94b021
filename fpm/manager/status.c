/* SPDX-License-Identifier: BSD-2-Clause */
/* What pools and slots are doing, as JSON. */

#include "fpm/manager/status.h"

#include "fpm/clock.h"
#include "fpm/conf/conf.h"
#include "fpm/pool/pool_internal.h"
#include "fpm/listener/queue.h"
#include "fpm/pool/slot_worker.h"
#include "fpm/pool/template.h"

#include <time.h>

static const char *pool_state_name(enum pool_state state)
{
	static const char *const names[] = {[POOL_NEW] = "new",
					    [POOL_STARTING] = "starting",
					    [POOL_READY] = "ready",
					    [POOL_STOPPING] = "stopping",
					    [POOL_STOPPED] = "stopped"};

	return names[state];
}

/* A listener, with what waits in its queue; null if that can't be known (a pipe has none). */
static json_t *listeners(const struct listener *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		char text[ADDRESS_TEXT_MAX];
		int depth = list[i].address.pipe ? -1 : queue_depth(list[i].fd);

		(void)json_array_append_new(
			array, json_pack("{s:s, s:o}", "address",
					 address_format(&list[i].address, text, sizeof(text)),
					 "queue", depth < 0 ? json_null() : json_integer(depth)));
	}
	return array;
}

/* Texts come from clients: what is not UTF-8 can't be in JSON. */
static json_t *text(const char *bytes)
{
	json_t *string = json_string(bytes);

	return string ? string : json_string("(not UTF-8)");
}

static double seconds_since(uint64_t since_ns)
{
	struct timespec now;
	uint64_t now_ns;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	return now_ns > since_ns ? (double)(now_ns - since_ns) / 1e9 : 0;
}

static void add_score(json_t *object, const struct slot_worker *worker)
{
	struct abi_score score;

	if (!slot_worker_score(worker, &score))
		return;
	(void)json_object_set_new(object, "requests", json_integer((json_int_t)score.served));
	(void)json_object_set_new(object, "accepted", json_integer((json_int_t)score.accepted));
	(void)json_object_set_new(object, "parked", json_integer(score.parked));
	(void)json_object_set_new(object, "bytes", json_integer((json_int_t)score.bytes));
	(void)json_object_set_new(object, "since_s", json_real(seconds_since(score.since_ns)));
	(void)json_object_set_new(object, "method", text(score.method));
	(void)json_object_set_new(object, "uri", text(score.uri));
	(void)json_object_set_new(object, "script", text(score.script));
}

static json_t *status_of_slot(const struct slot *slot)
{
	json_t *object = json_pack("{s:i, s:s, s:o}", "slot", (int)slot->number, "state",
				   slot_state_name(slot), "listeners",
				   listeners(slot->listeners, slot->listener_count));
	unsigned int retiring = 0;

	for (size_t i = 0; i < SLOT_RETIRING_MAX; i++)
		retiring += slot->retiring[i] != NULL;
	(void)json_object_set_new(object, "retiring", json_integer(retiring));
	if (!slot->current)
		return object;
	(void)json_object_set_new(object, "pid", json_integer(slot_worker_pid(slot->current)));
	(void)json_object_set_new(object, "age_s",
				  json_real((double)slot_worker_age_ms(slot->current) / 1000.));
	add_score(object, slot->current);
	return object;
}

json_t *status_of_pool(const struct pool *pool)
{
	json_t *slots = json_array();
	pid_t template = pool->template ? template_pid(pool->template) : 0;

	for (unsigned int i = 0; i < pool->conf->max_children; i++)
		(void)json_array_append_new(slots, status_of_slot(&pool->slots[i]));
	return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:o, s:o, s:o}", "pool", pool->conf->name,
			 "state", pool_state_name(pool->state), "pm", conf_pm_name(pool->conf->pm),
			 "workers", (int)pool->most, "spawn", conf_spawn_name(pool->conf->spawn),
			 "program", pool->path, "template_pid",
			 template ? json_integer(template) : json_null(), "listeners",
			 listeners(pool->shared, pool->shared_count), "slots", slots);
}
