/* SPDX-License-Identifier: BSD-2-Clause */
/* Policy: how long to wait before something that ended is started again. No clock, no I/O. */

#include "fpm/pool/respawn.h"

bool respawn_healthy(uint64_t served, uint64_t lived_ms)
{
	return served > 0 || lived_ms >= RESPAWN_HEALTHY_MS;
}

static uint64_t backoff_ms(unsigned int failures)
{
	uint64_t delay = RESPAWN_BACKOFF_MIN_MS;

	while (failures-- > 0 && delay < RESPAWN_BACKOFF_MAX_MS)
		delay *= 2;
	return delay < RESPAWN_BACKOFF_MAX_MS ? delay : RESPAWN_BACKOFF_MAX_MS;
}

uint64_t respawn_delay_ms(struct respawn *respawn, bool healthy, uint64_t now_ms, double random)
{
	uint64_t next = respawn->started_ms + RESPAWN_INTERVAL_MS;
	uint64_t delay;

	if (healthy) {
		respawn->failures = 0;
		return respawn->started_ms != 0 && next > now_ms ? next - now_ms : 0;
	}
	delay = backoff_ms(respawn->failures);
	if (respawn->failures < 1000)
		respawn->failures++;
	return delay - (uint64_t)(random * (double)delay / 4);
}
