/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the manager share. */
#ifndef FPM_MANAGER_INTERNAL_H
#define FPM_MANAGER_INTERNAL_H

#include "fpm/conf/conf.h"
#include "fpm/manager/manager.h"
#include "fpm/manager/notify.h"

#include "fpm/process/process.h"

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

struct conf;
struct control;
struct control_request;
struct generation;
struct generation_events;
struct output;
struct state;
struct state_control;

enum manager_state {
	MANAGER_STARTING = 0,
	MANAGER_RUNNING,
	MANAGER_STOPPING,
	MANAGER_SWEEPING,
};

/* Room for one byte more than a name may have, so that a longer one does not become another. */
#define MANAGER_POOL_SIZE (CONF_POOL_NAME_MAX + 2)

/* Who waits at the control socket for the end of a reload; more than connections there are. */
struct manager_waiters {
	struct control_request *list[32];
	size_t count;
};

/**
 * struct manager_upgrade - the program that is to go on in our place
 * @program:	Path of it, which is where ours came from
 * @asked:	It waits for its turn
 * @active:	It goes on
 * @done:	We are it: who asked for it is told so
 * @proof:	The child that proves it
 * @output:	What that says
 * @deadline:	Until when it must have proved itself
 * @last_round:	Runs before the exec
 * @waiters:	Who waits for it at the control socket
 */
struct manager_upgrade {
	char *program;
	bool asked;
	bool active;
	bool done;
	struct process proof;
	struct output *output;
	ev_timer deadline;
	ev_timer last_round;
	struct manager_waiters waiters;
};

/* Who waits for the reload of one pool. */
struct manager_ask {
	struct control_request *request;
	char pool[MANAGER_POOL_SIZE];
};

struct manager {
	struct ev_loop *loop;
	enum manager_state state;
	int exit_status;
	int library;
	struct rlimit nofile;
	manager_load_fn load;
	void *load_data;
	char **argv;
	bool revived; /* started by systemd after one that died */
	struct manager_upgrade upgrade;
	struct generation *current;
	struct generation *next; /* while a reload gets ready */
	struct generation *old;	 /* while its last requests are answered */
	unsigned int stopping;	 /* generations that have been told to stop, and have not yet */
	bool reload_again;	 /* all of it */
	struct manager_waiters asked;	  /* for the next reload of everything */
	struct manager_ask pool_asks[32]; /* for reloads of single pools, in order */
	size_t pool_ask_count;
	struct manager_waiters running;	     /* for the one that goes on */
	char reload_pool[MANAGER_POOL_SIZE]; /* whose that is, "" = everybody's */
	struct control *control;
	struct pid_file *pid_file;
	bool hurry;
	int priority;  /* nice value that it was started with */
	ev_timer reap; /* frees what has stopped, outside of its own callbacks */
	ev_signal stop_signals[3];
	ev_signal reload_signal;
	ev_signal reopen_signal;
	ev_signal upgrade_signal;
	ev_periodic dormant;
	struct notify notify;
	ev_prepare prepare;
	ev_io log_writable;
	ev_timer sweep;
	unsigned int sweeps;
};

/*
 * Reloads one pool, "" = everything, now or when what goes on has ended. @request, which may be
 * NULL for everything, is answered then. False if it is stopping, or if too many wait.
 */
bool manager_ask_for_reload(struct manager *m, struct control_request *request, const char *pool);

/* Stops everything in order. */
void manager_stop(struct manager *m);

/* Opens the control socket if the configuration names one; false with the reason logged. */
bool manager_control_open(struct manager *m);

/* Notes who waits for which reload; false if too many do. */
bool manager_reload_ask(struct manager *m, struct control_request *request, const char *pool);

/* Takes the next reload that was asked for, and those who wait for it; false if there is none. */
bool manager_reload_next(struct manager *m);

/* Leaves of a new configuration the pool that is reloaded; negative errno if that can't be done. */
int manager_reload_narrow(const struct manager *m, struct conf *conf, char *error, size_t size);

/* Says that there is no such pool, and which there are. */
void manager_no_pool(const struct manager *m, const char *name, char *error, size_t size);

/* Does what "scale @argument" asks for, and answers it. */
void manager_scale(const struct manager *m, struct control_request *request, const char *argument);

/* Answers all of them. */
void manager_answer(struct manager_waiters *waiters, bool ok, const char *text);

/* Begins the reload or upgrade that waits for its turn, if nothing else goes on. */
void manager_next_task(struct manager *m);

extern const struct generation_events manager_generation_events;

/* Upgrades now, or when what goes on has ended. */
void manager_ask_for_upgrade(struct manager *m);

/* Nothing else goes on. */
void manager_upgrade_begin(struct manager *m);

/* There will be none. */
void manager_upgrade_cancel(struct manager *m);

/* Signals wait until they are not blocked any more. */
void manager_block_signals(bool on);

/* Return: descriptor of the state that is written, or negative errno; @state is to be released. */
int manager_write_state(const struct manager *m, struct state *state);

/* Gives the store up if it is too small for what is about to be started. */
void manager_check_store(const struct conf *conf);

/* Keeps the store up to date. */
void manager_store(struct manager *m);

/* Takes what was left, and the configuration; false with the reason logged. */
bool manager_adopt(struct manager *m, struct conf *conf, struct state *state);

/* Goes on with it. */
void manager_resume(struct manager *m, const struct state *state);

/* Goes on with the control socket; NULL if memory is short. */
struct control *manager_control_adopt(struct manager *m, const struct state_control *state);

#endif
