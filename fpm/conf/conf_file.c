/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads configuration files and those that they include. */
#include "fpm/conf/conf_internal.h"

#include "fpm/conf/ini.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP_BYTES (16U << 10)
#define WILDCARDS	"*?["

/**
 * struct conf_source - a text while it is read
 * @builder:	Builder
 * @includer:	File that includes it, NULL for the first
 * @name:	Name for messages, kept by the configuration
 * @depth:	Number of files around it
 * @is_file:	It came from a file, so `include` is possible
 * @dev:	Device of the file
 * @ino:	Its inode
 */
struct conf_source {
	struct conf_builder *builder;
	const struct conf_source *includer;
	const char *name;
	unsigned int depth;
	bool is_file;
	dev_t dev;
	ino_t ino;
};

static void read_include(const struct conf_source *source, const struct ini_line *line);

/* Return: what the key takes for its value, NULL if there is more than one quoted text */
static const char *choose_value(const struct ini_line *line)
{
	const struct conf_key *const key = conf_key_find(line->key, CONF_SCOPE_ANY);

	return key != NULL && key->words ? line->raw : line->value;
}

static int line_cb(void *data, const struct ini_line *line)
{
	const struct conf_source *const source = data;
	struct conf_builder *const builder = source->builder;
	const struct conf_origin origin = {.file = source->name, .line = line->number};
	const char *value;

	if (conf_stopped(builder))
		return -E2BIG;
	if (line->key == NULL) {
		struct conf_section *section = conf_section_open(builder, line->section, &origin);

		if (section == NULL)
			return -E2BIG;
		builder->current = section;
		return 0;
	}
	value = choose_value(line);
	if (value == NULL) {
		conf_report(builder, CONF_ERROR, &origin, NULL,
			    "only a comment may follow the closing quote of a value; put all of "
			    "the value in one pair of quotes");
	} else if (source->is_file && line->index == NULL && strcmp(line->key, "include") == 0) {
		read_include(source, line);
	} else {
		conf_apply(builder, builder->current, line->key, line->index, value, NULL, &origin);
	}
	return 0;
}

static void error_cb(void *data, unsigned int number, const char *message)
{
	const struct conf_source *const source = data;
	const struct conf_origin origin = {.file = source->name, .line = number};

	conf_report(source->builder, CONF_ERROR, &origin, NULL, "%s", message);
}

/*
 * An included file starts in the section that includes it. What it opens ends with it, so that the
 * lines behind the include mean what they seem to mean.
 */
static void parse(struct conf_source *source, const char *text, size_t size)
{
	struct conf_builder *const builder = source->builder;
	struct conf_section *const section = builder->current;

	if (ini_parse(text, size, line_cb, error_cb, source) == -ENOMEM)
		conf_report_memory(builder);
	builder->current = section;
}

/*
 * Reads all of a file, which may be a pipe.
 *
 * Return: 0 with the text to be freed, or negative errno
 */
static int read_all(int fd, char **ret_text, size_t *ret_size)
{
	char *text = NULL;
	size_t size = 0;
	int r;

	for (;;) {
		char *grown = realloc(text, size + READ_STEP_BYTES);
		ssize_t bytes;

		r = -ENOMEM;
		if (grown == NULL)
			goto fail;
		text = grown;
		bytes = read(fd, text + size, READ_STEP_BYTES);
		if (bytes == 0)
			break;
		if (bytes == -1 && errno == EINTR)
			continue;
		r = -errno;
		if (bytes == -1)
			goto fail;
		size += (size_t)bytes;
		r = -EFBIG;
		if (size > CONF_FILE_BYTES_MAX)
			goto fail;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
fail:
	free(text);
	return r;
}

static bool is_being_read(const struct conf_source *source, const struct stat *status)
{
	for (source = source->includer; source != NULL; source = source->includer) {
		if (source->dev == status->st_dev && source->ino == status->st_ino)
			return true;
	}
	return false;
}

/*
 * Opens and reads the file of a source.
 *
 * Return: 0 with the text to be freed; or negative errno, -ELOOP if the file includes itself
 */
static int load(struct conf_source *source, char **ret_text, size_t *ret_size)
{
	struct stat status;
	int fd = open(source->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	if (fd == -1)
		return -errno;
	if (fstat(fd, &status) == -1) {
		r = -errno;
	} else if (is_being_read(source, &status)) {
		r = -ELOOP;
	} else {
		source->dev = status.st_dev;
		source->ino = status.st_ino;
		r = read_all(fd, ret_text, ret_size);
	}
	(void)close(fd);
	return r;
}

static void report_unreadable(const struct conf_source *source, const struct conf_origin *origin,
			      int error)
{
	struct conf_builder *const builder = source->builder;
	const char *const label = origin->line > 0 ? "include" : NULL;
	const char *const prefix = origin->line > 0 ? source->name : "";
	const char *const colon = origin->line > 0 ? ": " : "";

	builder->unreadable = true;
	if (error == -ELOOP && origin->line > 0)
		conf_report(builder, CONF_ERROR, origin, label,
			    "%s%sis being read already: the files include one another", prefix,
			    colon);
	else if (error == -EFBIG)
		conf_report(builder, CONF_ERROR, origin, label,
			    "%s%sthe file is larger than the %u bytes that are accepted", prefix,
			    colon, CONF_FILE_BYTES_MAX);
	else
		conf_report(builder, CONF_ERROR, origin, label, "%s%scan't be read: %s", prefix,
			    colon, strerror(-error));
}

/* Reads the file @path; @origin is the include line, or the file itself without a line. */
static void read_file(struct conf_builder *builder, const struct conf_source *includer,
		      const char *path, const struct conf_origin *origin)
{
	struct conf_source source = {
		.builder = builder,
		.includer = includer,
		.depth = includer != NULL ? includer->depth + 1 : 0,
		.is_file = true,
	};
	char *text = NULL;
	size_t size = 0;
	int r;

	if (source.depth > CONF_INCLUDE_DEPTH_MAX) {
		conf_report(builder, CONF_ERROR, origin, "include",
			    "more than %d files inside of one another are not accepted",
			    CONF_INCLUDE_DEPTH_MAX);
		return;
	}
	if (builder->files_read == CONF_FILES_MAX) {
		conf_report(builder, CONF_ERROR, origin, "include",
			    "more than %d files are not accepted", CONF_FILES_MAX);
		return;
	}
	builder->files_read++;
	source.name = conf_file_name(builder, path);
	if (source.name == NULL)
		return;
	r = load(&source, &text, &size);
	if (r < 0)
		report_unreadable(&source, origin, r);
	else
		parse(&source, text, size);
	free(text);
}

/* A missing folder holds no files; anything else that hides files is an error. */
static int glob_error_cb(const char *path, int error)
{
	(void)path;
	return error != ENOENT && error != ENOTDIR;
}

static void read_matches(const struct conf_source *source, const char *pattern,
			 const struct conf_origin *origin)
{
	struct conf_builder *const builder = source->builder;
	glob_t found = {0};
	int r;

	errno = 0;
	r = glob(pattern, GLOB_MARK, glob_error_cb, &found);
	if (r != 0 && r != GLOB_NOMATCH) {
		builder->unreadable = true;
		conf_report(builder, CONF_ERROR, origin, "include", "%s: can't be searched: %s",
			    pattern, r == GLOB_NOSPACE ? "out of memory" : strerror(errno));
	}
	for (size_t i = 0; r == 0 && i < found.gl_pathc && !conf_stopped(builder); i++) {
		const char *const path = found.gl_pathv[i];

		if (path[strlen(path) - 1] != '/')
			read_file(builder, source, path, origin);
	}
	globfree(&found);
}

/*
 * Makes a pattern relative to the folder of the file that holds it. The folder's own name must not
 * be taken for a pattern, so for glob() its wildcards are escaped.
 *
 * Return: the path, to be freed, or NULL
 */
static char *locate(const struct conf_source *source, const char *pattern, bool escape)
{
	const char *const slash = strrchr(source->name, '/');
	const size_t folder = slash != NULL ? (size_t)(slash - source->name) + 1 : 0;
	char *path;
	char *end;

	if (*pattern == '/' || folder == 0)
		return strdup(pattern);
	path = malloc(2 * folder + strlen(pattern) + 1);
	if (path == NULL)
		return NULL;
	end = path;
	for (size_t i = 0; i < folder; i++) {
		if (escape && strchr(WILDCARDS "\\", source->name[i]) != NULL)
			*end++ = '\\';
		*end++ = source->name[i];
	}
	memcpy(end, pattern, strlen(pattern) + 1);
	return path;
}

static void read_include(const struct conf_source *source, const struct ini_line *line)
{
	const struct conf_origin origin = {.file = source->name, .line = line->number};
	const bool wild = strpbrk(line->value, WILDCARDS) != NULL;
	char *path;

	if (*line->value == '\0') {
		conf_report(source->builder, CONF_ERROR, &origin, "include",
			    "the value is empty; accepted is a path, with wildcards or without");
		return;
	}
	path = locate(source, line->value, wild);
	if (path == NULL)
		conf_report_memory(source->builder);
	else if (wild)
		read_matches(source, path, &origin);
	else
		read_file(source->builder, source, path, &origin);
	free(path);
}

void conf_builder_read(struct conf_builder *builder, const char *path)
{
	const struct conf_origin origin = {.file = path};

	read_file(builder, NULL, path, &origin);
}

void conf_builder_text(struct conf_builder *builder, const char *name, const char *text,
		       size_t size)
{
	struct conf_source source = {.builder = builder, .name = conf_file_name(builder, name)};

	if (source.name != NULL)
		parse(&source, text, size);
}
