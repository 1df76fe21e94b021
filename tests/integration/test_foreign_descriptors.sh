#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Scripts with sockets, files, pipes and programs of their own: whatever number a descriptor has, it
# works as under stock php-cgi, also while connections are parked, and again in the next request.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/same.sh"

plain=$(script plain.php '<?php echo "<", $_SERVER["TOKEN"] ?? "", ">";')
many=$(script many.php '<?php $all = [];
for ($round = 0; $round < 5; $round++) {
	for ($i = 0; $i < 40; $i++) {
		$f = tmpfile(); fwrite($f, "file $i $round"); $all[] = ["f", $i, $f];
		[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
		fwrite($a, "pair $i $round"); $all[] = ["p", $i, $b, $a];
	}
	shuffle($all);
	foreach (array_splice($all, 0, 30) as $e) {
		if ($e[0] === "f") rewind($e[2]);
		$s = fread($e[2], 100); if (!preg_match("/^(file|pair) $e[1] \\d$/", $s)) echo "bad $s\n";
		fclose($e[2]); if (isset($e[3])) fclose($e[3]);
	}
}
echo count($all), "\n";')
select=$(script select.php '<?php $r = $w = $left = [];
for ($i = 0; $i < 60; $i++) { [$left[$i], $r[$i]] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
	stream_set_blocking($r[$i], false); }
foreach ([3, 17, 59] as $i) fwrite($left[$i], "to $i");
$x = $r; $n = null; echo stream_select($x, $n, $n, 5), " "; ksort($x);
foreach ($x as $i => $s) echo "$i ", fread($s, 50), " ";
foreach ([0, 1, 58] as $i) fclose($left[$i]);
$x = $r; echo stream_select($x, $n, $n, 5), " "; foreach ($x as $i => $s) echo $i, feof($s) || fread($s, 1) === "" ? " eof " : " ? ";
$x = [$r[5]]; echo stream_select($x, $n, $n, 0, 20000), "\n";
$s = socket_create(AF_INET, SOCK_STREAM, 0); socket_bind($s, "127.0.0.1", 0); socket_listen($s);
socket_getsockname($s, $a, $port); $c = socket_create(AF_INET, SOCK_STREAM, 0);
socket_connect($c, "127.0.0.1", $port); $t = socket_accept($s); socket_send($t, "hello", 5, 0);
socket_shutdown($t, 1); echo socket_recv($c, $buf, 5, MSG_WAITALL), $buf, socket_recv($c, $buf, 5, 0), "\n";
socket_write($c, "back"); echo socket_read($t, 10), "\n"; socket_close($t); socket_close($c); socket_close($s);
$server = stream_socket_server("tcp://127.0.0.1:0"); $name = stream_socket_get_name($server, false);
$c = stream_socket_client("tcp://$name"); $t = stream_socket_accept($server, 5); fwrite($t, "stream\n");
stream_socket_shutdown($t, STREAM_SHUT_WR); echo fgets($c), feof($c) || fgets($c) === false ? "end" : "more", "\n";')
programs=$(script programs.php '<?php
$p = proc_open(["cat"], [["pipe", "r"], ["pipe", "w"], ["pipe", "w"]], $pipes);
fwrite($pipes[0], str_repeat("x", 50000)); fclose($pipes[0]); echo strlen(stream_get_contents($pipes[1])), " ";
echo proc_close($p), "\n";
$p = proc_open("cat >&2; exit 7", [["pipe", "r"], ["file", "/dev/null", "w"], ["pipe", "w"]], $pipes);
fwrite($pipes[0], "err"); fclose($pipes[0]); echo stream_get_contents($pipes[2]), proc_close($p), "\n";
$p = proc_open("cat", [0 => ["socket"], 1 => ["socket"]], $pipes);
fwrite($pipes[0], "sockets"); stream_socket_shutdown($pipes[0], STREAM_SHUT_WR);
echo stream_get_contents($pipes[1]), " "; echo proc_close($p), "\n";
$f = popen("tr a-z A-Z", "w"); fwrite($f, ""); echo pclose($f), "\n";
$f = popen("echo popen; exit 2", "r"); echo fgets($f), pclose($f), "\n";
echo shell_exec("echo shell"), exec("echo exec; false", $out, $status), $status, "\n";
passthru("echo passthru"); system("readlink /proc/self/fd/0 | sed s/socket:.*/-/; ls /proc/self/fd | wc -l >/dev/null");')
numbers=$(script numbers.php '<?php // A number that was closed is used again at once.
for ($i = 0; $i < 300; $i++) { $f = fopen("/proc/self/stat", "r"); if (strlen(fread($f, 10)) < 5) echo "short "; fclose($f);
	$g = popen("true", "r"); pclose($g); if ($i > 20) break; }
for ($i = 0; $i < 300; $i++) { $k[] = fopen("/dev/zero", "r"); } foreach ($k as $f) if (fread($f, 3) !== "\0\0\0") echo "bad ";
echo count($k), "\n"; // Left open: they are closed when the request ends, its answer not.')
ask=$(script ask.php '<?php // A FastCGI client, for another slot of the pool.
function ask($path, $script, $token) {
	$pair = fn($n, $v) => chr(strlen($n)) . pack("N", strlen($v) | 0x80000000) . $n . $v;
	$rec = fn($t, $c) => pack("CCnnCC", 1, $t, 1, strlen($c), 0, 0) . $c;
	$s = fsockopen("unix://$path", -1, $no, $why, 5); if (!$s) return $why; stream_set_timeout($s, 10);
	fwrite($s, $rec(1, "\0\1\0\0\0\0\0\0") . $rec(4, $pair("SCRIPT_FILENAME", $script) . $pair("REQUEST_METHOD", "GET")
		. $pair("TOKEN", $token)) . $rec(4, "") . $rec(5, ""));
	$all = stream_get_contents($s); fclose($s); return preg_match("/<.*>/", $all, $m) ? $m[0] : "nothing"; }
for ($i = 0; $i < 20; $i++) echo ask($_SERVER["OTHER"], $_SERVER["PLAIN"], $_SERVER["TOKEN"] . $i);')
both_start 2

# Alone; kept; with other connections parked; a script behind a script that leaves things open.
count=0
for s in "$many" "$select" "$programs" "$numbers"; do
	name=$(basename "$s" .php)
	same "$name" script="$s" get eof
	contains "$name: it did something" "$T/ours.0.out" '[0-9a-z]+'
	same "$name, kept" script="$s" keep get answer get answer script="$plain" env=TOKEN=p get answer hang-up
	count=$((count + 2))
	ours "$name, connections parked" \
		on=1 keep script="$plain" env=TOKEN=a get answer on=2 env=TOKEN=b get answer \
		on=3 env=TOKEN=c get cut=40 on=4 env=TOKEN=d get cut=3 on=5 env=TOKEN=e get answer \
		on=0 script="$s" get answer get answer \
		on=1 script="$plain" env=TOKEN=f get answer on=2 env=TOKEN=g get answer \
		on=3 answer on=4 answer on=0 script="$s" get answer on=5 script="$plain" env=TOKEN=h get answer
	equal "$name: the parked ones" "$(grep -aho '<.>' "$T"/ours.[1-5].out | xargs)" \
		"<a> <f> <b> <g> <c> <d> <e> <h>"
	sort -u <(grep -av '^Content\|^.$\|^$' "$T/ours.0.out") >"$T/seen"
	raw stock script="$s" get eof
	sort -u <(grep -av '^Content\|^.$\|^$' "$T/stock.0.out") >"$T/wanted"
	check "$name: works with parked ones as in stock" cmp "$T/seen" "$T/wanted"
done
alike "as under stock php-cgi" $count

say "another slot of the pool, from inside of a script"
ours "asks" keep script="$ask" env=OTHER="$T/ours-2.sock" env=PLAIN="$plain" env=TOKEN=t get answer \
	env=OTHER="$T/ours-2.sock" env=PLAIN="$plain" env=TOKEN=u get answer
equal "each answer is its own" "$(grep -ao '<[a-z0-9]*>' "$T/ours.0.out" | tr -d '<>' | xargs)" \
	"$(for t in t u; do for i in $(seq 0 19); do echo $t$i; done; done | xargs)"
# Its own slot is busy with it; a sibling takes that over.
ours "asks itself" script="$ask" env=OTHER="$OURS" env=PLAIN="$plain" env=TOKEN=v get eof
equal "its own slot, too" "$(grep -ao '<[a-z0-9]*>' "$T/ours.0.out" | tr -d '<>' | xargs)" \
	"$(for i in $(seq 0 19); do echo v$i; done | xargs)"

# Nothing has been left behind in the worker but what it has at rest.
ours "rest" script="$plain" get eof
pid=$(script pid.php '<?php echo getmypid();')
first=$(get "$OURS" "$pid")
until_true 5 eval '[ "$(fds "$first")" -le 16 ]'
check "descriptors at rest: $(fds "$first")" test "$(fds "$first")" -le 16
nobody_died
