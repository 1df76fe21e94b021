#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Workers that die at once: few starts, few lines, nothing given up, the other slots go on.
. "$(dirname "$0")/lib.sh"

moody=$(helper moody-responder)
get_ok() { get "$@" >"$T/answer" 2>&1; }
starts() { wc -c <"$T/mood.$1.starts"; }

# This is about what a slot does by itself, so other workers do not help it (pm.rescue = no).
# moody_pool NAME SPAWN CHILDREN: a pool whose workers die while $T/mood.NAME holds a status.
moody_pool() {
	touch "$T/mood.$1" "$T/mood.$1.starts"
	chmod 666 "$T/mood.$1" "$T/mood.$1.starts"
	echo "[$1]
listen = $T/$1-%n.sock
pm = static
pm.max_children = $3
$USER_LINE
pm.rescue = no
spawn = $2
program = '$moody' '$T/mood.$1'"
}

# Four pools of two slots at a time. Each pool's slot 1 is killed, and its successors end with
# status 3 or 0 as soon as they exist.
pools='t3 t0 e3 e0'
conf "$(moody_pool t3 template 2; moody_pool t0 template 2; moody_pool e3 exec 2
	moody_pool e0 exec 2)"
berth_start
declare -A other
for p in $pools; do
	other[$p]=$(get "$T/$p-2.sock" /x)
	first=$(get "$T/$p-1.sock" /x)
	echo "${p#?}" >"$T/mood.$p"
	kill -9 "$first"
done
# What counts is how often they are started in this time. With 0.1 s doubled each time and up to
# a quarter taken off, that is no earlier than 0, 0.07, 0.22, 0.52, 1.12 and 2.32 s after the
# first of these deaths, and in template mode the one before them costs no wait.
sleep 1.8
for p in $pools; do
	n=$(starts "$p")
	check "$p: $n starts in 1.8 s, at least 3 and at most 6" test "$n" -ge 3 -a "$n" -le 6
	equal "$p: slot 2 goes on" "$(get "$T/$p-2.sock" /x)" "${other[$p]}"
	# The first line may be about the one that was killed after it had served.
	check "$p: the waits grow" awk -v p="pool $p slot 1 pid" '
		index($0, p) && /next start in/ {
			for (i = 1; i < NF; i++) if ($i == "in") wait = $(i + 1) + 0
			if (wait < last) bad = 1
			last = wait
			n++
		}
		END { exit bad || last < 0.5 || n < 3 }' "$LOG"
	contains "$p: the log has the status" "$LOG" \
		"warning: pool $p slot 1 pid .*exit status 3 after|notice: pool $p slot 1 pid .*exit status 0 after"
	contains "$p: the log has their own words" "$LOG" "pool $p .*: moody: I do not feel like it"
	: >"$T/mood.$p"
done
for p in $pools; do
	check "$p: slot 1 serves when the cause is gone" get_ok -t 20 "$T/$p-1.sock" /x
done

# One that served makes the back-off forget: its end costs no wait, and a storm begins anew.
old=$(get "$T/t3-1.sock" /x)
get_ok "$T/t3-1.sock" /x
sleep 0.15 # ten starts a second at most
kill -9 "$old"
check "served again: a successor" get_ok "$T/t3-1.sock" /x
contains "served again: no wait" "$LOG" "slot 1 pid $old: ended with .* requests?\$"
first_waits() {
	grep 'pool t3 slot 1 pid' "$LOG" | grep -c ' exit status 3 .*next start in 0\.1 s'
}
before=$(first_waits)
old=$(get "$T/t3-1.sock" /x)
echo 3 >"$T/mood.t3"
kill -9 "$old"
more() { [ "$(first_waits)" -gt "$before" ]; }
check "served again: the first wait of the next storm is short" until_true 10 more
berth_stop
equal "exit status" "$STATUS" 0

# Workers that take a connection and end without an answer.
conf "$(moody_pool t template 2)"
berth_start
for ((i = 0; i < 4; i++)); do
	get_ok -t 10 "$T/t-1.sock" /x DIE=0 && fail "request $i is answered"
	check "unanswered request $i: slot 2 answers" get_ok "$T/t-2.sock" /x
done
contains "unanswered requests: they count as crashes" "$LOG" \
	'exit status 0 .*next start in 0\.[2-4] s'
check "unanswered requests: slot 1 comes back" get_ok -t 20 "$T/t-1.sock" /x
berth_stop

# Many slots at once: the log says so and is silent then.
conf "$(moody_pool many template 16)"
berth_start
echo 3 >"$T/mood.many"
kill -9 $(workers)
enough() { [ "$(starts many)" -ge 48 ]; }
check "16 slots: they are started again and again" until_true 20 enough
lines=$(grep -c 'ended with' "$LOG")
check "16 slots: $lines lines about $(starts many) ends and more: 20 at most in 10 s" \
	test "$lines" -le 20 -a "$lines" -ge 10
if [ -n "${SLOW:-}" ]; then
	told() { grep -q 'lines about its workers were left out' "$LOG"; }
	check "16 slots: the log tells how many lines were left out" until_true 40 told
	n=$(starts many)
	check "16 slots: $n starts, at most 12 each" test "$n" -le 192
fi
: >"$T/mood.many"
back=0
for ((i = 1; i <= 16; i++)); do get_ok -t 40 "$T/many-$i.sock" /x && back=$((back + 1)); done
equal "16 slots: all come back" "$back" 16
berth_stop
equal "16 slots: exit status" "$STATUS" 0

# php-cgi leaves without an answer, with status 255, if SCRIPT_FILENAME is there but empty.
pid=$(script pid.php '<?php echo getmypid();')
pool_conf 'pm.rescue = no'
berth_start
check "empty script name: slot 1 is well" get_ok "$T/www-1.sock" "$pid"
for ((i = 0; i < 4; i++)); do
	get_ok -t 10 "$T/www-1.sock" "" && fail "request $i is answered"
	for slot in 2 3 4; do
		get_ok "$T/www-$slot.sock" "$pid" || fail "request $i: slot $slot does not answer"
	done
done
contains "empty script name: php-cgi ends with 255" "$LOG" 'slot 1 pid .*exit status 255'
check "empty script name: slot 1 comes back" get_ok -t 20 "$T/www-1.sock" "$pid"
equal "empty script name: nothing else died" "$(grep 'ended with' "$LOG" | grep -cv 'slot 1 pid')" 0
berth_stop
equal "empty script name: exit status" "$STATUS" 0
