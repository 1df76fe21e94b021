/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the import share. */
#ifndef FPM_IMPORT_INTERNAL_H
#define FPM_IMPORT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "fpm/conf/conf_internal.h"

#define IMPORT_NOTES_MAX 64
#define IMPORT_POOLS_MAX 1000

/**
 * struct import_entry - a key with its value
 * @next:	Next of its section
 * @file:	File it stands in, kept by struct import
 * @line:	Line there
 * @key:	Key without its index
 * @index:	Text in the brackets, NULL if there are none
 * @value:	Value as php-fpm reads it, without quotes and comment
 * @quoted:	Quotes were around some of it, so a word such as "on" is a text
 * @replaced:	Line of the one that counts in its place, 0 if it counts itself
 */
struct import_entry {
	struct import_entry *next;
	const char *file;
	unsigned int line;
	char *key;
	char *index;
	char *value;
	bool quoted;
	unsigned int replaced;
};

/**
 * struct import_section - a section, however many times the files open it
 * @next:	Next in order of appearance
 * @name:	Name of the pool, NULL for [global], which is the first section
 * @entries:	Its keys in order
 * @last:	Where the next one goes
 */
struct import_section {
	struct import_section *next;
	char *name;
	struct import_entry *entries;
	struct import_entry **last;
};

/**
 * struct import - a configuration of php-fpm
 * @path:	File that was named, absolute if it could be made so
 * @sections:	[global], then the pools
 * @current:	Section that is being read
 * @files:	Names of the files read, @file_count of them
 * @file_count:	Number of @files
 * @notes:	What the reader of the result should know, @note_count of them
 * @note_count:	Number of @notes
 * @errors:	Where errors are told
 * @error_count: How many there were
 */
struct import {
	char *path;
	struct import_section *sections;
	struct import_section *current;
	char *files[CONF_FILES_MAX];
	size_t file_count;
	char *notes[IMPORT_NOTES_MAX];
	size_t note_count;
	FILE *errors;
	unsigned int error_count;
};

/* What becomes of a key. */
enum import_fate {
	IMPORT_TAKEN = 0, /* berth has it, with the same meaning */
	IMPORT_CHANGED,	  /* it is taken over in another form, or with another value */
	IMPORT_GONE,	  /* berth has nothing like it; struct import_key says why */
};

/**
 * struct import_key - a key that php-fpm has
 * @name:	Name
 * @scopes:	Where php-fpm accepts it
 * @fate:	What becomes of it
 * @reason:	Full sentence for the comment; NULL if it is taken
 */
struct import_key {
	const char *name;
	enum conf_scope scopes;
	enum import_fate fate;
	const char *reason;
};

/* Return: the key, or NULL if php-fpm does not have it in that scope */
const struct import_key *import_key_find(const char *name, enum conf_scope scope);

/**
 * import_read() - read a configuration of php-fpm and what it includes
 * @import:	Empty apart from @errors
 * @path:	File
 *
 * Return: 0, or -EINVAL if there were errors, which have been told
 */
int import_read(struct import *import, const char *path);

/**
 * import_write() - print the configuration of berth
 * @import:	What was read
 * @out:	Stream
 *
 * Return: 0 or -ENOMEM
 */
int import_write(const struct import *import, FILE *out);

/* Return: the entry that counts, or NULL; @index NULL = one without an index */
const struct import_entry *import_find(const struct import_section *section, const char *key,
				       const char *index);

/**
 * struct import_ports - ports that pools were given
 * @ranges:	First and last port, @count of them
 * @count:	Number of @ranges
 */
struct import_ports {
	struct {
		unsigned int first;
		unsigned int last;
	} ranges[IMPORT_POOLS_MAX];
	size_t count;
};

/**
 * import_listen() - the listen line of a pool
 * @section:	Pool
 * @entry:	Its listen key
 * @ports:	Ports given so far
 * @out:	Stream
 */
void import_listen(const struct import_section *section, const struct import_entry *entry,
		   struct import_ports *ports, FILE *out);

/**
 * import_absolute() - a path as php-fpm completes it
 * @section:	Section it stands in
 * @value:	Path, maybe relative or with $prefix in front
 *
 * Return: path to be freed, or NULL if memory is short
 */
char *import_absolute(const struct import_section *section, const char *value);

/* Prints @value, in quotes if berth would read it differently without. */
void import_write_value(const char *value, FILE *out);

/* Releases all that @import holds. */
void import_done(struct import *import);

#endif
