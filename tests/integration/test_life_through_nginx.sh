#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Everything that changes in a pool's life, with nginx and a direct client in front: no request fails.
#
# Turns of: reloads, an upgrade, the template killed, two workers more or less. If SLOW is set that are
# 200 reloads, 50 upgrades and 50 dead templates.
. "$(dirname "$0")/lib.sh"
turns=$([ -n "${SLOW:-}" ] && echo 50 || echo 3)
reloads_a_turn=$([ -n "${SLOW:-}" ] && echo 4 || echo 1)
command -v ab >"$T/null" || die "ab (apache2-utils) is not installed"

token=$(script token.php '<?php usleep(rand(0, 2000)); echo $_SERVER["TOKEN"];')
script work.php '<?php usleep(rand(0, 2000)); echo "ok";' >"$T/null"
settings() { # CHILDREN
	pool_conf
	sed -i "s/^pm.max_children = .*/pm.max_children = $1/; 1i [global]\ncontrol = $T/control" "$T/berth.conf"
}
# The first six slots are always there, which is what nginx knows.
settings 6
berth_start
nginx_start "$(upstream_servers 6)" 'fastcgi_next_upstream off;'
kept_port=$(free_port)
sed "s/listen 127.0.0.1:$NGINX_PORT/listen 127.0.0.1:$kept_port/; s|$T/nginx.pid|$T/kept.pid|
	s|upstream php { \(.*\) }|upstream php { \1 keepalive 32; }|
	s|fastcgi_pass php;|& fastcgi_keep_conn on;|" "$T/nginx.conf" >"$T/kept.conf"
PATH=$PATH:/usr/sbin nginx -c "$T/kept.conf" -p "$T" -e "$T/kept.log" >"$T/kept.out" 2>&1 &
PIDS+=($!)
until_true 10 port_open "$kept_port" || die "the second nginx did not start: $(cat "$T/kept.out")"

# until_enough FILE COMMAND...: again and again; its output to FILE.
until_enough() {
	local file=$1
	shift
	while [ ! -e "$T/enough" ]; do "$@" >>"$file" 2>&1 || echo "failed: $?" >>"$file"; done
}
loads=()
for port in "$NGINX_PORT" "$kept_port"; do
	until_enough "$T/ab-$port" ab -q -n 500 -c 16 -s 30 "http://127.0.0.1:$port/work.php" &
	loads+=($!)
done
sockets=()
for n in 1 2 3 4 5 6; do sockets+=("$T/www-$n.sock"); done
until_enough "$T/direct" "$HELPERS/fcgi-load" -k -c 6 -n 50 "$token" "${sockets[@]}" &
loads+=($!)
PIDS+=("${loads[@]}")

ask() { "$BERTH" "$@" --control "$T/control" >>"$T/asked" 2>&1; }
descriptors() { find "/proc/$MANAGER/fd" | wc -l; }
resident_kib() { awk '/^RssAnon/ { print $2 }' "/proc/$MANAGER/status"; }
templates() { grep -c 'pool www: new template' "$LOG"; }
has_more_templates() { [ "$(templates)" -gt "$1" ]; }
turn() {
	local i before
	for ((i = 0; i < reloads_a_turn; i++)); do ask reload || fail "reload: $(tail -1 "$T/asked")"; done
	ask upgrade || fail "upgrade: $(tail -1 "$T/asked")"
	before=$(templates)
	kill -9 "$(template_now)"
	until_true 30 has_more_templates "$before" || fail "no new template"
	settings $((6 + 2 * ($1 % 2)))
	ask reload || fail "reload with another number: $(tail -1 "$T/asked")"
}
template_now() { "$BERTH" status --json --control "$T/control" | awk -F'[ ,]+' '/template_pid/ && !/null/ { print $3 }'; }
# settled N: N workers and their template are all that is left.
settled() { [ "$(descendants "$MANAGER" | wc -l)" = $(($1 + 2)) ]; }

turn 1
turn 2
until_true 30 settled 6
first_fds=$(descriptors)
first_kib=$(resident_kib)
for ((i = 3; i < 3 + 2 * ((turns + 1) / 2); i++)); do turn "$i"; done
check "no process is left over" until_true 30 settled 6
as_first() { [ "$(descriptors)" = "$first_fds" ]; }
check "descriptors of the manager as before" until_true 10 as_first
check "its memory, $first_kib KiB before and $(resident_kib) now, has not grown by half a megabyte" \
	test "$(resident_kib)" -lt $((first_kib + 512))

touch "$T/enough"
for load in "${loads[@]}"; do wait "$load"; done
for port in "$NGINX_PORT" "$kept_port"; do
	equal "nginx, port $port: complete, failed, not 200" "$(awk '/^Complete requests/ { c += $3 }
		/^Failed requests/ { f += $3 } /^Non-2xx/ { n += $3 } /^failed|^apr_/ { f++ }
		END { print (c > 0 ? "some" : "none"), f + 0, n + 0 }' "$T/ab-$port")" "some 0 0"
	say "      $(awk '/^Complete requests/ { c += $3 } END { print c }' "$T/ab-$port") requests"
done
equal "the direct client: failed, wrong" "$(awk -F'[ ,]+' '{ for (i = 1; i < NF; i++) if ($i == "failed" || $i == "wrong") n += $(i + 1) }
	/^failed:/ { n++ } END { print n + 0 }' "$T/direct")" 0
check "and it was answered" grep -q 'answered' "$T/direct"
check "nginx found nothing to complain about" test ! -s "$T/nginx.log" -a ! -s "$T/kept.log" ||
	head -5 "$T/nginx.log" "$T/kept.log"
kill "$(cat "$T/kept.pid")"
berth_stop
