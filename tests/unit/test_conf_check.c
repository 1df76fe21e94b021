/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what needs several settings or the machine: addresses, collisions, users and groups. */
#include <netdb.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf_fixture.h"
#include "fpm/conf/conf.h"
#include "fpm/worker/abi.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Debian's base system has this user and group, as numbers 1. */
#define USER "daemon"

/* Replaces the C library's by --wrap: names below "test" have the fate that they speak of. */
static unsigned int lookups;
int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **result);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **result);

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **result)
{
	int r;

	lookups++;
	if (strcmp(node, "unknown.test") == 0)
		return EAI_NONAME;
	if (strcmp(node, "later.test") == 0)
		return EAI_AGAIN;
	if (strcmp(node, "two.test") != 0)
		return __real_getaddrinfo(node, service, hints, result);
	r = __real_getaddrinfo("127.0.0.1", service, hints, result);
	assert_int_equal(r, 0);
	assert_null((*result)->ai_next);
	return __real_getaddrinfo("127.0.0.2", service, hints, &(*result)->ai_next);
}

static void test_addresses(void **state)
{
	struct conf *conf;
	char *said;

	(void)state;
	said = read_text("[w]\nlisten = nonsense\nlisten = 127.0.0.1:65534+%n\n"
			 "pm.max_children = 2\nlisten =\n",
			 &as_user, &conf);
	assert_null(conf);
	assert_ptr_equal(strstr(said, "E f:2: listen: "), said);
	assert_non_null(strstr(said, "\nE f:3: listen: "));
	assert_non_null(strstr(said, "\nE f:5: listen: "));
	free(said);
	/* Without a number of workers an address is still read. */
	said = read_text("[w]\nlisten = x:y\npm.max_children = 0\n", &as_user, &conf);
	assert_null(conf);
	assert_ptr_equal(strstr(said, "E f:3: pm.max_children: '0' is not accepted; accepted is a "
				      "whole number from 1 to 10000\nE f:2: listen: "),
			 said);
	free(said);
}

static void test_lookups(void **state)
{
	struct conf *conf;
	char *said;

	(void)state;
	said = read_text("[w]\nlisten = unknown.test:9000\npm.max_children = 1\n", &as_user, &conf);
	assert_null(conf);
	assert_ptr_equal(strstr(said, "E f:2: listen: can't look up host \"unknown.test\""), said);
	free(said);
	/* A name server that is down does not make the configuration wrong. */
	said = read_text("[w]\nlisten = later.test:9000\npm.max_children = 1\n", &as_user, &conf);
	assert_non_null(conf);
	assert_ptr_equal(strstr(said, "W f:2: listen: can't look up host \"later.test\""), said);
	conf_free(conf);
	free(said);
	/* Every address of a name counts, in every slot, but the name is looked up once. */
	lookups = 0;
	check_said("[w]\nlisten = two.test:9000+%n\nlisten = 127.0.0.2:9400\n"
		   "pm.max_children = 500\n",
		   &as_user,
		   "E f:3: listen: 127.0.0.2:9400 collides with 127.0.0.2:9400 (slot 400) of pool "
		   "w, f:2; accepted is an address that nobody else has\n");
	assert_int_equal(lookups, 2);
}

static void test_exec_has_one_socket(void **state)
{
	(void)state;
	check_said("[w]\nlisten = /a\nlisten = /b\nlisten = /c\nspawn = exec\n"
		   "pm.max_children = 1\n",
		   &as_user,
		   "E f:3: listen: with spawn = exec a worker has one socket, so one listen line "
		   "is accepted; spawn = template takes several\n");
	check_said("[w]\nlisten = two.test:9000\nspawn = exec\npm.max_children = 1\n", &as_user,
		   "E f:2: listen: the name stands for several addresses, and with spawn = exec a "
		   "worker has one socket; accepted is one of the addresses\n");
}

static void test_sizes(void **state)
{
#define DYNAMIC "[w]\nlisten = /a-%n\npm.max_children = 8\npm = dynamic\n"
	static const char *const examples[][2] = {
		{DYNAMIC, "E f:4: pm: dynamic needs pm.min_spare_servers and "
			  "pm.max_spare_servers\n"},
		{DYNAMIC "pm.min_spare_servers = 1\npm.max_spare_servers = 9\n",
		 "E f:6: pm.max_spare_servers: is above pm.max_children; accepted is at most "
		 "that\n"},
		{DYNAMIC "pm.min_spare_servers = 5\npm.max_spare_servers = 4\n",
		 "E f:5: pm.min_spare_servers: is above pm.max_spare_servers; accepted is at most "
		 "that\n"},
		{DYNAMIC "pm.min_spare_servers = 2\npm.max_spare_servers = 4\n"
			 "pm.start_servers = 5\n",
		 "E f:7: pm.start_servers: is not from pm.min_spare_servers to "
		 "pm.max_spare_servers\n"},
		{DYNAMIC "spawn = exec\n",
		 "E f:4: pm: with spawn = exec only static is accepted: such workers don't tell "
		 "whether they idle\n"},
		{"[w]\nlisten = pipe:/a-%n\npm.max_children = 8\npm = ondemand\n",
		 "E f:4: pm: on pipes only static is accepted: nobody connects to them\n"},
		{"process.max = 9\n" DYNAMIC "pm.min_spare_servers = 2\n"
		 "pm.max_spare_servers = 6\n[s]\nlisten = /s\npm.max_children = 6\n",
		 "E f:1: process.max: the pools start with 10 workers, which is above it\n"},
	};
	struct conf *conf;
	char *said;

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++)
		check_said(examples[i][0], &as_user, examples[i][1]);
	said = read_text("process.max = 10\n" DYNAMIC
			 "pm.min_spare_servers = 2\npm.max_spare_servers = 6\n"
			 "[s]\nlisten = /s\npm.max_children = 6\n"
			 "[o]\nlisten = /o\npm.max_children = 6\npm = ondemand\n",
			 &as_user, &conf);
	assert_string_equal(said, "");
	assert_non_null(conf);
	assert_int_equal(conf->pools->start_servers, 4);
	assert_int_equal(conf->process_max, 10);
	free(said);
	conf_free(conf);
#undef DYNAMIC
}

static void test_collisions(void **state)
{
#define FREE "; accepted is an address that nobody else has\n"
	static const char *const examples[][2] = {
		{"[a]\nlisten = /x/%n\npm.max_children = 3\n[b]\nlisten = /x/2\n"
		 "pm.max_children = 1\n",
		 "E f:5: listen: /x/2 collides with /x/2 (slot 2) of pool a, f:2" FREE},
		{"[a]\nlisten = @x\npm.max_children = 3\n[b]\nlisten = @x\npm.max_children = 1\n",
		 "E f:5: listen: @x collides with @x of pool a, f:2" FREE},
		{"[a]\nlisten = 9000+%n\npm.max_children = 3\nlisten = 9003\n",
		 "E f:4: listen: 127.0.0.1:9003 collides with 127.0.0.1:9003 (slot 3) of pool a, "
		 "f:2" FREE},
		/* One message a line, however many slots collide. */
		{"[a]\nlisten = 9000+%n\npm.max_children = 500\n[b]\nlisten = 127.0.0.1:9100+%n\n"
		 "pm.max_children = 500\n",
		 "E f:5: listen: 127.0.0.1:9101 (slot 1) collides with 127.0.0.1:9101 (slot 101) "
		 "of pool a, f:2" FREE},
		{"[a]\nlisten = [::1]:9000+%n\npm.max_children = 2\n[b]\nlisten = [::]:9002\n"
		 "pm.max_children = 1\n",
		 "E f:5: listen: [::]:9002 collides with [::1]:9002 (slot 2) of pool a, f:2" FREE},
		{"[a]\nlisten = 0.0.0.0:9001\npm.max_children = 2\n[b]\nlisten = "
		 "127.0.0.1:9000+%n\n"
		 "pm.max_children = 1\n",
		 "E f:5: listen: 127.0.0.1:9001 (slot 1) collides with 0.0.0.0:9001 of pool a, "
		 "f:2" FREE},
		/* None of these do. */
		{"[a]\nlisten = 127.0.0.1:9000\nlisten = [::1]:9000\nlisten = 127.0.0.2:9000\n"
		 "listen = /9000\nlisten = @9000\nlisten = @/9000\nlisten = 0.0.0.0:9001\n"
		 "listen = 127.0.0.1:0\nlisten = 127.0.0.1:0\nlisten = 0.0.0.0:0\npm.max_children "
		 "= 2\n",
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++)
		check_said(examples[i][0], &as_user, examples[i][1]);
}

/* The comparison of all slots must not be that of all pairs. */
static void test_collisions_of_many(void **state)
{
	struct timespec start;
	struct timespec end;

	(void)state;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	check_said(
		"[a]\nlisten = /x/%n\nlisten = localhost:9000+%n\npm.max_children = 10000\n"
		"[b]\nlisten = /y/%n\nlisten = 127.0.0.2:9000+%n\npm.max_children = 10000\n"
		"[c]\nlisten = /x/10000\npm.max_children = 1\n",
		&as_user,
		"E f:10: listen: /x/10000 collides with /x/10000 (slot 10000) of pool a, f:2" FREE);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(end.tv_sec - start.tv_sec < 20);
}

/* Lists of clients: what they hold in the end, whoever reads them. */
static void test_peers(void **state)
{
	const struct conf_rules *const rules[] = {&as_user, &as_allowed_root};

	(void)state;
	for (size_t i = 0; i < COUNT(rules); i++) {
		struct conf *conf = read_good(
			POOL "listen.allowed_clients = 10.0.0.0/8,\t::1 ,127.0.0.1 ; ours\n"
			     "listen.allowed_uids = ' root ," USER ",1000'\n",
			rules[i]);
		const struct peers *const peers = &conf->pools->peers;

		assert_int_equal(peers->network_count, 3);
		assert_int_equal(peers->networks[0].prefix, 8);
		assert_int_equal(peers->networks[1].address[15], 1);
		assert_int_equal(peers->networks[2].address[0], 127);
		assert_int_equal(peers->uid_count, 3);
		assert_int_equal(peers->uids[0], 0);
		assert_int_equal(peers->uids[1], 1);
		assert_int_equal(peers->uids[2], 1000);
		conf_free(conf);
	}
}

static void test_refused_peers(void **state)
{
#define COMMA "an entry is empty: a comma stands between two of them\n"
	static const char *const examples[][2] = {
		{POOL "listen.allowed_clients =\n",
		 "E f:4: listen.allowed_clients: the value is empty; accepted is a list of IPv4 "
		 "and IPv6 addresses and networks, such as 127.0.0.1, 10.0.0.0/8, ::1\n"},
		{POOL "listen.allowed_clients = any\n",
		 "E f:4: listen.allowed_clients: 'any' is not accepted; without this key everybody "
		 "may connect\n"},
		{POOL "listen.allowed_clients = ' '\n", "E f:4: listen.allowed_clients: " COMMA},
		{POOL "listen.allowed_clients = ::1,\n", "E f:4: listen.allowed_clients: " COMMA},
		{POOL "listen.allowed_clients = 10.1.0.0/8,::1,,x,::1/129\n",
		 "E f:4: listen.allowed_clients: '10.1.0.0/8' has bits behind its prefix; the "
		 "network is 10.0.0.0/8\n"
		 "E f:4: listen.allowed_clients: " COMMA
		 "E f:4: listen.allowed_clients: 'x' is not accepted; accepted are IPv4 and IPv6 "
		 "addresses and networks, such as 127.0.0.1, 10.0.0.0/8, ::1 or 2001:db8::/32\n"
		 "E f:4: listen.allowed_clients: '::1/129' is not accepted; the number behind the "
		 "'/' has to be from 0 to 128\n"},
		{POOL "listen.allowed_clients = ::1\nlisten.allowed_clients = ::2\n",
		 "E f:5: listen.allowed_clients: is given twice, first at f:4; it is accepted "
		 "once\n"},
		{POOL "listen.allowed_uids =\n",
		 "E f:4: listen.allowed_uids: the value is empty; accepted is a list of users by "
		 "name or number, such as www-data, 1000\n"},
		{POOL "listen.allowed_uids = root,,no-such-user, 4294967295,x y\n",
		 "E f:4: listen.allowed_uids: " COMMA
		 "E f:4: listen.allowed_uids: there is no user no-such-user\n"
		 "E f:4: listen.allowed_uids: there is no user 4294967295\n"
		 "E f:4: listen.allowed_uids: there is no user x y\n"},
		/* Whichever line comes first. */
		{POOL "listen.allowed_clients = ::1\nspawn = exec\nlisten.allowed_uids = 0\n",
		 "E f:4: listen.allowed_clients: is not accepted with spawn = exec, where the "
		 "program accepts whoever connects; spawn = template refuses the others\n"
		 "E f:6: listen.allowed_uids: is not accepted with spawn = exec, where the "
		 "program accepts whoever connects; spawn = template refuses the others\n"},
		{"listen.allowed_uids = 0\n" POOL,
		 "E f:1: listen.allowed_uids: is not accepted in [global]; it belongs in the "
		 "section of a pool\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		check_said(examples[i][0], &as_user, examples[i][1]);
		check_said(examples[i][0], &as_allowed_root, examples[i][1]);
	}
}

/* One entry too many is told of once, however many more there are. */
static void test_peers_are_bounded(void **state)
{
	static char text[8192];
	char *end = text + snprintf(text, sizeof(text), "%slisten.allowed_clients = ", POOL);

	(void)state;
	for (unsigned int i = 0; i < 1009; i++)
		end += snprintf(end, 8, "%s::1", i > 0 ? "," : "");
	check_said(text, &as_user,
		   "E f:4: listen.allowed_clients: more than 1000 entries are not accepted\n");
}

static void test_root(void **state)
{
#define ALLOW "; give another user, or allow it with -R, --allow-to-run-as-root\n"
	static const char *const examples[][2] = {
		{POOL, "E f:1: user: pool w would run as root; give a user, or allow it with -R, "
		       "--allow-to-run-as-root\n"},
		{POOL "user = root\n", "E f:4: user: is root, as whom no worker runs" ALLOW},
		{POOL "user = 0\n", "E f:4: user: is root, as whom no worker runs" ALLOW},
		{POOL "group = " USER "\n", "E f:4: group: is given without user, so workers would "
					    "run as root; give user, or allow it with -R, "
					    "--allow-to-run-as-root\n"},
		{POOL "user = " USER "\ngroup = root\n",
		 "E f:5: group: workers would run in group root; give another group, or allow it "
		 "with -R, --allow-to-run-as-root\n"},
		{POOL "user = no-such-user\n", "E f:4: user: there is no user no-such-user\n"},
		{POOL "user = " USER "\ngroup = no-such-group\n",
		 "E f:5: group: there is no group no-such-group\n"},
		{POOL "user = 3999999999\n", "E f:4: user: user 3999999999 is not in the user "
					     "database, so its group has to be given as well\n"},
		{POOL "user = 4294967295\n", "E f:4: user: there is no user 4294967295\n"},
		{POOL "user = " USER
		      "\nlisten.owner = no-such-user\nlisten.group = no-such-group\n",
		 "E f:5: listen.owner: there is no user no-such-user\n"
		 "E f:6: listen.group: there is no group no-such-group\n"},
		{POOL "user =\n",
		 "E f:4: user: the value is empty; accepted is the name or number of a user\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++)
		check_said(examples[i][0], &as_root, examples[i][1]);
}

static void check_ids(const char *text, const struct conf_rules *rules, uid_t uid, gid_t gid,
		      uid_t listen_uid, gid_t listen_gid)
{
	struct conf *conf = read_good(text, rules);

	assert_int_equal(conf->pools->identity.uid, uid);
	assert_int_equal(conf->pools->identity.gid, gid);
	assert_int_equal(conf->pools->listen_uid, listen_uid);
	assert_int_equal(conf->pools->listen_gid, listen_gid);
	conf_free(conf);
}

static void test_ids(void **state)
{
	const uid_t none = (uid_t)-1;
	char text[256];

	(void)state;
	check_ids(POOL "user = " USER "\n", &as_root, 1, 1, 1, 1);
	check_ids(POOL "user = 1\ngroup = 2\n", &as_root, 1, 2, 1, 2);
	check_ids(POOL "user = " USER "\nlisten.owner = root\nlisten.group = 7\n", &as_root, 1, 1,
		  0, 7);
	check_ids(POOL "user = 3999999999\ngroup = 3999999998\n", &as_root, 3999999999U,
		  3999999998U, 3999999999U, 3999999998U);
	check_ids(POOL, &as_allowed_root, none, none, none, none);
	check_ids(POOL "listen.owner = " USER "\n", &as_allowed_root, none, none, 1, none);
	check_ids(POOL "user = root\n", &as_allowed_root, 0, 0, 0, 0);
	check_ids(POOL "group = " USER "\n", &as_allowed_root, 0, 1, 0, 1);
	(void)snprintf(text, sizeof(text),
		       POOL "user = 1000\ngroup = %u\nlisten.owner = 1000\n"
			    "listen.group = %u\n",
		       (unsigned int)getegid(), (unsigned int)getegid());
	check_ids(text, &as_user, none, none, none, getegid());
}

static void test_groups_of_user(void **state)
{
	struct conf *conf = read_good(POOL "user = " USER "\ngroup = 2\n", &as_root);
	bool found = false;

	(void)state;
	for (size_t i = 0; i < conf->pools->identity.groups_count; i++)
		found = found || conf->pools->identity.groups[i] == 2;
	assert_true(found);
	conf_free(conf);
}

static void test_ordinary_user(void **state)
{
	(void)state;
	check_said(POOL "user = " USER "\ngroup = no-such-group\nlisten.owner = no-such-user\n"
			"listen.group = 3999999999\n",
		   &as_user,
		   "W f:4: user: ignored: not started as root\n"
		   "W f:5: group: ignored: not started as root\n"
		   "W f:6: listen.owner: ignored: not started as root\n"
		   "W f:7: listen.group: ignored: not started as root\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_lookups),
		cmocka_unit_test(test_exec_has_one_socket),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_collisions_of_many),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_refused_peers),
		cmocka_unit_test(test_peers_are_bounded),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_groups_of_user),
		cmocka_unit_test(test_ordinary_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
