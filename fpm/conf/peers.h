/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may connect to a pool: its networks' text form, and the list that its workers get. */
#ifndef FPM_PEERS_H
#define FPM_PEERS_H

#include <stddef.h>
#include <stdint.h>

struct abi_network;

/* Long enough for every text that peers_format_network() makes. */
#define PEERS_TEXT_MAX 64

/**
 * struct peers - who may connect; all zero: everybody
 * @networks:	Where TCP clients may come from, ABI_PEERS_MAX at most (owned)
 * @network_count: Entries of @networks, 0 = anywhere
 * @uids:	Who may connect to unix sockets, ABI_PEERS_MAX at most (owned)
 * @uid_count:	Entries of @uids, 0 = everybody
 */
struct peers {
	struct abi_network *networks;
	size_t network_count;
	uint32_t *uids;
	size_t uid_count;
};

/**
 * peers_add_network() - let TCP clients of one more network connect
 * @peers:	List
 * @text:	An address ("127.0.0.1", "::1") or a network ("10.0.0.0/8", "2001:db8::/32"). An IPv4
 *		address in IPv6's clothes ("::ffff:127.0.0.1") is taken for the IPv4 address
 * @error:	On failure: what is wrong with it, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0, -EINVAL, -E2BIG if the list is full, or -ENOMEM
 */
int peers_add_network(struct peers *peers, const char *text, char *error, size_t size);

/**
 * peers_add_user() - let one more user connect to unix sockets
 * @peers:	List
 * @text:	Name or number
 * @error:	On failure: what is wrong with it, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0, -ENOENT if there is no such user, -E2BIG if the list is full, or a negative errno
 */
int peers_add_user(struct peers *peers, const char *text, char *error, size_t size);

/**
 * peers_done() - release what the lists hold
 * @peers:	Lists, may be all zero
 */
void peers_done(struct peers *peers);

/**
 * peers_format_network() - the text of a network, which peers_add_network() takes
 * @network:	Network
 * @buffer:	Set to e.g. "10.0.0.0/8", or "::1" for a single address
 * @size:	Bytes of @buffer, PEERS_TEXT_MAX is enough
 *
 * Return: @buffer
 */
const char *peers_format_network(const struct abi_network *network, char *buffer, size_t size);

/**
 * peers_seal() - make what workers get
 * @peers:	Lists
 * @ret_fd:	memfd of struct abi_peers that nobody can change any more, the caller's to close;
 *		empty if everybody may connect
 *
 * Return: 0 or negative errno
 */
int peers_seal(const struct peers *peers, int *ret_fd);

#endif
