/* SPDX-License-Identifier: BSD-2-Clause */
/* The connections that a worker holds: bytes read ahead, and where requests begin and end in them. */
#ifndef FPM_WORKER_CLIENT_H
#define FPM_WORKER_CLIENT_H

#include "fcgi/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

/* Room for the longest head: BEGIN_REQUEST and 64 KiB of PARAMS, with padding. */
#define CLIENT_BUFFER_SIZE (128U * 1024)

/* Most connections that a worker holds. */
#define CLIENT_MAX 1024

/* A client that sends nothing for longer is not waited for by anybody in a hurry. */
#define CLIENT_FRESH_MS 1000

/* Where a connection is, as its input tells. */
enum client_phase {
	CLIENT_FREE = 0, /* this entry holds none */
	CLIENT_HEAD,	 /* between two requests: collects the next one's head */
	CLIENT_READY,  /* a whole head is in the buffer, or something that the program must judge */
	CLIENT_SERVED, /* the program has it */
	CLIENT_REST,   /* answered; what is left of its input is passed over */
	CLIENT_DRAIN,  /* answered and shut down: waits for the peer to close */
};

/**
 * struct client - one connection
 * @fd:		Our descriptor of it; of a pair of pipes the one that requests come from
 * @answers:	Of a pair of pipes the one that answers go into, -1 if @fd is a socket
 * @phase:	Phase
 * @fresh:	It was never served, and is not older than CLIENT_FRESH_MS
 * @born_ms:	When it was accepted, monotonic clock
 * @watched:	@fd is in the watch set
 * @more:	The last read filled its buffer, so there may be more without a new event
 * @missed:	An event came while nobody could read: its edge is used up
 * @hung_up:	The peer has closed, or shut its side down: there is an end to be read
 * @buffer:	CLIENT_BUFFER_SIZE bytes
 * @start:	First byte of @buffer that was not taken yet
 * @end:	Behind its last byte
 * @scan:	CLIENT_HEAD: first byte that was not looked at yet, a record's start
 * @begun:	CLIENT_HEAD: BEGIN_REQUEST was seen
 * @in:		Where the program stands in the input
 * @out:	Where the program stands in its answer
 * @serial:	Number of the connection: entries are used again
 * @was_served:	A request of it was served before
 * @took_begin:	The program took BEGIN_REQUEST
 * @request_id:	Its id
 * @last_stream:	FCGI_STDIN, or FCGI_DATA for a filter: its empty record ends the input
 * @input_ended: The program took the empty record that ends the input
 * @answered:	END_REQUEST is out as a whole
 * @since_ms:	When it began to wait in @waits_in, monotonic clock
 * @waits_in:	Phase in which it was put into @queue
 * @peer:	Address of the peer, as accept() gave it
 * @peer_len:	Bytes of @peer
 * @queue:	Queue that it stands in, NULL if in none
 * @link:	Its neighbours there
 */
struct client {
	int fd;
	int answers;
	enum client_phase phase;
	bool fresh;
	uint64_t born_ms;
	bool watched;
	bool more;
	bool missed;
	bool hung_up;
	uint8_t *buffer;
	uint32_t start;
	uint32_t end;
	uint32_t scan;
	bool begun;
	struct wire_parser in;
	struct wire_parser out;
	uint64_t serial;
	bool was_served;
	bool took_begin;
	unsigned int request_id;
	uint8_t last_stream;
	bool input_ended;
	bool answered;
	uint64_t since_ms;
	enum client_phase waits_in;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	struct client_queue *queue;
	TAILQ_ENTRY(client) link;
};

TAILQ_HEAD(client_queue, client);

/**
 * client_start() - a connection that has sent nothing yet
 * @client:	Entry with a buffer
 * @fd:		Its descriptor
 */
void client_start(struct client *client, int fd);

/**
 * client_look() - see how far the bytes in the buffer go
 * @client:	In CLIENT_HEAD or CLIENT_REST; what is left of an old request is passed over
 *
 * CLIENT_READY follows when the head is complete: BEGIN_REQUEST and the first record behind it
 * that is not a part of PARAMS; or a management record; or when something else stands there, or
 * the buffer is full: then the program shall say what it thinks of it. What belongs to a request
 * that is over is passed over.
 *
 * Return: true if the client is ready
 */
bool client_look(struct client *client);

/**
 * client_take() - note that the program takes bytes
 * @client:	In CLIENT_SERVED
 * @data:	Bytes that come next
 * @size:	Their number
 *
 * Return: how many of them it may have: none behind the end of its request's input
 */
size_t client_take(struct client *client, const uint8_t *data, size_t size);

/**
 * client_wrote() - note that the kernel took bytes of the answer
 * @client:	In CLIENT_SERVED
 * @data:	Bytes
 * @size:	Their number
 *
 * Return: number of END_REQUEST records of the request that became whole by it
 */
unsigned int client_wrote(struct client *client, const uint8_t *data, size_t size);

/**
 * client_is_answered() - may another connection have the program now
 * @client:	In CLIENT_SERVED
 *
 * Return: true if the program has answered the request, or a management record, to its end
 */
bool client_is_answered(const struct client *client);

/**
 * client_next() - the program asks for the next request
 * @client:	A client that is answered; goes to CLIENT_HEAD, CLIENT_REST or CLIENT_READY
 *
 * Return: true if the next request's head is in the buffer already
 */
bool client_next(struct client *client);

/**
 * client_pending() - bytes in the buffer
 * @client:	Client
 *
 * Return: number of bytes that were not taken yet
 */
static inline size_t client_pending(const struct client *client)
{
	return client->end - client->start;
}

/**
 * client_room() - make room behind the bytes in the buffer
 * @client:	Client
 * @ret_at:	Where to put more
 *
 * Return: number of bytes that fit there
 */
size_t client_room(struct client *client, uint8_t **ret_at);

#endif
