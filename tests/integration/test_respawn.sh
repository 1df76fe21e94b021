#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker that served and then ended, in whatever way, is replaced at once on the same socket.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
fatal=$(script fatal.php '<?php no_such_function();')
leaves=$(script leaves.php '<?php exit(3);')
suicide=$(script suicide.php '<?php posix_kill(getmypid(), SIGKILL);')

# ended_at_once TEXT PID HOW: its successor answers, and nothing of a back-off is in the log.
ended_at_once() {
	local text=$1 old=$2 how=$3 new
	until_true 10 gone "$old" || fail "$text: pid $old is still there"
	new=$(get "$T/www-2.sock" "$pid")
	check "$text: a successor answers (pid $old, then $new)" test -n "$new" -a "$new" != "$old"
	contains "$text: said so, without a wait" "$LOG" \
		"slot 2 pid $old: ended with $how after [0-9.]+ s and [0-9]+ requests?\$"
}

# end_by TEXT SIGNAL HOW [SCRIPT]: slot 2's worker serves, runs SCRIPT too, and gets SIGNAL.
end_by() {
	local old
	old=$(get "$T/www-2.sock" "$pid")
	[ $# -lt 4 ] || get "$T/www-2.sock" "$4" >/dev/null 2>&1
	# A slot starts ten workers a second at most: let this one grow older than that.
	sleep 0.15
	kill -"$2" "$old"
	ended_at_once "$1" "$old" "$3"
}

# This is about what a slot does by itself, so other workers do not help it.
pool_conf 'pm.rescue = no'
berth_start
inodes=$(stat -c %i "$T"/www-*.sock)
end_by "SIGKILL" KILL 'signal 9 \(Killed\)'
end_by "SIGTERM" TERM 'exit status 0'
end_by "SIGSEGV" SEGV 'signal 11 \(Segmentation fault\)(, core dumped)?'
end_by "SIGTERM after a fatal error" TERM 'exit status 255' "$fatal"
end_by "SIGTERM after exit(3)" TERM 'exit status 3' "$leaves"
old=$(get "$T/www-2.sock" "$pid")
sleep 0.15 # as above
get "$T/www-2.sock" "$suicide" >"$T/out" 2>&1
contains "a worker that dies during a request: its client learns of it" "$T/out" \
	'end of file|reset by peer'
ended_at_once "killed during a request" "$old" 'signal 9 \(Killed\)'

# Clients that come while there is no worker: with the manager stopped, nobody makes one.
queued() { [ "$(ss -xlH | awk -v p="$T/www-3.sock " 'index($0, p) {print $3}')" = 5 ]; }
old=$(get "$T/www-3.sock" "$pid")
kill -STOP "$MANAGER"
kill -9 "$old"
clients=()
for i in 1 2 3 4 5; do
	get -t 30 "$T/www-3.sock" "$pid" >"$T/client.$i" 2>&1 &
	clients+=($!)
done
check "five clients wait in the queue of a dead worker" until_true 10 queued
kill -CONT "$MANAGER"
wait "${clients[@]}"
answers=$(for i in 1 2 3 4 5; do cat "$T/client.$i" && echo; done)
equal "all are served" "$(grep -c '^[0-9]*$' <<<"$answers")" 5
equal "by one successor" "$(sort -u <<<"$answers" | grep -cvx "$old")" 1

# Fifty in turn.
descriptors=$(fds "$MANAGER")
for ((n = 0; n < 50; n++)); do
	socket=$T/www-$((n % 4 + 1)).sock
	old=$(get "$socket" "$pid")
	kill -9 "$old" || fail "kill $n: the pid that slot $((n % 4 + 1)) tells is '$old'"
	new=$(get "$socket" "$pid")
	[ -n "$new" ] && [ "$new" != "$old" ] || fail "kill $n: pid $old, then '$new'"
done
whole() { [ "$(workers | wc -w)" = 4 ] && [ -z "$(zombies "$MANAGER")" ]; }
check "after 50 more kills: four workers, no zombie" until_true 10 whole
same_fds() { [ "$(fds "$MANAGER")" = "$descriptors" ]; }
check "after 50 more kills: $descriptors descriptors in the manager, as before" \
	until_true 10 same_fds
equal "the sockets are the same files" "$(stat -c %i "$T"/www-*.sock | xargs)" \
	"$(xargs <<<"$inodes")"
equal "nowhere a wait beyond ten starts a second" \
	"$(grep -E 'next start in' "$LOG" | grep -cv 'in 0\.[01] s')" 0
berth_stop
equal "exit status" "$STATUS" 0

# request_limit N: php-cgi leaves with status 0 after so many requests.
request_limit() {
	local limit=$1 n answers
	pool_conf "env[PHP_FCGI_MAX_REQUESTS] = $limit" "pm.rescue = no"
	berth_start
	answers=$(for ((n = 0; n < 4 * limit; n++)); do get "$T/www-1.sock" "$pid" && echo; done)
	equal "limit of $limit: every request is answered" "$(grep -c . <<<"$answers")" \
		$((4 * limit))
	equal "limit of $limit: by processes that serve so many each" \
		"$(uniq -c <<<"$answers" | awk '{print $1}' | xargs)" "$limit $limit $limit $limit"
	contains "limit of $limit: the end is no warning" "$LOG" 'notice: .*ended with exit status 0'
	equal "limit of $limit: nowhere a wait beyond ten starts a second" \
		"$(grep -E 'next start in' "$LOG" | grep -cv 'in 0\.[01] s')" 0
	berth_stop
}
request_limit 3
request_limit 1
