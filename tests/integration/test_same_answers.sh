#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every stream of bytes, good or bad, gets from a worker the very bytes that stock php-cgi answers.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/same.sh"

hash=$(script hash.php '<?php $b = file_get_contents("php://input"); echo strlen($b), " ", sha1($b);')
env=$(script env.php '<?php $s = $_SERVER;
$out = [];
foreach ($s as $n => $v) if ($n === "" || preg_match("/^(PROBE|BULK|v)/", $n)) $out[$n] = $v;
ksort($out);
echo count($out), " ", sha1(serialize($out)), "\n";
foreach ($out as $n => $v) if (strlen($n) < 50) echo $n, " ", strlen($v), "\n";')
head=$(script head.php '<?php for ($i = 0; $i < 142; $i++) header("X-Fill-$i: " . str_repeat("h", 490));
echo "body";')
binary=$(script binary.php '<?php header("Content-Type: application/octet-stream");
mt_srand(7); $n = (int)$_SERVER["COUNT"]; $s = "";
while (strlen($s) < min($n, 65536)) $s .= "\r\n\r\nStatus: 500\0" . chr(mt_rand(0, 255)) . "\xff";
if ($s !== "") $s = substr(str_repeat($s, (int)ceil($n / strlen($s))), 0, $n);
header("X-Hash: " . sha1($s));
foreach (str_split($s, (int)$_SERVER["PART"]) as $p) echo $p;')
errors=$(script errors.php '<?php error_log("plain"); echo "one"; flush(); error_log(str_repeat("L", 100000));
echo "two"; trigger_error("warned", E_USER_WARNING);
if (isset($_SERVER["FATAL"])) undefined_function(); if (isset($_SERVER["LEAVE"])) exit(3);')
query=$(script query.php '<?php echo "<", $_SERVER["TOKEN"] ?? "", ">";')

both_start 1
worker=$(workers | xargs)
rest=$(fds "$worker")

# Ends of connections: not kept, both close behind END_REQUEST.
same "GET" script="$hash" get eof
same "GET, kept" script="$hash" keep get answer get answer hang-up
same "HEAD" script="$hash" env=REQUEST_METHOD=HEAD get eof
same "no such script" script="$T/none.php" get eof
alike "plain requests" 4
contains "and it is the script's answer" "$T/ours.0.out" 'No input file'
raw ours script="$hash" post=200000 eof
equal "the script saw the body" "$(tail -1 "$T/ours.0.out" | cut -d' ' -f1)" 200000

# Bodies: any size, cutting and padding. A byte a record is 9 bytes sent and two reads each.
count=0
for body in 0 1 8191 8192 8193 65527 65528 65535 65536 200000 1048576; do
	for size in 1 100 8192 65528 65535; do
		[ "$size" = 1 ] && [ "$body" -gt 8193 ] && [ -z "${SLOW:-}" ] && continue
		for pad in 0 7 255; do
			# As many records as these take long.
			[ $((body / size)) -gt 1500 ] && [ "$pad" != 7 ] && [ -z "${SLOW:-}" ] && continue
			[ $((body / size)) -gt 11000 ] && [ "$pad" -gt 0 ] && continue

			words=(size="$size" pad="$pad" post="$body")
			same "body $body in $size, padding $pad" script="$hash" "${words[@]}" eof
			count=$((count + 1))
		done
	done
	same "body $body, kept" script="$hash" keep size=65528 post="$body" answer post="$body" \
		answer get answer hang-up
	count=$((count + 1))
done
alike "bodies" $count
# Names and values.
count=0
for n in 0 1 126 127 128 129 255 256 16383 32767 60000 65000; do
	same "value of $n bytes" script="$env" fill=PROBE,$n get eof
	same "value of $n bytes, kept" script="$env" keep fill=PROBE,$n get answer get answer hang-up
	count=$((count + 2))
done
for n in 1 127 128 255 300; do
	same "name of $n bytes" script="$env" name=$n get eof
	count=$((count + 1))
done
same "value of 65535 bytes, so cut by a record" script="$env" fill=PROBE,65535 get eof
same "65535 bytes in a record that ends with the pair" script="$env" begin fill=PROBE,65523 \
	record env=PROBE2=x params end eof
same "4 bytes for a short length" script="$env" env4=PROBE=short get eof
same "no name" script="$env" env==orphan get eof
same "no value" script="$env" env=PROBE= get eof
same "no name, no value, 4 bytes" script="$env" env4== get eof
same "a name twice" script="$env" env=PROBE=a env=PROBE=bb get eof
same "a NUL in a value" script="$env" pairhex=050350524f4245610062 get eof
same "64 KiB of pairs" script="$env" many=1250 get eof
same "64 KiB of pairs, kept" script="$env" keep many=1250 get answer get answer hang-up
same "records of whole pairs, 150 KiB" script="$env" keep begin many=1200 record many=1200 record \
	many=600 params end answer get answer hang-up
for n in 7 16 40 53 100; do
	same "PARAMS cut behind each $n bytes" script="$env" psize=$n env=PROBE=value get eof
	count=$((count + 1))
done
same "a length that lies" script="$env" pairhex=ffffffff8000000361626364 get eof
same "a length that lies, one byte" script="$env" pairhex=7f7f6162 get eof
same "the stream ends in a pair" script="$env" pairhex=05ff get eof
same "lies, in a record of their own" script="$env" begin pairhex=ffffffff80000003 record params end eof
alike "names and values" $((count + 15))

# What comes back.
same "a head of 71 kB" script="$head" get eof
check "which it was" test "$(wc -c <"$T/ours.0.out")" -gt 70000
same "a head of 71 kB, kept" script="$head" keep get answer get answer hang-up
for n in 0 1 8000 8191 8192 65527 65535 65536 200000 2097152; do
	same "output of $n bytes" script="$binary" env=COUNT=$n env=PART=3000000 get eof
done
same "output in small parts" script="$binary" env=COUNT=100000 env=PART=97 get eof
same "output, kept" script="$binary" keep env=COUNT=2097152 env=PART=70000 get answer \
	env=COUNT=3 env=PART=1 get answer hang-up
alike "output" 14
raw ours script="$binary" env=COUNT=300000 env=PART=300000 get eof
equal "the whole output came" "$(sed '1,/^\r$/d' "$T/ours.0.out" | sha1sum | cut -d' ' -f1)" \
	"$(sed -n 's/^X-Hash: \([0-9a-f]*\)\r$/\1/p' "$T/ours.0.out" | head -1)"

same "messages between output" script="$errors" get eof
check "they came as such" test "$(wc -c <"$T/ours.0.err")" -gt 100000
same "messages, kept" script="$errors" keep get answer get answer hang-up
same "a fatal error" script="$errors" keep env=FATAL=1 get answer get answer hang-up
same "exit(3)" script="$errors" keep env=LEAVE=1 get answer get answer hang-up
alike "messages" 4

# Streams that are wrong, or unusual. Only those that both sides end, so eof.
same "management type 50" hex=0132000000080000 hex=0000000000000000 eof
same "application type 77 first" script="$query" rec=77,abc get eof
same "application type 77 between PARAMS and STDIN" script="$query" begin params rec=77,abc end eof
same "version 0" script="$query" version=0 get eof
same "version 9" script="$query" version=9 env=TOKEN=a get eof
same "version 9, kept" script="$query" keep version=9 env=TOKEN=a get answer get answer hang-up
same "role 2" script="$query" role=2 env=TOKEN=a get eof
same "role 9" script="$query" role=9 get eof
same "BEGIN_REQUEST of 4 bytes" script="$query" rec=1,abcd params end eof
same "empty STDIN first" script="$query" rec=5 env=TOKEN=a get eof
same "STDIN with content first" script="$query" rec=5,abc get eof
same "PARAMS first" script="$query" rec=4,abc get eof
same "END_REQUEST first" script="$query" rec=3,abcdefgh get eof
same "no PARAMS but their end" script="$query" begin rec=4 end eof
same "STDIN without PARAMS" script="$query" begin end eof
same "HTTP" text='GET / HTTP/1.0' hex=0d0a0d0a shut eof
same "HTTP, long" text="GET /$(printf '%0500d' 0) HTTP/1.0" hex=0d0a0d0a shut eof
for seed in 1 2 3 4 5 6 7 8 9 10; do
	same "noise $seed" random=$seed,4000 shut eof
	same "version 1 and noise $seed" hex=01 random=$seed,70000 shut eof
	same "BEGIN_REQUEST and noise $seed" script="$query" begin random=$seed,3000 shut eof
	same "PARAMS and noise $seed" script="$query" begin params random=$seed,3000 shut eof
done
same "nothing" shut eof
same "half a header" hex=01010001 shut eof
same "half a request" script="$query" begin shut eof
same "half a body" script="$hash" length=100 begin params body=40 shut eof
alike "wrong and unusual streams" 61

same "GET_VALUES" keep values=FCGI_MPXS_CONNS answer values=FCGI_MAX_CONNS answer shut eof
same "GET_VALUES, then a request" script="$query" keep values=FCGI_MAX_REQS answer env=TOKEN=v get \
	answer values=FCGI_MAX_REQS answer env=TOKEN=w get answer hang-up
same "GET_VALUES and a request at once" script="$query" keep values=FCGI_MAX_REQS env=TOKEN=v get \
	answer=2 hang-up
same "GET_VALUES of what nobody knows" keep values=NONSENSE answer shut eof
same "an abort in the body" script="$hash" length=1000 begin params body=10 rec=2 end eof
same "an abort in the body, then the next request" script="$hash" keep length=1000 begin params \
	body=10 rec=2 answer close get eof
same "an abort behind BEGIN_REQUEST" script="$hash" begin rec=2 shut eof
for id in 0 1 255 256 65535; do
	same "request id $id" script="$query" id=$id env=TOKEN=a get eof
done
same "ids in turn" script="$query" keep id=1 env=TOKEN=a get answer id=2 env=TOKEN=b get answer \
	id=65535 env=TOKEN=c get answer id=1 close env=TOKEN=d get eof
same "kept, then not" script="$query" keep env=TOKEN=a get answer close env=TOKEN=b get eof
alike "management, aborts, ids" 14

# Nothing of this has cost the worker its life, or left a connection behind.
nobody_died
raw ours script="$query" env=TOKEN=last get eof
contains "it still answers" "$T/ours.0.out" '<last>'

# A client that says no more, and waits for the end: it comes, whatever the worker was doing.
ours "kept and answered, then half-closed" script="$query" keep get answer shut eof
ours "asked and half-closed, then answered" script="$query" keep get shut answer eof
rm -f "$T/frozen"
has_rest() { [ "$(fds "$worker")" = "$rest" ]; }
# php-cgi keeps its number for the last kept connection until it takes another one.
ours "not kept" script="$query" get eof
until_true 10 has_rest || fail "the worker keeps descriptors"
raw ours script="$query" silent=50 file="$T/frozen" begin shut eof &
client=$!
has_more_fds() { [ "$(fds "$worker")" -gt "$rest" ]; }
until_true 10 has_more_fds || fail "the worker has not taken the connection"
# Bytes and end come as one event, on a connection that the worker has seen empty.
freeze "$worker"
: >"$T/frozen"
has_bytes() { ss -xH | awk -v a=" $OURS " 'index($0, a) && $3 > 0 { n = 1 } END { exit !n }'; }
until_true 10 has_bytes || fail "nothing was sent to the worker"
kill -CONT "$worker"
check "half-closed behind a part of a head" wait "$client"
