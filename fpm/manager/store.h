/* SPDX-License-Identifier: BSD-2-Clause */
/* Our descriptors and our state in systemd's keeping, for the manager that is started if we die. */
#ifndef FPM_STORE_H
#define FPM_STORE_H

#include <stdbool.h>
#include <stddef.h>

struct state;

/**
 * store_available() - is there one
 *
 * Return: true if systemd started us and keeps descriptors for us: it has said so in FDSTORE, which
 * versions before 254 do not set, so that the unit has to
 */
bool store_available(void);

/**
 * store_inherit() - find what a manager that died has left
 *
 * Return: descriptor of its state, or -1 if there is none
 */
int store_inherit(void);

/**
 * store_resolve() - have a state that was left there name the descriptors that came with it
 * @state:	From state_read()
 * @error:	On failure: what is missing, without a newline
 * @size:	Bytes of @error
 *
 * What came and is not named by it is closed, and removed from the store.
 *
 * Return: 0 or negative errno
 */
int store_resolve(struct state *state, char *error, size_t size);

/**
 * store_discard() - close everything that came, and empty the store
 *
 * Its processes leave: those of templates by themselves, the others are asked to.
 */
void store_discard(void);

/**
 * store_touch() - something has changed that a next manager should know
 */
void store_touch(void);

/**
 * store_is_due() - has store_touch() been called since the last store_update()
 *
 * Return: false also if there is no store
 */
bool store_is_due(void);

/**
 * store_update() - put the present state there
 * @state:	State; its descriptors' numbers are replaced
 *
 * First what is new is put there, then the state, then what is old is removed: at each moment the
 * store holds a whole state and everything that it names.
 *
 * Return: 0, or negative errno with the store empty and given up: -E2BIG if it is too small
 */
int store_update(struct state *state);

/**
 * store_limit() - how many descriptors it takes
 *
 * Return: number
 */
unsigned int store_limit(void);

/**
 * store_forget() - a descriptor is about to be closed that looks like any other of its kind
 * @fd:		Descriptor of a process or an event
 */
void store_forget(int fd);

/**
 * store_clear() - empty it, for good: a stop begins
 */
void store_clear(void);

/**
 * store_settle() - wait, for a second at most, until systemd has seen all of it
 */
void store_settle(void);

/**
 * store_export() - what the next program needs to know of it when it takes our place
 * @state:	Filled in: @stored
 *
 * Return: 0 or -ENOMEM
 */
int store_export(struct state *state);

/**
 * store_adopt() - the other side of it
 * @state:	State that was left to us
 *
 * Return: 0 or -ENOMEM
 */
int store_adopt(const struct state *state);

#endif
