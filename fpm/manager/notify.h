/* SPDX-License-Identifier: BSD-2-Clause */
/* What systemd is told: ready, reloading, stopping, a line of status, signs of life. */
#ifndef FPM_NOTIFY_H
#define FPM_NOTIFY_H

#include <ev.h>

struct conf;

/**
 * struct notify - signs of life for systemd's watchdog
 * @loop:	Event loop
 * @watchdog:	Runs at half of the time that systemd waits; never started if it does not wait
 */
struct notify {
	struct ev_loop *loop;
	ev_timer watchdog;
};

/*
 * All of these do nothing if nobody has asked to be told (NOTIFY_SOCKET). What can't be told is left
 * out: the pools matter more than what systemd thinks of them.
 */

/**
 * notify_init() - start to show signs of life, if they are asked for
 * @notify:	To be set up
 * @loop:	Event loop, whose turning is what the signs stand for
 */
void notify_init(struct notify *notify, struct ev_loop *loop);

/**
 * notify_done() - no more signs of life
 * @notify:	Set up, or all zero
 */
void notify_done(struct notify *notify);

/**
 * notify_ready() - all pools serve; also the end of a reload
 * @conf:	What they serve
 * @note:	What is to be known besides, put behind the status; "" for nothing
 */
void notify_ready(const struct conf *conf, const char *note);

/**
 * notify_reloading() - a reload begins; notify_ready() ends it
 */
void notify_reloading(void);

/**
 * notify_stopping() - a stop begins
 * @why:	Reason if it is a failure, "" otherwise
 */
void notify_stopping(const char *why);

#endif
