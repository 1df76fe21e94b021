/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder for what a server needs: configuration, sockets, scripts. */
#ifndef BENCH_SERVER_FOLDER_H
#define BENCH_SERVER_FOLDER_H

#include <stddef.h>

/**
 * folder_parent() - below what folders are made: $TMPDIR if it is absolute, otherwise /tmp
 */
const char *folder_parent(void);

/**
 * folder_make() - make a new one below folder_parent()
 * @ret_path:	Set on success
 * @size:	Bytes of @ret_path
 *
 * Everybody may read it, as servers run as another user than root.
 *
 * Return: 0, -ENAMETOOLONG, or what mkdtemp() says
 */
int folder_make(char *ret_path, size_t size);

/**
 * folder_write() - write a file that everybody may read
 * @folder:	Folder
 * @name:	Name of the file
 * @text:	What it holds
 *
 * It looks as if it were an hour old, since PHP's opcode cache does not take files that may just
 * be changing.
 *
 * Return: 0 or negative errno
 */
int folder_write(const char *folder, const char *name, const char *text);

/**
 * folder_remove() - remove a folder and the files in it
 * @path:	Folder; "" is none
 */
void folder_remove(const char *path);

#endif
