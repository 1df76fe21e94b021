/* SPDX-License-Identifier: BSD-2-Clause */
/* The pid file: right from the first moment, locked as long as its owner lives. */
#ifndef FPM_PID_FILE_H
#define FPM_PID_FILE_H

#include <stddef.h>

struct pid_file;

/**
 * pid_file_new() - put our pid into a file and lock it
 * @path:	Where
 * @ret_file:	Pid file
 * @error:	On failure: what is wrong, without a newline
 * @size:	Bytes of @error
 *
 * The file appears with its content, in place of one that is there. One that is locked belongs to
 * a process that lives, and is left alone; so is one that holds something else than a number. Our
 * lock ends with us, or with whoever we execute, so a file without one is a dead process's,
 * whoever may have its number today.
 *
 * Return: 0 or negative errno, -EBUSY if it is locked
 */
int pid_file_new(const char *path, struct pid_file **ret_file, char *error, size_t size);

/**
 * pid_file_fd() - descriptor that keeps it, and its lock, beyond an exec
 * @file:	Pid file, may be NULL
 *
 * Return: descriptor, -1 if @file is NULL
 */
int pid_file_fd(const struct pid_file *file);

/**
 * pid_file_adopt() - go on with the file of the program that was here before
 * @path:	Where
 * @fd:		From pid_file_fd(), taken over
 *
 * Return: pid file, or NULL if memory is short; it stays locked
 */
struct pid_file *pid_file_adopt(const char *path, int fd);

/**
 * pid_file_free() - remove the file if it is still ours, and give the lock up
 * @file:	Pid file, may be NULL
 */
void pid_file_free(struct pid_file *file);

#endif
