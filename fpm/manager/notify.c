/* SPDX-License-Identifier: BSD-2-Clause */
/* What systemd is told: ready, reloading, stopping, a line of status, signs of life. */

#include "fpm/manager/notify.h"

#include "fpm/conf/conf.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

static void watchdog_cb(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop, (void)w, (void)revents;
	(void)sd_notify(0, "WATCHDOG=1");
}

void notify_init(struct notify *notify, struct ev_loop *loop)
{
	uint64_t usec = 0;

	notify->loop = loop;
	ev_init(&notify->watchdog, watchdog_cb);
	if (sd_watchdog_enabled(0, &usec) <= 0)
		return;
	notify->watchdog.repeat = (double)usec / 1e6 / 2.;
	ev_timer_again(loop, &notify->watchdog);
}

void notify_done(struct notify *notify)
{
	if (notify->loop)
		ev_timer_stop(notify->loop, &notify->watchdog);
}

void notify_ready(const struct conf *conf, const char *note)
{
	unsigned int pools = 0, workers = 0;

	for (const struct conf_pool *p = conf->pools; p; p = p->next) {
		pools++;
		workers += p->max_children;
	}
	(void)sd_notifyf(0, "READY=1\nSTATUS=%u pool%s, at most %u worker%s%s%.*s", pools,
			 pools == 1 ? "" : "s", workers, workers == 1 ? "" : "s",
			 note[0] ? "; " : "", (int)strcspn(note, "\n"), note);
}

void notify_reloading(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	/* From 253 on, systemd tells by the time which of several reloads this is. */
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=reloading",
			 (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U);
}

void notify_stopping(const char *why)
{
	(void)sd_notifyf(0, "STOPPING=1\nSTATUS=stopping%s%.*s", why[0] ? ": " : "",
			 (int)strcspn(why, "\n"), why);
}
