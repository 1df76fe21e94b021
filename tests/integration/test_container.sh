#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# As process 1 of a container: orphans that are not its own are reaped, signals work, a stop ends it.
. "$(dirname "$0")/lib.sh"

container=(unshare --pid --fork --kill-child --mount-proc)
"${container[@]}" true 2>/dev/null || skip "no process namespace of its own: needs root"

pid=$(script pid.php '<?php echo getmypid();')
slow=$(script slow.php '<?php touch(__DIR__ . "/drop/runs"); usleep(300000); echo "whole";')
background=$(script background.php '<?php exec("sleep 1000 >/dev/null 2>&1 &"); echo "fine";')
mkdir "$T/drop"
chmod 777 "$T/drop"

# launch ARG...: as docker run starts it; $INIT is who waits for it, $MANAGER the berth that is 1.
launch() {
	LOG=$T/log.$((${#PIDS[@]} + 1))
	: >"$LOG"
	env --default-signal=INT,QUIT "${container[@]}" "$BERTH" run -c "$T/berth.conf" "$@" \
		>"$LOG" 2>&1 </dev/null &
	INIT=$!
	PIDS+=("$INIT")
	until_true 40 is_ready || die "it did not get ready: $(cat "$LOG")"
	MANAGER=$(children "$INIT" | xargs)
}
inside() { nsenter --target "$MANAGER" --pid --mount "$@"; }
ends() {
	until_true 20 gone "$INIT" || fail "it goes on"
	wait "$INIT"
	STATUS=$?
}

pool_conf
launch
contains "it is process 1" "$LOG" 'ready, pid 1$'
check "it serves" test -n "$(get "$T/www-1.sock" "$pid")"
sed -i "1i [global]\npid = $T/berth.pid" "$T/berth.conf"

# What docker exec starts is not of its family, and leaves orphans nevertheless: at once, one by
# one, with any status, and some that outlive their parents.
before=$(wc -l <"$LOG")
descriptors=$(fds "$MANAGER")
known=$(workers | xargs)
inside bash -c 'for i in {1..200}; do (exec bash -c "exit $((i % 256))") & done' 2>"$T/said"
inside bash -c 'for i in {1..20}; do (sleep 0.0$i & kill -9 $BASHPID); done' 2>"$T/said"
inside bash -c 'setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >"$0"' "$T/orphan"
orphan=$(grep -lx "NSpid:.*[[:space:]]$(cat "$T/orphan")" /proc/[0-9]*/status 2>/dev/null |
	while read -r f; do grep -q '^Name:.sleep' "$f" && basename "$(dirname "$f")"; done)
is_its_child() { children "$MANAGER" | tr ' ' '\n' | grep -qx "$orphan"; }
check "an orphan that is nobody's comes to it (pid $orphan)" until_true 10 is_its_child
only() { [ "$(children "$MANAGER" | wc -w)" = 2 ]; }
check "the others have been reaped" until_true 10 only
kill -9 "$orphan"
only() { [ "$(children "$MANAGER" | wc -w)" = 1 ]; }
check "this one, too" until_true 10 only
equal "lines in the log" "$(wc -l <"$LOG")" "$before"
equal "descriptors" "$(fds "$MANAGER")" "$descriptors"
equal "workers" "$(workers | xargs)" "$known"
# Still it knows its own.
victim=${known%% *}
kill -9 "$victim"
replaced() { [ "$(workers | wc -w)" = 4 ] && ! workers | grep -qw "$victim"; }
check "a worker of its own is replaced" until_true 20 replaced
equal "of which the log tells" "$(grep -c 'ended with' "$LOG")" 1

# The kernel drops signals for process 1 that have no handler.
kill -USR1 "$MANAGER"
kill -HUP "$MANAGER"
refused() { grep -q "nothing was changed: pid: can't change" "$LOG"; }
check "SIGUSR1 and SIGHUP" until_true 20 refused
inside kill -TERM 1
ends
equal "SIGTERM from inside: exit status" "$STATUS" 0

# Of a volume: the number in it was that of another container's process 1.
echo 1 >"$T/berth.pid"
for signal in TERM INT QUIT; do
	launch
	equal "pid file" "$(cat "$T/berth.pid")" 1
	equal "a command in the background" "$(get "$T/www-1.sock" "$background")" fine
	{ inside setsid sleep 1000; } 2>"$T/said" &
	rm -f "$T/drop/runs"
	get "$T/www-2.sock" "$slow" >"$T/answer" &
	client=$!
	until_true 20 test -e "$T/drop/runs" || fail "the request does not start"
	family=$(descendants "$INIT")
	kill -$signal "$MANAGER"
	ends
	wait "$client"
	equal "SIG$signal: exit status" "$STATUS" 0
	equal "SIG$signal: the request that ran" "$(cat "$T/answer")" whole
	check "SIG$signal: all has gone" all_gone $family
	equal "SIG$signal: no file is left" "$(find "$T" -name '*.sock' -o -name '*.pid')" ""
done

# A second signal, for whoever can't wait.
rm -f "$T/drop/runs"
sed -i 's/usleep(300000)/sleep(1000)/' "$slow"
launch
get "$T/www-2.sock" "$slow" >"$T/answer" 2>&1 &
until_true 20 test -e "$T/drop/runs" || fail "the request does not start"
kill -TERM "$MANAGER"
stopping() { grep -q ': stopping' "$LOG"; }
until_true 20 stopping || fail "no stop"
kill -TERM "$MANAGER"
ends
equal "SIGTERM twice: exit status" "$STATUS" 0
