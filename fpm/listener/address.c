/* SPDX-License-Identifier: BSD-2-Clause */
/* Listen addresses: parsing, placeholders, look-up and text form. */
#include "fpm/listener/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACEHOLDER	    "%n"
#define DIGITS		    "0123456789"
#define PIPE		    "pipe:"
#define PIPE_IN		    ".in"
#define PIPE_OUT	    ".out"
#define PORT_MAX	    65535U
#define HOST_NAME_BYTES_MAX 253

/* A path ends with a NUL and an abstract name starts with one, so both have the same room. */
#define UNIX_NAME_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

#define FORMS "accepted are /PATH, @NAME, PORT, HOST:PORT and [IPv6]:PORT, PORT may be BASE+%%n"

__attribute__((format(printf, 3, 4))) static int fail(char *error, size_t size, const char *format,
						      ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error, size, format, args);
	va_end(args);
	return -EINVAL;
}

/*
 * Replaces the placeholders of a path or a name. Returns the length that the result has or would
 * have; the buffer holds it only if that is less than its size.
 */
static size_t expand(const char *text, unsigned int slot, char *buffer, size_t size)
{
	char number[16];
	size_t length = 0;

	(void)snprintf(number, sizeof(number), "%u", slot);
	while (*text != '\0') {
		bool placeholder = strncmp(text, PLACEHOLDER, strlen(PLACEHOLDER)) == 0;
		const char *piece = placeholder ? number : text;
		size_t bytes = placeholder ? strlen(number) : 1;

		if (length + bytes < size)
			memcpy(buffer + length, piece, bytes);
		length += bytes;
		text += placeholder ? strlen(PLACEHOLDER) : 1;
	}
	if (length < size)
		buffer[length] = '\0';
	return length;
}

static int check_unix_length(const char *name, unsigned int slot, bool per_slot, char *error,
			     size_t size)
{
	size_t length = expand(name, slot, NULL, 0);

	if (length <= UNIX_NAME_MAX)
		return 0;
	if (per_slot)
		return fail(error, size,
			    "unix socket name is %zu bytes long in slot %u, at most %zu are "
			    "possible",
			    length, slot, UNIX_NAME_MAX);
	return fail(error, size, "unix socket name is %zu bytes long, at most %zu are possible",
		    length, UNIX_NAME_MAX);
}

static int parse_unix(const char *text, unsigned int slots, struct address *address, char *error,
		      size_t size)
{
	bool abstract = text[0] == '@';
	const char *name = abstract ? text + 1 : text;

	if (*name == '\0')
		return fail(error, size, "\"@\" must be followed by a name");
	if (!abstract && text[strlen(text) - 1] == '/')
		return fail(error, size, "the path ends with '/': that names a folder, no socket");
	address->kind = abstract ? ADDRESS_ABSTRACT : ADDRESS_PATH;
	address->per_slot = strstr(name, PLACEHOLDER) != NULL;
	return check_unix_length(name, slots, address->per_slot, error, size);
}

static bool is_pipe(const char *text)
{
	return strncmp(text, PIPE "/", strlen(PIPE "/")) == 0;
}

static int parse_pipe(const char *text, unsigned int slots, struct address *address, char *error,
		      size_t size)
{
	const char *path = text + strlen(PIPE);
	size_t length = expand(path, slots, NULL, 0) + strlen(PIPE_OUT);

	if (text[strlen(text) - 1] == '/')
		return fail(error, size, "the path ends with '/': that names a folder, no pipe");
	if (length > UNIX_NAME_MAX)
		return fail(error, size,
			    "path of the pipe is %zu bytes long, at most %zu are possible", length,
			    UNIX_NAME_MAX);
	address->kind = ADDRESS_PIPE;
	address->per_slot = strstr(path, PLACEHOLDER) != NULL;
	return 0;
}

static bool is_ipv6(const char *text, size_t length)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr addr;

	if (length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return inet_pton(AF_INET6, copy, &addr) == 1;
}

/* Shows what the user meant, as far as that can be told: "::1:9000" is an IPv6 address, too. */
static int fail_brackets(const char *text, char *error, size_t size)
{
	static const char rule[] = "an IPv6 address must stand in brackets";
	const char *colon = strrchr(text, ':');
	size_t head = (size_t)(colon - text);
	size_t zone = strcspn(text, "%");

	if (is_ipv6(text, zone) && !is_ipv6(text, zone < head ? zone : head))
		return fail(error, size, "%s: [%s]:PORT", rule, text);
	if (strlen(text) <= ADDRESS_TEXT_MAX && colon[1] != '\0')
		return fail(error, size, "%s: [%.*s]:%s", rule, (int)head, text, colon + 1);
	return fail(error, size, "%s: [ADDRESS]:PORT", rule);
}

/* Finds host and port; a host that was left out has no bytes. */
static int split_host(const char *text, const char **ret_host, size_t *ret_length,
		      const char **ret_port, char *error, size_t size)
{
	const char *host = text;
	const char *end = strchr(text, ':');
	const char *port;

	if (text[0] == '[') {
		host = text + 1;
		end = strchr(host, ']');
		if (end == NULL)
			return fail(error, size, "'[' without ']': write [IPv6]:PORT");
		if (end[1] != ':')
			return fail(error, size, "']' must be followed by :PORT");
		if (end == host)
			return fail(error, size, "no address in the brackets: write [IPv6]:PORT");
		port = end + 2;
	} else if (end != NULL) {
		port = end + 1;
		if (strchr(port, ':') != NULL)
			return fail_brackets(text, error, size);
	} else {
		end = host;
		port = text;
	}
	*ret_host = host;
	*ret_length = (size_t)(end - host);
	*ret_port = port;
	return 0;
}

static int check_ipv6(const char *host, char *error, size_t size)
{
	size_t length = strcspn(host, "%");
	const char *zone = host + length;

	if (!is_ipv6(host, length))
		return fail(error, size, "\"%.64s\" is no IPv6 address", host);
	if (*zone == '\0')
		return 0;
	zone++;
	if (*zone == '\0' || strlen(zone) >= IF_NAMESIZE || strpbrk(zone, " %") != NULL)
		return fail(error, size, "\"%.64s\" is no interface name: write [ADDRESS%%ZONE]",
			    zone);
	return 0;
}

/*
 * A last label of digits, or in hexadecimal, is not a name: the resolver would read "127.1" and
 * "0x7f000001" as addresses, which nobody writes on purpose.
 */
static bool looks_numeric(const char *host)
{
	const char *dot = strrchr(host, '.');
	const char *label = dot != NULL ? dot + 1 : host;

	return label[strspn(label, DIGITS)] == '\0' || strncasecmp(label, "0x", 2) == 0;
}

static int check_name(const char *host, char *error, size_t size)
{
	struct in_addr addr;

	if (strcmp(host, "*") == 0)
		return fail(error, size,
			    "'*' is no host: write 0.0.0.0 for every IPv4 address of this machine, "
			    "[::] for every IPv6 one");
	if (strstr(host, PLACEHOLDER) != NULL)
		return fail(error, size, "%%n can't stand in the host, write it as HOST:BASE+%%n");
	if (strlen(host) > HOST_NAME_BYTES_MAX)
		return fail(error, size, "host name is %zu bytes long, at most %d are possible",
			    strlen(host), HOST_NAME_BYTES_MAX);
	for (const char *p = host; *p != '\0'; p++) {
		if (!isalnum((unsigned char)*p) && strchr("-._", *p) == NULL)
			return fail(error, size,
				    "\"%.64s\" is no host name: accepted are letters, digits, "
				    "'-', '.' and '_'",
				    host);
	}
	if (looks_numeric(host) && inet_pton(AF_INET, host, &addr) != 1)
		return fail(error, size, "\"%.64s\" is no IPv4 address: write it as 127.0.0.1",
			    host);
	return 0;
}

static int parse_port(const char *text, unsigned int slots, struct address *address, char *error,
		      size_t size)
{
	size_t digits = strspn(text, DIGITS);
	const char *rest = text + digits;
	bool per_slot = strcmp(rest, "+" PLACEHOLDER) == 0;
	unsigned long port;

	if (digits == 0 || (*rest != '\0' && !per_slot))
		return fail(error, size, "\"%.64s\" is no port; " FORMS, text);
	if (digits > 1 && text[0] == '0')
		return fail(error, size, "port \"%.64s\" starts with a zero: write it without",
			    text);
	/* A longer number ends up as ULONG_MAX, which is out of range just the same. */
	port = strtoul(text, NULL, 10);
	if (port > PORT_MAX)
		return fail(error, size, "port %.*s is above %u", digits > 64 ? 64 : (int)digits,
			    text, PORT_MAX);
	if (per_slot && port == 0)
		return fail(error, size,
			    "0+%%n is no port: a base of 1 or more is needed, as in 9000+%%n");
	if (per_slot && slots > PORT_MAX - port)
		return fail(error, size,
			    "the last slot's port would be %lu + %u = %lu, which is above %u", port,
			    slots, port + slots, PORT_MAX);
	address->port = (unsigned int)port;
	address->per_slot = per_slot;
	return 0;
}

static int parse_inet(const char *text, unsigned int slots, struct address *address, char *error,
		      size_t size)
{
	const char *host = text;
	const char *port = text;
	size_t length = 0;
	int rc;

	rc = split_host(text, &host, &length, &port, error, size);
	if (rc < 0)
		return rc;
	address->kind = ADDRESS_INET;
	address->host = length > 0 ? strndup(host, length) : strdup("127.0.0.1");
	if (address->host == NULL) {
		(void)fail(error, size, "out of memory");
		return -ENOMEM;
	}
	if (text[0] == '[')
		rc = check_ipv6(address->host, error, size);
	else
		rc = check_name(address->host, error, size);
	if (rc < 0)
		return rc;
	return parse_port(port, slots, address, error, size);
}

/* What is wrong with the text whatever kind of address it is. */
static int check_text(const char *text, char *error, size_t size)
{
	if (*text == '\0')
		return fail(error, size, "no address; " FORMS);
	for (const char *p = text; *p != '\0'; p++) {
		if (iscntrl((unsigned char)*p))
			return fail(error, size, "control character 0x%02x at byte %zu",
				    (unsigned int)(unsigned char)*p, (size_t)(p - text) + 1);
	}
	if (strncmp(text, "unix:", 5) == 0 && strpbrk(text, "/@") != NULL)
		return fail(error, size,
			    "write the path of a unix socket alone, without \"unix:\"");
	if (text[0] != '/' && text[0] != '@' && !is_pipe(text) && strchr(text, '/') != NULL)
		return fail(error, size, "the path of a unix socket must start with '/'");
	return 0;
}

int address_parse(const char *text, unsigned int slots, struct address *ret_address, char *error,
		  size_t size)
{
	struct address address = {.kind = ADDRESS_PATH};
	int rc;

	rc = check_text(text, error, size);
	if (rc < 0)
		return rc;
	if (text[0] == '/' || text[0] == '@')
		rc = parse_unix(text, slots, &address, error, size);
	else if (is_pipe(text))
		rc = parse_pipe(text, slots, &address, error, size);
	else
		rc = parse_inet(text, slots, &address, error, size);
	if (rc < 0)
		goto fail;
	address.text = strdup(text);
	if (address.text == NULL) {
		(void)fail(error, size, "out of memory");
		rc = -ENOMEM;
		goto fail;
	}
	*ret_address = address;
	return 0;
fail:
	address_done(&address);
	return rc;
}

void address_done(struct address *address)
{
	free(address->text);
	free(address->host);
	*address = (struct address){.kind = ADDRESS_PATH};
}

static int resolve_unix(const struct address *address, unsigned int slot,
			struct address_socket *ret_socket, char *error, size_t size)
{
	bool abstract = address->kind == ADDRESS_ABSTRACT;
	struct address_socket socket = {.addr.un.sun_family = AF_UNIX};
	char name[UNIX_NAME_MAX + 1];
	size_t length;
	int rc;

	rc = check_unix_length(address->text + (abstract ? 1 : 0), slot, address->per_slot, error,
			       size);
	if (rc < 0)
		return rc;
	length = expand(address->text + (abstract ? 1 : 0), slot, name, sizeof(name));
	/* The zero byte stands in front of an abstract name and behind a path. */
	memcpy(socket.addr.un.sun_path + (abstract ? 1 : 0), name, length);
	socket.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	*ret_socket = socket;
	return 0;
}

static struct address_socket pipe_end(const struct address *address, unsigned int slot,
				      const char *suffix)
{
	struct address_socket end = {.addr.un.sun_family = AF_UNIX, .pipe = true};
	char *path = end.addr.un.sun_path;
	size_t length = expand(address->text + strlen(PIPE), slot, path, UNIX_NAME_MAX);

	/* address_parse() has seen that both have room in the last slot, whose name is longest. */
	(void)snprintf(path + length, sizeof(end.addr.un.sun_path) - length, "%s", suffix);
	end.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
	return end;
}

static bool same_unix(const struct address_socket *a, const struct address_socket *b)
{
	const char *path_a = a->addr.un.sun_path;
	const char *path_b = b->addr.un.sun_path;

	if (path_a[0] != '\0' || path_b[0] != '\0')
		return strncmp(path_a, path_b, sizeof(a->addr.un.sun_path)) == 0;
	return a->len == b->len &&
	       memcmp(path_a, path_b, a->len - offsetof(struct sockaddr_un, sun_path)) == 0;
}

static const struct sockaddr_in *as_in(const struct address_socket *socket)
{
	return (const struct sockaddr_in *)&socket->addr.storage;
}

static const struct sockaddr_in6 *as_in6(const struct address_socket *socket)
{
	return (const struct sockaddr_in6 *)&socket->addr.storage;
}

/* Ports included, and port 0 is equal to itself. */
static bool same_socket(const struct address_socket *a, const struct address_socket *b)
{
	if (a->addr.sa.sa_family != b->addr.sa.sa_family)
		return false;
	switch (a->addr.sa.sa_family) {
	case AF_UNIX:
		return same_unix(a, b);
	case AF_INET:
		return as_in(a)->sin_port == as_in(b)->sin_port &&
		       as_in(a)->sin_addr.s_addr == as_in(b)->sin_addr.s_addr;
	case AF_INET6:
		return as_in6(a)->sin6_port == as_in6(b)->sin6_port &&
		       as_in6(a)->sin6_scope_id == as_in6(b)->sin6_scope_id &&
		       IN6_ARE_ADDR_EQUAL(&as_in6(a)->sin6_addr, &as_in6(b)->sin6_addr);
	default:
		return false;
	}
}

bool address_equal(const struct address_socket *a, const struct address_socket *b)
{
	if (a->addr.sa.sa_family == AF_INET && as_in(a)->sin_port == 0)
		return false;
	if (a->addr.sa.sa_family == AF_INET6 && as_in6(a)->sin6_port == 0)
		return false;
	return same_socket(a, b);
}

static int fail_lookup(const char *host, int code, char *error, size_t size)
{
	int saved_errno = errno;

	(void)fail(error, size, "can't look up host \"%s\": %s", host,
		   code == EAI_SYSTEM ? strerror(saved_errno) : gai_strerror(code));
	switch (code) {
	case EAI_SYSTEM:
		return saved_errno != 0 ? -saved_errno : -EIO;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -EAGAIN;
	default:
		return -ENOENT;
	}
}

/* Copies the results of a look-up without repetitions. Returns their number, 0 if too many. */
static size_t collect(const struct addrinfo *info,
		      struct address_socket sockets[ADDRESS_RESOLVE_MAX])
{
	size_t count = 0;

	for (; info != NULL; info = info->ai_next) {
		struct address_socket socket = {.len = info->ai_addrlen};
		size_t i = 0;

		memcpy(&socket.addr, info->ai_addr, info->ai_addrlen);
		while (i < count && !same_socket(&sockets[i], &socket))
			i++;
		if (i < count)
			continue;
		if (count == ADDRESS_RESOLVE_MAX)
			return 0;
		sockets[count++] = socket;
	}
	return count;
}

static int resolve_inet(const struct address *address, unsigned int port,
			struct address_socket sockets[ADDRESS_RESOLVE_MAX], size_t *ret_count,
			char *error, size_t size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *info;
	struct in_addr addr;
	char service[16];
	size_t count;
	int rc;

	/* Numbers must never reach a name server; a name can't hold a colon. */
	if (strchr(address->host, ':') != NULL || inet_pton(AF_INET, address->host, &addr) == 1)
		hints.ai_flags |= AI_NUMERICHOST;
	(void)snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(address->host, service, &hints, &info);
	if (rc != 0)
		return fail_lookup(address->host, rc, error, size);
	count = collect(info, sockets);
	freeaddrinfo(info);
	if (count == 0)
		return fail(error, size, "host \"%s\" has more than %d addresses", address->host,
			    ADDRESS_RESOLVE_MAX);
	*ret_count = count;
	return 0;
}

int address_resolve(const struct address *address, unsigned int slot,
		    struct address_socket ret_sockets[ADDRESS_RESOLVE_MAX], size_t *ret_count,
		    char *error, size_t size)
{
	unsigned int offset = address->per_slot ? slot : 0;
	int rc;

	if (address->kind == ADDRESS_PIPE) {
		ret_sockets[0] = pipe_end(address, slot, PIPE_IN);
		ret_sockets[1] = pipe_end(address, slot, PIPE_OUT);
		*ret_count = 2;
		return 0;
	}
	if (address->kind != ADDRESS_INET) {
		rc = resolve_unix(address, slot, &ret_sockets[0], error, size);
		if (rc == 0)
			*ret_count = 1;
		return rc;
	}
	if (offset > PORT_MAX - address->port)
		return fail(error, size, "port %u of slot %u is above %u", address->port + slot,
			    slot, PORT_MAX);
	return resolve_inet(address, address->port + offset, ret_sockets, ret_count, error, size);
}

static void format_unix(const struct address_socket *socket, char *buffer, size_t size)
{
	const char *path = socket->addr.un.sun_path;
	size_t length = socket->len - offsetof(struct sockaddr_un, sun_path);

	if (length > 0 && path[0] == '\0')
		(void)snprintf(buffer, size, "@%.*s", (int)(length - 1), path + 1);
	else
		(void)snprintf(buffer, size, "%s%.*s", socket->pipe ? PIPE : "", (int)length, path);
}

const char *address_format(const struct address_socket *socket, char *buffer, size_t size)
{
	char host[NI_MAXHOST];
	char port[NI_MAXSERV];
	bool ipv6 = socket->addr.sa.sa_family == AF_INET6;

	if (socket->addr.sa.sa_family == AF_UNIX)
		format_unix(socket, buffer, size);
	else if (getnameinfo(&socket->addr.sa, socket->len, host, sizeof(host), port, sizeof(port),
			     NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		(void)snprintf(buffer, size, "%s%s%s:%s", ipv6 ? "[" : "", host, ipv6 ? "]" : "",
			       port);
	else
		(void)snprintf(buffer, size, "unknown address");
	return buffer;
}
