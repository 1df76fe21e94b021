/* SPDX-License-Identifier: BSD-2-Clause */
/* berth-bench's command line. */

#include "options.h"

#include "options_check.h"
#include "options_table.h"
#include "options_value.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define SECOND_NS UINT64_C(1000000000)

static const struct {
	const char *name;
	enum options_command command;
} commands[] = {
	{"compare", COMMAND_COMPARE},	{"run", COMMAND_RUN},		{"floor", COMMAND_FLOOR},
	{"selftest", COMMAND_SELFTEST}, {"diff", COMMAND_DIFF},		{"help", COMMAND_HELP},
	{"ramp", COMMAND_RAMP},		{"--help", COMMAND_HELP},	{"-h", COMMAND_HELP},
	{"version", COMMAND_VERSION},	{"--version", COMMAND_VERSION}, {"-V", COMMAND_VERSION},
};

static int set_kind(const struct value *v, const char *text, enum target_kind *ret)
{
	for (int k = TARGET_NULL; k < TARGET_KINDS; k++) {
		if (strcmp(text, target_kind_name((enum target_kind)k)) == 0) {
			*ret = (enum target_kind)k;
			return 0;
		}
	}
	return value_refuse(v, text, "null, berth, php-fpm or spawn-fcgi");
}

static int set_transport(const struct value *v, const char *text, enum transport *ret)
{
	for (int t = 0; t < TRANSPORTS; t++) {
		if (strcmp(text, transport_name((enum transport)t)) == 0) {
			*ret = (enum transport)t;
			return 0;
		}
	}
	return value_refuse(v, text, "tcp, unix or pipe");
}

/* Lists of words */

struct list {
	struct options *options;
	int id;
};

static int add_to_list(const struct value *v, const char *word, void *data)
{
	const struct list *list = data;
	struct options *o = list->options;
	uint64_t number = 0;
	int rc;

	switch (list->id) {
	case OPTION_TARGETS:
		if (o->target_count == COUNT(o->targets))
			return value_refuse(v, word, "fewer of them");
		return set_kind(v, word, &o->targets[o->target_count++]);
	case OPTION_TRANSPORTS:
		if (o->transport_count == COUNT(o->transports))
			return value_refuse(v, word, "fewer of them");
		return set_transport(v, word, &o->transports[o->transport_count++]);
	case OPTION_MODES:
		if ((strcmp(word, "new") != 0 && strcmp(word, "kept") != 0) || o->mode_count == 2)
			return value_refuse(v, word, "new, kept, or both");
		o->modes[o->mode_count++] = word[0] == 'k';
		return 0;
	case OPTION_SIZES:
		rc = value_size(v, word, &number);
		if (rc == 0 && o->size_count == COUNT(o->sizes))
			return value_refuse(v, word, "at most 16 sizes");
		if (rc == 0)
			o->sizes[o->size_count++] = number;
		return rc;
	default:
		rc = value_number(v, word, 1, 10000, &number);
		if (rc == 0 && o->concurrency_count == COUNT(o->concurrencies))
			return value_refuse(v, word, "at most 16 numbers");
		if (rc == 0)
			o->concurrencies[o->concurrency_count++] = (unsigned int)number;
		return rc;
	}
}

static int set_param(const struct value *v, char *text, struct options *o)
{
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return value_refuse(v, text, "NAME=VALUE");
	if (o->request.param_count == COUNT(o->params))
		return value_refuse(v, text, "at most 64 parameters");
	*equals = '\0';
	o->params[o->request.param_count++] =
		(struct request_param){.name = text, .value = equals + 1};
	return 0;
}

static bool is_quickack(const char *text)
{
	return strcmp(text, "on") == 0 || strcmp(text, "off") == 0 || strcmp(text, "both") == 0;
}

static int set_eagain(const struct value *v, const char *text, struct load_options *load)
{
	uint64_t ms = 0;

	if (strcmp(text, "fail") == 0) {
		load->eagain = LOAD_EAGAIN_FAIL;
	} else if (strcmp(text, "wait") == 0) {
		load->eagain = LOAD_EAGAIN_WAIT;
	} else if (strncmp(text, "retry=", 6) == 0) {
		load->eagain = LOAD_EAGAIN_RETRY;
		if (value_number(v, text + 6, 1, 60000, &ms) < 0)
			return -EINVAL;
		load->eagain_retry_ns = ms * 1000000U;
	} else {
		return value_refuse(v, text, "fail, retry=MILLISECONDS or wait");
	}
	return 0;
}

/* Without an argument it is on. */
static int set_quickack(const struct value *v, const char *text, struct options *o)
{
	const bool both = text && strcmp(text, "both") == 0;

	if (text && !is_quickack(text))
		return value_refuse(v, text, "on, off or, to compare, both");
	if (both && o->command != COMMAND_COMPARE)
		return value_refuse(v, text, "on or off; compare accepts both");
	o->quickack_both = both;
	o->load.quickack = !text || strcmp(text, "on") == 0;
	return 0;
}

static int set_requirement(const struct value *v, const char *text, struct options *o)
{
	char why[300];

	if (o->requirement_count == COUNT(o->requirements))
		return value_refuse(v, text, "at most 16 thresholds");
	if (requirement_parse(text, &o->requirements[o->requirement_count], why, sizeof(why)) < 0)
		return value_fail(v, why);
	o->requirement_count++;
	return 0;
}

static int set_number(const struct value *v, const char *text, uint64_t min, uint64_t max,
		      unsigned int *ret)
{
	uint64_t number = 0;
	int rc = value_number(v, text, min, max, &number);

	if (rc == 0)
		*ret = (unsigned int)number;
	return rc;
}

static int set_size(const struct value *v, const char *text, size_t *ret)
{
	uint64_t number = 0;
	int rc = value_size(v, text, &number);

	if (rc == 0)
		*ret = number;
	return rc;
}

/* Options that shape the load. */
static int set_load(struct options *o, int id, const struct value *v, char *text)
{
	switch (id) {
	case 't':
		return set_number(v, text, 1, 256, &o->threads);
	case 'd':
		return value_time(v, text, &o->duration_ns);
	case 'n':
		return value_number(v, text, 1, UINT64_C(1000000000000), &o->requests);
	case OPTION_NEW:
	case OPTION_KEEP:
		o->keep = id == OPTION_KEEP;
		return 0;
	case OPTION_RATE:
		if (o->load.arrivals == LOAD_CLOSED)
			o->load.arrivals = LOAD_POISSON;
		return value_real(v, text, 0.001, 1e9, &o->load.rate);
	case OPTION_ARRIVALS:
		if (strcmp(text, "poisson") != 0 && strcmp(text, "constant") != 0)
			return value_refuse(v, text, "poisson or constant");
		o->load.arrivals = text[0] == 'p' ? LOAD_POISSON : LOAD_CONSTANT;
		return 0;
	case OPTION_MAX_QUEUE:
		return value_number(v, text, 0, UINT64_C(100000000), &o->load.max_queue);
	case OPTION_NODELAY:
		o->load.nodelay = true;
		return 0;
	case OPTION_QUICKACK:
		return set_quickack(v, text, o);
	case OPTION_EAGAIN:
		return set_eagain(v, text, &o->load);
	case OPTION_TIMEOUT:
		return value_time(v, text, &o->load.timeout_ns);
	default:
		return 1;
	}
}

/* Options that say what is sent and what is a good answer. */
static int set_request(struct options *o, int id, const struct value *v, char *text)
{
	uint64_t number = 0;

	switch (id) {
	case OPTION_PARAM:
		return set_param(v, text, o);
	case OPTION_DATA:
		o->data = text;
		return 0;
	case OPTION_METHOD:
		o->request.method = text;
		return 0;
	case OPTION_SCRIPT:
		o->request.script = text;
		return 0;
	case OPTION_QUERY:
		o->request.query = text;
		return 0;
	case OPTION_REQUEST:
		o->request_file = text;
		return 0;
	case OPTION_SPLIT_PARAMS:
	case OPTION_SPLIT_STDIN:
		if (value_number(v, text, 1, 65535, &number) < 0)
			return -EINVAL;
		*(id == OPTION_SPLIT_PARAMS ? &o->request.split_params : &o->request.split_stdin) =
			number;
		return 0;
	case OPTION_PAD:
		o->request.pad = true;
		return 0;
	case OPTION_STATUS:
		if (strcmp(text, "any") == 0) {
			o->expect.status = -1;
			return 0;
		}
		if (value_number(v, text, 100, 999, &number) < 0)
			return -EINVAL;
		o->expect.status = (int)number;
		return 0;
	case OPTION_LENGTH:
		o->expect.check_length = true;
		return value_size(v, text, &o->expect.length);
	default:
		return 1;
	}
}

/* Options that say how long it is measured, and what a verdict needs. */
static int set_rounds(struct options *o, int id, const struct value *v, const char *text)
{
	switch (id) {
	case OPTION_ROUNDS:
		return set_number(v, text, 1, CELL_ROUNDS_MAX, &o->rounds);
	case OPTION_PRECISION:
		return value_real(v, text, 0.0001, 1, &o->precision);
	case OPTION_DELTA:
		return value_real(v, text, 0.0001, 1, &o->delta);
	case OPTION_BUDGET:
		return value_time(v, text, &o->budget_ns);
	case OPTION_SLO:
		return value_time(v, text, &o->slo_ns);
	case OPTION_MAX_RATE:
		return value_real(v, text, 1, 1e9, &o->max_rate);
	case OPTION_RESTART:
		return set_number(v, text, 1, CELL_ROUNDS_MAX, &o->restart_every);
	case OPTION_RETRY_DIRTY:
		o->retry_dirty = true;
		return 0;
	case OPTION_STRICT:
		o->strict = true;
		return 0;
	default:
		return 1;
	}
}

/* Options that say what is measured, and what comes of it. */
static int set_rest(struct options *o, int id, const struct value *v, char *text)
{
	struct list list = {.options = o, .id = id};
	unsigned int pid = 0;

	switch (id) {
	case 'c':
	case OPTION_TARGETS:
	case OPTION_TRANSPORTS:
	case OPTION_MODES:
	case OPTION_SIZES:
		return value_list(v, text, add_to_list, &list);
	case OPTION_PLACEMENT:
		return placement_parse(text, &o->placement)
			       ? 0
			       : value_refuse(v, text, "same, split or free");
	case OPTION_SERVER_PID:
		if (set_number(v, text, 1, INT_MAX, &pid) < 0)
			return -EINVAL;
		o->server_pid = (int)pid;
		return 0;
	case OPTION_WORKERS:
		return set_number(v, text, 1, OPTIONS_WORKERS_MAX, &o->workers);
	case OPTION_BACKLOG:
		return set_number(v, text, 1, 65535, &o->backlog);
	case OPTION_SEED:
		return value_number(v, text, 0, UINT64_MAX, &o->seed);
	case OPTION_REQUIRE:
		return set_requirement(v, text, o);
	case OPTION_JSON:
		o->json = text;
		return 0;
	case OPTION_CSV:
		o->csv = text;
		return 0;
	case OPTION_START:
		o->starts = true;
		return set_kind(v, text, &o->start);
	case OPTION_TRANSPORT:
		return set_transport(v, text, &o->transport);
	case OPTION_SIZE:
		return set_size(v, text, &o->size);
	default:
		return 1;
	}
}

static int set(struct options *o, int id, const struct value *v, char *text)
{
	int rc = set_load(o, id, v, text);

	if (rc == 1)
		rc = set_request(o, id, v, text);
	if (rc == 1)
		rc = set_rest(o, id, v, text);
	if (rc == 1)
		rc = set_rounds(o, id, v, text);
	return rc;
}

/* The entry of an option that getopt_long() has found or refused, OPTIONS_TABLE_SIZE = none. */
static size_t find_entry(int id)
{
	size_t entry = 0;

	while (entry < OPTIONS_TABLE_SIZE && options_table[entry].id != id)
		entry++;
	return entry;
}

/* How many options a word may stand for that begins with "--". */
static unsigned int count_matches(const char *word)
{
	const size_t length = strcspn(word + 2, "=");
	unsigned int count = 0;

	for (size_t i = 0; i < OPTIONS_TABLE_SIZE; i++)
		count += strncmp(options_table[i].name, word + 2, length) == 0;
	return count;
}

/* What getopt_long() found wrong: ':' for a missing argument. */
static int refuse(int id, const char *word, char *error, size_t size)
{
	const size_t entry = optopt != 0 ? find_entry(optopt) : OPTIONS_TABLE_SIZE;
	const char *fault = "unknown option";
	char option[64];

	/* In a word with several letters it is not yet the next word that optind shows. */
	if (optopt == 0 ||
	    (strncmp(word, "--", 2) == 0 && entry < OPTIONS_TABLE_SIZE && count_matches(word) > 0))
		(void)snprintf(option, sizeof(option), "%.*s", (int)strcspn(word, "="), word);
	else
		(void)snprintf(option, sizeof(option), "-%c", optopt);
	if (id == ':')
		fault = "its argument is missing";
	else if (optopt == 0 && count_matches(word) > 1)
		fault = "may stand for several options";
	else if (entry < OPTIONS_TABLE_SIZE)
		fault = "takes no argument";
	(void)snprintf(error, size, "%s: %s; berth-bench help lists what is accepted", option,
		       fault);
	return -EINVAL;
}

/* That of --quickack may be missing, so the next word is looked at, too. */
static int has_argument(const struct options_entry *entry)
{
	if (entry->id == OPTION_QUICKACK)
		return optional_argument;
	return entry->argument ? required_argument : no_argument;
}

static char *take_argument(int id, int argc, char *argv[])
{
	if (id == OPTION_QUICKACK && !optarg && optind < argc && is_quickack(argv[optind]))
		return argv[optind++];
	return optarg;
}

static int parse_options(int argc, char *argv[], struct options *o, uint64_t *given, char *error,
			 size_t size)
{
	struct option longs[OPTIONS_TABLE_SIZE + 1] = {{0}};
	int id, index = -1;

	for (size_t i = 0; i < OPTIONS_TABLE_SIZE; i++)
		longs[i] = (struct option){options_table[i].name, has_argument(&options_table[i]),
					   NULL, options_table[i].id};
	optind = 0;
	opterr = 0;
	while ((id = getopt_long(argc, argv, ":ht:c:d:n:", longs, &index)) != -1) {
		struct value v = {.error = error, .size = size};
		size_t entry;

		if (id == '?' || id == ':')
			return refuse(id, argv[optind - 1], error, size);
		entry = find_entry(id);
		(void)snprintf(v.option, sizeof(v.option), "--%s", options_table[entry].name);
		if (!(options_table[entry].commands & (1U << o->command))) {
			(void)snprintf(error, size,
				       "%s: is not for this command; berth-bench help %s "
				       "lists what is accepted",
				       v.option, options_command_name(o->command));
			return -EINVAL;
		}
		if (id == 'h') {
			o->about = o->command;
			o->command = COMMAND_HELP;
			return 0;
		}
		if (set(o, id, &v, take_argument(id, argc, argv)) != 0)
			return -EINVAL;
		*given |= UINT64_C(1) << entry;
	}
	return 0;
}

static void set_defaults(struct options *o)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	*o = (struct options){.threads = 1,
			      .keep = true,
			      .transport = TRANSPORT_UNIX,
			      .size = 100,
			      .budget_ns = 110 * SECOND_NS,
			      .seed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 20};
	o->load.max_queue = 10000;
	o->request.params = o->params;
}

/* What is left of the command line: the address of run, the files of diff. */
static int parse_words(int argc, char *argv[], struct options *o, char *error, size_t size)
{
	if ((o->command == COMMAND_RUN || o->command == COMMAND_RAMP) && optind < argc)
		o->address = argv[optind++];
	for (size_t i = 0; o->command == COMMAND_DIFF && i < COUNT(o->files) && optind < argc; i++)
		o->files[i] = argv[optind++];
	if (optind == argc)
		return 0;
	(void)snprintf(
		error, size,
		"%.64s: unexpected word; accepted are options, one ADDRESS for run and ramp, two "
		"files for diff",
		argv[optind]);
	return -EINVAL;
}

static enum options_command find_command(const char *word)
{
	for (size_t i = 0; i < COUNT(commands); i++)
		if (strcmp(word, commands[i].name) == 0)
			return commands[i].command;
	return COMMANDS;
}

unsigned int options_workers(unsigned int connections)
{
	return connections < OPTIONS_WORKERS_MAX ? connections : OPTIONS_WORKERS_MAX;
}

const char *options_command_name(enum options_command command)
{
	for (size_t i = 0; i < COUNT(commands); i++)
		if (commands[i].command == command)
			return commands[i].name;
	return "";
}

/* "help" may be followed by a command. */
static int parse_help(int argc, char *argv[], struct options *o, char *error, size_t size)
{
	o->about = COMMAND_HELP;
	if (argc > 1 && o->command == COMMAND_HELP)
		o->about = find_command(argv[1]);
	if (o->about != COMMANDS && argc <= (o->command == COMMAND_HELP ? 2 : 1))
		return 0;
	(void)snprintf(error, size, "%.64s: unexpected; accepted is %s", argv[argc - 1],
		       o->command == COMMAND_HELP
			       ? "one of compare, run, ramp, floor, selftest and diff"
			       : "nothing");
	return -EINVAL;
}

int options_parse(int argc, char *argv[], struct options *ret_options, char *error, size_t size)
{
	struct options *o = ret_options;
	uint64_t given = 0;
	int rc;

	set_defaults(o);
	if (argc > 1 && (argv[1][0] != '-' || find_command(argv[1]) != COMMANDS)) {
		o->command = find_command(argv[1]);
		if (o->command == COMMANDS) {
			(void)snprintf(error, size,
				       "%.64s: unknown command; accepted are compare, "
				       "run, ramp, floor, selftest, diff, help and version",
				       argv[1]);
			return -EINVAL;
		}
		argc--;
		argv++;
	}
	if (o->command == COMMAND_HELP || o->command == COMMAND_VERSION)
		return parse_help(argc, argv, o, error, size);
	rc = parse_options(argc, argv, o, &given, error, size);
	if (rc < 0 || o->command == COMMAND_HELP)
		return rc;
	rc = parse_words(argc, argv, o, error, size);
	return rc < 0 ? rc : options_check(o, given, error, size);
}
