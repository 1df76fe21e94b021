#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What "berth upstream" prints, in the web servers that it is for: each passes the same suite.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip "needs root, to run web servers as www-data"
PATH=$PATH:/usr/sbin

script hello.php '<?php echo "hello ", $_GET["token"] ?? "";' >"$T/null"
script post.php '<?php echo md5(file_get_contents("php://input"));' >"$T/null"
script head.php '<?php for ($i = 0; $i < $_GET["kb"]; $i++) header("X-Line-$i: " . str_repeat("x", 1000)); echo "body";' >"$T/null"
script binary.php "<?php header('Content-Type: application/octet-stream'); readfile('$T/binary');" >"$T/null"
script busy.php "<?php touch('$T/started'); while (!file_exists('$T/go')) usleep(5000); echo 'done';" >"$T/null"
script long.php "<?php ignore_user_abort(false); while (!file_exists('$T/go')) { usleep(5000); echo ' '; flush(); }" >"$T/null"
head -c 1000000 /dev/urandom >"$T/binary"
head -c 10000000 /dev/urandom >"$T/body"
chmod 644 "$T/binary" "$T/body"
chmod 777 "$T"

start_berth() {
	pool_conf
	sed -i "1i [global]\ncontrol = $T/control" "$T/berth.conf"
	sed -i "s|^program = .*|program = $PHP -d post_max_size=20M|" "$T/berth.conf"
	berth_start
}
upstream() { "$BERTH" upstream "$1" -c "$T/berth.conf"; }
# served COMMAND...: run a web server in the foreground until it listens.
served() {
	"$@" >"$T/server.out" 2>&1 &
	SERVER=$!
	PIDS+=("$SERVER")
	until_true 20 port_open "$PORT" || {
		cat "$T/server.out"
		die "$1 did not start"
	}
}

serve_nginx() {
	command -v nginx >"$T/null" || return 1
	upstream nginx >"$T/printed"
	{
		echo "user www-data; daemon off; worker_processes 2; pid $T/nginx.pid;"
		echo "error_log $T/server.log; events {}"
		echo "http { access_log off; client_max_body_size 0; client_body_temp_path $T/n-b;"
		echo "fastcgi_temp_path $T/n-f; proxy_temp_path $T/n-p; uwsgi_temp_path $T/n-u; scgi_temp_path $T/n-s;"
		sed -n '/^upstream/,/^}/p' "$T/printed"
		echo "server { listen 127.0.0.1:$PORT; root $T;"
		sed -n '/^location/,/^}/p' "$T/printed" | sed 's|include fastcgi_params|include /etc/nginx/fastcgi_params|'
		echo '} }'
	} >"$T/nginx.conf"
	served nginx -c "$T/nginx.conf" -p "$T" -e "$T/server.log"
}

serve_haproxy() {
	command -v haproxy >"$T/null" || return 1
	{
		echo "defaults"
		echo "    timeout client 60s"
		upstream haproxy | sed "s|docroot .*|docroot $T|"
		echo "frontend web"
		echo "    mode http"
		echo "    bind 127.0.0.1:$PORT"
		echo "    default_backend berth_www"
	} >"$T/haproxy.conf"
	served haproxy -db -f "$T/haproxy.conf"
}

serve_lighttpd() {
	command -v lighttpd >"$T/null" || return 1
	{
		echo "server.document-root = \"$T\""
		echo "server.bind = \"127.0.0.1\""
		echo "server.port = $PORT"
		echo "server.username = \"www-data\""
		echo "server.errorlog = \"$T/server.log\""
		echo "server.upload-dirs = ( \"$T\" )"
		upstream lighttpd
	} >"$T/lighttpd.conf"
	: >"$T/server.log"
	chmod 666 "$T/server.log"
	served lighttpd -D -f "$T/lighttpd.conf"
}

serve_apache() {
	local module modules=/usr/lib/apache2/modules
	[ -d $modules ] || return 1
	{
		for module in mpm_event authz_core unixd proxy proxy_fcgi proxy_balancer slotmem_shm \
			lbmethod_bybusyness; do
			# The others are built in.
			[ ! -e $modules/mod_$module.so ] ||
				echo "LoadModule ${module}_module $modules/mod_$module.so"
		done
		echo "ServerName test.invalid"
		echo "Listen 127.0.0.1:$PORT"
		echo "ServerRoot \"$T\""
		echo "DefaultRuntimeDir \"$T\""
		echo "PidFile \"$T/apache.pid\""
		echo "Mutex file:$T default"
		echo "ErrorLog \"$T/server.log\""
		echo "User www-data"
		echo "Group www-data"
		echo "DocumentRoot \"$T\""
		echo "<Directory />"
		echo "Require all granted"
		echo "</Directory>"
		upstream apache
	} >"$T/apache.conf"
	served apache2 -DFOREGROUND -f "$T/apache.conf"
}

serve_caddy() {
	command -v caddy >"$T/null" || return 1
	{
		echo "{"
		echo "	admin off"
		echo "	auto_https off"
		echo "	storage file_system $T/caddy"
		echo "}"
		echo "http://127.0.0.1:$PORT {"
		upstream caddy | sed "s|^root .*|root * $T|"
		echo "}"
	} >"$T/Caddyfile"
	served env HOME="$T" caddy run --adapter caddyfile --config "$T/Caddyfile"
}

url() { echo "http://127.0.0.1:$PORT/$1"; }
# ask PATH [CURL-OPTION...]: the answer's body, or what curl says.
ask() { curl -sS --max-time 30 "${@:2}" "$(url "$1")" 2>&1; }
status_of() { curl -s -o "$T/out" -w '%{http_code}' --max-time 30 "${@:2}" "$(url "$1")"; }
# right N: that many requests in a row, each with its own token; prints how many had their answer.
right() {
	local i n=0
	for ((i = 0; i < $1; i++)); do
		[ "$(ask "hello.php?token=$i-$RANDOM")" != "" ] && [ "$(ask "hello.php?token=x$i")" = "hello x$i" ] &&
			n=$((n + 1))
	done
	echo $n
}

answers() { [ "$(status_of hello.php)" = 200 ]; }
# suite SERVER [STATUS]: what each of them is to do. The status is that of a head of 70 kB, if any.
suite() {
	local busy i pids
	equal "$1: requests answered" "$(right 10)" 10
	equal "$1: POST of 10 MB" "$(ask post.php --data-binary "@$T/body")" "$(md5sum <"$T/body" | cut -d' ' -f1)"
	equal "$1: head of 30 kB" "$(status_of 'head.php?kb=30')" 200
	[ -z "${2:-}" ] || equal "$1: head of 70 kB" "$(status_of 'head.php?kb=70')" "$2"
	ask binary.php >"$T/out"
	check "$1: binary download" cmp -s "$T/out" "$T/binary"

	# A worker is busy, two clients have gone away, one reads slowly: the others are served.
	rm -f "$T/go" "$T/started"
	ask busy.php >"$T/busy" &
	busy=$!
	until_true 10 test -e "$T/started"
	for i in 1 2; do curl -s --max-time 0.2 -o "$T/null" "$(url long.php)"; done
	curl -s --limit-rate 2M -o "$T/slow" "$(url binary.php)" &
	local slow=$!
	equal "$1: answered beside busy workers" "$(right 8)" 8
	touch "$T/go"
	wait "$busy"
	wait "$slow"
	equal "$1: the busy one's answer" "$(cat "$T/busy")" "done"
	check "$1: the slow reader's answer" cmp -s "$T/slow" "$T/binary"

	for i in 1 2 3; do
		pids=$(workers)
		# shellcheck disable=SC2086
		kill -9 ${pids%% *}
		equal "$1: answered after kill -9" "$(right 4)" 4
	done
	: >"$T/reloads"
	(for i in 1 2 3; do "$BERTH" reload --control "$T/control"; done >"$T/reloads" 2>&1) &
	busy=$!
	while alive "$busy"; do
		[ "$(right 4)" = 4 ] || fail "$1: a request is lost at a reload"
	done
	wait "$busy"
	equal "$1: three reloads" "$?" 0

	berth_stop
	check "$1: without berth an error" [ "$(status_of hello.php)" -ge 500 ]
	berth_start
	# lighttpd looks once a second whether a socket that failed is worth a try.
	check "$1: with it again" until_true 10 answers
	equal "$1: and from then on" "$(right 8)" 8
}

server_stop() {
	kill "$SERVER"
	until_true 20 gone "$SERVER" || die "$1 does not stop"
	wait "$SERVER"
}

for server in ${SERVERS:-nginx haproxy lighttpd apache caddy}; do
	PORT=$(free_port)
	start_berth
	if serve_$server; then
		case $server in
		nginx | apache | caddy) suite $server 200 ;;
		# Its limit is 64 kB.
		lighttpd) suite $server 502 ;;
		# It crashes on heads that are longer than tune.bufsize.
		haproxy) suite $server ;;
		esac
		server_stop $server
	else
		say "skip  $server is not installed"
	fi
	berth_stop
done
