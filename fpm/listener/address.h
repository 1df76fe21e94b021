/* SPDX-License-Identifier: BSD-2-Clause */
/* Listen addresses: the text of a `listen` line, its placeholder, and the socket addresses it means. */
#ifndef FPM_ADDRESS_H
#define FPM_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Most addresses that one name may stand for. */
#define ADDRESS_RESOLVE_MAX 8

/* Long enough for every text that address_format() makes. */
#define ADDRESS_TEXT_MAX 128

enum address_kind {
	ADDRESS_PATH = 0, /* unix socket in the file system: contains a '/' */
	ADDRESS_ABSTRACT, /* "@name": Linux's abstract unix sockets */
	ADDRESS_INET,	  /* TCP: PORT, HOST:PORT, IPv4:PORT, [IPv6]:PORT */
	ADDRESS_PIPE,	  /* "pipe:/PATH": two named pipes, PATH.in and PATH.out */
};

/**
 * struct address - one `listen` line, parsed
 * @kind:	What it is
 * @text:	The line as written (owned)
 * @host:	ADDRESS_INET: host without brackets, "127.0.0.1" if none was given (owned)
 * @port:	ADDRESS_INET: port, or the base that the slot number is added to; 0 = kernel's choice
 * @per_slot:	It holds a placeholder, so each slot has a listener of its own; otherwise all
 *		workers of the pool share one
 */
struct address {
	enum address_kind kind;
	char *text;
	char *host;
	unsigned int port;
	bool per_slot;
};

/**
 * struct address_socket - one bindable socket address, or a named pipe
 * @addr:	The address; of a pipe its path, as a unix socket has it
 * @len:	Bytes of @addr in use
 * @pipe:	It is a named pipe
 */
struct address_socket {
	union {
		struct sockaddr sa;
		struct sockaddr_un un;
		struct sockaddr_storage storage;
	} addr;
	socklen_t len;
	bool pipe;
};

/**
 * address_parse() - read the text of a `listen` line
 * @text:	Accepted: a path with a '/' ("/run/berth/www-%n.sock"), "@name", "PORT",
 *		"BASE+%n", and both of the latter after "HOST:", "IPv4:", "[IPv6]:" or ":".
 *		"%n" may stand anywhere in a path or a name, more than once, and never in a host.
 *		"pipe:" in front of a path makes it a pair of named pipes.
 * @slots:	Number of slots, 1 or more: what the longest path and the highest port are for
 * @ret_address: Set on success, to be released by address_done()
 * @error:	On failure: what is wrong and what is accepted, without a newline
 * @size:	Bytes of @error
 *
 * Nothing is resolved here, so this has no side effects.
 *
 * Return: 0, -EINVAL, or -ENOMEM
 */
int address_parse(const char *text, unsigned int slots, struct address *ret_address, char *error,
		  size_t size);

/**
 * address_done() - release what address_parse() allocated
 * @address:	Address, may be all zero
 */
void address_done(struct address *address);

/**
 * address_resolve() - the socket addresses of one slot
 * @address:	Parsed address
 * @slot:	Slot number from 1; ignored if the address has no placeholder
 * @ret_sockets: Filled from the start; several only for a name with several addresses, and for
 *		pipes: the one of requests, then the one of answers
 * @ret_count:	Number of entries set
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * A name is looked up with getaddrinfo(), which may block.
 *
 * Return: 0 or negative errno
 */
int address_resolve(const struct address *address, unsigned int slot,
		    struct address_socket ret_sockets[ADDRESS_RESOLVE_MAX], size_t *ret_count,
		    char *error, size_t size);

/**
 * address_format() - the text of a socket address, as a web server's configuration takes it
 * @socket:	Address
 * @buffer:	Set to e.g. "/run/berth/www-1.sock", "@www-1", "127.0.0.1:9001", "[::1]:9001"
 * @size:	Bytes of @buffer, ADDRESS_TEXT_MAX is enough
 *
 * Return: @buffer
 */
const char *address_format(const struct address_socket *socket, char *buffer, size_t size);

/**
 * address_equal() - compare two socket addresses
 * @a:		One
 * @b:		The other
 *
 * Return: true if both name the same address; port 0 never equals anything
 */
bool address_equal(const struct address_socket *a, const struct address_socket *b);

#endif
