/* SPDX-License-Identifier: BSD-2-Clause */
/* What a web server's configuration has to say to use a pool. */

#include "fpm/upstream.h"

#include "fpm/listener/address.h"
#include "fpm/conf/conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Theory of operation
 *
 * A pool's sockets are resolved first, all of them, so that nothing is printed of a pool that the
 * server can't reach. Each server then has a function that prints what stands before, for each
 * socket, and behind them.
 *
 * What all of them have in common: the least busy worker is chosen; no worker is avoided after a
 * failure, since its socket stays open whatever happens to it; a request that was sent is not sent
 * to another worker; connections are kept where both sides can, which a pool with spawn = exec can't.
 */

/**
 * struct target - what is printed
 * @pool:	Pool
 * @keep:	Connections can be kept
 * @sockets:	Where its workers listen, @count of them
 */
struct target {
	const struct conf_pool *pool;
	bool keep;
	struct address_socket *sockets;
	size_t count;
};

static bool is_unix(const struct address_socket *socket)
{
	return socket->addr.sa.sa_family == AF_UNIX;
}

static const char *text_of(const struct target *target, size_t index, char text[ADDRESS_TEXT_MAX])
{
	return address_format(&target->sockets[index], text, ADDRESS_TEXT_MAX);
}

/* The colon in front of the port; an address of IPv6 has others. */
static int host_length(const char *text)
{
	return (int)(strrchr(text, ':') - text);
}

static void write_nginx(const struct target *target, FILE *out)
{
	const char *name = target->pool->name;
	char text[ADDRESS_TEXT_MAX];

	(void)fprintf(
		out,
		"# For the http block.\n"
		"upstream berth_%s {\n"
		"    # All of nginx's processes count together how busy a worker is.\n"
		"    zone berth_%s 256k;\n"
		"    # The default, round robin, picks busy workers while others idle.\n"
		"    least_conn;\n"
		"    # Sockets stay open while workers change: no reason to avoid one for 10 s.\n",
		name, name);
	for (size_t i = 0; i < target->count; i++)
		(void)fprintf(out, "    server \"%s%s\" max_fails=0;\n",
			      is_unix(&target->sockets[i]) ? "unix:" : "",
			      text_of(target, i, text));
	if (target->keep)
		(void)fprintf(out,
			      "    # Idle connections that each of nginx's processes keeps.\n"
			      "    keepalive %zu;\n",
			      target->count * 4);
	(void)fprintf(out,
		      "}\n"
		      "\n"
		      "# For a server block.\n"
		      "location ~ \\.php$ {\n"
		      "    try_files $uri =404;\n"
		      "    include fastcgi_params;\n"
		      "    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n"
		      "    fastcgi_pass berth_%s;\n"
		      "    # Room for the head of an answer: nginx has 4 kB by default.\n"
		      "    fastcgi_buffer_size 128k;\n"
		      "    fastcgi_buffers 16 16k;\n"
		      "    fastcgi_busy_buffers_size 128k;\n"
		      "    # A request that killed its worker is not for the next one.\n"
		      "    fastcgi_next_upstream off;\n"
		      "%s"
		      "}\n",
		      name, target->keep ? "    fastcgi_keep_conn on;\n" : "");
}

/* In HAProxy's configuration a blank ends a word. */
static void write_escaped(const char *text, FILE *out)
{
	for (; *text; text++)
		(void)fprintf(out, "%s%c", strchr(" #'", *text) ? "\\" : "", *text);
}

static void write_haproxy(const struct target *target, FILE *out)
{
	const char *name = target->pool->name;
	char text[ADDRESS_TEXT_MAX];

	(void)fprintf(
		out,
		"global\n"
		"    # The head of an answer has to fit (HAProxy 2.6 crashes on longer ones); with "
		"more\n"
		"    # than 64 kB a buffer HAProxy damages long request bodies.\n"
		"    tune.bufsize 65536\n"
		"\n"
		"fcgi-app berth_%s\n"
		"    docroot /var/www/html\n"
		"    index index.php\n"
		"    path-info ^(/.+\\.php)(/.*)?$\n"
		"    %soption keep-conn\n"
		"\n"
		"backend berth_%s\n"
		"    mode http\n"
		"    use-fcgi-app berth_%s\n"
		"    # One request a worker: others wait in HAProxy, for whichever is free first.\n"
		"    balance leastconn\n"
		"    # A request that was sent is not sent again.\n"
		"    retry-on conn-failure\n"
		"    timeout connect 5s\n"
		"    timeout queue 60s\n"
		"    timeout server 60s\n"
		"%s",
		name, target->keep ? "" : "no ", name, name,
		target->keep ? "    http-reuse always\n" : "");
	for (size_t i = 0; i < target->count; i++) {
		(void)text_of(target, i, text);
		(void)fprintf(out, "    server worker%zu ", i + 1);
		if (text[0] == '@')
			(void)fputs("abns", out);
		write_escaped(text, out);
		(void)fprintf(out, " proto fcgi maxconn %u\n",
			      target->count == 1 ? target->pool->max_children : 1);
	}
}

static void write_lighttpd(const struct target *target, FILE *out)
{
	char text[ADDRESS_TEXT_MAX];

	(void)fputs("server.modules += ( \"mod_fastcgi\" )\n"
		    "# The least busy worker. lighttpd opens a connection for each request.\n"
		    "fastcgi.balance = \"least-connection\"\n"
		    "fastcgi.server += ( \".php\" => (\n",
		    out);
	for (size_t i = 0; i < target->count; i++) {
		(void)text_of(target, i, text);
		if (is_unix(&target->sockets[i]))
			(void)fprintf(out, "    ( \"socket\" => \"%s\",", text);
		else
			(void)fprintf(out, "    ( \"host\" => \"%.*s\", \"port\" => %s,",
				      host_length(text), text, text + host_length(text) + 1);
		/* Sockets stay open while workers change. */
		(void)fputs(" \"disable-time\" => 0 ),\n", out);
	}
	(void)fputs(") )\n", out);
}

static void write_apache(const struct target *target, FILE *out)
{
	const char *name = target->pool->name;
	char text[ADDRESS_TEXT_MAX];

	(void)fprintf(out,
		      "# Needs: a2enmod proxy_fcgi proxy_balancer lbmethod_bybusyness\n"
		      "<Proxy \"balancer://berth_%s\">\n",
		      name);
	for (size_t i = 0; i < target->count; i++) {
		(void)text_of(target, i, text);
		if (is_unix(&target->sockets[i]))
			(void)fprintf(out, "    BalancerMember \"unix:%s|fcgi://berth_%s-%zu\"",
				      text, name, i + 1);
		else
			(void)fprintf(out, "    BalancerMember \"fcgi://%s\"", text);
		/* A failure is no reason to avoid a worker. */
		(void)fprintf(out, " retry=0%s\n", target->keep ? " enablereuse=on" : "");
	}
	(void)fprintf(out,
		      "    # The least busy worker.\n"
		      "    ProxySet lbmethod=bybusyness\n"
		      "    # A request that was sent is not sent again.\n"
		      "    ProxySet maxattempts=0\n"
		      "</Proxy>\n"
		      "<FilesMatch \"\\.php$\">\n"
		      "    <If \"-f %%{REQUEST_FILENAME}\">\n"
		      "        SetHandler \"proxy:balancer://berth_%s\"\n"
		      "    </If>\n"
		      "</FilesMatch>\n"
		      "# SCRIPT_FILENAME is a path, as php-cgi wants it.\n"
		      "ProxyFCGIBackendType GENERIC\n",
		      name);
}

static void write_caddy(const struct target *target, FILE *out)
{
	char text[ADDRESS_TEXT_MAX];

	(void)fputs("# For a site block. Caddy opens a connection for each request.\n"
		    "root * /var/www/html\n"
		    "php_fastcgi",
		    out);
	for (size_t i = 0; i < target->count; i++)
		(void)fprintf(out, " \\\n    \"%s%s\"", is_unix(&target->sockets[i]) ? "unix/" : "",
			      text_of(target, i, text));
	(void)fputs(" {\n"
		    "    # The least busy worker.\n"
		    "    lb_policy least_conn\n"
		    "}\n",
		    out);
}

static const struct server {
	const char *name;
	bool abstract; /* reaches abstract sockets */
	void (*write)(const struct target *target, FILE *out);
} servers[] = {
	{"nginx", false, write_nginx},	     {"haproxy", true, write_haproxy},
	{"lighttpd", false, write_lighttpd}, {"apache", false, write_apache},
	{"caddy", false, write_caddy},
};

static const struct server *find_server(const char *name)
{
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		if (strcmp(servers[i].name, name) == 0)
			return &servers[i];
	return NULL;
}

static const struct conf_pool *find_pool(const struct conf *conf, const char *name, char *error,
					 size_t size)
{
	const struct conf_pool *pool;
	size_t used = (size_t)snprintf(error, size,
				       "%s%.64s; there are:", name ? "no pool " : "which pool",
				       name ? name : "");

	if (!name && conf->pools && !conf->pools->next)
		return conf->pools;
	for (pool = conf->pools; pool; pool = pool->next) {
		if (name && strcmp(pool->name, name) == 0)
			return pool;
		if (used < size)
			used += (size_t)snprintf(error + used, size - used, " %s", pool->name);
	}
	return NULL;
}

/* A web server could not be told of such a path without knowing its rules for quotes. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || strchr("\"\\", *text))
			return false;
	return true;
}

static int check_socket(const struct server *server, const struct address_socket *socket,
			char *error, size_t size)
{
	char text[ADDRESS_TEXT_MAX];

	(void)address_format(socket, text, sizeof(text));
	if (text[0] == '@' && !server->abstract)
		(void)snprintf(error, size,
			       "%s: %s can't connect to an abstract socket; accepted are a path, "
			       "which has a '/', and HOST:PORT",
			       text, server->name);
	else if (socket->pipe)
		(void)snprintf(error, size, "%s: no web server can use pipes", text);
	else if (!is_plain(text))
		(void)snprintf(error, size,
			       "%s: a path with quotes, backslashes or control characters is not "
			       "accepted",
			       text);
	else
		return 0;
	return -EINVAL;
}

/* One listen line in all its slots, or once if they share it. */
static int add_line(struct target *target, const struct server *server,
		    const struct conf_listen *line, char *error, size_t size)
{
	const unsigned int slots = line->address.per_slot ? target->pool->max_children : 1;

	for (unsigned int slot = 1; slot <= slots; slot++) {
		struct address_socket found[ADDRESS_RESOLVE_MAX];
		size_t count = 0;
		int result = address_resolve(&line->address, slot, found, &count, error, size);

		/* A name's other addresses are the same workers once more. */
		if (result == 0 && count > 0)
			result = check_socket(server, &found[0], error, size);
		if (result < 0)
			return result;
		target->sockets[target->count++] = found[0];
	}
	return 0;
}

int upstream_write(const struct conf *conf, const char *server_name, const char *pool, FILE *out,
		   char *error, size_t size)
{
	const struct server *server = find_server(server_name);
	struct target target = {.pool = NULL};
	int result = 0;

	if (!server) {
		(void)snprintf(error, size, "%.64s: unknown web server; accepted are %s",
			       server_name, UPSTREAM_SERVERS);
		return -EINVAL;
	}
	target.pool = find_pool(conf, pool, error, size);
	if (!target.pool)
		return -EINVAL;
	target.keep = target.pool->spawn == CONF_SPAWN_TEMPLATE;
	target.sockets = calloc(target.pool->max_children + 1UL, sizeof(*target.sockets));
	if (!target.sockets) {
		(void)snprintf(error, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	/* The first line reaches all workers; through a second one they would look twice as free. */
	result = add_line(&target, server, &target.pool->listen[0], error, size);
	if (result == 0) {
		(void)fprintf(out, "# %s in front of berth's pool %s, %u workers.\n", server->name,
			      target.pool->name, target.pool->max_children);
		server->write(&target, out);
	}
	free(target.sockets);
	return result;
}
