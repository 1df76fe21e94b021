/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what another manager has left, without touching any of it. */
#ifndef FPM_ADOPT_H
#define FPM_ADOPT_H

#include <stddef.h>

struct conf;
struct conf_rules;
struct state;

/**
 * adopt_read() - read a state and its configuration, and check both
 * @fd:		Descriptor that holds the state
 * @rules:	What a configuration is checked against
 * @ret_state:	Set on success, to be released by state_release()
 * @ret_conf:	Set on success, to be released by conf_free()
 * @error:	On failure: what does not fit, without a newline
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int adopt_read(int fd, const struct conf_rules *rules, struct state *ret_state,
	       struct conf **ret_conf, char *error, size_t size);

/**
 * adopt_descriptor() - where the state is that was left to us
 *
 * Return: a descriptor, or -1 if there is none; the variable that told so is removed
 */
int adopt_descriptor(void);

#endif
