#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Not a test: requests a second through nginx, berth beside php-fpm, in interleaved rounds.
#
#   ROUNDS=6 SECONDS_EACH=2 CLIENTS=4
. "$(dirname "$0")/../integration/lib.sh"

rounds=${ROUNDS:-6} seconds=${SECONDS_EACH:-2} clients=${CLIENTS:-4}
fpm=$(PATH=$PATH:/usr/sbin; compgen -c | grep -m1 '^php-fpm[0-9.]*$') || skip "php-fpm is not installed"
fpm=$(PATH=$PATH:/usr/sbin; command -v "$fpm")
wrk=$(command -v wrk) || skip "wrk is not installed"
[ "$(id -u)" = 0 ] || skip "needs root, to run everything as www-data"

script hello.php '<?php echo "hello";' >/dev/null
script mixed.php '<?php usleep(mt_rand(1, 100) <= 5 ? 50000 : 1000); echo "hello";' >/dev/null
children=4
pool_conf
berth_start
# A pool for each cell: idle kept connections hold all of php-fpm's children, so new connections to
# the same pool would wait for ever.
fpm_pool() {
	echo "[$1]
user = www-data
group = www-data
listen = $T/$1.sock
listen.mode = 0666
pm = static
pm.max_children = $children"
}
cat >"$T/fpm.conf" <<C
[global]
error_log = $T/fpm.log
daemonize = no
$(fpm_pool fpm)
$(fpm_pool fpm_kept)
C
"$fpm" -y "$T/fpm.conf" >"$T/fpm.out" 2>&1 &
PIDS+=($!)
until_true 10 test -S "$T/fpm.sock" || die "php-fpm did not start"

berth_servers=$(upstream_servers $children)
port=$(free_port 4)
server() { # server NUMBER UPSTREAM LINE
	echo "server { listen 127.0.0.1:$((port + $1)); root $T; location / { fastcgi_pass $2; ${3:-} } }"
}
cat >"$T/nginx.conf" <<N
user www-data; worker_processes 1; daemon off; pid $T/nginx.pid; error_log $T/nginx.log error;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path $T/nginx-b; fastcgi_temp_path $T/nginx-f; proxy_temp_path $T/nginx-p;
	uwsgi_temp_path $T/nginx-u; scgi_temp_path $T/nginx-s;
	upstream fpm { zone a 256k; server unix:$T/fpm.sock max_fails=0; }
	upstream fpm_kept { zone b 256k; server unix:$T/fpm_kept.sock max_fails=0; keepalive $children; }
	upstream berth { zone c 256k; least_conn; $berth_servers }
	upstream berth_kept { zone d 256k; least_conn; $berth_servers keepalive 64; }
	include /etc/nginx/fastcgi_params;
	fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name;
	fastcgi_next_upstream off;
	$(server 0 fpm)
	$(server 1 fpm_kept 'fastcgi_keep_conn on;')
	$(server 2 berth)
	$(server 3 berth_kept 'fastcgi_keep_conn on;')
}
N
PATH=$PATH:/usr/sbin nginx -c "$T/nginx.conf" -p "$T" -e "$T/nginx.log" >"$T/nginx.out" 2>&1 &
PIDS+=($!)
until_true 10 port_open "$port" || die "nginx did not start"

cells="php-fpm,new php-fpm,kept berth,new berth,kept"
# measure NAME SCRIPT CLIENTS: a line of requests/s and p99 (ms) for each round and cell.
measure() {
	local cell n r out
	for ((r = 0; r < rounds; r++)); do
		n=0
		for cell in $cells; do
			out=$("$wrk" -t1 -c"$3" -d"${seconds}s" --latency "http://127.0.0.1:$((port + n))/$2")
			grep -E 'Non-2xx|Socket errors' <<<"$out" && fail "$1: $cell has errors"
			awk -v cell="$cell" '
				/^ *99%/ { v = $2; p99 = v ~ /us$/ ? v / 1000 : v ~ /ms$/ ? v + 0 : v * 1000 }
				/^Requests\/sec/ { rate = $2 }
				END { print cell, rate, p99 }' <<<"$out"
			n=$((n + 1))
		done
	done >"$T/$1.figures"
	say "$1 ($rounds interleaved rounds of $seconds s, $3 clients, $children children):"
	awk '
		function median(list, count,   i, j, t) {
			for (i = 2; i <= count; i++)
				for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
					t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
				}
			return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
		}
		{ n[$1]++; rate[$1, n[$1]] = $2; p99[$1, n[$1]] = $3 }
		END {
			split("'"$cells"'", order, " ")
			for (c = 1; c in order; c++) {
				for (i = 1; i <= n[order[c]]; i++) {
					ratio[i] = rate[order[c], i] / rate[order[1], i]
					late[i] = p99[order[c], i] / p99[order[1], i]
					r[i] = rate[order[c], i]; l[i] = p99[order[c], i]
				}
				k = n[order[c]]
				printf "  %-13s %8.0f requests/s (%.2f x)   p99 %7.2f ms (%.2f x)\n", order[c],
					median(r, k), median(ratio, k), median(l, k), median(late, k)
			}
		}' "$T/$1.figures"
}
say "$(uname -sr), $(nproc) processors, $("$PHP" -v | awk 'NR == 1 {print $1, $2}'); ratios to the first line, paired by round"
measure hello hello.php "$clients"
measure mixed mixed.php $((clients * 4))
