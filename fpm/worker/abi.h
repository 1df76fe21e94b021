/* SPDX-License-Identifier: BSD-2-Clause */
/* What the manager and libberth-worker.so share: messages, inherited descriptors, scoreboard. */
#ifndef FPM_WORKER_ABI_H
#define FPM_WORKER_ABI_H

#include <stdint.h>

/* Changes whenever anything below does. */
#define ABI_VERSION 6U

/*
 * Inherited by a template: its end of the control socket and the library itself, which is
 * preloaded as /proc/self/fd/ABI_FD_LIBRARY. Both keep open across exec until the program
 * accepts for the first time, so that a wrapper script may stand in front of it.
 */
#define ABI_FD_CONTROL 3
#define ABI_FD_LIBRARY 4
#define ABI_PRELOAD    "/proc/self/fd/4"

/*
 * "ABI_VERSION KEEP DUMPABLE": makes the process a template. KEEP says how many bytes of
 * PHP_INI_SCAN_DIR's value are the pool's own, -1 if it did not set the variable: the rest names
 * a folder that is gone once the program has started. DUMPABLE is 1, or 0 if the process must not be
 * dumped or traced by its own user; an exec resets that, so the library sees to it.
 */
#define ABI_ENV		 "BERTH_TEMPLATE"
#define ABI_ENV_SCAN_DIR "PHP_INI_SCAN_DIR"

enum abi_type {
	/* manager to template */
	ABI_SPAWN = 1, /* fork a worker; descriptors in the order of enum abi_spawn_fd */
	ABI_SHUTDOWN,  /* leave; so does the end of the stream */
	/* template to manager */
	ABI_READY = 16, /* stands in its first accept(): threads, descriptors */
	ABI_SPAWNED,	/* answers ABI_SPAWN: pid and a pidfd, or error */
	ABI_EXITED,	/* a worker ended: pid, status and rusage */
};

/* Descriptors of an ABI_SPAWN. */
enum abi_spawn_fd {
	ABI_SPAWN_FD_OUTPUT = 0,  /* becomes 1 and 2 */
	ABI_SPAWN_FD_LIFELINE,	  /* readable (end of file) when the worker is to leave */
	ABI_SPAWN_FD_SCOREBOARD,  /* memfd of struct abi_score[] */
	ABI_SPAWN_FD_ATTENTION,	  /* eventfd: written when our entry wants to be looked at */
	ABI_SPAWN_FD_HANDOFF_IN,  /* where the slot's last worker puts its connections */
	ABI_SPAWN_FD_HANDOFF_OUT, /* where we put ours */
	ABI_SPAWN_FD_FRESH_IN,	  /* where any worker of the pool puts connections that wait */
	ABI_SPAWN_FD_FRESH_OUT,	  /* where we put ours */
	ABI_SPAWN_FD_PEERS,	  /* memfd of struct abi_peers; empty if everybody may connect */
	ABI_SPAWN_FD_LISTENER,	  /* the first of abi_message.listeners */
};

/* What a worker does about its clients while its program is busy. */
enum abi_rescue {
	ABI_RESCUE_NONE = 0, /* they wait */
	ABI_RESCUE_LEAVING,  /* when it is asked to leave they go to its successor at once */
	ABI_RESCUE_ALL,	     /* likewise, and those that are ready go to a free worker */
};

#define ABI_LISTENERS_MAX 64
#define ABI_SPAWN_FDS_MAX (ABI_SPAWN_FD_LISTENER + ABI_LISTENERS_MAX)

/**
 * struct abi_message - every message in both directions; unused members are 0
 * @abi:		ABI_VERSION
 * @type:		enum abi_type
 * @epoch:		Of the manager that asked; answers repeat the last one seen
 * @sequence:		Of the ABI_SPAWN that is answered
 * @slot:		Slot number from 1
 * @score:		ABI_SPAWN: index into the scoreboard
 * @scores:		ABI_SPAWN: entries that the scoreboard has
 * @listeners:		ABI_SPAWN: number of listeners
 * @max_requests:	ABI_SPAWN: requests after which the worker wants a successor, 0 = none
 * @header_timeout_ms:	ABI_SPAWN: longest time that a request's head may take, 0 = any
 * @keepalive_timeout_ms: ABI_SPAWN: longest time that an idle connection is kept, 0 = any
 * @rescue:		ABI_SPAWN: enum abi_rescue
 * @pipes:		ABI_SPAWN: the two listeners are pipes: requests come from the first, answers
 *			go into the second
 * @pid:		READY, SPAWNED, EXITED
 * @error:		SPAWNED: errno if there is no worker, else 0
 * @status:		EXITED: as wait4() gives it
 * @threads:		READY: threads of the program; more than one can't be forked
 * @descriptors:	READY: open descriptors, those of berth left out
 * @max_rss_kib:	EXITED: rusage, KiB
 * @user_us:		EXITED: rusage, microseconds
 * @system_us:		EXITED: rusage, microseconds
 */
struct abi_message {
	uint32_t abi;
	uint32_t type;
	uint64_t epoch;
	uint64_t sequence;
	uint32_t slot;
	uint32_t score;
	uint32_t scores;
	uint32_t listeners;
	uint32_t max_requests;
	uint32_t header_timeout_ms;
	uint32_t keepalive_timeout_ms;
	uint32_t rescue;
	uint32_t pipes;
	int32_t pid;
	int32_t error;
	int32_t status;
	uint32_t threads;
	uint32_t descriptors;
	int64_t max_rss_kib;
	int64_t user_us;
	int64_t system_us;
};
_Static_assert(sizeof(struct abi_message) == 104, "no padding: both sides may differ in compiler");

/* Most entries of each list below. */
#define ABI_PEERS_MAX 1000

/**
 * struct abi_network - a network, or a single address, that TCP clients may come from
 * @family:	AF_INET or AF_INET6
 * @prefix:	Number of bits that count: up to 32 or 128, which is a single address
 * @address:	Address in network order, with zeros behind the prefix; IPv4 uses 4 bytes of it
 */
struct abi_network {
	uint32_t family;
	uint32_t prefix;
	uint8_t address[16];
};
_Static_assert(sizeof(struct abi_network) == 24, "no padding");

/**
 * struct abi_peers - who may connect to a pool's listeners
 * @networks:	Entries of struct abi_network right behind this; 0 = every TCP client may
 * @uids:	Entries of uint32_t behind those; 0 = every client of a unix socket may
 */
struct abi_peers {
	uint32_t networks;
	uint32_t uids;
};

enum abi_state {
	ABI_STATE_NONE = 0, /* nobody writes here */
	ABI_STATE_IDLE,	    /* waits in accept() */
	ABI_STATE_BUSY,	    /* has a connection */
};

#define ABI_METHOD_SIZE 16
#define ABI_URI_SIZE	192
#define ABI_SCRIPT_SIZE 192

/**
 * struct abi_score - one worker's entry of the scoreboard
 * @state:		enum abi_state
 * @pid:		Its writer
 * @wants_successor:	It has reached its request limit
 * @parked:		Connections that it holds and does not serve at the moment
 * @served:		Requests that it has answered
 * @accepted:		Connections that it has accepted
 * @bytes:		Bytes that it has answered with, of all requests
 * @since_ns:		When it came to its state: CLOCK_MONOTONIC_COARSE, nanoseconds
 * @method:		REQUEST_METHOD of the present request, or the last one
 * @uri:		REQUEST_URI of it, cut to fit
 * @script:		SCRIPT_FILENAME of it, cut to fit
 * @announce:		The manager wants to know of the next request: the worker clears it and
 *			writes the eventfd ABI_SPAWN_FD_ATTENTION when it starts on one
 * @ring:		Likewise, and also when @parked changes
 *
 * One writer, the worker, but for @announce and @ring; the manager clears the entry before the
 * worker is forked and reads it after.
 * Texts may be torn when they are read while they change; they end in a NUL whatever happens, as
 * the last byte is never written. Pool code can write here too, so the manager takes everything for
 * a hint and nothing for an index.
 */
struct abi_score {
	uint32_t state;
	int32_t pid;
	uint32_t wants_successor;
	uint32_t parked;
	uint64_t served;
	uint64_t accepted;
	uint64_t bytes;
	uint64_t since_ns;
	char method[ABI_METHOD_SIZE];
	char uri[ABI_URI_SIZE];
	char script[ABI_SCRIPT_SIZE];
	uint32_t announce;
	uint32_t ring;
	uint8_t reserved[56];
};
_Static_assert(sizeof(struct abi_score) == 512, "whole cache lines");

#endif
