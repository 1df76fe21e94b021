/* SPDX-License-Identifier: BSD-2-Clause */
/* The command that starts a target, while it is put together. */

#include "launch.h"

#include "ports.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG_DEFAULT 511
#define BODY_DEFAULT	100

/* What a program needs to run as it would run for us, the build's own checks included. */
static const char *const passed_on[] = {
	"PATH",		"HOME",		 "TMPDIR",	    "TZ",
	"LANG",		"LC_ALL",	 "LD_LIBRARY_PATH", "ASAN_OPTIONS",
	"LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
};

/* Who web servers run as; php-fpm and berth refuse to run PHP as root. */
static const char *const users[] = {"www-data", "http", "apache", "nobody"};

__attribute__((format(printf, 3, 0))) static void
append(struct launch *launch, char *list[LAUNCH_WORDS_MAX], const char *format, va_list args)
{
	size_t left = sizeof(launch->text) - launch->used, count = 0;
	int n = vsnprintf(launch->text + launch->used, left, format, args);

	while (list[count])
		count++;
	if (n < 0 || (size_t)n >= left || count >= LAUNCH_WORDS_MAX - 1) {
		launch->error = -E2BIG;
		return;
	}
	list[count] = launch->text + launch->used;
	launch->used += (size_t)n + 1;
}

void launch_word(struct launch *launch, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(launch, launch->argv, format, args);
	va_end(args);
}

void launch_variable(struct launch *launch, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(launch, launch->envp, format, args);
	va_end(args);
}

static void choose_user(struct launch *launch)
{
	const struct passwd *user = NULL;
	const struct group *group;

	if (geteuid() != 0)
		return;
	for (size_t i = 0; !user && i < sizeof(users) / sizeof(users[0]); i++) {
		launch->user = users[i];
		user = getpwnam(users[i]);
	}
	group = user ? getgrgid(user->pw_gid) : NULL;
	(void)snprintf(launch->group, sizeof(launch->group), "%s",
		       group ? group->gr_name : launch->user);
}

void launch_init(struct launch *launch, const struct target_options *options, const char *folder)
{
	memset(launch, 0, sizeof(*launch));
	launch->options = options;
	launch->folder = folder;
	launch->backlog = options->backlog > 0 ? options->backlog : BACKLOG_DEFAULT;
	launch->body_size = options->body_size > 0 ? options->body_size : BODY_DEFAULT;
	choose_user(launch);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		const char *value = getenv(passed_on[i]);

		if (value)
			launch_variable(launch, "%s=%s", passed_on[i], value);
	}
}

int launch_listen(struct launch *launch, bool each)
{
	const char *number = each ? "-%n" : "";
	unsigned int base = 0;
	int ret = 0, n;

	switch (launch->options->transport) {
	case TRANSPORT_TCP:
		ret = ports_find(each ? launch->options->workers : 1, &base);
		n = snprintf(launch->listen, sizeof(launch->listen), "127.0.0.1:%u%s",
			     each ? base : base + 1, each ? "+%n" : "");
		break;
	case TRANSPORT_UNIX:
		n = snprintf(launch->listen, sizeof(launch->listen), "%s/www%s.sock",
			     launch->folder, number);
		break;
	case TRANSPORT_PIPE:
		n = snprintf(launch->listen, sizeof(launch->listen), "pipe:%s/www%s",
			     launch->folder, number);
		break;
	default:
		return -EINVAL;
	}
	if (n < 0 || (size_t)n >= sizeof(launch->listen))
		return -ENAMETOOLONG;
	return ret;
}
