/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a worker of a process that the template has just forked. */

#include "setup.h"

#include "peers.h"
#include "rescue.h"
#include "score.h"
#include "template.h"
#include "wait.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int complain(const char *what)
{
	char line[160] = "berth: worker can't start: ";
	const char *reason = strerrordesc_np(errno);
	const char *const parts[] = {what, ": ", reason ? reason : "unknown error", "\n"};
	size_t len = strlen(line);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i]);

		if (len + n > sizeof(line))
			break;
		memcpy(line + len, parts[i], n);
		len += n;
	}
	if (write(STDERR_FILENO, line, len) == -1)
		return -1;
	return -1;
}

static int redirect(int output, int null)
{
	if (dup2(output, STDOUT_FILENO) == -1 || dup2(output, STDERR_FILENO) == -1)
		return complain("output");
	(void)close(output);
	/*
	 * The template's socket looks like a listener, which made the program choose FastCGI.
	 * That is decided; programs that scripts start must not find it.
	 */
	if (null == -1 || dup2(null, STDIN_FILENO) == -1)
		return complain("/dev/null");
	(void)close(null);
	return 0;
}

int setup_worker(const struct template_worker *worker)
{
	/* A group of its own lets the manager reach, and spare, what scripts start. */
	(void)setpgid(0, 0);
	if (redirect(worker->fds[ABI_SPAWN_FD_OUTPUT], worker->null) == -1)
		return -1;
	score_open(worker);
	/* Without the list nobody could be refused. */
	if (peers_open(worker->fds[ABI_SPAWN_FD_PEERS]) == -1)
		return complain("list of allowed clients");
	if (wait_init(worker) == -1)
		return complain("listeners");
	if (worker->message.rescue)
		rescue_start(worker->message.rescue == ABI_RESCUE_ALL);
	return 0;
}
