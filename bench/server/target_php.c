/* SPDX-License-Identifier: BSD-2-Clause */
/* What all PHP targets have in common: the program, the scripts, what PHP says of itself. */

#include "folder.h"
#include "locate.h"
#include "probe.h"
#include "target_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SCRIPT "bench.php"
#define ABOUT  "about.php"

/* An array's entry that is not there, as with a cache that is off, is false. */
static const char about[] =
	"<?php\n"
	"header('Content-Type: text/plain');\n"
	"$cache = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;\n"
	"printf('PHP %s, %s, opcache %s, JIT %s', PHP_VERSION, PHP_SAPI,\n"
	"\t!empty($cache['opcache_enabled']) ? 'on' : 'off',\n"
	"\t!empty($cache['jit']['on']) ? 'on' : 'off');\n";

int target_find_php(const struct launch *launch, char *ret_path, size_t path_size, char *error,
		    size_t size)
{
	const char *wanted = launch->options->php;
	int ret = locate_program(wanted ? wanted : "php-cgi", ret_path, path_size);

	if (ret < 0 && wanted)
		(void)snprintf(error, size, "%s: %s", wanted, strerror(-ret));
	else if (ret < 0)
		(void)snprintf(error, size,
			       "php-cgi is not installed; Debian has it in the package php-cgi");
	return ret;
}

int target_php_write(const struct launch *launch, char *ret_script, size_t size)
{
	const char *text = launch->options->script_text;
	char usual[256];
	int ret, n;

	(void)snprintf(usual, sizeof(usual),
		       "<?php\n"
		       "header('Content-Type: text/plain');\n"
		       "echo str_repeat('x', (int)($_GET['size'] ?? %zu));\n",
		       launch->body_size);
	n = snprintf(ret_script, size, "%s/" SCRIPT, launch->folder);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	ret = folder_write(launch->folder, SCRIPT, text ? text : usual);
	return ret < 0 ? ret : folder_write(launch->folder, ABOUT, about);
}

void target_php_describe(struct target *target, const char *note, uint64_t deadline_ms)
{
	struct probe_answer answer;
	char script[512];

	(void)snprintf(script, sizeof(script), "%s/" ABOUT, target->folder);
	if (probe_request(&target->endpoints[0], script, "", deadline_ms, &answer) < 0 ||
	    strncmp(answer.body, "PHP ", 4) != 0)
		return;
	(void)snprintf(target->version, sizeof(target->version), "%.120s; %s", answer.body, note);
}
