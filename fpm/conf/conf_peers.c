/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may connect to a pool: listen.allowed_clients and listen.allowed_uids. */
#include "fpm/conf/conf_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS	     " \t"
#define REASON_BYTES 256

typedef int (*add_fn)(struct peers *peers, const char *text, char *error, size_t size);

/* Takes the next entry off a list with commas, without the blanks around it. */
static char *next_entry(char **list)
{
	char *entry = strsep(list, ",");
	size_t length;

	if (entry == NULL)
		return NULL;
	entry += strspn(entry, BLANKS);
	length = strlen(entry);
	while (length > 0 && strchr(BLANKS, entry[length - 1]) != NULL)
		length--;
	entry[length] = '\0';
	return entry;
}

/* Adds each entry of a value; those that are wrong are reported one by one. */
static void add_entries(struct conf_builder *builder, struct conf_section *section,
			const struct conf_place *place, add_fn add)
{
	char *const copy = strdup(place->value);
	char *rest = copy;

	if (copy == NULL) {
		conf_report_memory(builder);
		return;
	}
	for (char *entry = next_entry(&rest); entry != NULL; entry = next_entry(&rest)) {
		char reason[REASON_BYTES] = "an entry is empty: a comma stands between two of them";
		const int result =
			*entry == '\0' ? -EINVAL
				       : add(&section->pool->peers, entry, reason, sizeof(reason));

		if (result < 0)
			conf_report(builder, CONF_ERROR, &place->origin, place->label, "%s",
				    reason);
		if (result == -E2BIG || result == -ENOMEM)
			break;
	}
	free(copy);
}

void conf_set_allowed_clients(const struct conf_setting *setting)
{
	const struct conf_section *const section = setting->section;

	if (*setting->value == '\0')
		conf_refuse(setting, "a list of IPv4 and IPv6 addresses and networks, such as "
				     "127.0.0.1, 10.0.0.0/8, ::1");
	else
		/* The last place is this setting's own. */
		add_entries(setting->builder, setting->section,
			    &section->places[section->places_count - 1], peers_add_network);
}

void conf_check_peers(struct conf_builder *builder, struct conf_section *section)
{
	static const char *const keys[] = {"listen.allowed_clients", "listen.allowed_uids"};
	const struct conf_place *const users = conf_place_find(section, keys[1], NULL);

	/* An empty value was reported when it was read. */
	if (users != NULL && section->pool->allowed_uids != NULL)
		add_entries(builder, section, users, peers_add_user);
	for (size_t i = 0; section->pool->spawn == CONF_SPAWN_EXEC && i < 2; i++) {
		const struct conf_place *const place = conf_place_find(section, keys[i], NULL);

		if (place != NULL)
			conf_report(builder, CONF_ERROR, &place->origin, place->label,
				    "is not accepted with spawn = exec, where the program accepts "
				    "whoever connects; spawn = template refuses the others");
	}
}
