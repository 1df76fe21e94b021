#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# request_terminate_timeout: stuck scripts of every sort are ended, and nobody else notices.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo $_SERVER["TOKEN"] ?? "", getmypid();')
token=$(script token.php '<?php usleep(300); echo $_SERVER["TOKEN"];')
load() { "$HELPERS/fcgi-load" "$@" 2>&1; }
all_right() { equal "$1" "$(cut -d, -f1-3 <<<"$3")" "answered $2, wrong 0, failed 0"; }
lines() { grep -Ec -- "$1" "$LOG"; }
# stuck NAME CODE: a script that does not end by itself within the test.
stuck() { script "stuck-$1.php" "<?php set_time_limit(0); ignore_user_abort(true); $2 echo 'over';"; }

sleeps=$(stuck sleeps 'sleep(600);')
computes=$(stuck computes 'for ($i = 0;; $i++);')
waits=$(stuck waits '$s = stream_socket_server("tcp://127.0.0.1:0");
	$c = stream_socket_client("tcp://" . stream_socket_get_name($s, false));
	stream_set_timeout($c, 600); fread($c, 1);')
ignores=$(stuck ignores 'pcntl_signal(SIGTERM, SIG_IGN); for (;;) sleep(600);')
executes=$(stuck executes 'exec("exec sleep 613");')
writes=$(stuck writes 'for (;;) echo str_repeat("x", 65536);')

pool_conf "request_terminate_timeout = 400ms"
berth_start

# While all idle, nobody wakes up. That comes first: after a kill in the middle of a request the manager
# looks now and then whether others wait for a lock.
switches() { awk '/^voluntary/ { print $2 }' "/proc/$1/status"; }
rests() { local n; n=$(switches "$MANAGER"); sleep 0.5; [ "$n" = "$(switches "$MANAGER")" ]; }
get "$T/www-1.sock" "$pid" >"$T/null"
check "the manager comes to rest" until_true 20 rests
before=$(switches "$MANAGER")
sleep 3
equal "wake-ups of the idle manager in 3 s" "$(($(switches "$MANAGER") - before))" 0

# ended NAME SCRIPT TEXT KILLED: the one client gets an end, the worker is another one, the log says why.
ended() {
	local name=$1 before after
	before=$(get "$T/www-1.sock" "$pid")
	timeout 30 "$HELPERS/fcgi-get" -t 25 "$T/www-1.sock" "$2" 'REQUEST_URI=/stuck?x' \
		>"$T/out" 2>&1
	check "$name: the client gets an end" test $? -lt 124
	after=$(get "$T/www-1.sock" "$pid")
	check "$name: another worker serves" test -n "$after" -a "$after" != "$before"
	until_true 10 gone "$before"
	contains "$name: the log tells of it" "$LOG" "warning: pool www slot 1 pid $before: request\
 takes longer than request_terminate_timeout \(0.4 s\), ended: GET /stuck\?x \($2\)"
	equal "$name: $3" "$(lines "pid $before: still in the same request .* killed$")" "$4"
}
ended "sleeps" "$sleeps" "it ends by SIGTERM" 0
ended "computes" "$computes" "it has to be killed" 1
ended "ignores SIGTERM" "$ignores" "it has to be killed" 1
ended "executes a program" "$executes" "it has to be killed" 1
# PHP goes on with its wait after a signal.
ended "waits for a socket" "$waits" "it has to be killed" 1

# A client that does not read: the time that its answer takes counts as well.
before=$(get "$T/www-2.sock" "$pid")
hold slow "$T/www-2.sock" "$writes"
tell slow open 1 >"$T/null"
tell slow send request >"$T/null"
until_true 20 gone "$before"
check "does not read: the worker is ended" gone "$before"
release slow

# Idle kept connections never count; neither does a connection that has sent half a head.
before=$(get "$T/www-3.sock" "$pid")
hold kept "$T/www-3.sock" "$pid"
tell kept open 3 >"$T/null"
equal "kept: answered" "$(tell kept ask)" "answered 3, wrong 0, failed 0: $before"
hold half "$T/www-3.sock" "$pid"
tell half open 1 >"$T/null"
tell half send params >"$T/null"
sleep 1.5 # three times the limit is the point
equal "kept: the same worker" "$(tell kept ask)" "answered 3, wrong 0, failed 0: $before"
release half

# Others on the same worker, kept and parked, go on with its successor: with each sort of end.
parked() { # TEXT SOCKET
	local end
	for end in "$sleeps" "$ignores"; do
		hold kept "$2" "$token"
		tell kept open 20 >"$T/null"
		equal "$1: kept ones" "$(tell kept ask)" "answered 20, wrong 0, failed 0:"
		"$HELPERS/fcgi-get" -t 25 "$2" "$end" >"$T/null" 2>&1
		equal "$1: kept ones, after ${end##*/}" "$(tell kept ask)" \
			"answered 20, wrong 0, failed 0:"
		release kept
	done
}
release kept
parked "four workers" "$T/www-4.sock"

# Under load: stuck ones again and again, and every other request is answered.
stuck_ones() {
	local i
	for ((i = 0; i < 5; i++)); do
		"$HELPERS/fcgi-get" -t 25 "$T/www-1.sock" "$sleeps" >"$T/null" 2>&1
		"$HELPERS/fcgi-get" -t 25 "$T/www-2.sock" "$ignores" >"$T/null" 2>&1
	done
}
stuck_ones &
ends=$!
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
all_right "load, kept" 6000 "$(load -k -c 8 -n 750 "$token" "${sockets[@]}")"
all_right "load, new" 6000 "$(load -c 8 -n 750 "$token" "${sockets[@]}")"
wait "$ends"
check "load: they were ended" test "$(lines 'request takes longer')" -ge 16
equal "connections that were lost with a worker" "$(lines 'kept connections with it')" 0
retired() { [ "$(workers | wc -w)" = 4 ]; }
check "four workers in the end" until_true 20 retired
equal "errors in the log" "$(lines ' (error|alert): ')" 0
berth_stop
equal "exit status" "$STATUS" 0

# Without rescue, and with a single worker, the others are saved all the same.
pool_conf "request_terminate_timeout = 400ms" "pm.rescue = no"
berth_start
parked "no rescue" "$T/www-1.sock"
equal "connections that were lost" "$(lines 'kept connections with it')" 0
berth_stop
conf "[www]
listen = $T/one.sock
pm = static
pm.max_children = 1
request_terminate_timeout = 400ms
process_control_timeout = 0
$USER_LINE
program = $PHP"
berth_start
before=$(get "$T/one.sock" "$pid")
"$HELPERS/fcgi-get" -t 25 "$T/one.sock" "$computes" >"$T/null" 2>&1
check "one worker: the next one serves" test -n "$(get "$T/one.sock" "$pid")"
check "one worker: the old one is gone" until_true 10 gone "$before"
contains "a smaller process_control_timeout is the grace" "$LOG" 'same request 0.0 s after SIGTERM'
berth_stop

# A reload in between: the old worker's limit holds on.
pool_conf "request_terminate_timeout = 3s" "process_control_timeout = 30s"
berth_start
"$HELPERS/fcgi-get" -t 25 "$T/www-1.sock" "$computes" >"$T/null" 2>&1 &
client=$!
# A sibling may have been given it.
computing() {
	local w
	for w in $(workers); do
		[ "$(awk '{print $14}' "/proc/$w/stat")" -gt 10 ] && before=$w && return
	done
	return 1
}
until_true 10 computing || die "the script does not compute"
kill -HUP "$MANAGER"
until_true 25 gone "$before"
check "reload: ended at its limit" gone "$before"
contains "reload: the log says so" "$LOG" "pid $before: request takes longer"
wait "$client"
berth_stop
equal "exit status" "$STATUS" 0

# An upgrade in between: the next manager holds on to the limit. Through nginx the end is an error.
pool_conf "request_terminate_timeout = 3s"
berth_start
nginx_start "$(upstream_servers 4)" "fastcgi_next_upstream off;"
curl -s -m 25 -o "$T/null" -w '%{http_code}' "http://127.0.0.1:$NGINX_PORT/${computes##*/}" >"$T/code" &
client=$!
until_true 10 computing || die "the script does not compute"
kill -USR2 "$MANAGER"
check "upgrade: ended at its limit" until_true 25 gone "$before"
contains "upgrade: it was done before" "$LOG" 'upgrade: done'
contains "upgrade: the log says so" "$LOG" "pid $before: request takes longer"
wait "$client"
equal "nginx tells of it" "$(cat "$T/code")" 502
berth_stop
equal "exit status" "$STATUS" 0
