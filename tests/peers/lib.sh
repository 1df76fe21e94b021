# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For measurements beside php-fpm: the same scripts behind nginx, in interleaved rounds.
. "$(dirname "$0")/../integration/lib.sh"

[ "$(id -u)" = 0 ] || skip "needs root, to run everything as www-data"
PATH=$PATH:/usr/sbin
WRK=$(command -v wrk) || skip "wrk is not installed"
FPM=$(compgen -c | grep -m1 '^php-fpm[0-9.]*$') || skip "php-fpm is not installed"
ROUNDS=${ROUNDS:-6} seconds=${SECONDS_EACH:-2}

script hello.php '<?php echo "hello";' >/dev/null
script mixed.php '<?php usleep(mt_rand(1, 100) <= 5 ? 50000 : 1000); echo "hello";' >/dev/null

# fpm_start CHILDREN: pools "new" and "kept". Idle kept connections hold all children of a pool, so
# new connections to the same one would wait for ever.
fpm_start() {
	local name
	{
		printf '[global]\nerror_log = %s\ndaemonize = no\n' "$T/fpm.log"
		for name in new kept; do
			printf '[%s]\nuser = www-data\ngroup = www-data\nlisten = %s\n' \
				$name "$T/fpm-$name.sock"
			printf 'listen.mode = 0666\npm = static\npm.max_children = %s\n' "$1"
		done
	} >"$T/fpm.conf"
	"$FPM" -y "$T/fpm.conf" >"$T/fpm.out" 2>&1 &
	FPM_PID=$!
	PIDS+=("$FPM_PID")
	until_true 10 test -S "$T/fpm-kept.sock" || die "php-fpm did not start: $(cat "$T/fpm.out")"
}

# nginx_start WORKERS CHILDREN: a port for each of $cells, from $PORT on.
nginx_start() {
	local berth_servers
	berth_servers=$(upstream_servers "$2")
	PORT=$(free_port 4)
	server() { # server NUMBER UPSTREAM LINE
		echo "server { listen 127.0.0.1:$((PORT + $1)); root $T;
			location / { fastcgi_pass $2; ${3:-} } }"
	}
	cat >"$T/nginx.conf" <<N
user www-data; worker_processes $1; daemon off; pid $T/nginx.pid; error_log $T/nginx.log error;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path $T/nginx-b; fastcgi_temp_path $T/nginx-f; proxy_temp_path $T/nginx-p;
	uwsgi_temp_path $T/nginx-u; scgi_temp_path $T/nginx-s;
	upstream fpm { zone a 256k; server unix:$T/fpm-new.sock max_fails=0; }
	upstream fpm_kept { zone b 256k; server unix:$T/fpm-kept.sock max_fails=0; keepalive $2; }
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
	nginx -c "$T/nginx.conf" -p "$T" -e "$T/nginx.log" >"$T/nginx.out" 2>&1 &
	PIDS+=($!)
	until_true 10 port_open "$PORT" || die "nginx did not start"
}
CELLS=("php-fpm,new" "php-fpm,kept" "berth,new" "berth,kept")

# wrk_once CELL CLIENTS SCRIPT: "CELL REQUESTS/S P99", the latter in ms.
wrk_once() {
	local n out
	for n in "${!CELLS[@]}"; do [ "${CELLS[n]}" = "$1" ] && break; done
	out=$("$WRK" -t1 -c"$2" -d"${seconds}s" --latency "http://127.0.0.1:$((PORT + n))/$3")
	if grep -qE 'Non-2xx|Socket errors' <<<"$out"; then
		# php-fpm's children belong to the connections that they keep, whoever else waits.
		if [ "$1" = php-fpm,kept ]; then
			say "  $1 with $2 clients: $(grep -E 'Non-2xx|Socket errors' <<<"$out" | xargs)"
		else
			fail "$1 with $2 clients: $(grep -E 'Non-2xx|Socket errors' <<<"$out" | xargs)"
		fi
	fi
	awk -v cell="$1" '
		/^ *99%/ { v = $2; p99 = v ~ /us$/ ? v / 1000 : v ~ /ms$/ ? v + 0 : v * 1000 }
		/^Requests\/sec/ { rate = $2 }
		END { print cell, rate, p99 }' <<<"$out"
}

# summary FIRST: medians and ratios paired by round, of lines "CELL RATE P99" on stdin.
summary() {
	awk -v first="$1" '
		function median(list, count,   i, j, t) {
			for (i = 2; i <= count; i++)
				for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
					t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
				}
			return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
		}
		{ if (!n[$1]++) order[++cells] = $1; rate[$1, n[$1]] = $2; p99[$1, n[$1]] = $3 }
		END {
			for (c = 1; c <= cells; c++) {
				for (i = 1; i <= n[order[c]]; i++) {
					ratio[i] = rate[order[c], i] / rate[first, i]
					late[i] = p99[order[c], i] / p99[first, i]
					r[i] = rate[order[c], i]; l[i] = p99[order[c], i]
				}
				k = n[order[c]]
				printf "  %-14s %8.0f requests/s (%.2f x)   p99 %7.2f ms (%.2f x)\n", order[c],
					median(r, k), median(ratio, k), median(l, k), median(late, k)
			}
		}'
}

machine() {
	say "$(uname -sr), $(nproc) processors, $("$PHP" -v | awk 'NR == 1 {print $1, $2}');" \
		"$ROUNDS interleaved rounds of $seconds s, medians; ratios to the first line, paired by round"
}
