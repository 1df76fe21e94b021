/* SPDX-License-Identifier: BSD-2-Clause */
/* A request in a text file: parameters, an empty line, and the body. */

#include "request_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 30)

int request_file_read_all(const char *path, char **ret_memory, size_t *ret_size)
{
	FILE *in = fopen(path, "re");
	char *memory = NULL;
	size_t size = 0, room = 0, n;
	int code = 0;

	if (!in)
		return -errno;
	do {
		if (room - size < 65536) {
			char *grown = realloc(memory, room = room * 2 + 65537);

			if (!grown) {
				code = ENOMEM;
				break;
			}
			memory = grown;
		}
		n = fread(memory + size, 1, room - size - 1, in);
		size += n;
	} while (n > 0 && size <= FILE_MAX);
	if (code == 0 && ferror(in))
		code = errno;
	if (code == 0 && size > FILE_MAX)
		code = EFBIG;
	(void)fclose(in);
	if (code != 0) {
		free(memory);
		errno = code;
		return -code;
	}
	memory[size] = '\0';
	*ret_memory = memory;
	*ret_size = size;
	return 0;
}

/* Return: what is wrong with the line, or NULL */
static const char *take_line(struct request_file *file, char *line)
{
	char *equals = strchr(line, '=');

	if (line[0] == '#')
		return NULL;
	if (!equals || equals == line)
		return "no parameter; accepted are NAME=VALUE, a comment behind '#', and an empty "
		       "line in front of the body";
	if (file->param_count == REQUEST_FILE_PARAMS)
		return "one parameter too many; accepted are 128";
	*equals = '\0';
	for (size_t i = 0; i < file->param_count; i++)
		if (strcmp(file->params[i].name, line) == 0)
			return "this name is in a line above already; accepted is one value";
	file->params[file->param_count++] =
		(struct request_param){.name = line, .value = equals + 1};
	return NULL;
}

static int parse(const char *path, struct request_file *file, size_t length, char *error,
		 size_t size)
{
	char *at = file->memory, *const end = file->memory + length;

	for (unsigned int number = 1; at < end; number++) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		char *next = newline ? newline + 1 : end;
		const char *fault;

		if (newline)
			*newline = '\0';
		if (newline > at && newline[-1] == '\r')
			newline[-1] = '\0';
		if (at[0] == '\0' && newline) {
			file->body = next;
			file->body_size = (size_t)(end - next);
			return 0;
		}
		/* A NUL that is in the file itself would hide what stands behind it. */
		if (strlen(at) + (newline && newline[0] == '\0' ? 1 : 0) < (size_t)(next - at) &&
		    strlen(at) + 2 < (size_t)(next - at))
			fault = "there is a NUL in it; accepted is text";
		else
			fault = take_line(file, at);
		if (fault) {
			(void)snprintf(error, size, "%s:%u: %s", path, number, fault);
			return -EINVAL;
		}
		at = next;
	}
	return 0;
}

int request_file_read(const char *path, struct request_file *ret_file, char *error, size_t size)
{
	size_t length = 0;
	int rc;

	*ret_file = (struct request_file){0};
	rc = request_file_read_all(path, &ret_file->memory, &length);
	if (rc < 0) {
		(void)snprintf(error, size, "%s: %s", path, strerror(-rc));
		return rc;
	}
	rc = parse(path, ret_file, length, error, size);
	if (rc < 0)
		request_file_done(ret_file);
	return rc;
}

static void fill_in(const char **member, const char *value)
{
	if (!*member)
		*member = value;
}

/* Return: false if it is a parameter like any other */
static bool take_member(struct request_options *request, const struct request_param *param)
{
	if (strcmp(param->name, "SCRIPT_FILENAME") == 0)
		fill_in(&request->script, param->value);
	else if (strcmp(param->name, "REQUEST_METHOD") == 0)
		fill_in(&request->method, param->value);
	else if (strcmp(param->name, "QUERY_STRING") == 0)
		fill_in(&request->query, param->value);
	else
		return false;
	return true;
}

void request_file_apply(struct request_file *file, struct request_options *request)
{
	size_t count = 0;

	for (size_t i = 0; i < file->param_count; i++) {
		const struct request_param param = file->params[i];

		if (!take_member(request, &param))
			file->params[count++] = param;
	}
	for (size_t i = 0; i < request->param_count && i < REQUEST_FILE_FURTHER; i++)
		file->params[count++] = request->params[i];
	file->param_count = count;
	request->params = file->params;
	request->param_count = count;
	if (file->body && !request->body) {
		request->body = file->body;
		request->body_size = file->body_size;
	}
}

void request_file_done(struct request_file *file)
{
	free(file->memory);
	*file = (struct request_file){0};
}
