#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# No request waits for a busy worker while another one could take it; and the idle ones sleep.
#
# 40 tries of each kind; 300 if SLOW is set.
. "$(dirname "$0")/lib.sh"
tries=$([ -n "${SLOW:-}" ] && echo 300 || echo 40)
mkdir "$T/drop"
chmod 777 "$T/drop"

token=$(script token.php '<?php echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
pid=$(script pid.php '<?php echo getmypid();')
# meet K SECONDS: a script whose requests end when K of them run at the same time, which needs K
# workers. One that waits in vain is counted as late, and opens the way for the others.
meet() {
	script "meet-$1-$2.php" '<?php
$n = apcu_inc("runs"); $all = (int) ceil($n / '"$1"') * '"$1"';
$end = microtime(true) + '"$2"';
while (apcu_fetch("runs") < $all && microtime(true) < $end) usleep(500);
if (apcu_fetch("runs") < $all) apcu_inc("late");
echo $_SERVER["TOKEN"], " met\n";'
}
late=$(script late.php '<?php echo (int) apcu_fetch("late"), " ", (int) apcu_fetch("runs");
apcu_clear_cache();')
late() { get "$T/www-1.sock" "$late"; }
pool() { # WORKERS [LINE...]
	conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = $1
$USER_LINE
program = $PHP -d apc.enabled=1
$(printf '%s\n' "${@:2}")"
	berth_start
}
load() { "$HELPERS/fcgi-load" "$@" 2>&1; }
all_right() { equal "$1" "$(cut -d, -f1-3 <<<"$3")" "answered $2, wrong 0, failed 0"; }
# met TOGETHER TEXT SOCKET...: try by try, TOGETHER clients connect to idle slots in one moment.
# Each is answered while the others run, so by different workers.
met() {
	local line script together=$1 text=$2
	script=$(meet "$together" 8)
	for ((i = 0; i < tries; i++)); do
		line=$(load -c "$together" -n 1 "$script" "${@:3}")
		[[ $line =~ ^answered\ $together,.*\ slowest\ ([0-9]+) ]] || break
		[ "${BASH_REMATCH[1]}" -lt 8000 ] || break
	done
	equal "$text: tries without fault" "$i" "$tries"
	equal "$text: late, all" "$(late)" "0 $((tries * together))"
}

for workers in 2 4 8; do
	pool $workers
	met 2 "$workers workers, 2 clients at one slot" "$T/www-1.sock"
	if [ $workers -gt 2 ]; then
		met $workers "$workers workers, $workers at one slot" "$T/www-1.sock"
		# What one slot passes on must not get stuck at the other one.
		met $workers "$workers workers, $workers at two slots" "$T/www-1.sock" \
			"$T/www-2.sock"
	fi
	berth_stop
	equal "exit status" "$STATUS" 0
done

pool 4
# Kept connections: both were served by the slot's worker, which then is busy with one of them.
script=$(meet 2 8)
hold kept "$T/www-1.sock" "$token"
for ((i = 0; i < tries; i++)); do
	tell kept script "$token" >"$T/null"
	for n in 1 2; do tell kept open 1 && tell kept ask; done >"$T/null"
	tell kept script "$script" >"$T/null"
	tell kept ask
	tell kept close >"$T/null"
done | sort | uniq -c | xargs >"$T/kept"
equal "two kept connections at once" "$(cat "$T/kept")" \
	"$tries answered 2, wrong 0, failed 0: met"
equal "late, all" "$(late)" "0 $((tries * 2))"
release kept

# A script that asks its own slot, twice over a connection that is kept, is answered by siblings.
self=$(script self.php '<?php
function record($type, $data) { return pack("CCnnCC", 1, $type, 1, strlen($data), 0, 0) . $data; }
function pair($n, $v) { return pack("CN", strlen($n), strlen($v) | 0x80000000) . $n . $v; }
function ask($c, $script) {
	fwrite($c, record(1, pack("nCx5", 1, 1)) . record(4, pair("SCRIPT_FILENAME", $script) .
		pair("REQUEST_METHOD", "GET")) . record(4, "") . record(5, ""));
	for ($out = ""; ($head = stream_get_contents($c, 8)) && strlen($head) == 8;) {
		$h = unpack("Cv/Ctype/nid/nsize/Cpad", $head);
		$data = $h["size"] + $h["pad"] ? stream_get_contents($c, $h["size"] + $h["pad"]) : "";
		if ($h["type"] == 3) return substr(strstr($out, "\r\n\r\n"), 4);
		if ($h["type"] == 6) $out .= substr($data, 0, $h["size"]);
	}
	return "nothing";
}
$c = stream_socket_client("unix://" . __DIR__ . "/www-1.sock", $e, $s, 8);
stream_set_timeout($c, 8);
$pids = [ask($c, __DIR__ . "/pid.php"), ask($c, __DIR__ . "/pid.php")];
foreach ($pids as $p) echo ctype_digit($p) && $p != getmypid() ? "sibling " : "$p ";')
for ((i = 0; i < 10; i++)); do get -t 20 "$T/www-1.sock" "$self"; done | xargs -n2 | sort |
	uniq -c | xargs >"$T/self"
equal "a script asks its own slot" "$(cat "$T/self")" "10 sibling sibling"

# One request runs and others wait while all workers are busy. They wait for whichever worker is free
# first, so that the owner can be killed then: who had sent a request has an answer.
hold idle "$T/www-1.sock" "$pid"
tell idle open 4 >"$T/null"
tell idle script "$token" >"$T/null"
tell idle ask >"$T/null"
hold silent "$T/www-1.sock" "$token"
tell silent open 4 >"$T/null"
busy() { [ "$(ls "$T/drop" | grep -c runs-)" = 4 ]; }
each=$(script each.php '<?php $d = __DIR__ . "/drop"; touch("$d/runs-" . getmypid());
$end = microtime(true) + 20;
while (!file_exists("$d/gate") && microtime(true) < $end) { usleep(2000); clearstatcache(); }
echo $_SERVER["TOKEN"] ?? "done", " each\n";')
victim=$(get "$T/www-1.sock" "$pid")
for i in 1 2 3 4; do
	get -t 40 "$T/www-$i.sock" "$each" >"$T/each-$i" 2>&1 &
	clients[i]=$!
	PIDS+=("$!")
done
check "every worker is busy" until_true 10 busy
# The running request's client, and the slot's listener, have the path as well.
connections() { awk -v p="$T/www-1.sock" '$NF == p' /proc/net/unix | wc -l; }
before=$(connections)
# Its thread takes what is ready in the order in which it came, so these before the new ones.
tell idle send kept >"$T/null"
load -c 8 -n 1 -t 40 "$token" "$T/www-1.sock" >"$T/waiting" &
waiting=$!
PIDS+=("$waiting")
are_there() { [ "$(connections)" -ge $((before + 8)) ] && [ "$(queued "$T/www-1.sock")" = 0 ]; }
check "eight new clients have left its listener" until_true 10 are_there
kill -9 "$victim"
touch "$T/drop/gate"
for i in 1 2 3 4; do wait "${clients[i]}"; done
equal "all but one of the running requests are answered" "$(cat "$T"/each-? | grep -c ' each$')" 3
wait "$waiting"
all_right "new clients" 8 "$(cat "$T/waiting")"
all_right "kept ones" 4 "$(tell idle read | cut -d: -f1)"
check "silent ones: an end, or an answer to what they ask now" grep -Eq 'ended 4|failed 0' \
	<<<"$(tell silent state; tell silent ask)"
release idle
release silent
rm "$T/drop/gate"
# And at random under load: a client that hangs would wait for 20 s.
load -k -c 8 -n 300 "$(script work.php '<?php usleep(rand(0, 9) ? 100 : 6000);
echo $_SERVER["TOKEN"];')" "$T/www-1.sock" "$T/www-2.sock" >"$T/load" &
loader=$!
PIDS+=("$loader")
kills=0
while alive "$loader"; do
	list=($(workers))
	[ ${#list[@]} = 4 ] && kill -9 "${list[RANDOM % 4]}" && kills=$((kills + 1))
	sleep 0.1
done
wait "$loader"
slowest=$(sed -E 's/.*slowest ([0-9]+) .*/\1/' "$T/load")
check "$kills kills under load: $(cat "$T/load")" test "$slowest" -lt 15000
check "none was wrong" grep -q ' wrong 0,' "$T/load"
# A kill costs at most the clients that the worker held.
failed=$(sed -E 's/.*failed ([0-9]+),.*/\1/' "$T/load")
check "no more than eight clients a kill have failed" test "$failed" -le $((kills * 8))
berth_stop

# Idle, all of their threads sleep. That nothing happens in this time is the point.
pool 2
get -n 20 "$T/www-1.sock" "$pid" >"$T/null"
load -k -c 4 -n 50 "$token" "$T/www-1.sock" "$T/www-2.sock" >"$T/null"
switches() {
	local p
	for p in $(workers); do grep -H ctxt_switches "/proc/$p/task/"*/status; done
}
resting() {
	local before
	before=$(switches)
	sleep 0.5
	[ "$before" = "$(switches)" ]
}
check "they come to rest" until_true 20 resting
equal "threads of two workers" "$(switches | grep -c ':voluntary')" 4
before=$(switches)
sleep 3
equal "context switches of idle workers in 3 s" "$(diff <(echo "$before") <(switches))" ""
check "serves afterwards" test -n "$(get "$T/www-1.sock" "$pid")"
berth_stop

# Turned off, it waits.
pool 4 "pm.rescue = no"
equal "one thread a worker" "$(switches | grep -c ':voluntary')" 4
script=$(meet 2 0.4)
for i in 1 2 3; do load -c 2 -n 1 "$script" "$T/www-1.sock"; done | cut -d, -f1-3 | sort -u >"$T/off"
equal "two at one slot without rescue" "$(cat "$T/off")" "answered 2, wrong 0, failed 0"
equal "each first one waited in vain" "$(late)" "3 6"
berth_stop
equal "exit status" "$STATUS" 0
