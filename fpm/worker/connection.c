/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's view: one connection, behind which the worker's clients take turns. */

#include "connection.h"

#include "clients.h"
#include "handoff.h"
#include "libc.h"
#include "rescue.h"
#include "score.h"
#include "stream.h"
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * The program has one number, `fd`, from accept() to close(). Which socket is behind it changes at
 * one place only: when the program has answered a request and asks for the next one. Then its
 * client is put among the waiting ones, with a descriptor of its own, and the number is pointed
 * (dup3) at the client whose turn it is. The program takes that for the next request on a kept
 * connection.
 *
 * A program that does not keep the connection shuts it down, reads until its client closes, and
 * closes. We answer that read with the end of file, and hold the socket ourselves if closing it
 * now would reset it: that is, if there is input that nobody has read.
 */
static struct {
	int fd;		       /* the program's number, -1 if it has none */
	struct client *client; /* whom it serves, NULL if it waits */
	uint64_t behind;       /* serial of the client whose socket the number refers to */
	bool shut;	       /* the program's side is shut down */
} self = {.fd = -1};

bool connection_is(int fd)
{
	return fd >= 0 && fd == self.fd;
}

static void serve(struct client *c)
{
	c->phase = CLIENT_SERVED;
	c->fresh = false;
	self.client = c;
	self.shut = false;
	score_busy(c->buffer + c->start, client_pending(c));
	score_parked(clients_held() - 1);
	rescue_busy();
	handoff_send_fresh();
}

static void copy_peer(const struct client *c, struct sockaddr *addr, socklen_t *len)
{
	if (!addr || !len)
		return;
	memcpy(addr, &c->peer, *len < c->peer_len ? *len : c->peer_len);
	*len = c->peer_len;
}

static int accept_locked(struct sockaddr *addr, socklen_t *len, int flags)
{
	self.fd = -1;
	self.client = NULL;
	score_idle();
	rescue_idle();
	for (;;) {
		struct client *c = wait_next();

		if (!c)
			return -1;
		/* A fresh one is given as it is; a watched one, or a pipe, keeps its own for us. */
		self.fd = c->watched || c->answers != -1 ? fcntl(c->fd, F_DUPFD_CLOEXEC, 3) : c->fd;
		if (self.fd == -1) {
			clients_drop(c);
			continue;
		}
		self.behind = c->serial;
		serve(c);
		if (flags & SOCK_NONBLOCK)
			(void)fcntl(self.fd, F_SETFL, O_RDWR | O_NONBLOCK);
		copy_peer(c, addr, len);
		return self.fd;
	}
}

int connection_accept(struct sockaddr *addr, socklen_t *len, int flags)
{
	int fd;

	rescue_enter();
	fd = accept_locked(addr, len, flags);
	rescue_leave();
	return fd;
}

/* Points the program's number at a client; false if that failed. */
static bool attach(struct client *c)
{
	if (self.behind != c->serial) {
		if (dup3(c->fd, self.fd, O_CLOEXEC) == -1)
			return false;
		if (!c->watched) {
			/* It was never watched, so its own number is not needed any more. */
			(void)libc_calls()->close(c->fd);
			c->fd = self.fd;
		}
		self.behind = c->serial;
	}
	serve(c);
	return true;
}

/* Puts the served client among the waiting ones; false if it has to stay. */
static bool park(void)
{
	struct client *c = self.client;

	if (c->fd == self.fd && clients_unshare(c) == -1)
		return false;
	self.client = NULL;
	score_idle();
	rescue_idle();
	(void)client_next(c);
	clients_park(c);
	return true;
}

/* Waits for the next request; NULL if the program shall see an end of file instead. */
static struct client *next_request(void)
{
	for (;;) {
		struct client *c = wait_next();

		if (!c || attach(c))
			return c;
		clients_drop(c);
	}
}

/* An empty STDIN record, for a program that asks for more of an input that has ended. */
static ssize_t end_of_input(void *data, size_t size)
{
	static const uint8_t record[FCGI_HEADER_LEN] = {FCGI_VERSION_1, FCGI_STDIN, 0, 1};

	if (size < sizeof(record))
		return 0;
	memcpy(data, record, sizeof(record));
	return sizeof(record);
}

/* Reads into the client's buffer, waiting for it; returns what recv() did. */
static ssize_t fill(struct client *c)
{
	uint8_t *at;
	size_t room = client_room(c, &at);
	ssize_t n = stream_wait(c, at, room);

	if (n > 0) {
		c->end += (uint32_t)n;
		c->more = (size_t)n == room;
	}
	return n;
}

/* Inside a record's content, bytes can go straight to the program. */
static bool fits_in_record(const struct client *c, size_t size)
{
	return size >= 4096 && c->in.state == WIRE_PARSER_RECORD && c->in.content_left >= size;
}

/* Gives the program what is in the buffer, as far as it belongs to its request. */
static ssize_t give(struct client *c, void *data, size_t size)
{
	size_t taken = client_pending(c) < size ? client_pending(c) : size;

	taken = client_take(c, c->buffer + c->start, taken);
	/* Outside of a request the program would pass over empty records without end. */
	if (taken == 0 && c->input_ended)
		return c->took_begin ? end_of_input(data, size) : 0;
	memcpy(data, c->buffer + c->start, taken);
	c->start += (uint32_t)taken;
	return (ssize_t)taken;
}

/* No descriptor was free to park the client with: it keeps the worker, as it would without us. */
static ssize_t next_of_same(struct client *c, void *data, size_t size)
{
	bool ready = client_next(c);

	while (!ready) {
		ssize_t n = fill(c);

		if (n <= 0)
			return n;
		ready = client_look(c);
	}
	serve(c);
	return give(c, data, size);
}

/*
 * Parks the client that was answered, if there is one, and waits for the next request. Returns
 * whose it is: the same client's, not parked, if that was impossible; NULL if the program shall see
 * an end of file.
 */
static struct client *change_client(void)
{
	struct client *c = self.client;

	rescue_enter();
	if (!c || park())
		c = next_request();
	rescue_leave();
	return c;
}

ssize_t connection_read(void *data, size_t size)
{
	struct client *c = self.client;
	ssize_t n;

	if (self.shut)
		return 0;
	if (!c || client_is_answered(c)) {
		c = change_client();
		if (!c) {
			/* With EINTR php-cgi would read once more before it looks at its flag. */
			errno = 0;
			return 0;
		}
		if (client_is_answered(c))
			return next_of_same(c, data, size);
	}
	if (client_pending(c) == 0 && !c->input_ended) {
		if (fits_in_record(c, size)) {
			n = libc_calls()->read(c->fd, data, size);
			if (n > 0)
				(void)client_take(c, data, (size_t)n);
			return n;
		}
		n = fill(c);
		if (n <= 0)
			return n;
	}
	return give(c, data, size);
}

ssize_t connection_write(const void *data, size_t size)
{
	ssize_t n = stream_write(self.client, self.fd, data, size);

	if (n <= 0 || !self.client)
		return n;
	score_wrote((size_t)n);
	for (unsigned int ends = client_wrote(self.client, data, (size_t)n); ends > 0; ends--)
		score_served();
	return n;
}

int connection_poll(struct pollfd *fd, int timeout)
{
	if (self.client && client_pending(self.client) > 0 && (fd->events & POLLIN)) {
		fd->revents = POLLIN;
		return 1;
	}
	return libc_calls()->poll(fd, 1, timeout);
}

ssize_t connection_recv(void *data, size_t size, int flags)
{
	if (self.client && (self.shut || client_is_answered(self.client)))
		return 0;
	return libc_calls()->recv(self.fd, data, size, flags);
}

int connection_shutdown(int how)
{
	if (!self.client)
		return 0;
	self.shut = how != SHUT_RD;
	if (self.client->answers != -1)
		return 0;
	return libc_calls()->shutdown(self.fd, how);
}

/* Would closing the socket now reset it under an answer that is still on its way? */
static bool has_unread_input(struct client *c)
{
	/* php-cgi leaves the empty STDIN record behind; that much may be passed over. */
	(void)client_next(c);
	return c->phase != CLIENT_HEAD || client_pending(c) > 0 || stream_has_input(c);
}

/* What is to be done with the client of a connection that the program closes. */
static void release(struct client *c, int fd)
{
	/* Pipes have no end: what comes next is the next request. */
	if (c->answers != -1 && client_is_answered(c)) {
		(void)client_next(c);
		clients_park(c);
		return;
	}
	if (client_is_answered(c) && has_unread_input(c) &&
	    (c->fd != fd || clients_unshare(c) == 0)) {
		if (!self.shut)
			(void)libc_calls()->shutdown(c->fd, SHUT_WR);
		clients_drain(c);
		return;
	}
	/* The number may be its only descriptor; the program's close() is for that. */
	if (c->fd == fd)
		c->fd = -1;
	clients_drop(c);
}

int connection_close(void)
{
	struct client *c = self.client;
	int fd = self.fd;

	self.fd = -1;
	self.client = NULL;
	if (c) {
		rescue_enter();
		release(c, fd);
		rescue_leave();
	}
	return libc_calls()->close(fd);
}

void connection_leave(void)
{
	if (wait_is_over())
		return;
	rescue_enter();
	/* Nobody would pass on what the rescue thread took from here on until the process is gone. */
	rescue_idle();
	/* A program that was told to end does not ask for the next request of its client. */
	if (self.client && client_is_answered(self.client) && !self.shut)
		(void)park();
	handoff_send_all();
	rescue_leave();
}

void connection_abandon(void)
{
	int null;

	clients_abandon();
	handoff_abandon();
	wait_abandon();
	if (self.fd == -1)
		return;
	/* In a root folder without devices the standard input has to do. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null == -1)
		null = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (null != -1)
		(void)dup3(null, self.fd, O_CLOEXEC);
	else
		(void)libc_calls()->close(self.fd);
	if (null != -1)
		(void)libc_calls()->close(null);
	self.fd = -1;
}
