#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Through nginx, berth beside php-fpm: a short request, and a mix of short and long ones.
#
# usage: BERTH=path/of/berth HELPERS=folder/of/test/programs nginx.sh
#	ROUNDS=6 SECONDS_EACH=2
. "$(dirname "$0")/lib.sh"

# measure TEXT CLIENTS SCRIPT CELL...
measure() {
	local cell r
	say "$1:"
	for ((r = 0; r < ROUNDS; r++)); do
		for cell in "${@:4}"; do wrk_once "$cell" "$2" "$3"; done
	done | tee "$T/figures" | grep -v '^[^ ]*,' || true
	grep '^[^ ]*,' "$T/figures" | summary "$4"
}
# start NGINX_WORKERS CHILDREN
start() {
	pool_conf
	sed -i "s/^pm.max_children = .*/pm.max_children = $2/" "$T/berth.conf"
	berth_start
	fpm_start "$2"
	nginx_start "$1" "$2"
}
stop() {
	berth_stop
	kill "$FPM_PID"
	kill "$(cat "$T/nginx.pid")"
	wait "$FPM_PID"
	until_true 10 test ! -e "$T/nginx.pid"
}

machine
start 1 4
measure "hello, 4 clients, 4 children" 4 hello.php "${CELLS[@]}"
stop
start 1 8
measure "95 % of 1 ms and 5 % of 50 ms, 32 clients, 8 children" 32 mixed.php \
	php-fpm,new berth,new berth,kept
stop
start 2 4
for clients in 4 16 64 256; do
	measure "hello, two nginx workers, $clients clients, 4 children" $clients hello.php berth,kept
done
stop
