/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets that systemd has opened, and which pool's listener each of them is. */
#ifndef FPM_ACTIVATION_H
#define FPM_ACTIVATION_H

#include "fpm/listener/address.h"

#include <stdbool.h>
#include <stddef.h>

struct conf;

/*
 * What was passed stays open until the manager ends, or its program is replaced: systemd goes on
 * listening anyway, and a reload may give a listener up and another one ask for it again.
 */

/**
 * activation_take() - take over what was passed to this process
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Removes the variables that speak of it. To be called once, before a program is executed that would
 * inherit the sockets.
 *
 * Return: 0, -ENOMEM, or -EINVAL for a descriptor that is no listening stream socket
 */
int activation_take(char *error, size_t size);

/**
 * activation_add() - add one descriptor; what activation_take() does with each
 * @fd:		Descriptor, taken over on success
 * @name:	FileDescriptorName= of its unit
 * @error:	As for activation_take()
 * @size:	Bytes of @error
 *
 * Return: as activation_take()
 */
int activation_add(int fd, const char *name, char *error, size_t size);

/**
 * activation_reserve() - see which addresses a configuration has
 * @conf:	Configuration whose pools will claim sockets from now on
 *
 * A socket whose address is one of them is given to nobody by its name.
 */
void activation_reserve(const struct conf *conf);

/**
 * activation_claim() - the socket of a listener
 * @address:	Where it is to listen
 * @pool:	Name of its pool: without a socket of this address, it is the first one that has this
 *		name, is of the same kind (unix or TCP), and nobody's
 *
 * Return: descriptor that stays ours, or -1
 */
int activation_claim(const struct address_socket *address, const char *pool);

/**
 * activation_release() - a claimed socket is not needed any more
 * @fd:		Descriptor
 *
 * Return: false if it is none of ours
 */
bool activation_release(int fd);

/**
 * activation_close_unused() - close what nobody has claimed
 * @warn:	Called with a text about each, without a newline
 * @data:	Passed to @warn
 */
void activation_close_unused(void (*warn)(void *data, const char *text), void *data);

/**
 * activation_done() - close everything
 */
void activation_done(void);

#endif
