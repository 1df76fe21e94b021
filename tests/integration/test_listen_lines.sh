#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Several addresses a pool, one shared by all workers, abstract names; two managers side by side.
. "$(dirname "$0")/lib.sh"

port=$(free_port 8)
pid=$(script pid.php '<?php echo getmypid(), PHP_EOL;')
# Ends only when as many workers are in it at the same time as there are.
together=$(script together.php '<?php
apcu_inc("in");
for ($i = 0; $i < 4000 && apcu_fetch("in") < 4; $i++)
	usleep(5000);
echo apcu_fetch("in") < 4 ? "alone" : getmypid(), PHP_EOL;')
reset=$(script reset.php '<?php apcu_clear_cache();')

# pids ADDRESS...: who answers there.
pids() {
	local address
	for address; do get "$address" "$pid" || echo "no answer from $address"; done | xargs
}
# who SLOTS PATTERN: who answers at each slot's address, a pattern of printf.
who() {
	local i
	for ((i = 1; i <= $1; i++)); do pids "$(printf "$2" "$i")"; done | xargs
}
distinct() { tr ' ' '\n' <<<"$1" | sort -u | wc -l; }
sorted() { tr ' ' '\n' <<<"$1" | sort -n | xargs; }
# all_at_once ADDRESS: the pids that answer 4 requests at the same time.
all_at_once() {
	local i clients=()
	get "$1" "$reset"
	for i in 1 2 3 4; do
		get -t 60 "$1" "$together" >"$T/answer.$i" &
		clients+=($!)
	done
	wait "${clients[@]}"
	sorted "$(cat "$T"/answer.? | xargs)"
}

# Four lines: own sockets of two kinds and shared ones of two kinds, the same workers on all.
name=berth-test-${T##*.}
pool_conf "listen = 127.0.0.1:$port+%n" "listen = $T/all.sock" "listen = @$name-%n" \
	"listen = 127.0.0.1:$((port + 5))"
berth_start
unix=$(who 4 "$T/www-%d.sock")
equal "unix sockets: four workers" "$(distinct "$unix")" 4
equal "TCP: the same ones, slot by slot" \
	"$(pids $(printf '127.0.0.1:%d ' $(seq $((port + 1)) $((port + 4)))))" "$unix"
equal "abstract names: the same ones" "$(who 4 "@$name-%d")" "$unix"
equal "one socket without %n: all of them at the same time" \
	"$(all_at_once "$T/all.sock")" "$(sorted "$unix")"
equal "one port without %n: all of them at the same time" \
	"$(all_at_once "127.0.0.1:$((port + 5))")" "$(sorted "$unix")"
equal "sockets of the pool" "$(ss -xlH | grep -c -F -e "$T/" -e "@$name-") $(ss -tlnH |
	awk '{ print $4 }' | grep -cx "127.0.0.1:\($(seq -s'\|' $((port + 1)) $((port + 5)))\)")" "9 5"

# A request to each of its addresses is answered by one worker in its turn.
victim=$(pids "$T/www-1.sock")
kill -KILL "$victim"
after=$(pids "$T/www-1.sock" "127.0.0.1:$((port + 1))" "@$name-1")
equal "slot 1 after kill -9: one new worker on all its addresses" "$(distinct "$after")" 1
check "not the old one" test "${after%% *}" != "$victim"

# A second manager: at the same addresses it is refused, with others it works beside the first.
first=$MANAGER first_log=$LOG
before=$(who 4 "$T/www-%d.sock")
cp "$T/berth.conf" "$T/first.conf"
# taken TEXT LISTEN NAME: refused, because the first manager has it.
taken() {
	pool_conf
	sed -i "s|^listen = .*|listen = $2|" "$T/berth.conf"
	berth_fails
	equal "$1: exit status" "$STATUS" 111
	contains "$1: the message" "$LOG" "error: pool www: .*$3 is in use by .*pid $first\)"
}
cp "$T/first.conf" "$T/berth.conf"
berth_fails
equal "the same file again: exit status" "$STATUS" 111
contains "the same file again: the message" "$LOG" "$T/www-1.sock is in use by"
taken "a unix socket" "$T/all.sock" "$T/all.sock"
taken "a port" "127.0.0.1:$((port + 5))" "127.0.0.1:$((port + 5))"
taken "every address of a port" "0.0.0.0:$((port + 5))" "0.0.0.0:$((port + 5))"
taken "an abstract name" "@$name-%n" "@$name-1"
equal "the first goes on" "$(who 4 "$T/www-%d.sock")" "$before"

pool_conf
sed -i "s|^listen = .*|listen = $T/other-%n.sock|" "$T/berth.conf"
berth_start
other=$(who 4 "$T/other-%d.sock")
equal "beside the first: eight workers" "$(distinct "$before $other")" 8
get "$T/www-1.sock" "$reset"
counter=$(script counter.php '<?php echo apcu_inc("n"), PHP_EOL;')
equal "their memory is not shared" "$(get "$T/www-1.sock" "$counter") $(get "$T/www-2.sock" "$counter") \
$(get "$T/other-1.sock" "$counter")" "1 2 1"
berth_stop
equal "the second stops" "$STATUS $(ls "$T" | grep -c '^other')" "0 0"
equal "the first goes on" "$(who 4 "$T/www-%d.sock")" "$before"
MANAGER=$first LOG=$first_log
berth_stop
equal "the first stops, nothing is left" "$STATUS $(ls "$T" | grep -c 'sock$')" "0 0"
equal "no listener is left" "$(ss -xlH | grep -c -F -e "$T/" -e "@$name-")" 0

# Two lines for one address.
pool_conf "listen = $T/www-2.sock"
berth_fails
equal "an address twice: exit status" "$STATUS" 100
contains "an address twice: the message" "$LOG" \
	"berth.conf:[0-9]+: listen: .*www-2.sock collides with .*www-2.sock \(slot 2\)"

# An executed worker has one descriptor 0, so it can't serve more than one listener.
pool_conf "spawn = exec" "listen = 127.0.0.1:$port+%n"
berth_launch -c "$T/berth.conf"
until_true 40 ready_or_gone
if gone "$MANAGER"; then
	wait "$MANAGER"
	equal "spawn = exec with two addresses: exit status" $? 100
	contains "spawn = exec with two addresses: the message" "$LOG" "listen.*exec|exec.*listen"
else
	fail "spawn = exec with two addresses: accepted"
	berth_stop
fi

pool_conf "spawn = exec"
sed -i "s|^listen = .*|listen = $T/all.sock|" "$T/berth.conf"
berth_start
sleepy=$(script sleepy.php '<?php $d = $_SERVER["DROP"]; touch("$d/" . getmypid());
for ($i = 0; $i < 4000 && count(glob("$d/*")) < 4; $i++) usleep(5000);
echo count(glob("$d/*")) < 4 ? "alone" : getmypid(), PHP_EOL;')
mkdir "$T/drop" && chmod 777 "$T/drop"
clients=()
for i in 1 2 3 4; do
	get -t 60 "$T/all.sock" "$sleepy" "DROP=$T/drop" >"$T/answer.$i" &
	clients+=($!)
done
wait "${clients[@]}"
equal "spawn = exec, one socket: all workers at the same time" \
	"$(sorted "$(cat "$T"/answer.? | xargs)")" "$(sorted "$(children "$MANAGER" | xargs)")"
berth_stop
