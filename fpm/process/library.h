/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds libberth-worker.so and keeps a copy of it open. */
#ifndef FPM_LIBRARY_H
#define FPM_LIBRARY_H

#include <stddef.h>

/**
 * library_open() - the preloaded library, in a descriptor that every user can open again
 * @ret_fd:	Descriptor, close-on-exec, offset irrelevant
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * Looks beside the running program (worker/libberth-worker.so of a build folder), then where it
 * is installed. The content is copied to memory: whatever happens to the file, and whoever may
 * read it, every template gets the library that this manager speaks with.
 *
 * Return: 0 or negative errno
 */
int library_open(int *ret_fd, char *error, size_t size);

#endif
