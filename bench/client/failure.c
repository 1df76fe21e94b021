/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways in which a request can fail: names, texts, counters. */
#include "failure.h"

#include <assert.h>
#include <stddef.h>

static const struct {
	const char *name;
	const char *text;
} classes[] = {
	[FAILURE_NONE] = {"none", "no failure"},
	[FAILURE_EAGAIN] = {"eagain", "unix socket's accept queue is full"},
	[FAILURE_REFUSED] = {"refused", "nobody listens there"},
	[FAILURE_CONNECT_RESET] = {"connect_reset", "reset while connecting"},
	[FAILURE_CONNECT_TIMEOUT] = {"connect_timeout", "no connection within the timeout"},
	[FAILURE_ADDRESSES] = {"addresses", "no local port is left"},
	[FAILURE_NO_PATH] = {"no_path", "no such address, or no right to use it"},
	[FAILURE_LOCAL] = {"local", "the client ran out of descriptors or memory"},
	[FAILURE_SEND_PIPE] = {"send_pipe", "closed before the request was sent"},
	[FAILURE_SEND_RESET] = {"send_reset", "reset before the request was sent"},
	[FAILURE_SEND_TIMEOUT] = {"send_timeout", "the request could not be sent in time"},
	[FAILURE_TIMEOUT_SILENT] = {"timeout_silent", "not one byte within the timeout"},
	[FAILURE_TIMEOUT_PARTIAL] = {"timeout_partial", "only a part within the timeout"},
	[FAILURE_STARVED] = {"starved", "no worker ever took the connection"},
	[FAILURE_RECEIVE_RESET] = {"receive_reset", "reset before the answer was complete"},
	[FAILURE_EOF_EMPTY] = {"eof_empty", "closed without a byte of an answer"},
	[FAILURE_EOF_SHORT] = {"eof_short", "closed inside the answer"},
	[FAILURE_BAD_RECORD] = {"bad_record", "the answer is not valid FastCGI"},
	[FAILURE_OVERFLOW] = {"overflow", "the answer's head is too large"},
	[FAILURE_CANT_MPX] = {"cant_mpx", "responder: FCGI_CANT_MPX_CONN"},
	[FAILURE_OVERLOADED] = {"overloaded", "responder: FCGI_OVERLOADED"},
	[FAILURE_ROLE] = {"unknown_role", "responder: FCGI_UNKNOWN_ROLE or an unknown status"},
	[FAILURE_APP_STATUS] = {"app_status", "the program's exit status is not 0"},
	[FAILURE_NO_HEAD] = {"no_head", "the answer has no complete head"},
	[FAILURE_STATUS] = {"status", "another HTTP status than expected"},
	[FAILURE_LENGTH] = {"length", "the body has another length than expected"},
	[FAILURE_CONTENT] = {"content", "the body has other bytes than expected"},
	[FAILURE_DROPPED] = {"dropped", "never sent: too many waited in the client"},
	[FAILURE_DEADLINE] = {"deadline", "still unanswered when the run ended"},
};

static_assert(sizeof(classes) / sizeof(classes[0]) == FAILURE_CLASSES, "a class without a name");

const char *failure_name(enum failure failure)
{
	return failure < FAILURE_CLASSES ? classes[failure].name : "unknown";
}

const char *failure_text(enum failure failure)
{
	return failure < FAILURE_CLASSES ? classes[failure].text : "unknown";
}

void failures_add(struct failures *failures, enum failure failure, uint64_t at_ns, uint64_t took_ns)
{
	if (failures->count[failure] == 0 || at_ns < failures->first_ns[failure])
		failures->first_ns[failure] = at_ns;
	if (at_ns > failures->last_ns[failure])
		failures->last_ns[failure] = at_ns;
	failures->count[failure]++;
	histogram_add(&failures->times, took_ns);
}

void failures_merge(struct failures *into, const struct failures *from)
{
	for (size_t i = 0; i < FAILURE_CLASSES; i++) {
		if (from->count[i] == 0)
			continue;
		if (into->count[i] == 0 || from->first_ns[i] < into->first_ns[i])
			into->first_ns[i] = from->first_ns[i];
		if (from->last_ns[i] > into->last_ns[i])
			into->last_ns[i] = from->last_ns[i];
		into->count[i] += from->count[i];
	}
	histogram_merge(&into->times, &from->times);
}

uint64_t failures_total(const struct failures *failures)
{
	uint64_t total = 0;

	for (size_t i = 0; i < FAILURE_CLASSES; i++)
		total += failures->count[i];
	return total;
}
