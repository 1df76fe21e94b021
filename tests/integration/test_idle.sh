#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Idle, nothing runs: no wake-up of the manager, the templates or the workers, no fork, no new fd.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
PORT=$(free_port 3)
conf "[www]
listen = $T/www-%n.sock
listen = 127.0.0.1:$PORT+%n
pm = static
pm.max_children = 2
$USER_LINE
program = $PHP
[exec]
listen = $T/exec-%n.sock
pm = static
pm.max_children = 2
$USER_LINE
spawn = exec
program = $PHP"

# wakeups PID...: how often each gave up the processor by itself, and had it taken away.
wakeups() {
	local p
	for p; do
		awk -v p="$p" '/ctxt_switches/ { printf "%s %s %d\n", p, $1, $2 }' "/proc/$p/status"
	done
}

berth_start
for s in "$T/www-1.sock" "127.0.0.1:$((PORT + 2))" "$T/exec-1.sock" "$T/exec-2.sock"; do
	check "serves at ${s##*/}" test -n "$(get "$s" "$pid")"
done
victim=$(get "$T/www-2.sock" "$pid")
kill -9 "$victim"
check "serves after a kill" test -n "$(get "$T/www-2.sock" "$pid")"

# It is idle when the last thing that was going on has come to its end.
settled() {
	local before
	family=$(descendants "$MANAGER")
	before=$(wakeups $family)
	sleep 0.5
	[ "$(wc -w <<<"$family")" = 6 ] && [ "$before" = "$(wakeups $family)" ]
}
check "it comes to rest" until_true 20 settled
before=$(wakeups $family)
descriptors=$(fds "$MANAGER")
log=$(wc -l <"$LOG")
# Longer than a minute: that is how often a loop that looks for clock jumps would wake. That
# nothing happens in this time is the point.
seconds=$([ -n "${SLOW:-}" ] && echo 130 || echo 65)
sleep "$seconds"
after=$(wakeups $family)
equal "wake-ups of the manager in $seconds s" \
	"$(diff <(grep "^$MANAGER vol" <<<"$before") <(grep "^$MANAGER vol" <<<"$after"))" ""
equal "wake-ups of the $(wc -w <<<"$family") processes" "$(diff <(grep ' vol' <<<"$before") \
	<(grep ' vol' <<<"$after") | grep -c '^>')" 0
equal "the processes are the same" "$(descendants "$MANAGER" | xargs)" "$(xargs <<<"$family")"
equal "descriptors of the manager" "$(fds "$MANAGER")" "$descriptors"
equal "lines in the log" "$(wc -l <"$LOG")" "$log"
check "serves afterwards" test -n "$(get "$T/www-1.sock" "$pid")"
berth_stop
equal "exit status" "$STATUS" 0
