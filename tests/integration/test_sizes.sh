#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Workers come and go under load: no request fails. dynamic keeps its spare ones, process.max holds,
# and nothing wakes up while nobody wants anything.
#
# 2 rounds of load for each kind; 30 if SLOW is set.
. "$(dirname "$0")/lib.sh"
rounds=$([ -n "${SLOW:-}" ] && echo 30 || echo 2)

pid=$(script pid.php '<?php echo getmypid();')
token=$(script token.php '<?php usleep(1000); echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
sleeper=$(script sleep.php '<?php usleep(400000); echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')

# pool NAME LISTEN MODE WORKERS [LINE...]
pool() {
	printf '[%s]\nlisten = %s\npm = %s\npm.max_children = %s\n%s\nprogram = %s\n' "$1" "$2" \
		"$3" "$4" "$USER_LINE" "$PHP"
	[ $# = 4 ] || printf '%s\n' "${@:5}"
}
# processes: number of workers of all pools.
processes() {
	local t n=0
	for t in $(children "$MANAGER"); do n=$((n + $(children "$t" | wc -w))); done
	echo "$n"
}
count_is() { [ "$(processes)" = "$1" ]; }
load() { "$HELPERS/fcgi-load" "$@" 2>&1; }
right() { equal "$1" "$(cut -d, -f1-3 <<<"$3")" "answered $2, wrong 0, failed 0"; }
sockets() { local i; for ((i = 1; i <= $1; i++)); do echo "$T/www-$i.sock"; done; }
# storm TEXT: kept and new connections at all slots, with pauses in which workers leave, and reloads.
storm() {
	local i kept new text=$1
	for ((i = 1; i <= rounds; i++)); do
		load -c 12 -n 40 -k "$token" $(sockets 6) >"$T/kept" &
		kept=$!
		load -c 12 -n 40 "$token" $(sockets 6) >"$T/new" &
		new=$!
		load -c 3 -n 40 "$token" $(sockets 6) >"$T/few"
		kill -HUP "$MANAGER"
		wait $kept $new
		right "$text, round $i, kept" 480 "$(cat "$T/kept")"
		right "$text, round $i, new" 480 "$(cat "$T/new")"
		right "$text, round $i, few" 120 "$(cat "$T/few")"
		# Long enough for some to leave, and then there is one client at each slot.
		sleep 0.1$((RANDOM % 100))
		right "$text, round $i, one each" 6 "$(load -c 6 -n 1 "$token" $(sockets 6))"
	done
	until_true 20 reloaded || fail "$text: a reload does not end"
}
reloaded() { [ "$(children "$MANAGER" | wc -w)" = 1 ]; }

conf "$(pool www "$T/www-%n.sock" ondemand 6 "pm.process_idle_timeout = 100ms")"
berth_start
storm "ondemand"
check "ondemand: all leave" until_true 20 count_is 0
berth_stop
equal "exit status" "$STATUS" 0

conf "$(pool www "$T/www-%n.sock" dynamic 6 "pm.min_spare_servers = 1" "pm.max_spare_servers = 2")"
berth_start
equal "dynamic: workers at the start" "$(processes)" 1
storm "dynamic"
check "dynamic: as many as may be spare are left" until_true 20 count_is 2
# Two are busy, so a third is there.
load -c 2 -n 5 "$sleeper" "$T/www-1.sock" >"$T/two" &
two=$!
check "dynamic: one more than are busy" until_true 10 count_is 3
wait $two
right "dynamic: they are served" 10 "$(cat "$T/two")"
berth_stop
equal "exit status" "$STATUS" 0

# One socket for all, and never more than process.max, in two pools.
conf "process.max = 3
$(pool www "$T/www.sock" ondemand 6 "pm.process_idle_timeout = 200ms")
$(pool app "$T/app.sock" ondemand 6 "pm.process_idle_timeout = 200ms")"
berth_start
load -c 4 -n 2 "$sleeper" "$T/www.sock" >"$T/www.out" &
one=$!
load -c 4 -n 2 "$sleeper" "$T/app.sock" >"$T/app.out" &
other=$!
most=0
while alive $one || alive $other; do
	n=$(processes)
	[ "$n" -le "$most" ] || most=$n
	sleep 0.02
done
wait $one $other
equal "process.max: most workers" "$most" 3
right "process.max: one pool" 8 "$(cat "$T/www.out")"
right "process.max: the other" 8 "$(cat "$T/app.out")"
berth_stop
equal "exit status" "$STATUS" 0

# Idle, with many slots, and in one pool spare workers.
conf "$(for n in 1 2 3; do
	pool "p$n" "$T/p$n-%n.sock" ondemand 50 "pm.process_idle_timeout = 200ms"
done
pool dyn "$T/dyn-%n.sock" dynamic 8 "pm.min_spare_servers = 1" "pm.max_spare_servers = 2")"
berth_start
check "it serves" test -n "$(get "$T/p2-50.sock" "$pid")"
check "it serves" test -n "$(get "$T/dyn-8.sock" "$pid")"
hold kept "$T/p1-7.sock" "$pid"
tell kept open 1 >"$T/null"
tell kept ask >"$T/null"
switches() { awk '/^voluntary/ { print $2 }' "/proc/$MANAGER/status"; }
rests() { local n; n=$(switches); sleep 0.6; [ "$n" = "$(switches)" ]; }
check "the manager comes to rest" until_true 20 rests
before=$(switches)
sleep 2
equal "wake-ups in 2 s" "$(($(switches) - before))" 0
release kept
check "and workers leave all the same" until_true 10 count_is 1
berth_stop
equal "exit status" "$STATUS" 0
