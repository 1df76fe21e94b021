/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection to a responder, which carries one request at a time. */
#include "connection.h"

#include "load_internal.h"
#include "clock.h"
#include "peer.h"

#include <errno.h>

/*
 * Theory of operation
 *
 *	IDLE --begin--> [RETRY] --> CONNECTING --> BUSY --answer or failure--> IDLE
 *
 * A request is written at once, even while connect() is under way: on the loopback the connection
 * stands by then, and if not, the failed send() costs less than a turn of the loop. Its answer is
 * read when the loop says so, with one read() unless it is large. The read watcher of a kept
 * connection stays started, so a request costs one write, one epoll_wait and one read.
 *
 * Sending and receiving are independent: an answer may come before the body was sent, and one that
 * is complete counts, even if the rest of the request could not be sent any more. The connection is
 * then closed, since it is in the middle of a request.
 *
 * After a failure a socket is closed; the next request opens another one. A pipe can't be opened
 * anew, as nobody would notice: what was written stays in it. The rest of a request that was given
 * up half-sent is written before the next one (@behind), and the answer to a request that was given
 * up is read and thrown away before that of the next one (@owed).
 */

/* A large answer does not keep the thread from its other connections for longer than that. */
#define READS_MAX 4

/* Source addresses that are tried before a connection has failed for want of a port. */
#define SOURCES_TRIED 8

static bool is_pipe(const struct connection *connection)
{
	return connection->endpoint->transport == TRANSPORT_PIPE;
}

static bool is_kept(const struct connection *connection)
{
	return connection->thread->shared->options.keep || is_pipe(connection);
}

static const uint8_t *request_bytes(const struct connection *connection)
{
	const struct request *request = connection->thread->shared->options.request;

	return is_kept(connection) ? request->kept : request->once;
}

static size_t request_size(const struct connection *connection)
{
	return connection->thread->shared->options.request->size;
}

static void close_link(struct connection *connection)
{
	struct ev_loop *loop = connection->thread->loop;

	ev_io_stop(loop, &connection->readable);
	ev_io_stop(loop, &connection->writable);
	transport_close(&connection->link);
	connection->answers = 0;
	connection->behind = 0;
	connection->owed = 0;
}

static void start_response(struct connection *connection)
{
	const struct response_expect *expect = connection->thread->shared->options.expect;

	response_start(&connection->response, expect, expect->check_hash);
}

static void end(struct connection *connection, enum failure failure, uint64_t now_ns)
{
	ev_timer_stop(connection->thread->loop, &connection->retry);
	connection->state = CONNECTION_IDLE;
	load_thread_finished(connection->thread, connection, failure, now_ns);
}

/* The connection is of no use any more. It is closed first: a responder may wait for that. */
static void lose(struct connection *connection, enum failure failure, uint64_t now_ns)
{
	close_link(connection);
	end(connection, failure, now_ns);
}

/* The answer was read to its end. */
static void finish(struct connection *connection, enum failure failure, uint64_t now_ns)
{
	const size_t unsent = request_size(connection) - connection->sent;

	if (!is_kept(connection) || (unsent > 0 && !is_pipe(connection)) ||
	    connection->send_failure != FAILURE_NONE) {
		lose(connection, failure, now_ns);
		return;
	}
	connection->answers++;
	connection->behind = unsent;
	end(connection, failure, now_ns);
}

/* The answer will come too late, or never. */
static void give_up(struct connection *connection, enum failure failure, uint64_t now_ns)
{
	if (!is_pipe(connection) || connection->state != CONNECTION_BUSY) {
		lose(connection, failure, now_ns);
		return;
	}
	/* While the request before this one is not sent, nothing is owed for this one. */
	if (connection->sent > 0) {
		connection->owed++;
		connection->behind = request_size(connection) - connection->sent;
	}
	end(connection, failure, now_ns);
}

static void connected(struct connection *connection, uint64_t now_ns)
{
	struct load_result *result = connection->thread->result;

	connection->state = CONNECTION_BUSY;
	result->connections_made++;
	if (connection->thread->recording)
		histogram_add(&result->connect, now_ns - connection->start_ns);
}

static void connect_failed(struct connection *connection, int error)
{
	lose(connection, transport_connect_failure(connection->endpoint->transport, error),
	     clock_now_ns());
}

static void send_failed(struct connection *connection, int error)
{
	if (connection->state == CONNECTION_CONNECTING) {
		connect_failed(connection, error);
		return;
	}
	if (connection->state == CONNECTION_IDLE) {
		close_link(connection);
		return;
	}
	/* What the peer wrote before it went away is still to be read, and tells more. */
	connection->send_failure = transport_send_failure(error);
	ev_io_stop(connection->thread->loop, &connection->writable);
	ev_io_start(connection->thread->loop, &connection->readable);
}

/* One write for a request, unless the rest of an older one has to go before it. */
static ssize_t send_next(struct connection *connection)
{
	const uint8_t *request = request_bytes(connection);
	const size_t size = request_size(connection);
	const size_t behind = connection->behind;
	ssize_t bytes;

	if (behind > 0) {
		bytes = transport_send(&connection->link, request + size - behind, behind);
		if (bytes > 0)
			connection->behind -= (size_t)bytes;
	} else {
		bytes = transport_send(&connection->link, request + connection->sent,
				       size - connection->sent);
		if (bytes > 0)
			connection->sent += (size_t)bytes;
	}
	return bytes;
}

static bool has_unsent(const struct connection *connection)
{
	return connection->behind > 0 || (connection->state != CONNECTION_IDLE &&
					  connection->sent < request_size(connection));
}

static void send_some(struct connection *connection)
{
	struct ev_loop *loop = connection->thread->loop;
	ssize_t bytes;

	do {
		const bool was_behind = connection->behind > 0;

		bytes = send_next(connection);
		if (bytes < 0 && bytes != -EAGAIN) {
			send_failed(connection, (int)bytes);
			return;
		}
		if (bytes > 0)
			connection->thread->result->bytes_out += (uint64_t)bytes;
		if (!was_behind)
			break;
	} while (bytes > 0 && has_unsent(connection));
	if (bytes > 0 && connection->state == CONNECTION_CONNECTING)
		connected(connection, clock_now_ns());
	if (has_unsent(connection))
		ev_io_start(loop, &connection->writable);
	else
		ev_io_stop(loop, &connection->writable);
	/* A socket that is not connected yet would be reported as hung up. */
	if (connection->state != CONNECTION_CONNECTING)
		ev_io_start(loop, &connection->readable);
}

/*
 * Towards 127/8 each of our 127.0.0.x has local ports of its own. The next one is kept until it has
 * none either: by the time all had their turn, the first has some again.
 */
static int open_from_any(struct connection *connection)
{
	struct load_thread *thread = connection->thread;
	const struct load_options *options = &thread->shared->options;
	struct transport_options socket_options = {.nodelay = options->nodelay,
						   .quickack = options->quickack,
						   .blocking = thread->alone,
						   .source = thread->source};
	int rc = transport_open(connection->endpoint, &socket_options, &connection->link);

	for (int i = 0; i < SOURCES_TRIED && transport_can_rotate(connection->endpoint, rc); i++) {
		/* 127.0.0.1 is what the kernel chooses; 127.0.0.255 would be odd. */
		thread->source = thread->source == 0 ? 2 : (uint8_t)(thread->source + 1) % 255;
		thread->result->source_changes++;
		socket_options.source = thread->source;
		rc = transport_open(connection->endpoint, &socket_options, &connection->link);
	}
	return rc;
}

static void open_link(struct connection *connection)
{
	const struct load_options *options = &connection->thread->shared->options;
	const int rc = open_from_any(connection);

	if (rc == -EAGAIN && connection->endpoint->transport == TRANSPORT_UNIX &&
	    options->eagain != LOAD_EAGAIN_FAIL) {
		connection->state = CONNECTION_RETRY;
		ev_now_update(connection->thread->loop);
		ev_timer_again(connection->thread->loop, &connection->retry);
		return;
	}
	if (rc < 0 && rc != -EINPROGRESS) {
		connect_failed(connection, rc);
		return;
	}
	connection->state = CONNECTION_CONNECTING;
	connection->answers = 0;
	ev_io_set(&connection->readable, connection->link.in, EV_READ);
	ev_io_set(&connection->writable, connection->link.out, EV_WRITE);
	if (rc == 0)
		connected(connection, clock_now_ns());
	send_some(connection);
}

void connection_begin(struct connection *connection, uint64_t intended_ns, uint64_t now_ns)
{
	connection->intended_ns = intended_ns;
	connection->start_ns = now_ns;
	connection->first_ns = 0;
	connection->send_failure = FAILURE_NONE;
	connection->sent = 0;
	if (connection->owed == 0)
		start_response(connection);
	if (connection->link.in == -1) {
		open_link(connection);
		return;
	}
	connection->state = CONNECTION_BUSY;
	send_some(connection);
}

static void retry_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)events;
	ev_timer_stop(loop, w);
	open_link(w->data);
}

static void writable_cb(struct ev_loop *loop, ev_io *w, int events)
{
	struct connection *connection = w->data;
	int rc = 0;

	(void)loop;
	(void)events;
	if (connection->state == CONNECTION_CONNECTING) {
		rc = transport_connect_error(&connection->link);
		if (rc == 0)
			connected(connection, clock_now_ns());
	}
	if (rc < 0)
		connect_failed(connection, rc);
	else
		send_some(connection);
}

/* Takes bytes of answers that nobody waits for any more; returns how many they were. */
static size_t take_owed(struct connection *connection, const uint8_t *data, size_t size)
{
	size_t all = 0;

	while (connection->owed > 0 && all < size) {
		size_t used;

		if (response_take(&connection->response, data + all, size - all, &used) ==
		    RESPONSE_MORE)
			return size;
		all += used;
		/* What can't be read as records has no end that could be waited for. */
		if (!connection->response.whole)
			return size;
		connection->owed--;
		start_response(connection);
	}
	return all;
}

/* Returns false when the request has ended. */
static bool take(struct connection *connection, const uint8_t *data, size_t size, uint64_t now_ns)
{
	enum response_result result;
	size_t used = take_owed(connection, data, size);

	data += used;
	size -= used;
	if (size == 0)
		return true;
	if (connection->first_ns == 0)
		connection->first_ns = now_ns;
	result = response_take(&connection->response, data, size, &used);
	if (result == RESPONSE_MORE)
		return true;
	if (!connection->response.whole)
		lose(connection, connection->response.failure, now_ns);
	else if (used < size && is_kept(connection))
		/* What follows belongs to no request; the next one must not find it. */
		lose(connection, FAILURE_BAD_RECORD, now_ns);
	else
		finish(connection, connection->response.failure, now_ns);
	return false;
}

/*
 * The peer is gone. Whether a request that was not sent yet meets the end in send() or in read() is
 * a matter of microseconds, so its class must not depend on that.
 */
static void ended(struct connection *connection, enum failure failure, uint64_t now_ns)
{
	const bool reset =
		failure == FAILURE_RECEIVE_RESET || connection->send_failure == FAILURE_SEND_RESET;

	if (connection->first_ns == 0 && connection->sent < request_size(connection))
		failure = reset ? FAILURE_SEND_RESET : FAILURE_SEND_PIPE;
	lose(connection, failure, now_ns);
}

int connection_receive(struct connection *connection, bool wait)
{
	struct load_thread *thread = connection->thread;

	for (int i = 0; i < READS_MAX; i++) {
		const ssize_t bytes = transport_receive(&connection->link, thread->buffer,
							LOAD_BUFFER_SIZE, wait);
		const uint64_t now_ns = clock_now_ns();

		if (bytes == -EAGAIN || bytes == -EINTR)
			return (int)bytes;
		if (bytes < 0) {
			ended(connection, FAILURE_RECEIVE_RESET, now_ns);
			return 0;
		}
		if (bytes == 0) {
			ended(connection,
			      connection->owed > 0 ? FAILURE_EOF_EMPTY
						   : response_eof(&connection->response),
			      now_ns);
			return 0;
		}
		thread->result->bytes_in += (uint64_t)bytes;
		if (!take(connection, thread->buffer, (size_t)bytes, now_ns) ||
		    bytes < LOAD_BUFFER_SIZE)
			return 0;
	}
	return 0;
}

/* Nobody asked: the responder has closed the connection, or sends what is no answer. */
static void receive_idle(struct connection *connection)
{
	struct load_thread *thread = connection->thread;
	const ssize_t bytes =
		transport_receive(&connection->link, thread->buffer, LOAD_BUFFER_SIZE, false);

	if (bytes == -EAGAIN)
		return;
	if (bytes > 0 && connection->owed > 0) {
		(void)take_owed(connection, thread->buffer, (size_t)bytes);
		return;
	}
	close_link(connection);
}

static void readable_cb(struct ev_loop *loop, ev_io *w, int events)
{
	struct connection *connection = w->data;

	(void)loop;
	(void)events;
	if (connection->state == CONNECTION_BUSY)
		(void)connection_receive(connection, false);
	else
		receive_idle(connection);
}

bool connection_awaits(struct connection *connection)
{
	return connection->state == CONNECTION_BUSY && !ev_is_active(&connection->writable);
}

static enum failure timeout_class(const struct connection *connection)
{
	enum peer_state peer = PEER_UNKNOWN;

	if (connection->state == CONNECTION_RETRY)
		return FAILURE_EAGAIN;
	if (connection->state == CONNECTION_CONNECTING)
		return FAILURE_CONNECT_TIMEOUT;
	if (connection->first_ns != 0)
		return FAILURE_TIMEOUT_PARTIAL;
	if (connection->send_failure != FAILURE_NONE)
		return connection->send_failure;
	if (connection->answers == 0 && connection->sent > 0)
		peer = peer_look(&connection->link, connection->endpoint->transport,
				 connection->sent);
	if (peer == PEER_IDLE)
		return FAILURE_STARVED;
	return connection->sent < request_size(connection) ? FAILURE_SEND_TIMEOUT
							   : FAILURE_TIMEOUT_SILENT;
}

void connection_check(struct connection *connection, uint64_t now_ns, uint64_t timeout_ns)
{
	if (connection->state == CONNECTION_IDLE || now_ns - connection->start_ns < timeout_ns)
		return;
	give_up(connection, timeout_class(connection), now_ns);
}

void connection_abort(struct connection *connection, uint64_t now_ns)
{
	if (connection->state != CONNECTION_IDLE)
		give_up(connection, FAILURE_DEADLINE, now_ns);
}

void connection_init(struct connection *connection, struct load_thread *thread,
		     const struct endpoint *endpoint)
{
	const struct load_options *options = &thread->shared->options;
	const uint64_t retry_ns =
		options->eagain == LOAD_EAGAIN_RETRY ? options->eagain_retry_ns : 1000000;

	*connection = (struct connection){
		.thread = thread,
		.endpoint = endpoint,
		.link = {.in = -1, .out = -1},
	};
	ev_io_init(&connection->readable, readable_cb, -1, EV_READ);
	ev_io_init(&connection->writable, writable_cb, -1, EV_WRITE);
	ev_timer_init(&connection->retry, retry_cb, 0., (double)retry_ns / 1e9);
	connection->readable.data = connection;
	connection->writable.data = connection;
	connection->retry.data = connection;
}

void connection_done(struct connection *connection)
{
	if (connection->thread == NULL)
		return;
	ev_timer_stop(connection->thread->loop, &connection->retry);
	close_link(connection);
}
