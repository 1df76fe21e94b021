/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's state as one manager leaves it to the next: the tables of it, written and read. */

#include "fpm/manager/state.h"

#include "fpm/listener/address.h"
#include "fpm/pool/slot.h"
#include "fpm/worker/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* More than that is none of ours. */
#define STATE_BYTES_MAX (256U << 20)

#define POOLS_MAX 10000
#define SLOTS_MAX 10000
#define PID_MAX	  4194304 /* PID_MAX_LIMIT of the kernel */

#define INT(struct_, member, from, to)                                                           \
	{                                                                                        \
		.name = #member, .type = RECORD_INT, .offset = offsetof(struct struct_, member), \
		.min = (from), .max = (to)                                                       \
	}
/* One that an older manager does not write: it is 0 then. */
#define NEWER_INT(struct_, member, from, to)                                                     \
	{                                                                                        \
		.name = #member, .type = RECORD_INT, .offset = offsetof(struct struct_, member), \
		.min = (from), .max = (to), .may_be_missing = true                               \
	}
#define FLAG(struct_, member) INT(struct_, member, 0, 1)
#define TIME(struct_, member) INT(struct_, member, -1, INT64_MAX)
#define TEXT(struct_, member, from)                                                               \
	{                                                                                         \
		.name = #member, .type = RECORD_TEXT, .offset = offsetof(struct struct_, member), \
		.min = (from)                                                                     \
	}
#define FD(struct_, member, what, from)                                                         \
	{                                                                                       \
		.name = #member, .type = RECORD_FD, .offset = offsetof(struct struct_, member), \
		.kind = RECORD_KIND_##what, .min = (from)                                       \
	}
#define ONE(struct_, member, of)                                                                 \
	{                                                                                        \
		.name = #member, .type = RECORD_ONE, .offset = offsetof(struct struct_, member), \
		.layout = &of##_layout                                                           \
	}
#define LIST(struct_, member, counter, most, of)                                                  \
	{                                                                                         \
		.name = #member, .type = RECORD_LIST, .offset = offsetof(struct struct_, member), \
		.count_offset = offsetof(struct struct_, counter), .max = (most),                 \
		.layout = &of##_layout                                                            \
	}
#define LAYOUT(struct_)                                                                       \
	static const struct record_layout struct_##_layout = {.size = sizeof(struct struct_), \
							      .fields = struct_##_fields,     \
							      .count = COUNT(struct_##_fields)}

/* The least number of a descriptor: it must be there, or may be missing. */
#define NEEDED	 3
#define OPTIONAL (-1)

static const struct record_field state_output_fields[] = {
	FD(state_output, fd, PIPE, NEEDED),
	TEXT(state_output, label, NEEDED),
	TEXT(state_output, last, NEEDED),
	TEXT(state_output, line, NEEDED),
};
LAYOUT(state_output);

static const struct record_field state_listener_fields[] = {
	FD(state_listener, fd, LISTENER, NEEDED),
	TEXT(state_listener, address, NEEDED),
	FLAG(state_listener, pipe),
	INT(state_listener, dev, INT64_MIN, INT64_MAX),
	INT(state_listener, ino, INT64_MIN, INT64_MAX),
	FLAG(state_listener, made_parent),
	FLAG(state_listener, passed),
};
LAYOUT(state_listener);

static const struct record_field state_worker_fields[] = {
	INT(state_worker, pid, 2, PID_MAX),
	FD(state_worker, pidfd, PIDFD, NEEDED),
	ONE(state_worker, output, state_output),
	FD(state_worker, lifeline, PIPE, OPTIONAL),
	INT(state_worker, score, -1, INT32_MAX),
	INT(state_worker, started_ms, 0, INT64_MAX),
	INT(state_worker, template_serial, 0, UINT32_MAX),
	FLAG(state_worker, asked),
	INT(state_worker, leaving, 0, 3),
	INT(state_worker, overtime_since, 0, INT64_MAX),
	TIME(state_worker, deadline_ms),
};
LAYOUT(state_worker);

static const struct record_field state_slot_fields[] = {
	LIST(state_slot, listeners, listener_count, SLOT_LISTENERS_MAX, state_listener),
	FD(state_slot, handoff_in, SOCKET, OPTIONAL),
	FD(state_slot, handoff_out, SOCKET, OPTIONAL),
	ONE(state_slot, current, state_worker),
	LIST(state_slot, retiring, retiring_count, SLOT_RETIRING_MAX, state_worker),
	INT(state_slot, failures, 0, UINT32_MAX),
	INT(state_slot, started_ms, 0, INT64_MAX),
	INT(state_slot, delay_ms, 0, INT64_MAX),
	TIME(state_slot, wait_ms),
	FLAG(state_slot, has_been_up),
};
LAYOUT(state_slot);

static const struct record_field state_template_fields[] = {
	INT(state_template, state, 0, 2),
	INT(state_template, pid, 2, PID_MAX),
	FD(state_template, pidfd, PIDFD, NEEDED),
	FD(state_template, control, SOCKET, NEEDED),
	ONE(state_template, output, state_output),
	INT(state_template, epoch, 0, INT64_MAX),
	INT(state_template, sequence, 0, INT64_MAX),
	TIME(state_template, deadline_ms),
};
LAYOUT(state_template);

static const struct record_field state_pool_fields[] = {
	TEXT(state_pool, name, NEEDED),
	TEXT(state_pool, path, NEEDED),
	TEXT(state_pool, ini_dir, OPTIONAL),
	LIST(state_pool, shared, shared_count, SLOT_LISTENERS_MAX, state_listener),
	LIST(state_pool, slots, slot_count, SLOTS_MAX, state_slot),
	FD(state_pool, board, FILE, NEEDED),
	INT(state_pool, board_count, 1, INT32_MAX),
	FD(state_pool, attention, EVENTFD, NEEDED),
	FD(state_pool, fresh_in, SOCKET, NEEDED),
	FD(state_pool, fresh_out, SOCKET, NEEDED),
	FD(state_pool, peers, FILE, OPTIONAL),
	NEWER_INT(state_pool, most, 0, SLOTS_MAX),
	ONE(state_pool, template, state_template),
	INT(state_pool, template_serial, 0, UINT32_MAX),
	INT(state_pool, template_failures, 0, UINT32_MAX),
	INT(state_pool, template_started_ms, 0, INT64_MAX),
	TIME(state_pool, template_wait_ms),
};
LAYOUT(state_pool);

static const struct record_field state_request_fields[] = {
	FD(state_request, fd, SOCKET, NEEDED),
	TEXT(state_request, verb, NEEDED),
};
LAYOUT(state_request);

static const struct record_field state_control_fields[] = {
	ONE(state_control, listener, state_listener),
	LIST(state_control, requests, request_count, 1000, state_request),
};
LAYOUT(state_control);

static const struct record_field state_stored_fields[] = {
	INT(state_stored, number, 3, INT32_MAX),
	INT(state_stored, id, 1, INT64_MAX),
};
LAYOUT(state_stored);

static const struct record_field state_fields[] = {
	/* First: with another version the rest may mean anything. */
	INT(state, version, STATE_VERSION, STATE_VERSION),
	INT(state, abi, 1, UINT32_MAX),
	TEXT(state, berth, NEEDED),
	TEXT(state, program, NEEDED),
	TEXT(state, conf, NEEDED),
	INT(state, nofile_soft, -1, INT64_MAX),
	INT(state, nofile_hard, -1, INT64_MAX),
	INT(state, niceness, 0, 39),
	LIST(state, pools, pool_count, POOLS_MAX, state_pool),
	LIST(state, outputs, output_count, 1000, state_output),
	ONE(state, control, state_control),
	FD(state, log, ANY, OPTIONAL),
	FD(state, pid_file, FILE, OPTIONAL),
	TEXT(state, log_pending, OPTIONAL),
	FLAG(state, reload),
	LIST(state, stored, stored_count, 1 << 20, state_stored),
	INT(state, stored_serial, 0, INT64_MAX),
	INT(state, stored_last, 0, INT64_MAX),
};
LAYOUT(state);

static int write_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, text, size);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == -1 ? -errno : -EIO;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

int state_write(const struct state *state, int *ret_fd)
{
	json_t *json = record_write(&state_layout, state);
	char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	int fd = text ? memfd_create("berth-state", MFD_CLOEXEC) : -1;
	int result = text ? -errno : -ENOMEM;

	json_decref(json);
	if (fd != -1) {
		result = write_all(fd, text, strlen(text));
		if (result == 0 && lseek(fd, 0, SEEK_SET) == -1)
			result = -errno;
		if (result < 0)
			(void)close(fd);
		else
			*ret_fd = fd;
	}
	free(text);
	return result;
}

static json_t *load(int fd, char *error, size_t size)
{
	json_error_t where;
	struct stat st;
	json_t *json;
	void *text;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
	    st.st_size > STATE_BYTES_MAX) {
		(void)snprintf(error, size, "descriptor %d holds no state", fd);
		return NULL;
	}
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED) {
		(void)snprintf(error, size, "%s", strerror(errno));
		return NULL;
	}
	json = json_loadb(text, (size_t)st.st_size, JSON_REJECT_DUPLICATES, &where);
	if (!json)
		(void)snprintf(error, size, "it is no JSON: %s", where.text);
	(void)munmap(text, (size_t)st.st_size);
	return json;
}

int state_read(int fd, struct state *ret_state, char *error, size_t size)
{
	json_t *json = load(fd, error, size);
	struct state state = {0};
	int result;

	if (!json)
		return -EPROTO;
	result = record_read(&state_layout, json, &state, error, size);
	json_decref(json);
	if (result == 0)
		*ret_state = state;
	else
		state_release(&state);
	return result;
}

void state_release(struct state *state)
{
	record_release(&state_layout, state);
}

void state_drop_retiring(struct state *state)
{
	for (size_t i = 0; i < state->pool_count; i++) {
		for (size_t n = 0; n < state->pools[i].slot_count; n++) {
			struct state_slot *slot = &state->pools[i].slots[n];

			while (slot->retiring_count > 0)
				record_release(&state_worker_layout,
					       &slot->retiring[--slot->retiring_count]);
		}
	}
}

/* Descriptors */

static int set_flag(int fd, int give)
{
	return fcntl(fd, F_SETFD, give ? 0 : FD_CLOEXEC) == -1 ? -errno : fd;
}

static int give_cb(void *data, const struct record_field *field, int fd)
{
	(void)field;
	return set_flag(fd, *(const int *)data);
}

int state_each_descriptor(struct state *state, record_fd_fn each, void *data)
{
	return record_each_fd(&state_layout, state, each, data);
}

int state_give_descriptors(struct state *state, int give)
{
	return record_each_fd(&state_layout, state, give_cb, &give);
}

/* What the kernel calls a descriptor that no file stands for. */
static int is_anonymous(int fd, const char *name)
{
	char path[64], target[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return 0;
	target[n] = '\0';
	return strstr(target, name) != NULL;
}

static int is_kind(enum record_kind kind, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return 0;
	switch (kind) {
	case RECORD_KIND_ANY:
		return 1;
	case RECORD_KIND_SOCKET:
		return S_ISSOCK(st.st_mode);
	case RECORD_KIND_PIPE:
		return S_ISFIFO(st.st_mode);
	case RECORD_KIND_LISTENER:
		return S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode);
	case RECORD_KIND_FILE:
		return S_ISREG(st.st_mode);
	case RECORD_KIND_PIDFD:
		return is_anonymous(fd, "pidfd");
	case RECORD_KIND_EVENTFD:
		return is_anonymous(fd, "eventfd");
	}
	return 0;
}

struct taking {
	unsigned char *taken;
	size_t size;
	char *error;
	size_t error_size;
};

static int take_cb(void *data, const struct record_field *field, int fd)
{
	struct taking *t = data;

	if ((size_t)fd >= t->size) {
		size_t size = (size_t)fd * 2 + 64;
		unsigned char *grown = realloc(t->taken, size);

		if (!grown)
			return -ENOMEM;
		memset(grown + t->size, 0, size - t->size);
		t->taken = grown;
		t->size = size;
	}
	if (t->taken[fd] || !is_kind(field->kind, fd)) {
		(void)snprintf(t->error, t->error_size, "%s: descriptor %d %s", field->name, fd,
			       t->taken[fd] ? "is there twice" : "is not what it should be");
		return -EPROTO;
	}
	t->taken[fd] = 1;
	return set_flag(fd, 0);
}

int state_take_descriptors(struct state *state, char *error, size_t size)
{
	struct taking t = {.error = error, .error_size = size};
	int result;

	(void)snprintf(error, size, "out of memory");
	result = record_each_fd(&state_layout, state, take_cb, &t);
	free(t.taken);
	return result;
}
