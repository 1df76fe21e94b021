#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The accept queues: their length, the kernel's limit, and that each slot has one of its own.
. "$(dirname "$0")/lib.sh"

somaxconn=$(cat /proc/sys/net/core/somaxconn)
hello=$(script hello.php '<?php echo "hello";')
port=$(free_port 5)

# queue ADDRESS: the length of the accept queue of a listener.
queue() {
	if [ "${1:0:1}" = / ]; then ss -xlH; else ss -tlnH; fi |
		awk -v a=" $1 " 'index($0, a) { print a ~ "/" ? $4 : $3 }'
}

# queues: how many listeners there are of each length, over all slots.
queues() {
	local i
	for i in 1 2 3 4; do
		queue "$T/www-$i.sock"
		queue "127.0.0.1:$((port + i))"
	done | sort | uniq -c | xargs
}

at_most() { echo $(($1 < somaxconn ? $1 : somaxconn)); }

pool_conf "listen = 127.0.0.1:$port+%n"
berth_start
equal "8 listeners, length by default" "$(queues)" "8 $(at_most 1024)"
[ "$somaxconn" -lt 1024 ] || check "no warning by default" test -z "$(grep somaxconn "$LOG")"
berth_stop

pool_conf "spawn = exec"
berth_start
equal "spawn = exec, length by default" "$(queues)" "4 $(at_most 1024)"
berth_stop

pool_conf "listen = 127.0.0.1:$port+%n" "listen.backlog = 77"
berth_start
equal "listen.backlog = 77" "$(queues)" "8 77"
berth_stop

if [ "$somaxconn" -lt 65535 ]; then
	pool_conf "listen = 127.0.0.1:$port+%n" "listen.backlog = 65535"
	berth_start
	equal "more than the kernel grants" "$(queues)" "8 $somaxconn"
	contains "a warning tells" "$LOG" \
		"warning: .*listen.backlog = 65535 is cut to $somaxconn by net.core.somaxconn"
	berth_stop
fi

# A queue of 4 takes 5 connections. Nobody accepts meanwhile, so the counts are exact.
pool_conf "listen.backlog = 4"
berth_start
frozen=$(workers)
freeze $frozen

# burst NAME SLOT COUNT: that many clients at once, which don't wait for room in a full queue.
burst() {
	local i
	: >"$T/$1.out"
	: >"$T/$1.err"
	for ((i = 0; i < $3; i++)); do
		get -w -t 60 "$T/www-$2.sock" "$hello" >>"$T/$1.out" 2>>"$T/$1.err" &
		CLIENTS+=($!)
	done
}
CLIENTS=()
refused() { grep -c 'Resource temporarily unavailable' "$T/$1.err"; }
full() { [ "$(refused first)" -ge 20 ]; }
burst first 1 25
check "a burst of 25 to slot 1: 20 find its queue full" until_true 20 full
burst second 2 5
check "slot 2 has room for 5 of its own" until_true 20 is_queued "$T/www-2.sock" 5
burst third 1 1
until_true 20 test -s "$T/third.err"
equal "slot 1 is still full" "$(queued "$T/www-1.sock") $(refused third)" "5 1"
kill -CONT $frozen
wait "${CLIENTS[@]}"
equal "slot 1: answered, refused" "$(grep -o hello "$T/first.out" | wc -l) $(refused first)" "5 20"
equal "slot 2: answered, refused" "$(grep -o hello "$T/second.out" | wc -l) $(refused second)" "5 0"
equal "slot 1 answers again" "$(get -w "$T/www-1.sock" "$hello")" hello
berth_stop
