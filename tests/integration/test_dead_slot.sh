#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# While a slot has no worker and waits in back-off, its clients are served by the other workers.
. "$(dirname "$0")/lib.sh"

moody=$(helper moody-responder)
mood=$T/mood
touch "$mood" "$mood.starts"
chmod 666 "$mood" "$mood.starts"
start_pool() { # start_pool LINE...
	conf "[www]
listen = $T/www-%n.sock
pm.max_children = 2
$USER_LINE
program = '$moody' '$mood'
$(printf '%s\n' "$@")"
	berth_start
}
waits() { grep -c 'slot 1 pid .*next start in [1-9]' "$LOG"; }
long_wait() { [ "$(waits)" -gt 0 ]; }

start_pool
other=$(get "$T/www-2.sock" /x)
first=$(get "$T/www-1.sock" /x)
echo 3 >"$mood"
kill -9 "$first"
until_true 20 long_wait || die "slot 1 does not back off"
for _ in 1 2 3; do
	equal "a client of the dead slot is served by the other worker" "$(get -t 5 "$T/www-1.sock" /x)" "$other"
done
equal "also at the same time" "$(for _ in 1 2 3 4 5 6; do get -t 5 "$T/www-1.sock" /x & done | sort -u)" "$other"
: >"$mood"
slot_1_is_back() { local pid; pid=$(get -t 20 "$T/www-1.sock" /x) && [ "$pid" != "$other" ]; }
check "the slot has a worker of its own again" until_true 60 slot_1_is_back

# Nobody is left at all: clients wait, and the manager waits with them instead of spinning.
echo 3 >"$mood"
kill -9 $(workers)
until_true 20 long_wait
get -t 60 "$T/www-1.sock" /x >"$T/late" &
late=$!
queued() { [ -n "$(ss -xl src "$T/www-1.sock" 2>/dev/null | awk 'NR > 1 && $3 > 0')" ]; }
check "a client waits in the queue" until_true 10 queued
before=$(awk '/^voluntary/ {print $2}' "/proc/$MANAGER/status")
sleep 1 # nothing but a look now and then happens in this time
after=$(awk '/^voluntary/ {print $2}' "/proc/$MANAGER/status")
check "the manager does not spin: $((after - before)) wake-ups in a second" test $((after - before)) -lt 100
: >"$mood"
wait $late
check "the client is served in the end" test -s "$T/late"
berth_stop
equal "exit status" "$STATUS" 0

start_pool 'pm.rescue = no'
other=$(get "$T/www-2.sock" /x)
echo 3 >"$mood"
kill -9 "$(get "$T/www-1.sock" /x)"
until_true 20 long_wait
check "pm.rescue = no: the client of a dead slot waits" test -z "$(get -t 1 "$T/www-1.sock" /x 2>/dev/null)"
: >"$mood"
berth_stop
