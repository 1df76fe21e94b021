#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker that is killed with a lock of APCu in its hand: its siblings get new memory, not stuck.
. "$(dirname "$0")/lib.sh"

"$PHP" -d apc.enabled=1 -m | grep -qi '^apcu$' || skip "APCu is not installed"
killer=$(script killer.php '<?php apcu_entry("k", function () { posix_kill(posix_getpid(), SIGKILL); });')
entry=$(script entry.php '<?php echo getmypid(), " ", apcu_entry("other", fn() => "value");')
sleeper=$(script sleeper.php '<?php usleep(3300000); echo "slept";')

pool_conf
berth_start
old=$(template_pid)

# Killed in a request, and nobody waits for a lock: the siblings go on, with the memory that they have.
get "$T/www-4.sock" "$sleeper" >"$T/slept" &
sibling=$!
get "$T/www-1.sock" "$sleeper" >"$T/null" 2>&1 &
victim=$!
first=$(children "$old" | awk '{ print $1 }')
is_busy() { [ -n "$(awk '/^State:\tS/ { print }' "/proc/$first/status")" ] &&
	grep -qE 'nanosleep' "/proc/$first/wchan"; }
until_true 10 is_busy
kill -9 "$first"
wait "$victim"
wait "$sibling"
equal "a long request beside a killed one" "$(cat "$T/slept")" slept
equal "the template is the same" "$(template_pid)" "$old"

# Killed with the lock in its hand: two siblings wait for it, a third one does something else.
get "$T/www-4.sock" "$sleeper" >"$T/slept" &
sibling=$!
get "$T/www-1.sock" "$killer" >"$T/null" 2>&1
for n in 2 3; do
	get "$T/www-$n.sock" "$entry" >"$T/stuck-$n" 2>&1 &
	PIDS+=($!)
done
renewed() { grep -q 'pool www: new template, pid' "$LOG"; }
check "a new template comes" until_true 20 renewed
contains "it is said why" "$LOG" "wait for a lock in shared memory that a killed worker held"
# Their clients get an end.
for job in "${PIDS[@]: -2}"; do until_true 10 gone "$job" || fail "a client of a stuck worker waits"; done
wait "$sibling"
equal "a long request meanwhile" "$(cat "$T/slept")" slept
for n in 1 2 3 4; do
	get "$T/www-$n.sock" "$entry" >"$T/answer"
	contains "slot $n answers" "$T/answer" " value"
done
left() { [ "$(descendants "$MANAGER" | wc -l)" = 6 ]; }
check "template and four workers are all that is left" until_true 10 left
berth_stop
