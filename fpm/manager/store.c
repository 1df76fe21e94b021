/* SPDX-License-Identifier: BSD-2-Clause */
/* Our descriptors and our state in systemd's keeping, for the manager that is started if we die. */

#include "fpm/manager/store.h"

#include "fpm/listener/activation.h"
#include "fpm/process/proc_stat.h"
#include "fpm/manager/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * Each descriptor that the state names has a number of its own, which is in its name in the store,
 * "berth.fd.NUMBER", and in the state that is there, "berth.state.SERIAL". The table says which
 * descriptors are in the store. A descriptor is taken for another one if its inode has changed;
 * those of which all have the same, pidfds and eventfds, are told by store_forget().
 *
 * A message to systemd stays in its socket if we die, and messages keep their order. So whenever we
 * die, the store comes to hold the last whole state, and all that it names: what else may be there
 * is not used. A state and what is new in it are not there yet for a moment; a worker that is lost
 * by that sees the end of its lifeline and leaves as it always would.
 */
#define NAME_ANY	"berth."
#define NAME_FD		"berth.fd."
#define NAME_STATE	"berth.state."
#define FIRST_ID	1000 /* so that none looks like a standard descriptor */
#define SETTLE_USEC	1000000
/* How long old processes are waited for when they can't be gone on with, and how often it is looked. */
#define END_PATIENCE_MS 500
#define END_STEP_MS	10

/**
 * struct entry - a descriptor, by its number
 * @id:		Its number in the store, 0 if it is not there
 * @named:	The present state names it
 */
struct entry {
	int64_t id;
	dev_t dev;
	ino_t ino;
	bool named;
};

/**
 * struct came - what was in the store when we were started
 * @fd:		Descriptor
 * @id:		Its number
 */
struct came {
	int fd;
	int64_t id;
};

static struct {
	bool known;
	bool available;
	bool due;
	unsigned int limit;
	struct entry *table;
	size_t size;
	int64_t last_id;
	int64_t serial; /* of the state that is there, 0 if there is none */
	int64_t *dead;	/* to be removed when no state that is there names them */
	size_t dead_count;
	size_t dead_size;
	struct came *came;
	size_t came_count;
} store = {.last_id = FIRST_ID};

bool store_available(void)
{
	const char *limit = getenv("FDSTORE");

	if (!store.known) {
		store.known = true;
		store.limit = limit ? (unsigned int)strtoul(limit, NULL, 10) : 0;
		store.available = getenv("NOTIFY_SOCKET") && store.limit > 0;
	}
	return store.available;
}

unsigned int store_limit(void)
{
	return store.limit;
}

/* Messages */

static int put(const char *name, int64_t number, int fd)
{
	char text[128];
	int result;

	/* FDPOLL: whether a descriptor is of use any more is our business. */
	(void)snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s%lld", name,
		       (long long)number);
	result = sd_pid_notify_with_fds(0, 0, text, &fd, 1);
	return result < 0 ? result : 0;
}

static void take_out(const char *name, int64_t number)
{
	(void)sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s%lld", name, (long long)number);
}

/* What came */

static int64_t number_behind(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(name, prefix, length) == 0 ? strtoll(name + length, NULL, 10) : -1;
}

static void free_names(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

static void take_state(int fd, int64_t serial, int *state)
{
	/* Killed between two messages, the one before may have been left. */
	if (*state != -1 && serial < store.serial) {
		(void)close(fd);
		take_out(NAME_STATE, serial);
		return;
	}
	if (*state != -1) {
		(void)close(*state);
		take_out(NAME_STATE, store.serial);
	}
	*state = fd;
	store.serial = serial;
}

/* One that is none of the store's is a socket that systemd has opened. */
static void take_apart(int fd, const char *name, int *state)
{
	int64_t id = number_behind(name, NAME_FD);
	int64_t serial = number_behind(name, NAME_STATE);
	char error[256];

	if (serial > 0)
		take_state(fd, serial, state);
	else if (id >= FIRST_ID)
		store.came[store.came_count++] = (struct came){.fd = fd, .id = id};
	else if (activation_add(fd, name, error, sizeof(error)) < 0)
		(void)close(fd); /* it was refused by the first manager, too */
	if (id > store.last_id)
		store.last_id = id;
}

static bool any_of_store(char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (strncmp(names[i], NAME_ANY, strlen(NAME_ANY)) == 0)
			return true;
	return false;
}

int store_inherit(void)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(0, &names);
	int state = -1;

	if (count > 0 && any_of_store(names, count))
		store.came = calloc((size_t)count, sizeof(*store.came));
	if (store.came) {
		for (int i = 0; i < count; i++)
			take_apart(SD_LISTEN_FDS_START + i, names[i], &state);
		/* So that nobody takes them once more. */
		(void)sd_listen_fds(1);
		if (state == -1)
			store_discard();
	}
	free_names(names);
	return state;
}

/* The table */

static struct entry *entry_of(int fd)
{
	if ((size_t)fd >= store.size) {
		size_t size = (size_t)fd * 2 + 64;
		struct entry *grown = realloc(store.table, size * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + store.size, 0, (size - store.size) * sizeof(*grown));
		store.table = grown;
		store.size = size;
	}
	return &store.table[fd];
}

static int note(int fd, int64_t id)
{
	struct entry *entry = entry_of(fd);
	struct stat st;

	if (!entry)
		return -ENOMEM;
	if (fstat(fd, &st) == -1)
		return -errno;
	*entry = (struct entry){.id = id, .dev = st.st_dev, .ino = st.st_ino, .named = true};
	return 0;
}

static int resolve_cb(void *data, const struct record_field *field, int id)
{
	(void)field;
	for (size_t i = 0; i < store.came_count; i++) {
		int fd = store.came[i].fd;
		int result;

		if (store.came[i].id != id || fd == -1)
			continue;
		store.came[i].fd = -1;
		result = note(fd, id);
		return result < 0 ? result : fd;
	}
	*(int *)data = id;
	return -ENOENT;
}

static void drop_came(void)
{
	for (size_t i = 0; i < store.came_count; i++) {
		if (store.came[i].fd == -1)
			continue;
		(void)close(store.came[i].fd);
		take_out(NAME_FD, store.came[i].id);
	}
	free(store.came);
	store.came = NULL;
	store.came_count = 0;
}

int store_resolve(struct state *state, char *error, size_t size)
{
	int missing = -1;
	int result = state_each_descriptor(state, resolve_cb, &missing);

	if (result < 0)
		(void)snprintf(error, size, "descriptor %d: %s", missing, strerror(-result));
	else
		drop_came();
	return result;
}

/* Short of memory, it stays there until the end. */
static void bury(struct entry *entry)
{
	int64_t *grown = store.dead;

	if (store.dead_count == store.dead_size) {
		size_t size = store.dead_size * 2 + 64;

		grown = realloc(store.dead, size * sizeof(*grown));
		store.dead = grown ? grown : store.dead;
		store.dead_size = grown ? size : store.dead_size;
	}
	if (grown)
		store.dead[store.dead_count++] = entry->id;
	entry->id = 0;
	store.due = true;
}

static void take_out_dead(void)
{
	for (size_t i = 0; i < store.dead_count; i++)
		take_out(NAME_FD, store.dead[i]);
	store.dead_count = 0;
}

static void empty(void)
{
	take_out_dead();
	for (size_t fd = 0; fd < store.size; fd++) {
		if (store.table[fd].id > 0)
			take_out(NAME_FD, store.table[fd].id);
		store.table[fd].id = 0;
	}
	if (store.serial > 0)
		take_out(NAME_STATE, store.serial);
	store.serial = 0;
}

/* Return: the process, 0 if it is no pidfd or the process has ended */
static pid_t process_of(int pidfd)
{
	char path[64], line[256];
	pid_t pid = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "Pid:", 4) == 0)
			pid = (pid_t)strtol(line + 4, NULL, 10);
	if (file)
		(void)fclose(file);
	return pid > 0 ? pid : 0;
}

/*
 * The manager's own children have our parent now; workers of templates have theirs, and leave when
 * their lifelines end. An idle one is gone in a moment, and a start needs its sockets.
 */
static void end_process(int pidfd, int *patience_ms)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	pid_t pid = process_of(pidfd);
	struct proc_stat stat;
	int left = *patience_ms;

	if (pid == 0 || proc_stat_read(pid, &stat) < 0 || stat.parent != getppid() ||
	    syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) == -1)
		return;
	for (; left > 0 && poll(&p, 1, END_STEP_MS) == 0; left -= END_STEP_MS)
		;
	*patience_ms = left;
}

static void end_processes(void)
{
	int patience_ms = END_PATIENCE_MS;

	for (size_t fd = 0; fd < store.size; fd++)
		if (store.table[fd].id > 0)
			end_process((int)fd, &patience_ms);
	for (size_t i = 0; i < store.came_count; i++)
		if (store.came[i].fd != -1)
			end_process(store.came[i].fd, &patience_ms);
}

void store_discard(void)
{
	end_processes();
	/* A part of it may have been resolved. */
	for (size_t fd = 0; fd < store.size; fd++)
		if (store.table[fd].id > 0)
			(void)close((int)fd);
	empty();
	drop_came();
	store_settle();
}

/* Updates */

void store_touch(void)
{
	store.due = true;
}

bool store_is_due(void)
{
	return store.due && store_available();
}

void store_forget(int fd)
{
	struct entry *entry = (size_t)fd < store.size ? &store.table[fd] : NULL;

	if (entry && entry->id > 0)
		bury(entry);
}

static int put_cb(void *data, const struct record_field *field, int fd)
{
	unsigned int *count = data;
	struct entry *entry = entry_of(fd);
	struct stat st;

	(void)field;
	if (!entry)
		return -ENOMEM;
	/* One for the state, and one for the state that follows it. */
	if (++*count + 2 > store.limit)
		return -E2BIG;
	if (fstat(fd, &st) == -1)
		return -errno;
	if (entry->id > 0 && (entry->dev != st.st_dev || entry->ino != st.st_ino))
		bury(entry);
	if (entry->id == 0) {
		int result = put(NAME_FD, ++store.last_id, fd);

		if (result < 0)
			return result;
		*entry = (struct entry){.id = store.last_id, .dev = st.st_dev, .ino = st.st_ino};
	}
	entry->named = true;
	return (int)entry->id;
}

static int put_state(struct state *state)
{
	int fd = -1;
	int result = state_write(state, &fd);

	if (result == 0)
		result = put(NAME_STATE, store.serial + 1, fd);
	if (fd != -1)
		(void)close(fd);
	if (result < 0)
		return result;
	if (store.serial > 0)
		take_out(NAME_STATE, store.serial);
	store.serial++;
	return 0;
}

int store_update(struct state *state)
{
	unsigned int count = 0;
	int result;

	for (size_t fd = 0; fd < store.size; fd++)
		store.table[fd].named = false;
	result = state_each_descriptor(state, put_cb, &count);
	if (result == 0)
		result = put_state(state);
	if (result < 0) {
		store_clear();
		return result;
	}
	for (size_t fd = 0; fd < store.size; fd++)
		if (store.table[fd].id > 0 && !store.table[fd].named)
			bury(&store.table[fd]);
	take_out_dead();
	store.due = false;
	return 0;
}

void store_clear(void)
{
	if (!store_available())
		return;
	empty();
	store.available = false;
	free(store.table);
	store.table = NULL;
	store.size = 0;
	free(store.dead);
	store.dead = NULL;
	store.dead_count = store.dead_size = 0;
}

void store_settle(void)
{
	if (getenv("NOTIFY_SOCKET"))
		(void)sd_notify_barrier(0, SETTLE_USEC);
}

/* Handing it on */

int store_export(struct state *state)
{
	state->stored = calloc(store.size + 1, sizeof(*state->stored));
	if (!state->stored)
		return -ENOMEM;
	for (size_t fd = 0; fd < store.size; fd++)
		if (store.table[fd].id > 0)
			state->stored[state->stored_count++] = (struct state_stored){
				.number = (int64_t)fd, .id = store.table[fd].id};
	state->stored_serial = store.serial;
	state->stored_last = store.last_id;
	return 0;
}

int store_adopt(const struct state *state)
{
	int result = 0;

	if (!store_available())
		return 0;
	store.serial = state->stored_serial;
	store.last_id = state->stored_last;
	for (size_t i = 0; result == 0 && i < state->stored_count; i++)
		result = note((int)state->stored[i].number, state->stored[i].id);
	return result;
}
