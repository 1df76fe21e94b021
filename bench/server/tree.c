/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that descend from one, and their threads. */

#include "tree.h"

#include "proc_file.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool tree_threads(pid_t pid, tree_thread_fn thread, void *data)
{
	char path[32];
	DIR *folder;
	bool ok = true;

	(void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
	folder = opendir(path);
	if (!folder)
		return true;
	for (const struct dirent *entry; ok && (entry = readdir(folder));)
		if (entry->d_name[0] != '.')
			ok = thread(dirfd(folder), (pid_t)strtol(entry->d_name, NULL, 10), data);
	(void)closedir(folder);
	return ok;
}

struct list {
	pid_t *pids;
	size_t count;
	size_t max;
};

/* A process is listed as a child of the thread that forked it. */
static bool add_children(int folder, pid_t thread, void *data)
{
	/* Seven digits and a blank each; a template has its workers in one file. */
	static _Thread_local char text[TREE_MAX * 8];
	struct list *list = data;
	char path[32], *end;

	(void)snprintf(path, sizeof(path), "%ld/children", (long)thread);
	(void)proc_file_read(folder, path, text, sizeof(text));
	for (const char *at = text; list->count < list->max; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0)
			break;
		list->pids[list->count++] = (pid_t)pid;
	}
	return true;
}

size_t tree_list(pid_t root, pid_t *ret_pids, size_t max)
{
	struct list list = {.pids = ret_pids, .max = max};

	if (root <= 0 || max == 0 || (kill(root, 0) == -1 && errno == ESRCH))
		return 0;
	list.pids[list.count++] = root;
	for (size_t i = 0; i < list.count; i++)
		(void)tree_threads(list.pids[i], add_children, &list);
	return list.count;
}
