#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A script forks: its client gets the worker's bytes alone, and the copy has nothing of the slot.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/same.sh"

"$PHP" -m 2>/dev/null | grep -qx pcntl || skip "php-cgi has no pcntl"
mkdir "$T/notes" && chmod 777 "$T/notes"
plain=$(script plain.php '<?php echo "<", $_SERVER["TOKEN"] ?? "", ">";')
pid=$(script pid.php '<?php echo getmypid();')
# What the copy does is MODE; it leaves a note, named after the token, with the sockets that it has.
fork=$(script fork.php '<?php
$notes = "'"$T"'/notes/"; $token = $_SERVER["TOKEN"]; $mode = $_SERVER["MODE"];
echo "<", $token;
if (isset($_SERVER["FLUSH"])) flush();
$pid = $mode === "none" ? 1 : pcntl_fork();
if ($pid === 0) {
	$links = [];
	foreach (scandir("/proc/self/fd") as $n) $links[$n] = @readlink("/proc/self/fd/$n");
	$sockets = count(preg_grep("/^socket:|eventpoll|eventfd|memfd/", $links));
	foreach (array_keys($links) as $n)
		if ((int)$n > 2 && ($f = @fopen("php://fd/$n", "r+"))) {
			stream_set_blocking($f, false);
			@fwrite($f, "\x01\x03\x00\x01\x00\x08\x00\x00copycopy");
			@fread($f, 100);
		}
	file_put_contents("$notes$token.new", getmypid() . " $sockets " . json_encode(preg_grep("/^socket:|eventpoll|eventfd|memfd/", $links), JSON_UNESCAPED_SLASHES) . "\n");
	rename("$notes$token.new", "$notes$token");
	if ($mode === "sleep" || $mode === "sleep-exit")
		while (!file_exists($notes . "go")) usleep(10000);
	echo str_repeat("copy ", 5000);
	if ($mode === "exit" || $mode === "sleep-exit") exit(3);
	if ($mode === "kill") posix_kill(getmypid(), SIGKILL);
	if ($mode === "error") undefined_function();
	if ($mode === "again") { pcntl_fork(); echo "again"; }
	if ($mode === "exec") pcntl_exec("/bin/echo", ["copy"]);
	if ($mode === "shell") { system("echo copy"); passthru("cat /proc/self/fd/0"); }
	if ($mode === "flush") { flush(); error_log("copy"); flush(); }
	return;
}
while (!file_exists("$notes$token") && $mode !== "none") usleep(1000);
if (isset($_SERVER["WAIT"])) pcntl_waitpid($pid, $status);
echo str_repeat(" worker", (int)($_SERVER["COUNT"] ?? 1)), ">";')

# gone_copy TOKEN: the copy has ended.
copy_of() { cut -d' ' -f1 "$T/notes/$1"; }
rm_notes() { rm -f "$T"/notes/*; }

# Two workers, so that there is the thread too that passes clients on.
both_start 2
worker=$(get "$OURS" "$pid")
bad=0
modes='exit return kill error again exec shell flush'
for mode in $modes; do
	for how in close keep; do
		for wait in '' env=WAIT=1 env=FLUSH=1; do
			rm_notes
			# The second connection is another client's, parked; the third has sent a half.
			ours "$mode, $how" \
				on=1 keep script="$plain" env=TOKEN=p get answer \
				on=2 script="$plain" env=TOKEN=h get cut=30 \
				on=0 $how script="$fork" env=TOKEN=a env=MODE="$mode" ${wait:+"$wait"} get \
				answer on=1 script="$plain" env=TOKEN=q get answer on=2 answer \
				on=0 hang-up
			cat "$T/ours.0" >"$T/forked"
			others=$(grep -aho '<[^>]*>' "$T"/ours.[12].out | xargs)
			[ "$others" = "<p> <q> <h>" ] || { fail "$mode, $how $wait: others got $others"; bad=1; }
			[ "$(cut -d' ' -f2 "$T/notes/a")" = 0 ] ||
				{ fail "$mode, $how $wait: the copy has $(cut -d" " -f3 "$T/notes/a")"; bad=1; }
			copy=$(copy_of a)
			until_true 10 gone "$copy" || { fail "$mode, $how $wait: the copy stays"; bad=1; }
			ours "$mode, not forked" $how script="$fork" env=TOKEN=a env=MODE=none \
				${wait:+"$wait"} get answer
			cmp -s "$T/forked" "$T/ours.0" ||
				{ fail "$mode, $how $wait: $(tr -cd '[:print:]' <"$T/forked")"; bad=1; }
		done
	done
done
equal "copies that $modes: bytes are the worker's, clients stay" "$bad" 0
equal "one END_REQUEST" "$(cat "$T/ours.end")" "0: 1 answers, open"
equal "the same worker serves" "$(get "$OURS" "$pid")" "$worker"

say "copies that outlive the request"
rm_notes
ours "sleep" on=1 keep script="$plain" env=TOKEN=p get answer on=0 keep \
	script="$fork" env=TOKEN=a env=MODE=sleep get answer env=TOKEN=b env=MODE=sleep-exit get answer \
	script="$plain" env=TOKEN=c get answer on=1 env=TOKEN=q get answer
equal "the kept client goes on" "$(grep -ao '<[^>]*>' "$T/ours.0.out" | xargs)" \
	"<a worker> <b worker> <c>"
equal "and the other" "$(grep -ao '<[^>]*>' "$T/ours.1.out" | xargs)" "<p> <q>"
check "the copies live" test "$(alive "$(copy_of a)" && alive "$(copy_of b)" && echo yes)" = yes
ours "end of a connection" script="$plain" env=TOKEN=d get eof
say "ok    a copy keeps no connection open"
# What the copies print and how they end: nobody may see it, on a connection that is kept all the time.
a=$(copy_of a) b=$(copy_of b)
rm "$T/ours.0.out"
raw ours keep script="$plain" env=TOKEN=e get answer file="$T/ended" silent=50 env=TOKEN=f get answer &
client=$!
until_true 10 grep -aqs '<e>' "$T/ours.0.out"
touch "$T/notes/go"
check "they end when their script does" until_true 10 all_gone "$a" "$b"
touch "$T/ended"
check "nothing of theirs comes" wait "$client"
equal "the client's answers" "$(grep -ao '<[^>]*>' "$T/ours.0.out" | xargs)" "<e> <f>"

say "a copy among many clients"
rm_notes
touch "$T/notes/go"
load=$(script load.php '<?php echo $_SERVER["TOKEN"];')
"$HELPERS/fcgi-load" -c 6 -n 200 -k "$load" "$OURS" "$T/ours-2.sock" >"$T/load" 2>&1 &
clients=$!
for i in $(seq 40); do
	ours "fork $i" keep script="$fork" env=TOKEN="$i" env=MODE=return env=COUNT=3000 get answer
	size=$(wc -c <"$T/ours.0.out")
	[ "$size" = $((21044 + ${#i})) ] || fail "fork $i: $size bytes"
done
check "clients all got their own" wait "$clients"
say "      $(cat "$T/load")"
copies_gone() {
	local p
	for p in $(workers); do
		# shellcheck disable=SC2046 # pids are words
		all_gone $(children "$p") || return 1
	done
}
check "no copy is left" until_true 10 copies_gone
equal "two workers" "$(workers | wc -w)" 2
equal "the same worker still" "$(get "$OURS" "$pid")" "$worker"
nobody_died
