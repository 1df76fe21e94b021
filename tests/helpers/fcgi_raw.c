/* SPDX-License-Identifier: BSD-2-Clause */
/* Says to a FastCGI application, byte by byte, what words describe, and keeps what comes back. */

#include "fcgi/wire.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: fcgi-raw [-t SECONDS] -o PREFIX SOCKET WORD...\n"
	"\n"
	"Words are done in turn. Some put bytes into the queue of the present connection:\n"
	"  begin params body=N end    BEGIN_REQUEST; the pairs as PARAMS with their end; N bytes "
	"of\n"
	"                             STDIN; the empty STDIN record\n"
	"  get post=N                 a whole request, without or with a body of N bytes\n"
	"  record                     the pairs so far as PARAMS, more will follow\n"
	"  rec=TYPE[,TEXT]            a record of any type\n"
	"  values=NAME                GET_VALUES\n"
	"  text=TEXT hex=HEX random=SEED,N\n"
	"some say how the following ones do that:\n"
	"  keep close id=N role=N version=N pad=N\n"
	"  size=N psize=N             most content bytes of a STDIN, of a PARAMS record\n"
	"  script=PATH length=N       SCRIPT_FILENAME; CONTENT_LENGTH, if it is not the body's\n"
	"  env=NAME=VALUE env4=NAME=VALUE fill=NAME,N name=N many=N pairhex=HEX\n"
	"                             a pair of the next request; with lengths of 4 bytes; a "
	"value, a\n"
	"                             name of N bytes; N pairs; any bytes\n"
	"and others send what is queued, and wait:\n"
	"  on=N          the present connection is the N-th; it is made when something is sent\n"
	"  cut=N         send N bytes of the queue, and wait until the peer has read them\n"
	"  taken         send all of it, and wait likewise\n"
	"  answer[=N]    send all of it, and read to the end of one, or N, more answers\n"
	"  eof           send all of it, and read to the end of the connection\n"
	"  silent=MS     send all of it; nothing may come for so long\n"
	"  file=PATH     wait until a file is there\n"
	"  shut hang-up  send no more; close\n"
	"  each[=FROM,STEP]  for each number of bytes, or each STEP-th from FROM on: send so many "
	"of\n"
	"                the queue, wait until they are read, read the answers that are due, send "
	"the\n"
	"                queues of all other connections and read their answers, send the rest "
	"and\n"
	"                read what is left of the answers. A queue that was not kept alive\n"
	"                gets a new connection each time.\n"
	"In a queue, ##### is replaced by a number from 00001 on that is never the same.\n"
	"\n"
	"PREFIX.N gets all bytes that came on connection N, the reserved ones of END_REQUEST\n"
	"as 0, PREFIX.N.out and PREFIX.N.err the contents of STDOUT and STDERR. Prints for each\n"
	"connection \"N: ANSWERS answers, END\", END being\n"
	"open, eof or reset. Exit status 0 if each word got what it waits for.\n";

#define CONNECTIONS 8
#define REQUESTS    64

struct bytes {
	uint8_t *data;
	size_t used;
	size_t room;
};

struct connection {
	int fd;
	bool used;
	struct bytes queue;
	size_t sent;	       /* bytes of it that the kernel has */
	size_t ends[REQUESTS]; /* where the requests in it end */
	unsigned int requests;
	bool kept;
	unsigned int answers;
	const char *end;
	struct wire_parser parser;
	FILE *all, *out, *err;
};

static struct connection connections[CONNECTIONS];
static struct connection *c = connections;
static const char *path, *prefix;
static double deadline_s = 10;
static unsigned int number;

/* How requests are made. */
static struct {
	bool keep;
	unsigned int id, role, version, pad;
	size_t size, psize;
	const char *script;
	long length;
	struct bytes pairs;
} now = {.id = 1,
	 .role = FCGI_RESPONDER,
	 .version = 1,
	 .size = 65535,
	 .psize = 65535,
	 .script = "",
	 .length = -1};

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)fprintf(stderr, "fcgi-raw: ");
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static double clock_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint8_t *grow(struct bytes *b, size_t size)
{
	if (b->used + size > b->room) {
		b->room = 2 * (b->used + size) + 4096;
		b->data = realloc(b->data, b->room);
		if (!b->data)
			fail("out of memory");
	}
	b->used += size;
	return b->data + b->used - size;
}

static void add(struct bytes *b, const void *data, size_t size)
{
	if (size)
		memcpy(grow(b, size), data, size);
}

static void add_hex(struct bytes *b, const char *hex)
{
	for (; hex[0] && hex[1]; hex += 2) {
		const char digits[3] = {hex[0], hex[1], '\0'};

		*grow(b, 1) = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static void add_random(struct bytes *b, unsigned int seed, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*grow(b, 1) = (uint8_t)(rand_r(&seed) >> 8);
}

/*
 * Making requests
 */

static void put_record(uint8_t type, const void *content, size_t size)
{
	const struct wire_header header = {.type = type,
					   .request_id = now.id,
					   .content_length = size,
					   .padding_length = now.pad};
	uint8_t *at = grow(&c->queue, FCGI_HEADER_LEN);

	if (wire_header_encode(&header, at) != WIRE_OK)
		fail("a record that can't be");
	at[0] = (uint8_t)now.version;
	add(&c->queue, content, size);
	memset(grow(&c->queue, now.pad), 'P', now.pad);
}

static void put_stream(uint8_t type, const uint8_t *data, size_t size, size_t most)
{
	while (size > 0) {
		size_t n = size < most ? size : most;

		put_record(type, data, n);
		data += n;
		size -= n;
	}
}

static void put_begin(void)
{
	const struct wire_begin begin = {.role = (uint16_t)now.role,
					 .flags = now.keep ? FCGI_KEEP_CONN : 0};
	uint8_t body[WIRE_BODY_SIZE];

	wire_begin_encode(&begin, body);
	put_record(FCGI_BEGIN_REQUEST, body, sizeof(body));
	c->kept = now.keep;
}

static void add_length(struct bytes *b, size_t length, bool four)
{
	if (length > 127 || four)
		*grow(b, 1) = (uint8_t)(0x80 | length >> 24);
	if (length > 127 || four) {
		*grow(b, 1) = (uint8_t)(length >> 16);
		*grow(b, 1) = (uint8_t)(length >> 8);
	}
	*grow(b, 1) = (uint8_t)length;
}

static void add_pair(const char *name, size_t name_size, const char *value, size_t size, bool four)
{
	add_length(&now.pairs, name_size, four);
	add_length(&now.pairs, size, four);
	add(&now.pairs, name, name_size);
	add(&now.pairs, value, size);
}

static void add_text_pair(const char *name, const char *value)
{
	add_pair(name, strlen(name), value, strlen(value), false);
}

static void add_pair_word(const char *word, bool four)
{
	const char *equals = strchr(word, '=');

	if (!equals)
		fail("%s: NAME=VALUE expected", word);
	add_pair(word, (size_t)(equals - word), equals + 1, strlen(equals + 1), four);
}

/* A pair with one long part. */
static void add_filled(const char *name, size_t size)
{
	char *fill = malloc(size + 1);

	if (!fill)
		fail("out of memory");
	memset(fill, 'v', size + 1);
	if (name)
		add_pair(name, strlen(name), fill, size, false);
	else
		add_pair(fill, size, "x", 1, false);
	free(fill);
}

static void add_many(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "BULK_%05lu", i);
		add_text_pair(name, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
	}
}

/* The script's pairs in front of those that words have added. */
static void put_params(size_t body, bool has_body)
{
	struct bytes extra = now.pairs;
	char length[32];

	now.pairs = (struct bytes){0};
	(void)snprintf(length, sizeof(length), "%lu",
		       now.length >= 0 ? (unsigned long)now.length : body);
	add_text_pair("SCRIPT_FILENAME", now.script);
	add_text_pair("REQUEST_METHOD", has_body ? "POST" : "GET");
	add_text_pair("SERVER_PROTOCOL", "HTTP/1.1");
	if (has_body) {
		add_text_pair("CONTENT_TYPE", "application/octet-stream");
		add_text_pair("CONTENT_LENGTH", length);
	}
	add(&now.pairs, extra.data, extra.used);
	put_stream(FCGI_PARAMS, now.pairs.data, now.pairs.used, now.psize);
	put_record(FCGI_PARAMS, NULL, 0);
	free(extra.data);
	now.pairs.used = 0;
	now.length = -1;
}

static void put_body(size_t size)
{
	struct bytes body = {0};

	for (size_t i = 0; i < size; i++)
		*grow(&body, 1) = (uint8_t)(i * 7 + (i >> 8));
	put_stream(FCGI_STDIN, body.data, size, now.size);
	free(body.data);
}

static void end_of_request(void)
{
	if (c->requests == REQUESTS)
		fail("too many requests");
	c->ends[c->requests++] = c->queue.used;
}

static void put_end(void)
{
	put_record(FCGI_STDIN, NULL, 0);
	end_of_request();
}

static void put_request(size_t body, bool has_body)
{
	put_begin();
	put_params(body, has_body);
	put_body(body);
	put_end();
}

static void put_values(const char *name)
{
	struct bytes pair = {0};
	unsigned int id = now.id;

	now.id = 0;
	add_length(&pair, strlen(name), false);
	add_length(&pair, 0, false);
	add(&pair, name, strlen(name));
	put_record(FCGI_GET_VALUES, pair.data, pair.used);
	now.id = id;
	end_of_request();
	free(pair.data);
}

/*
 * Talking
 */

static FILE *open_file(long index, const char *suffix)
{
	char name[4096];
	FILE *file;

	(void)snprintf(name, sizeof(name), "%s.%ld%s", prefix, index, suffix);
	file = fopen(name, "w");
	if (!file)
		fail("%s: %s", name, strerror(errno));
	/* A test may look at it at any moment. */
	(void)setvbuf(file, NULL, _IONBF, 0);
	return file;
}

static void need_connection(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (c->fd != -1 || c->end)
		return;
	if (!c->used) {
		c->all = open_file(c - connections, "");
		c->out = open_file(c - connections, ".out");
		c->err = open_file(c - connections, ".err");
	}
	c->used = true;
	wire_parser_init(&c->parser);
	if (strlen(path) >= sizeof(un.sun_path))
		fail("%s: too long", path);
	(void)strcpy(un.sun_path, path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd == -1 || connect(c->fd, (struct sockaddr *)&un, sizeof(un)) == -1)
		fail("%s: %s", path, strerror(errno));
}

static void number_tokens(struct bytes *b)
{
	uint8_t *at = b->data;

	while (b->used > 0 && (at = memmem(at, b->used - (size_t)(at - b->data), "#####", 5))) {
		char digits[16];

		(void)snprintf(digits, sizeof(digits), "%05u", ++number);
		memcpy(at, digits, 5);
	}
}

/* php-cgi sends what its stack holds as the reserved bytes of END_REQUEST. */
static void clear_reserved(uint8_t *content, size_t size)
{
	size_t at = c->parser.header.content_length - c->parser.content_left - size;

	for (size_t i = 0; i < size; i++)
		if (at + i > 4)
			content[i] = 0;
}

static void take(uint8_t *input, size_t input_size)
{
	uint8_t *data = input;
	size_t size = input_size;
	struct wire_event event;
	size_t used;

	while (wire_parser_next(&c->parser, data, size, &used, &event) == WIRE_OK) {
		uint8_t type = c->parser.header.type;

		if (event.type == WIRE_EVENT_CONTENT && type == FCGI_END_REQUEST)
			clear_reserved(data + (event.content - data), event.size);
		data += used;
		size -= used;
		if (event.type == WIRE_EVENT_CONTENT && type == FCGI_STDOUT)
			(void)fwrite(event.content, 1, event.size, c->out);
		if (event.type == WIRE_EVENT_CONTENT && type == FCGI_STDERR)
			(void)fwrite(event.content, 1, event.size, c->err);
		if (event.type == WIRE_EVENT_END &&
		    (type == FCGI_END_REQUEST || type == FCGI_GET_VALUES_RESULT ||
		     type == FCGI_UNKNOWN_TYPE))
			c->answers++;
	}
	(void)fwrite(input, 1, input_size, c->all);
}

/* Sends and reads what goes without waiting, but for up to @wait_ms; false at the end. */
static bool pump(size_t up_to, int wait_ms)
{
	static uint8_t input[262144];
	bool more = c->sent < up_to;
	struct pollfd p = {.fd = c->fd, .events = (short)(POLLIN | (more ? POLLOUT : 0))};
	ssize_t n;

	if (c->end || poll(&p, 1, wait_ms) <= 0)
		return !c->end;
	if (p.revents & POLLIN || !more) {
		n = recv(c->fd, input, sizeof(input), MSG_DONTWAIT);
		if (n > 0)
			take(input, (size_t)n);
		else if (n == 0)
			c->end = "eof";
		else if (errno != EAGAIN)
			c->end = "reset";
	}
	if (more && !c->end) {
		n = send(c->fd, c->queue.data + c->sent, up_to - c->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			c->sent += (size_t)n;
		else if (errno == EPIPE || errno == ECONNRESET)
			/* It takes no more; what it has said is read still. */
			c->sent = up_to;
	}
	return !c->end;
}

static void queue_is_out(void)
{
	c->queue.used = c->sent = 0;
	c->requests = 0;
}

static bool send_up_to(size_t up_to)
{
	double end = clock_s() + deadline_s;

	need_connection();
	while (c->sent < up_to && pump(up_to, 100))
		if (clock_s() > end)
			return false;
	return true;
}

/* Waits until the peer has read what was sent, or has closed. */
static bool wait_taken(size_t up_to)
{
	double end = clock_s() + deadline_s;
	int left = 1;

	if (!send_up_to(up_to))
		return false;
	while (pump(up_to, 0) && ioctl(c->fd, SIOCOUTQ, &left) == 0 && left > 0) {
		const struct timespec pause = {.tv_nsec = 50000};

		if (clock_s() > end)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

/* Sends what is queued, and waits until so many answers have come in all. */
static bool wait_answers(unsigned int wanted)
{
	double end = clock_s() + deadline_s;

	need_connection();
	while (c->answers < wanted || c->sent < c->queue.used) {
		if (!pump(c->queue.used, 100) || clock_s() > end)
			return c->answers >= wanted;
	}
	return true;
}

static bool wait_end(void)
{
	double end = clock_s() + deadline_s;

	need_connection();
	while (pump(c->queue.used, 100))
		if (clock_s() > end)
			return false;
	return true;
}

static bool wait_silence(int ms)
{
	long before;

	if (!send_up_to(c->queue.used))
		return false;
	before = ftell(c->all);
	(void)pump(c->sent, ms);
	return !c->end && ftell(c->all) == before;
}

static bool wait_file(const char *name)
{
	double end = clock_s() + deadline_s;

	while (access(name, F_OK) == -1) {
		const struct timespec pause = {.tv_nsec = 1000000};

		if (clock_s() > end)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

static void hang_up(void)
{
	if (c->fd != -1)
		(void)close(c->fd);
	c->fd = -1;
	c->end = NULL;
	queue_is_out();
}

/* Sends a copy of a queue that stays as it is, in two parts; @between is done after the first. */
static bool send_in_parts(size_t first, bool (*between)(void))
{
	struct bytes model = c->queue;
	struct connection *own = c;
	unsigned int requests = c->requests, before = c->answers, due = 0;
	bool good;

	c->queue = (struct bytes){0};
	add(&c->queue, model.data, model.used);
	number_tokens(&c->queue);
	c->sent = 0;
	while (due < requests && c->ends[due] <= first)
		due++;
	good = send_up_to(first);
	if (good && first < c->queue.used) {
		size_t all = c->queue.used;

		c->queue.used = first;
		good = (due == 0 || wait_answers(before + due)) && wait_taken(first);
		c->queue.used = all;
		good = good && (!between || between());
		c = own;
		good = good && wait_answers(before + requests);
	} else {
		good = good && wait_answers(before + requests);
	}
	free(c->queue.data);
	if (!c->kept)
		hang_up();
	c->queue = model;
	c->sent = 0;
	c->requests = requests;
	return good;
}

static bool serve_others(void)
{
	const struct connection *own = c;
	bool good = true;

	for (c = connections; good && c < connections + CONNECTIONS; c++)
		if (c != own && c->queue.used > 0)
			good = send_in_parts(c->queue.used, NULL);
	return good;
}

static bool cut_each(const char *how)
{
	size_t from = 1, step = 1;

	if (how && sscanf(how, "%zu,%zu", &from, &step) != 2)
		fail("each=%s", how);
	for (size_t at = from; at < c->queue.used; at += step) {
		struct connection *own = c;
		bool good = send_in_parts(at, serve_others);

		c = own;
		if (!good) {
			(void)fprintf(stderr, "fcgi-raw: cut behind byte %zu\n", at);
			return false;
		}
	}
	hang_up();
	return true;
}

/*
 * Words
 */

/* Words that need no value; returns 0 if it is none of them, -1 if it did not get what it wants. */
static int do_plain_word(const char *word)
{
	bool good = true;

	if (strcmp(word, "keep") == 0 || strcmp(word, "close") == 0) {
		now.keep = word[0] == 'k';
	} else if (strcmp(word, "begin") == 0) {
		put_begin();
	} else if (strcmp(word, "params") == 0) {
		put_params(0, now.length >= 0);
	} else if (strcmp(word, "end") == 0) {
		put_end();
	} else if (strcmp(word, "get") == 0) {
		put_request(0, false);
	} else if (strcmp(word, "record") == 0) {
		put_record(FCGI_PARAMS, now.pairs.data, now.pairs.used);
		now.pairs.used = 0;
	} else if (strcmp(word, "taken") == 0) {
		number_tokens(&c->queue);
		good = wait_taken(c->queue.used);
		queue_is_out();
	} else if (strcmp(word, "answer") == 0) {
		number_tokens(&c->queue);
		good = wait_answers(c->answers + 1);
		queue_is_out();
	} else if (strcmp(word, "eof") == 0) {
		number_tokens(&c->queue);
		good = wait_end();
		queue_is_out();
	} else if (strcmp(word, "shut") == 0) {
		good = send_up_to(c->queue.used);
		(void)shutdown(c->fd, SHUT_WR);
	} else if (strcmp(word, "hang-up") == 0) {
		hang_up();
	} else if (strcmp(word, "each") == 0) {
		good = cut_each(NULL);
	} else {
		return 0;
	}
	return good ? 1 : -1;
}

/* Words that set a number or put bytes into the queue; returns false if it is none of them. */
static bool do_value_word(const char *name, const char *value)
{
	unsigned long n = strtoul(value, NULL, 0);
	const char *comma = strchr(value, ',');
	const struct {
		const char *name;
		unsigned int *number;
		size_t *size;
	} settings[] = {{"id", &now.id, NULL},	   {"role", &now.role, NULL},
			{"pad", &now.pad, NULL},   {"version", &now.version, NULL},
			{"size", NULL, &now.size}, {"psize", NULL, &now.psize}};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcmp(name, settings[i].name) != 0)
			continue;
		if (settings[i].number)
			*settings[i].number = (unsigned int)n;
		else
			*settings[i].size = n;
		return true;
	}
	if (strcmp(name, "script") == 0)
		now.script = value;
	else if (strcmp(name, "length") == 0)
		now.length = (long)n;
	else if (strcmp(name, "body") == 0)
		put_body(n);
	else if (strcmp(name, "post") == 0)
		put_request(n, true);
	else if (strcmp(name, "env") == 0 || strcmp(name, "env4") == 0)
		add_pair_word(value, name[3] == '4');
	else if (strcmp(name, "name") == 0)
		add_filled(NULL, n);
	else if (strcmp(name, "many") == 0)
		add_many(n);
	else if (strcmp(name, "pairhex") == 0)
		add_hex(&now.pairs, value);
	else if (strcmp(name, "text") == 0)
		add(&c->queue, value, strlen(value));
	else if (strcmp(name, "hex") == 0)
		add_hex(&c->queue, value);
	else if (strcmp(name, "values") == 0)
		put_values(value);
	else if (strcmp(name, "rec") == 0)
		put_record((uint8_t)n, comma ? comma + 1 : "", comma ? strlen(comma + 1) : 0);
	else if (strcmp(name, "random") == 0 && comma)
		add_random(&c->queue, (unsigned int)n, strtoul(comma + 1, NULL, 10));
	else if (strcmp(name, "fill") == 0 && comma)
		add_filled(strndup(value, (size_t)(comma - value)), strtoul(comma + 1, NULL, 10));
	else
		return false;
	return true;
}

/* Words that wait; returns -1 if it did not get what it wants. */
static int do_waiting_word(const char *name, const char *value)
{
	unsigned long n = strtoul(value, NULL, 10);
	bool good = true;

	if (strcmp(name, "on") == 0 && n < CONNECTIONS) {
		c = connections + n;
	} else if (strcmp(name, "cut") == 0) {
		number_tokens(&c->queue);
		good = wait_taken(c->sent + n < c->queue.used ? c->sent + n : c->queue.used);
	} else if (strcmp(name, "answer") == 0) {
		number_tokens(&c->queue);
		good = wait_answers(c->answers + (unsigned int)n);
		queue_is_out();
	} else if (strcmp(name, "silent") == 0) {
		number_tokens(&c->queue);
		good = wait_silence((int)n);
		queue_is_out();
	} else if (strcmp(name, "file") == 0) {
		good = wait_file(value);
	} else if (strcmp(name, "each") == 0) {
		good = cut_each(value);
	} else {
		fail("%s=%s: no such word", name, value);
	}
	return good ? 1 : -1;
}

static bool do_word(const char *word)
{
	int result = do_plain_word(word);
	const char *equals = strchr(word, '=');
	char *name;

	if (result != 0)
		return result == 1;
	if (!equals)
		fail("%s: no such word", word);
	name = strndup(word, (size_t)(equals - word));
	if (!name)
		fail("out of memory");
	if (!do_value_word(name, equals + 1))
		result = do_waiting_word(name, equals + 1);
	free(name);
	return result != -1;
}

int main(int argc, char *argv[])
{
	int option, result = 0;

	while ((option = getopt(argc, argv, "+t:o:")) != -1) {
		if (option == 't')
			deadline_s = strtod(optarg, NULL);
		else if (option == 'o')
			prefix = optarg;
		else
			fail("%s", usage);
	}
	if (!prefix || argc - optind < 2)
		fail("%s", usage);
	path = argv[optind++];
	for (int i = 0; i < CONNECTIONS; i++)
		connections[i].fd = -1;
	for (; optind < argc && result == 0; optind++) {
		if (do_word(argv[optind]))
			continue;
		(void)fprintf(stderr, "fcgi-raw: connection %ld: \"%s\" in vain\n",
			      (long)(c - connections), argv[optind]);
		result = 1;
	}
	for (int i = 0; i < CONNECTIONS; i++)
		if (connections[i].used)
			(void)printf("%d: %u answers, %s\n", i, connections[i].answers,
				     connections[i].end ? connections[i].end : "open");
	return result;
}
