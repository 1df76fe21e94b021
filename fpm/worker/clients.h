/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of a worker's connections, and what is done to one by system calls. */
#ifndef FPM_WORKER_CLIENTS_H
#define FPM_WORKER_CLIENTS_H

#include "client.h"

/**
 * struct clients_limits - bounds, from the manager
 * @header_timeout_ms:	Longest time from the first byte of a head to its last, 0 = none
 * @keepalive_timeout_ms: Longest time that an idle connection is kept, 0 = none
 */
struct clients_limits {
	uint32_t header_timeout_ms;
	uint32_t keepalive_timeout_ms;
};

/**
 * clients_init() - allocate the table; the only allocation of the connection layer
 * @epoll:	Watch set
 * @limits:	Bounds
 *
 * Return: 0, or -1 with errno
 */
int clients_init(int epoll, const struct clients_limits *limits);

/**
 * clients_add() - take a connection in
 * @fd:		Descriptor, taken over; closed if there is no place for it
 *
 * When the table is full the connection goes that has been idle for longest, after one more look
 * at it.
 *
 * Return: client in CLIENT_HEAD, or NULL
 */
struct client *clients_add(int fd);

/**
 * clients_now_ms() - the clock that ages are measured with
 *
 * Return: milliseconds, monotonic, some milliseconds coarse
 */
uint64_t clients_now_ms(void);

/**
 * clients_held() - how many there are
 *
 * Return: number of connections, the served one included
 */
uint32_t clients_held(void);

/**
 * clients_room() - how many more can be taken in without closing one
 *
 * Return: number of connections
 */
uint32_t clients_room(void);

/**
 * clients_drop() - close a connection and free its entry
 * @client:	Client
 */
void clients_drop(struct client *client);

/**
 * clients_read() - read what is there, without waiting
 * @client:	Client that is not served
 *
 * It is put where it belongs then: into the queue of those that are ready, or of those that wait,
 * in the watch set; or it is dropped.
 */
void clients_read(struct client *client);

/**
 * clients_event() - the watch set reports a client
 * @client:	Client
 * @hung_up:	Its peer has closed, or shut its side down
 *
 * One that is served belongs to the program for now, and one that is ready has enough to do; both
 * are read later.
 */
void clients_event(struct client *client, bool hung_up);

/**
 * clients_park() - put a client where it belongs that was served
 * @client:	Client, in any phase but CLIENT_SERVED
 */
void clients_park(struct client *client);

/**
 * clients_wait() - put a client where it belongs without a look at its socket
 * @client:	Client that is not served any more
 */
void clients_wait(struct client *client);

/**
 * clients_unshare() - give a client a descriptor of its own
 * @client:	Client
 *
 * Return: 0, or -1 with errno
 */
int clients_unshare(struct client *client);

/**
 * clients_drain() - wait for the peer to close, discarding what it sends
 * @client:	Client that was answered, with a descriptor of its own
 */
void clients_drain(struct client *client);

/**
 * clients_ready() - take the client that has been ready for longest
 *
 * Return: client in CLIENT_READY, in no queue, or NULL
 */
struct client *clients_ready(void);

/**
 * clients_first_ready() - look at the client that has been ready for longest
 *
 * Return: client in CLIENT_READY, still in its queue, or NULL
 */
struct client *clients_first_ready(void);

/**
 * clients_have_ready() - is one ready
 *
 * Return: true if clients_ready() has one
 */
bool clients_have_ready(void);

/**
 * clients_expire() - drop those whose time is over
 *
 * Return: milliseconds until the next one's is, -1 for never
 */
int clients_expire(void);

/**
 * clients_parked() - one that waits between two requests
 *
 * Those that are ready come first, then those that have begun to send, then the others.
 *
 * Return: the one that came first, still in its queue, or NULL
 */
struct client *clients_parked(void);

/**
 * clients_after() - the one behind it
 * @client:	Client in a queue
 *
 * Return: the next one of its queue, or the first of the next queue in the order of
 * clients_parked(); NULL if there is none
 */
struct client *clients_after(const struct client *client);

/**
 * clients_fresh() - a new one that has sent nothing yet
 *
 * Return: the one that came first, still in its queue, or NULL
 */
struct client *clients_fresh(void);

/**
 * clients_idle() - one that was served before and waits for nothing at the moment
 *
 * Return: the one that has idled for longest, still in its queue, or NULL
 */
struct client *clients_idle(void);

/**
 * clients_unlist() - take a client out of its queue
 * @client:	Client
 */
void clients_unlist(struct client *client);

/**
 * clients_abandon() - forget all, in a copy that a script forked
 *
 * Async-signal-safe.
 */
void clients_abandon(void);

#endif
