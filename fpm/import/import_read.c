/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads php-fpm's configuration as php-fpm does. */
#include "fpm/import/import_internal.h"

#include "fpm/conf/ini.h"

#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INCLUDE_DEPTH_MAX 8

/*
 * Theory of operation
 *
 * Lines are read by berth's own reader of INI text; what php-fpm does differently is made up for
 * here. A ';' ends a value that is not in quotes wherever it stands. A section may be opened again,
 * its name in other letters' case, and stays open behind the end of an included file. The last of
 * several equal keys counts. An include that matches nothing is a warning.
 */

/**
 * struct source - a file while it is read
 * @import:	Configuration
 * @name:	Its name
 * @depth:	Number of files around it
 */
struct source {
	struct import *import;
	const char *name;
	unsigned int depth;
};

__attribute__((format(printf, 4, 5))) static void refuse(struct import *import, const char *file,
							 unsigned int line, const char *format, ...)
{
	va_list arguments;

	import->error_count++;
	if (line > 0)
		(void)fprintf(import->errors, "berth: %s:%u: ", file, line);
	else
		(void)fprintf(import->errors, "berth: %s: ", file);
	va_start(arguments, format);
	(void)vfprintf(import->errors, format, arguments);
	va_end(arguments);
	(void)fputc('\n', import->errors);
}

static void note_unmatched(const struct source *source, unsigned int line, const char *pattern)
{
	struct import *import = source->import;

	if (import->note_count == IMPORT_NOTES_MAX)
		return;
	if (asprintf(&import->notes[import->note_count], "%s:%u: include = %s: no such file.",
		     source->name, line, pattern) != -1)
		import->note_count++;
}

static struct import_section *open_section(struct import *import, const char *name)
{
	struct import_section **end = &import->sections;
	struct import_section *section;

	if (name && strcasecmp(name, "global") == 0)
		name = NULL;
	for (; *end; end = &(*end)->next) {
		const char *known = (*end)->name;

		if ((!name && !known) || (name && known && strcasecmp(name, known) == 0))
			return *end;
	}
	section = calloc(1, sizeof(*section));
	if (!section)
		return NULL;
	section->last = &section->entries;
	if (name) {
		section->name = strdup(name);
		if (!section->name) {
			free(section);
			return NULL;
		}
	}
	*end = section;
	return section;
}

/*
 * Copies a value without its quotes, up to its comment. In double quotes a backslash makes a quote
 * or a backslash plain.
 */
static void copy_value(const char *raw, struct import_entry *entry)
{
	char *to = entry->value;
	char *kept = to;

	while (*raw != '\0' && *raw != ';') {
		const char quote = *raw;

		if ((quote != '"' && quote != '\'') || !strchr(raw + 1, quote)) {
			*to++ = *raw++;
			if (to[-1] != ' ' && to[-1] != '\t')
				kept = to;
			continue;
		}
		entry->quoted = true;
		for (raw++; *raw != '\0' && *raw != quote; raw++) {
			if (quote == '"' && *raw == '\\' && (raw[1] == '"' || raw[1] == '\\'))
				raw++;
			*to++ = *raw;
		}
		if (*raw == quote)
			raw++;
		kept = to;
	}
	*kept = '\0';
}

static bool is_setting(const struct import_entry *entry)
{
	return strncmp(entry->key, "php_", 4) == 0;
}

static bool is_admin(const struct import_entry *entry)
{
	return strncmp(entry->key, "php_admin_", 10) == 0;
}

static bool may_repeat(const struct import_entry *entry)
{
	const char *index = entry->index ? entry->index : "";

	return *index == '\0' ? entry->index != NULL
			      : is_setting(entry) && (strcmp(index, "extension") == 0 ||
						      strcmp(index, "zend_extension") == 0);
}

static bool is_same(const struct import_entry *a, const struct import_entry *b)
{
	if (!a->index || !b->index)
		return !a->index && !b->index && strcmp(a->key, b->key) == 0;
	if (strcmp(a->index, b->index) != 0)
		return false;
	return strcmp(a->key, b->key) == 0 || (is_setting(a) && is_setting(b));
}

/* Of php_value and php_admin_value php-fpm applies the second later, whatever their order. */
static void add_entry(struct import_section *section, struct import_entry *entry)
{
	for (struct import_entry *other = section->entries; other; other = other->next) {
		if (other->replaced || may_repeat(entry) || !is_same(other, entry))
			continue;
		if (is_setting(entry) && is_admin(other) && !is_admin(entry))
			entry->replaced = other->line;
		else
			other->replaced = entry->line;
	}
	*section->last = entry;
	section->last = &entry->next;
}

static void free_entry(struct import_entry *entry)
{
	if (!entry)
		return;
	free(entry->key);
	free(entry->index);
	free(entry->value);
	free(entry);
}

static struct import_entry *new_entry(const struct source *source, const struct ini_line *line)
{
	struct import_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->file = source->name;
	entry->line = line->number;
	entry->key = strdup(line->key);
	entry->index = line->index ? strdup(line->index) : NULL;
	entry->value = calloc(1, strlen(line->raw) + 1);
	if (!entry->key || (line->index && !entry->index) || !entry->value) {
		free_entry(entry);
		return NULL;
	}
	copy_value(line->raw, entry);
	return entry;
}

static void read_include(const struct source *source, const struct import_entry *entry);

static int line_cb(void *data, const struct ini_line *line)
{
	const struct source *source = data;
	struct import *import = source->import;
	struct import_entry *entry;

	if (!line->key) {
		import->current = open_section(import, line->section);
		return import->current ? 0 : -ENOMEM;
	}
	entry = new_entry(source, line);
	if (!entry)
		return -ENOMEM;
	if (strcmp(entry->key, "include") == 0) {
		read_include(source, entry);
		free_entry(entry);
	} else {
		add_entry(import->current, entry);
	}
	return 0;
}

static void error_cb(void *data, unsigned int number, const char *message)
{
	const struct source *source = data;

	refuse(source->import, source->name, number, "%s", message);
}

/* Return: 0 with the text to be freed, or negative errno */
static int load(const char *path, char **ret_text, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	char *text = malloc(CONF_FILE_BYTES_MAX + 1);
	int result = 0;

	if (!file || !text) {
		result = file ? -ENOMEM : -errno;
		goto out;
	}
	errno = 0;
	*ret_size = fread(text, 1, CONF_FILE_BYTES_MAX + 1, file);
	if (ferror(file))
		result = errno ? -errno : -EIO;
	else if (*ret_size > CONF_FILE_BYTES_MAX)
		result = -EFBIG;
out:
	if (file)
		(void)fclose(file);
	if (result < 0)
		free(text);
	else
		*ret_text = text;
	return result;
}

/* Reads the file @path, which @from includes on line @line; NULL: it was named. */
static void read_file(struct import *import, const char *path, const struct source *from,
		      unsigned int line)
{
	struct source source = {.import = import, .depth = from ? from->depth + 1 : 0};
	char *text = NULL;
	size_t size = 0;
	int result = -ENOMEM;

	if (import->file_count == CONF_FILES_MAX || source.depth > INCLUDE_DEPTH_MAX) {
		refuse(import, from ? from->name : path, line,
		       "include: accepted are %d files, and %d inside of one another",
		       CONF_FILES_MAX, INCLUDE_DEPTH_MAX);
		return;
	}
	source.name = import->files[import->file_count] = strdup(path);
	if (source.name) {
		import->file_count++;
		result = load(path, &text, &size);
	}
	if (result < 0 && from)
		refuse(import, from->name, line, "include: %s: can't be read: %s", path,
		       strerror(-result));
	else if (result < 0)
		refuse(import, path, 0, "can't be read: %s", strerror(-result));
	else if (ini_parse(text, size, line_cb, error_cb, &source) < 0)
		refuse(import, path, 0, "%s", strerror(ENOMEM));
	free(text);
}

/* Return: how many files match @pattern; they are read */
static size_t read_matches(const struct source *source, unsigned int line, const char *pattern)
{
	glob_t found = {0};
	size_t count = 0;

	if (glob(pattern, GLOB_MARK, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *path = found.gl_pathv[i];

			if (path[strlen(path) - 1] == '/')
				continue;
			read_file(source->import, path, source, line);
			count++;
		}
	}
	globfree(&found);
	return count;
}

/*
 * A relative include is below the folder that php-fpm was built for. That is one of those above the
 * configuration, as in /usr/local/etc/php-fpm.conf, or else /usr.
 */
static void read_include(const struct source *source, const struct import_entry *entry)
{
	char *folder;
	char *slash;
	size_t count = 0;

	if (*entry->value == '\0') {
		refuse(source->import, source->name, entry->line,
		       "include: the value is empty; accepted is a path");
		return;
	}
	if (*entry->value == '/') {
		if (read_matches(source, entry->line, entry->value) == 0)
			note_unmatched(source, entry->line, entry->value);
		return;
	}
	folder = strdup(source->import->path);
	while (folder && count == 0 && (slash = strrchr(folder, '/'))) {
		char *pattern = NULL;

		*slash = '\0';
		if (asprintf(&pattern, "%s/%s", folder, entry->value) == -1)
			break;
		count = read_matches(source, entry->line, pattern);
		free(pattern);
	}
	free(folder);
	if (count == 0) {
		char *pattern = NULL;

		if (asprintf(&pattern, "/usr/%s", entry->value) != -1) {
			if (read_matches(source, entry->line, pattern) == 0)
				note_unmatched(source, entry->line, entry->value);
			free(pattern);
		}
	}
}

const struct import_entry *import_find(const struct import_section *section, const char *key,
				       const char *index)
{
	for (const struct import_entry *entry = section->entries; entry; entry = entry->next) {
		const struct import_entry wanted = {
			.key = (char *)(size_t)key,
			.index = (char *)(size_t)index,
		};

		if (!entry->replaced && is_same(entry, &wanted))
			return entry;
	}
	return NULL;
}

int import_read(struct import *import, const char *path)
{
	import->path = realpath(path, NULL);
	if (!import->path)
		import->path = strdup(path);
	import->current = open_section(import, NULL);
	if (!import->path || !import->current)
		refuse(import, path, 0, "%s", strerror(ENOMEM));
	else
		read_file(import, path, NULL, 0);
	if (import->error_count == 0 && !import->sections->next)
		refuse(import, path, 0, "there is no pool in it");
	return import->error_count > 0 ? -EINVAL : 0;
}

void import_done(struct import *import)
{
	while (import->sections) {
		struct import_section *section = import->sections;

		import->sections = section->next;
		while (section->entries) {
			struct import_entry *entry = section->entries;

			section->entries = entry->next;
			free_entry(entry);
		}
		free(section->name);
		free(section);
	}
	while (import->file_count > 0)
		free(import->files[--import->file_count]);
	while (import->note_count > 0)
		free(import->notes[--import->note_count]);
	free(import->path);
}
