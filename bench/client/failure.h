/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways in which a request can fail. */
#ifndef BENCH_CLIENT_FAILURE_H
#define BENCH_CLIENT_FAILURE_H

#include "bench/client/histogram.h"

#include <stdint.h>

enum failure {
	FAILURE_NONE = 0,
	/* connect */
	FAILURE_EAGAIN,	       /* unix: the accept queue is full */
	FAILURE_REFUSED,       /* nobody listens */
	FAILURE_CONNECT_RESET, /* reset before the connection was there */
	FAILURE_CONNECT_TIMEOUT,
	FAILURE_ADDRESSES, /* EADDRNOTAVAIL: no local port is left */
	FAILURE_NO_PATH,   /* no such socket, or no right to use it */
	FAILURE_LOCAL,	   /* our own limit: no descriptor, no memory */
	/* send */
	FAILURE_SEND_PIPE, /* EPIPE: the peer has closed */
	FAILURE_SEND_RESET,
	FAILURE_SEND_TIMEOUT,
	/* receive */
	FAILURE_TIMEOUT_SILENT,	 /* not one byte came */
	FAILURE_TIMEOUT_PARTIAL, /* part of the answer came */
	FAILURE_STARVED,	 /* as silent, on a connection that no worker has ever taken */
	FAILURE_RECEIVE_RESET,
	FAILURE_EOF_EMPTY,  /* closed without a byte */
	FAILURE_EOF_SHORT,  /* closed inside the answer */
	FAILURE_BAD_RECORD, /* version, type, length or request id that can't be */
	FAILURE_OVERFLOW,   /* the answer's head is larger than what a client has to take */
	/* protocol */
	FAILURE_CANT_MPX,   /* END_REQUEST: FCGI_CANT_MPX_CONN */
	FAILURE_OVERLOADED, /* END_REQUEST: FCGI_OVERLOADED */
	FAILURE_ROLE,	    /* END_REQUEST: FCGI_UNKNOWN_ROLE, or a status unknown to us */
	FAILURE_APP_STATUS, /* the program's exit status is not 0 */
	/* content */
	FAILURE_NO_HEAD, /* the answer has no head */
	FAILURE_STATUS,	 /* Status: is not what was expected */
	FAILURE_LENGTH,	 /* the body has another length than expected */
	FAILURE_CONTENT, /* the body has other bytes than expected */
	/* client */
	FAILURE_DROPPED,  /* open loop: more waited than --max-queue allows; never sent */
	FAILURE_DEADLINE, /* the run ended first: it took at least this long */
	FAILURE_CLASSES,
};

/**
 * failure_name() - the class as reports and --require name it
 * @failure:	Class
 *
 * Return: a static string of lower-case letters and '_', e.g. "timeout_silent"
 */
const char *failure_name(enum failure failure);

/**
 * failure_text() - what it means, for a reader
 * @failure:	Class
 *
 * Return: a static string, at most 60 characters
 */
const char *failure_text(enum failure failure);

/**
 * struct failures - all zero is an empty one
 * @count:	Of each class
 * @first_ns:	Time of the first one since the start of the run, of each class
 * @last_ns:	Time of the last one
 * @times:	How long failed requests took, all classes
 */
struct failures {
	uint64_t count[FAILURE_CLASSES];
	uint64_t first_ns[FAILURE_CLASSES];
	uint64_t last_ns[FAILURE_CLASSES];
	struct histogram times;
};

/**
 * failures_add() - count one
 * @failures:	Counters
 * @failure:	Class
 * @at_ns:	Since the start of the run
 * @took_ns:	Time from its start to its failure
 */
void failures_add(struct failures *failures, enum failure failure, uint64_t at_ns,
		  uint64_t took_ns);

/**
 * failures_merge() - add what another one counted
 * @into:	Changed
 * @from:	Left alone
 */
void failures_merge(struct failures *into, const struct failures *from);

/**
 * failures_total() - how many there are
 * @failures:	Counters
 *
 * Return: sum of all classes
 */
uint64_t failures_total(const struct failures *failures);

#endif
