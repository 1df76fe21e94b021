/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files of /proc and /sys, and the numbers in them. */
#ifndef BENCH_SERVER_PROC_FILE_H
#define BENCH_SERVER_PROC_FILE_H

#include <stddef.h>
#include <stdint.h>

/**
 * proc_file_read() - the start of a file
 * @folder:	Descriptor that a relative @path starts from, or AT_FDCWD
 * @path:	Path
 * @buffer:	Set to its text, with a NUL; to "" on failure
 * @size:	Bytes of @buffer; what does not fit is left out
 *
 * Return: number of bytes, or negative errno
 */
int proc_file_read(int folder, const char *path, char *buffer, size_t size);

/**
 * proc_file_line() - the first line, without blanks around it
 * @path:	Path
 * @buffer:	Set to the line, to "unknown" if there is none
 * @size:	Bytes of @buffer
 *
 * Return: @buffer
 */
const char *proc_file_line(const char *path, char *buffer, size_t size);

/**
 * proc_file_number() - the number behind a word at the start of a line
 * @text:	Text of a file
 * @word:	Word, with all that stands between it and the number but blanks, e.g. "Pss:"
 *
 * Return: number, 0 if there is no such line
 */
uint64_t proc_file_number(const char *text, const char *word);

#endif
