/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's table of connections, with peers over real sockets and a clock that is set by hand. */
#ifndef TESTS_WORKER_FIXTURE_H
#define TESTS_WORKER_FIXTURE_H

#include "fpm/worker/clients.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The clock; programs that use this are linked with -Wl,--wrap=clock_gettime. */
extern uint64_t fixture_now_ms;

/**
 * fixture_open() - an empty table, and a watch set
 * @entries:	Entries of the table, up to 128
 * @limits:	Its limits
 */
void fixture_open(unsigned int entries, struct clients_limits limits);

/**
 * fixture_close() - drop all of it; every descriptor must be accounted for
 *
 * Peers are the caller's to close before.
 */
void fixture_close(void);

/**
 * fixture_held() - connections that the table holds
 *
 * Return: their number
 */
uint32_t fixture_held(void);

/**
 * fixture_connect() - a connection is accepted, as the worker does it
 * @ret_client:	Client, NULL if it was refused; may be NULL
 *
 * Return: the peer's end, non-blocking
 */
int fixture_connect(struct client **ret_client);

/**
 * fixture_event() - handle the kernel's first event
 *
 * Return: false if there is none
 */
bool fixture_event(void);

/**
 * fixture_events() - handle all
 */
void fixture_events(void);

/**
 * fixture_park() - the program has answered the client and asks for the next request
 * @client:	Client that clients_ready() gave
 * @take:	Bytes that it has taken of its input
 */
void fixture_park(struct client *client, size_t take);

/**
 * fixture_request() - the bytes of a request
 * @bytes:	Where to put them, up to 66000 more than @params and @body
 * @params:	Bytes of its parameters, up to 65535
 * @body:	Bytes of its body, up to 65535
 *
 * Return: their number
 */
size_t fixture_request(uint8_t *bytes, size_t params, size_t body);

/**
 * fixture_send() - a peer sends
 * @peer:	Its end
 * @bytes:	All of these must fit its socket
 * @size:	Number of them
 */
void fixture_send(int peer, const void *bytes, size_t size);

/**
 * fixture_is_open() - does the peer find its connection open, with nothing to read
 * @peer:	Its end
 *
 * Return: true if so, false if it has been closed
 */
bool fixture_is_open(int peer);

/**
 * fixture_expect() - the bytes in a client's buffer
 * @client:	Client
 * @bytes:	What must be there
 * @size:	Number of them
 */
void fixture_expect(const struct client *client, const void *bytes, size_t size);

#endif
