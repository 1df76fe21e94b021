#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Kept connections: they hold no worker, starve nobody, and keep nothing from stopping.
. "$(dirname "$0")/lib.sh"
command -v ab >/dev/null || die "ab (apache2-utils) is not installed"

token=$(script token.php '<?php echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
body=$(script body.php '<?php $body = file_get_contents("php://input"); usleep(1000);
echo $_SERVER["TOKEN"], " ", strlen($body), " ", strlen(trim($body, "x")), "\n";')
# Each answer is counted under its script's name.
count_code='<?php apcu_inc(basename($_SERVER["SCRIPT_FILENAME"])); echo $_SERVER["TOKEN"];'
count_a=$(script count-a.php "$count_code")
count_b=$(script count-b.php "$count_code")
counts=$(script counts.php '<?php
echo (int) apcu_fetch("count-a.php"), " ", (int) apcu_fetch("count-b.php");')
order=$(script order.php '<?php echo $_SERVER["TOKEN"];
file_put_contents(__DIR__ . "/drop/order", $_SERVER["TOKEN"] . "\n", FILE_APPEND);')
mkdir "$T/drop"
chmod 777 "$T/drop"
pid=$(script pid.php '<?php echo getmypid();')
fixed=$(script fixed.php '<?php echo str_repeat("fixed", 100);')
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
load() { "$HELPERS/fcgi-load" "$@" 2>&1; }
# all_right TEXT TOTAL LINE: a line of fcgi-load in which every request was answered rightly.
all_right() { equal "$1" "$(cut -d, -f1-3 <<<"$3")" "answered $2, wrong 0, failed 0"; }
field() { sed -E "s/.*$1 ([0-9]+).*/\1/" <<<"$2"; }

# keep NAME: four idle kept connections to each slot.
keep() {
	local i j seen
	for i in 1 2 3 4; do
		hold "$1$i" "$T/www-$i.sock" "$token"
		for j in 1 2 3 4; do
			tell "$1$i" open 1 >"$T/null"
			seen=$(tell "$1$i" ask | cut -d: -f1)
			[ "$seen" = "answered $j, wrong 0, failed 0" ] ||
				fail "slot $i: $j kept connections: $seen"
		done
	done
}
# at_end NAME: all of them were ended.
at_end() {
	local i
	for i in 1 2 3 4; do
		equal "slot $i: its clients see the end" "$(tell "$1$i" state)" "open 0, ended 4"
		release "$1$i"
	done
}

# That it holds idle ones does not make a worker busy. No sibling could help it here.
pool_conf "pm.rescue = no"
berth_start
keep a
for i in 1 2 3 4; do
	own=$(tell "a$i" ask | awk '{ print $NF }')
	equal "slot $i: its worker answers further clients" \
		"$(get -n 3 -t 5 "$T/www-$i.sock" "$pid")" "$own$own$own"
	equal "slot $i: and the kept ones" "$(tell "a$i" ask)" \
		"answered 4, wrong 0, failed 0:  $own"
done

# Whoever has been waiting for longest is next, however much one has sent. The worker is stopped
# while two kept clients send eight requests each, and a new one a single request behind them.
worker=$(get "${sockets[0]}" "$pid")
hold left "${sockets[0]}" "$order"
hold right "${sockets[0]}" "$order"
hold new "${sockets[0]}" "$order"
for name in left right; do tell $name open 1 && tell $name ask; done >"$T/null"
rm "$T/drop/order"
freeze "$worker"
for i in 1 2 3 4 5 6 7 8; do tell left send kept && tell right send kept; done >"$T/null"
tell new open 1 >"$T/null"
tell new send kept >"$T/null"
kill -CONT "$worker"
served_17() { [ -e "$T/drop/order" ] && [ "$(wc -l <"$T/drop/order")" = 17 ]; }
check "17 requests were served" until_true 10 served_17
sed "s/<${HOLD_PID[left]}.*/L/; s/<${HOLD_PID[right]}.*/R/; s/<${HOLD_PID[new]}.*/N/" \
	"$T/drop/order" | tr -d '\n' >"$T/turns"
check "left and right have taken turns: $(cat "$T/turns")" awk '{
	n = split($0, turn, "")
	for (i = 1; i <= n; i++) {
		lead += (turn[i] == "L") - (turn[i] == "R")
		if (lead > 2 || lead < -2) exit 1
	} }' "$T/turns"
check "the new one was among the first" test "$(sed 's/N.*//' "$T/turns" | wc -c)" -le 5
for name in left right new; do release $name; done

# Clients that ask without pause: when one has all its answers, how many has the one that got the
# fewest? About as many, unless a busy machine holds the client itself up; a starved one has none.
for how in "-c 2" "-c 5" "-p -c 3"; do
	line=$(load -f -k -n 1000 $how "$token" "${sockets[0]}")
	fewest=$(field fewest "$line")
	check "$how on one worker: when one had 1000 answers, each had $fewest" \
		test "$fewest" -ge 100
done
# One that sends two requests at once and never pauses, against clients that come and go: the
# new ones have their turn. Connecting takes them time, in which the other one is served.
"$HELPERS/fcgi-load" -k -p -c 1 -n 100000000 "$count_a" "${sockets[1]}" >"$T/null" &
GREEDY=$!
PIDS+=("$GREEDY")
asked() { [ "$(get "${sockets[1]}" "$counts" | cut -d' ' -f1)" -gt 100 ]; }
check "a greedy client is at work" until_true 10 asked
read -r before _ <<<"$(get "${sockets[1]}" "$counts")"
all_right "new clients beside it" 300 "$(load -c 1 -n 300 "$count_b" "${sockets[1]}")"
read -r after others <<<"$(get "${sockets[1]}" "$counts")"
equal "they were counted" "$others" 300
check "it got $((after - before)) answers meanwhile, no more than 20 for each of theirs" \
	test $((after - before)) -le 6000
check "and it was not stopped by them" test $((after - before)) -ge 100
kill "$GREEDY"
wait "$GREEDY" 2>/dev/null

berth_stop
at_end a

pool_conf
berth_start
keep k

# Four times as many kept connections as workers, all of them in use, and new ones in between.
load -k -c 16 -n 150 "$token" "${sockets[@]}" >"$T/kept" &
KEPT=$!
PIDS+=("$KEPT")
new=$(load -c 4 -n 100 "$token" "${sockets[@]}")
wait "$KEPT"
all_right "16 kept connections" 2400 "$(cat "$T/kept")"
all_right "new ones at the same time" 400 "$new"
all_right "kept, two requests at once, in pieces" 1600 \
	"$(load -k -p -x -c 8 -n 200 "$token" "${sockets[@]}")"
for i in 1 2 3 4; do
	equal "slot $i: the idle ones are still there" "$(tell "k$i" ask | cut -d: -f1)" \
		"answered 4, wrong 0, failed 0"
done

# A body that comes slowly on a kept connection is nobody's but its request's.
hold slow "${sockets[2]}" "$body" -t 5
tell slow open 3 >"$T/null"
equal "first on each connection" "$(tell slow ask)" "answered 3, wrong 0, failed 0:  0 0"
for size in 300 16000 3000000; do
	for i in 1 2 3 4 5; do tell slow post $size 4; done | sort | uniq -c | xargs >"$T/slow"
	equal "slow bodies of $size bytes" "$(cat "$T/slow")" \
		"5 answered 3, wrong 0, failed 0: $size 0"
	grep -Eq 'failed [1-9]|no answer' "$T/slow" && break
done
release slow

# nginx keeps connections to the workers; every request of however many clients is answered.
nginx_start "$(upstream_servers 4) keepalive 64;" "fastcgi_keep_conn on;"
for clients in 4 16 64 256; do
	n=$((clients * 4 > 400 ? clients * 4 : 400))
	ab -q -n $n -c $clients -s 20 "http://127.0.0.1:$NGINX_PORT/${fixed##*/}" >"$T/ab" 2>&1
	equal "nginx, $clients clients: answered, failed, not 200" "$(awk '
		/^Complete requests/ { c = $3 } /^Failed requests/ { f = $3 }
		/^Non-2xx/ { n = $3 } END { print c + 0, f + 0, n + 0 }' "$T/ab")" "$n 0 0"
done
check "nginx found nothing to complain about" test ! -s "$T/nginx.log" ||
	sed 's/^/      | /' "$T/nginx.log"
# Of each connection one line for the accepted end, which has the socket's name: 16 are ours.
kept=$(ss -xH state established | grep -c " $T/www-[0-9]*.sock ")
check "nginx keeps connections: $((kept - 16))" test "$kept" -gt 16
for i in 1 2 3 4; do
	equal "slot $i: a client beside nginx" "$(tell "k$i" ask | cut -d: -f1)" \
		"answered 4, wrong 0, failed 0"
done

# Idle kept connections do not hold up a stop.
family=$(descendants "$MANAGER")
berth_stop
equal "stopped with idle kept connections: exit status" "$STATUS" 0
equal "nobody had to be killed" "$(grep -cE 'did not leave|[Kk]illed' "$LOG")" 0
check "all have gone" all_gone $family
at_end k

# Nor do they keep workers whose manager is gone.
berth_start
keep m
family=$(descendants "$MANAGER")
kill -9 "$MANAGER"
wait "$MANAGER" 2>"$T/null"
check "the manager was killed: all leave" until_true 20 all_gone $family
at_end m
