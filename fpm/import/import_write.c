/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what was read of php-fpm's configuration as one of berth. */
#include "fpm/import/import_internal.h"

#include "fpm/conf/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * Each key is printed where it stands. A key that is taken is tried out first on berth's own reader
 * of configurations: what that refuses becomes a comment with its reason. So what is printed is
 * accepted as far as single lines go, whatever keys and limits berth has.
 */

#define POOL_NAME_BYTES 64
#define LOG_FOLDER	"/var"

/* What berth's own reader said of a line; the first thing counts. */
struct verdict {
	char text[256];
};

static void report_cb(void *data, enum conf_severity severity, const char *text)
{
	struct verdict *verdict = data;
	const char *reason = strstr(text, ": ");

	if (severity != CONF_ERROR || verdict->text[0] != '\0')
		return;
	reason = reason ? strstr(reason + 2, ": ") : NULL;
	(void)snprintf(verdict->text, sizeof(verdict->text), "%s", reason ? reason + 2 : text);
}

/* Return: true if berth takes @line in a section of that kind */
static bool is_accepted(const char *section, const char *line, struct verdict *verdict)
{
	struct conf_builder *builder = conf_builder_new(report_cb, verdict);
	char *text = NULL;
	int length;

	verdict->text[0] = '\0';
	length = asprintf(&text, "[%s]\n%s\n", section, line);
	if (!builder || length == -1)
		(void)snprintf(verdict->text, sizeof(verdict->text), "%s", strerror(ENOMEM));
	else
		conf_builder_text(builder, "line", text, (size_t)length);
	if (length != -1)
		free(text);
	conf_builder_free(builder);
	return verdict->text[0] == '\0';
}

static bool is_plain(const char *value)
{
	return *value != '\0' && strpbrk(value, ";\"'\\") == NULL && *value != ' ' &&
	       *value != '\t';
}

void import_write_value(const char *value, FILE *out)
{
	if (is_plain(value)) {
		(void)fputs(value, out);
		return;
	}
	(void)fputc('"', out);
	for (; *value; value++)
		(void)fprintf(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
	(void)fputc('"', out);
}

static void write_key(const struct import_entry *entry, FILE *out)
{
	(void)fputs(entry->key, out);
	if (entry->index)
		(void)fprintf(out, "[%s]", entry->index);
	(void)fputs(" = ", out);
}

static void write_comment(const struct import_entry *entry, const char *reason, FILE *out)
{
	(void)fputs("; ", out);
	write_key(entry, out);
	(void)fprintf(out, "%s\n;     %s:%u: %s\n", entry->value, entry->file, entry->line, reason);
}

/* PHP reads some words that are not in quotes as numbers or as nothing. */
static const char *fold_word(const struct import_entry *entry)
{
	static const char *const ones[] = {"on", "yes", "true"};
	static const char *const nothings[] = {"off", "no", "false", "none", "null"};

	if (entry->quoted || !entry->index || strstr(entry->key, "_flag"))
		return entry->value;
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++)
		if (strcasecmp(entry->value, ones[i]) == 0)
			return "1";
	for (size_t i = 0; i < sizeof(nothings) / sizeof(nothings[0]); i++)
		if (strcasecmp(entry->value, nothings[i]) == 0)
			return "";
	return entry->value;
}

/* Prints the key with @value, or a comment if berth does not accept it. */
static void write_setting(const struct import_section *section, const struct import_entry *entry,
			  const char *value, FILE *out)
{
	struct verdict verdict;
	char *line = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&line, &size);

	if (!stream)
		return;
	write_key(entry, stream);
	import_write_value(value, stream);
	if (fclose(stream) == 0) {
		if (is_accepted(section->name ? "pool" : "global", line, &verdict))
			(void)fprintf(out, "%s\n", line);
		else
			write_comment(entry, verdict.text, out);
	}
	free(line);
}

static void write_taken(const struct import_section *section, const struct import_entry *entry,
			FILE *out)
{
	const char *value = fold_word(entry);
	const char *brace = strstr(value, "${");
	const size_t length = strlen(value);

	if (!brace) {
		write_setting(section, entry, value, out);
	} else if (strcmp(entry->key, "env") == 0 && brace == value && length > 3 &&
		   strchr(value, '}') == value + length - 1) {
		char name[256];

		(void)snprintf(name, sizeof(name), "$%.*s", (int)(length - 3), value + 2);
		write_setting(section, entry, name, out);
	} else {
		write_comment(entry, "berth does not replace ${NAME}: put the text itself here.",
			      out);
	}
}

static bool logs_to_file(const struct import *import)
{
	const struct import_entry *log = import_find(import->sections, "error_log", NULL);

	return log && strcmp(log->value, "syslog") != 0 && strcmp(log->value, "stderr") != 0 &&
	       strcmp(log->value, "/proc/self/fd/2") != 0 && strcmp(log->value, "/dev/stderr") != 0;
}

static void write_global_path(const struct import *import, const struct import_entry *entry,
			      FILE *out)
{
	char *path = NULL;

	if (*entry->value == '/')
		path = strdup(entry->value);
	else if (asprintf(&path, LOG_FOLDER "/%s", entry->value) == -1)
		path = NULL;
	if (path)
		write_setting(import->sections, entry, path, out);
	free(path);
}

static void write_changed_global(const struct import *import, const struct import_entry *entry,
				 const struct import_key *key, FILE *out)
{
	const bool is_log = strcmp(entry->key, "error_log") == 0;
	const bool has_file = logs_to_file(import);

	if (strcmp(entry->key, "daemonize") == 0 && has_file)
		write_setting(import->sections, entry, entry->value, out);
	else if ((is_log && has_file) || strcmp(entry->key, "pid") == 0)
		write_global_path(import, entry, out);
	else if (is_log && strcmp(entry->value, "syslog") != 0)
		write_setting(import->sections, entry, "stderr", out);
	else
		write_comment(entry, key->reason, out);
}

static void write_changed(const struct import *import, const struct import_section *section,
			  const struct import_entry *entry, const struct import_key *key,
			  struct import_ports *ports, FILE *out)
{
	if (!section->name) {
		write_changed_global(import, entry, key, out);
	} else if (strcmp(entry->key, "listen") == 0) {
		import_listen(section, entry, ports, out);
	} else if (strcmp(entry->key, "chroot") == 0 || strcmp(entry->key, "chdir") == 0) {
		char *path = import_absolute(section, entry->value);

		if (path)
			write_setting(section, entry, path, out);
		free(path);
	} else {
		write_comment(entry, key->reason, out);
	}
}

static void write_entry(const struct import *import, const struct import_section *section,
			const struct import_entry *entry, struct import_ports *ports, FILE *out)
{
	const enum conf_scope scope = section->name ? CONF_SCOPE_POOL : CONF_SCOPE_GLOBAL;
	const struct import_key *key = import_key_find(entry->key, scope);
	char reason[64];

	if (entry->replaced) {
		(void)snprintf(reason, sizeof(reason), "The one on line %u counts.",
			       entry->replaced);
		write_comment(entry, reason, out);
	} else if (!key) {
		write_comment(entry, "php-fpm has no such key.", out);
	} else if (key->fate == IMPORT_CHANGED) {
		write_changed(import, section, entry, key, ports, out);
	} else if (*entry->value == '\0' && !entry->index) {
		write_comment(entry, "The value is empty, so the default stays.", out);
	} else if (key->fate == IMPORT_TAKEN || conf_key_find(entry->key, scope)) {
		write_taken(section, entry, out);
	} else {
		write_comment(entry, key->reason, out);
	}
}

/* Limits of php-fpm's master are those of its workers, if their pool does not say otherwise. */
static void write_limits(const struct import *import, const struct import_section *section,
			 FILE *out)
{
	static const char *const keys[] = {"rlimit_files", "rlimit_core"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct import_entry *entry = import_find(import->sections, keys[i], NULL);

		if (entry && !import_find(section, keys[i], NULL))
			write_setting(section, entry, entry->value, out);
	}
}

/* In /etc/php/8.2/fpm it is php-cgi8.2 that fits. Return: the suffix, empty if there is none */
static void find_version(const char *folder, char version[8])
{
	char path[64];
	const char *found = strstr(folder, "/php/");

	version[0] = '\0';
	if (!found || sscanf(found, "/php/%7[0-9.]/", version) != 1)
		version[0] = '\0';
	(void)snprintf(path, sizeof(path), "/usr/bin/php-cgi%s", version);
	if (access(path, X_OK) == -1)
		version[0] = '\0';
}

/* php-cgi would read its own php.ini and conf.d, whose settings and extensions may be others. */
static void write_program(const struct import *import, const struct import_section *section,
			  FILE *out)
{
	const char *slash = strrchr(import->path, '/');
	const int length = slash ? (int)(slash - import->path) : 0;
	char *ini = NULL;
	char *scan = NULL;
	char version[8];

	if (asprintf(&ini, "%.*s/php.ini", length, import->path) == -1)
		ini = NULL;
	if (asprintf(&scan, "%.*s/conf.d", length, import->path) == -1)
		scan = NULL;
	find_version(import->path, version);
	if (ini && slash && !strpbrk(ini, "\"\\") && access(ini, R_OK) == 0) {
		const char *quote = strpbrk(ini, " \t;'$=") ? "\"" : "";

		(void)fprintf(
			out,
			"; php-fpm's settings of PHP; by itself php-cgi reads those in its own "
			"folder.\n"
			"program = php-cgi%s -c %s%s%s\n",
			version, quote, ini, quote);
	} else if (version[0] != '\0') {
		(void)fprintf(out, "program = php-cgi%s\n", version);
	}
	if (scan && slash && access(scan, X_OK) == 0 &&
	    !import_find(section, "env", "PHP_INI_SCAN_DIR")) {
		(void)fputs("; php-fpm's extensions; by itself php-cgi loads those of its own "
			    "folder.\n"
			    "env[PHP_INI_SCAN_DIR] = ",
			    out);
		import_write_value(scan, out);
		(void)fputc('\n', out);
	}
	free(ini);
	free(scan);
}

static bool is_name_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("_-.@+", c));
}

/* Prints the section's line, with a name that berth accepts. */
static void write_name(const struct import_section *section, FILE *out)
{
	char name[POOL_NAME_BYTES + 1];
	size_t i;

	for (i = 0; i < POOL_NAME_BYTES && section->name[i] != '\0'; i++)
		name[i] = is_name_byte(section->name[i]) ? section->name[i] : '_';
	name[i] = '\0';
	if (name[0] != '\0' && strchr("-.@+", name[0]))
		name[0] = '_';
	(void)fputc('\n', out);
	if (strcmp(name, section->name) != 0)
		(void)fprintf(out, "; The name was \"%s\", which berth does not accept.\n",
			      section->name);
	(void)fprintf(out, "[%s]\n", name);
}

static void write_pool(const struct import *import, const struct import_section *section,
		       struct import_ports *ports, FILE *out)
{
	static const char limit[] = "security.limit_extensions";

	write_name(section, out);
	for (const struct import_entry *entry = section->entries; entry; entry = entry->next)
		write_entry(import, section, entry, ports, out);
	write_limits(import, section, out);
	write_program(import, section, out);
	if (!import_find(section, limit, NULL) && !conf_key_find(limit, CONF_SCOPE_POOL))
		(void)fprintf(out, "; %s = .php (php-fpm's default)\n;     %s\n", limit,
			      import_key_find(limit, CONF_SCOPE_POOL)->reason);
}

int import_write(const struct import *import, FILE *out)
{
	struct import_ports *ports = calloc(1, sizeof(*ports));

	if (!ports)
		return -ENOMEM;
	(void)fprintf(out,
		      "; berth's configuration from that of php-fpm in %s.\n"
		      "; Comments say what is different, and which keys berth does not have.\n",
		      import->path);
	for (size_t i = 0; i < import->note_count; i++)
		(void)fprintf(out, "; %s\n", import->notes[i]);
	(void)fputs("\n[global]\n", out);
	for (const struct import_entry *entry = import->sections->entries; entry;
	     entry = entry->next)
		write_entry(import, import->sections, entry, ports, out);
	for (const struct import_section *section = import->sections->next; section;
	     section = section->next)
		write_pool(import, section, ports, out);
	free(ports);
	return 0;
}
