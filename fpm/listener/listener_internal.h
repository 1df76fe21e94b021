/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the listener module share. */
#ifndef FPM_LISTENER_INTERNAL_H
#define FPM_LISTENER_INTERNAL_H

#include "fpm/listener/listener.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

/* Room for the path of a unix socket, and so for that of its folder. */
#define LISTENER_PATH_BYTES sizeof(((struct sockaddr_un *)NULL)->sun_path)

/**
 * struct listener_folder - the folder of a socket's file while something is done in it
 * @path:	Its path
 * @fd:		Holds the lock, -1 if the folder couldn't be locked
 * @dev:	Device of the folder
 * @ino:	Inode of the folder
 * @made:	This process made it
 */
struct listener_folder {
	char path[LISTENER_PATH_BYTES];
	int fd;
	dev_t dev;
	ino_t ino;
	bool made;
};

/**
 * listener_fail() - write an error's text
 * @code:	Negative errno
 * @error:	Set to the text
 * @size:	Bytes of @error
 * @format:	printf format, without a newline
 *
 * Return: @code
 */
int listener_fail(int code, char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * listener_fail_in_use() - write the text for an address that somebody else listens on
 * @address:	The address
 * @error:	Set to the text, which names the holder
 * @size:	Bytes of @error
 *
 * Return: -EADDRINUSE
 */
int listener_fail_in_use(const struct address_socket *address, char *error, size_t size);

/**
 * listener_socket() - make the socket of a listener, not bound yet
 * @listener:	Its address is set; its fd is set on success
 * @options:	How
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_socket(struct listener *listener, const struct listener_options *options, char *error,
		    size_t size);

/**
 * listener_inet_open() - bind a TCP socket and listen
 * @listener:	Its address is set; the rest is filled in, on failure only partly
 * @options:	How
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_inet_open(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size);

/**
 * listener_abstract_open() - bind an abstract unix socket and listen
 * @listener:	As for listener_inet_open()
 * @options:	How
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_abstract_open(struct listener *listener, const struct listener_options *options,
			   char *error, size_t size);

/**
 * listener_path_open() - bind a unix socket in the file system and listen
 * @listener:	As for listener_inet_open(); no file or folder is left behind on failure
 * @options:	How
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_path_open(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size);

/**
 * listener_pipe_open() - make a named pipe and open it
 * @listener:	As for listener_inet_open(); no file or folder is left behind on failure
 * @options:	How; @backlog and @nonblocking mean nothing here
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_pipe_open(struct listener *listener, const struct listener_options *options,
		       char *error, size_t size);

/**
 * listener_path_adjust() - give a socket's file, or a pipe, its owner and mode
 * @listener:	Open listener
 * @options:	How it is to be
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Return: 0 or negative errno
 */
int listener_path_adjust(const struct listener *listener, const struct listener_options *options,
			 char *error, size_t size);

/**
 * listener_path_remove() - remove a socket's file, and its folder if that was made for it
 * @listener:	Listener; its fd must still be open, or the inode number may be another file's
 */
void listener_path_remove(struct listener *listener);

/**
 * listener_folder_enter() - lock the folder of a file against other managers
 * @file:	Path of a file in it
 * @make:	Make the folder if it is missing
 * @ret_folder:	Set on success, to be given to listener_folder_leave()
 * @error:	On failure: what is wrong
 * @size:	Bytes of @error
 *
 * Waits for at most a second, then goes on without the lock.
 *
 * Return: 0 or negative errno
 */
int listener_folder_enter(const char *file, bool make, struct listener_folder *ret_folder,
			  char *error, size_t size);

/**
 * listener_folder_leave() - unlock a folder
 * @folder:	Folder
 * @discard:	Remove it if this process made it and it is empty
 */
void listener_folder_leave(struct listener_folder *folder, bool discard);

/**
 * listener_folder_name() - the folder of a file
 * @file:	Absolute path
 * @ret_name:	Set to its folder
 *
 * Return: @ret_name
 */
const char *listener_folder_name(const char *file, char ret_name[LISTENER_PATH_BYTES]);

#endif
