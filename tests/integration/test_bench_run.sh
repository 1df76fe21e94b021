#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth-bench run against php-cgi: what it counts is what has happened, and its exit status says so.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"

count=$(script count.php "<?php
\$f = fopen('$T/count', 'c+');
flock(\$f, LOCK_EX);
\$n = (int)stream_get_contents(\$f) + 1;
rewind(\$f);
fwrite(\$f, (string)\$n);
echo 'counted';")
echo_all=$(script echo.php "<?php
header('Content-Type: text/plain');
file_put_contents('$T/seen', \$_SERVER['REQUEST_METHOD'] . ' ' . (\$_SERVER['QUERY_STRING'] ?? '') . ' ' .
	(\$_SERVER['EXTRA'] ?? '') . ' ' . md5(file_get_contents('php://input')));
echo 'seen';")
fails=$(script fails.php '<?php http_response_code(503); echo "no";')
noise=$(script noise.php '<?php error_log("noise"); echo "ok";')
# counter: how often count.php has run.
counter() { cat "$T/count"; }
zero() {
	: >"$T/count"
	: >"$T/seen"
	chmod 666 "$T/count" "$T/seen"
}

pool_conf
berth_start
www=$T/www-%n.sock

# Counts are exact, whatever the shape of the load.
for shape in "--new" "--keep" "--new -t 2" "--keep -t 2 --split-params 120 --pad"; do
	zero
	# shellcheck disable=SC2086 # several words
	bench run -n 501 -c 4 --workers 4 $shape --script "$count" --json "$T/j" "$www"
	equal "status ($shape)" "$STATUS" 0
	equal "answers ($shape)" "$(value "$T/j" cells 0 total answered)" 501
	equal "PHP has counted as many ($shape)" "$(counter)" 501
	equal "times of as many ($shape)" \
		"$(value "$T/j" cells 0 total histograms service count)" 501
	equal "failures ($shape)" "$(value "$T/j" cells 0 total failed)" 0
done
equal "connections made, kept" "$(value "$T/j" cells 0 total connections_made)" 4
zero
bench run -d 500ms -c 2 --workers 4 --script "$count" --json "$T/j" "$www"
equal "for a time: what PHP has counted" "$(counter)" "$(value "$T/j" cells 0 total answered)"
zero
bench run -n 300 --rate 2000 -c 4 --workers 4 --script "$count" --json "$T/j" "$www"
equal "open loop: what PHP has counted" "$(counter)" 300
equal "open loop: response times" "$(value "$T/j" cells 0 total histograms response count)" 300
contains "open loop: its kind is named" "$T/out" 'open loop, 2,000/s, Poisson'
bench run -n 10 --script "$count" --workers 4 "$www"
contains "closed loop: labelled as blind" "$T/out" 'not what users'
contains "the server's processes are known" "$T/out" 'PSS MiB'

# What is sent.
seen() {
	equal "$1: status" "$STATUS" 0
	equal "$1" "$(cat "$T/seen")" "$2"
}
md5() { printf '%s' "$1" | md5sum | cut -d' ' -f1; }
one="$T/www-1.sock"
zero
bench run -n 1 --script "$echo_all" --query 'a=b&c' --param EXTRA=more=yet "$one"
seen "query and parameter" "GET a=b&c more=yet $(md5 '')"
bench run -n 1 --script "$echo_all" --data text "$one"
seen "a body is posted" "POST   $(md5 text)"
head -c 100000 /dev/zero >"$T/zeros"
bench run -n 1 --script "$echo_all" --method PUT --data "@$T/zeros" --split-stdin 777 "$one"
seen "a body from a file" "PUT   $(md5sum <"$T/zeros" | cut -d' ' -f1)"
printf '# a comment\nSCRIPT_FILENAME=%s\nREQUEST_METHOD=PATCH\nEXTRA=file\nQUERY_STRING=q\n\nbo\ndy' \
	"$echo_all" >"$T/request"
bench run -n 1 --request "$T/request" "$one"
seen "a request from a file" "PATCH q file $(md5 'bo
dy')"
bench run -n 1 --request "$T/request" --query z --param EXTRA=line --data x --method POST "$one"
seen "the command line goes before the file" "POST z line $(md5 x)"

# Failures are told apart, and make the exit status.
bench run -n 20 -c 2 --workers 4 --script "$fails" --json "$T/j" "$www"
equal "503: status" "$STATUS" 1
equal "503: class" "$(class "$T/j" status)" 20
equal "503: none is an answer" "$(value "$T/j" cells 0 total answered)" 0
contains "503: in the table" "$T/out" '^  unix  status +20 +100 %'
bench run -n 20 --expect-status 503 --script "$fails" "$one"
equal "503 that is expected" "$STATUS" 0
bench run -n 5 --expect-status any --script "$fails" "$one"
equal "any status that is expected" "$STATUS" 0
bench run -n 20 --expect-length 3 --script "$count" --json "$T/j" "$one"
equal "length: status" "$STATUS" 1
equal "length: class" "$(class "$T/j" length)" 20
bench run -n 5 --expect-length 7 --script "$count" "$one"
equal "the right length" "$STATUS" 0
bench run -n 5 --script "$T/none.php" --json "$T/j" "$one"
equal "no such script: class" "$(class "$T/j" status)" 5
bench run -n 3 --script "$count" --json "$T/j" "$T/none.sock"
equal "no such socket: status" "$STATUS" 1
equal "no such socket: class" "$(class "$T/j" no_path)" 3
bench run -n 3 --script "$count" --json "$T/j" "$(free_port)"
equal "nobody listens: class" "$(class "$T/j" refused)" 3
bench run -n 3 --script "$noise" --json "$T/j" "$one"
equal "standard error is no failure" "$STATUS" 0
check "but it is counted" test "$(value "$T/j" cells 0 total stderr_bytes)" -ge 15

# As many workers as connections are what starts, so nobody starves.
bench run -n 200 -c 8 --start null --json "$T/j"
equal "started, 8 connections: status" "$STATUS" 0
equal "started, 8 connections: all served" "$(value "$T/j" cells 0 total connections_made)" 8

# Thresholds.
bench run -n 20 --script "$count" --require 'failures=0' --require 'p99<10s' --require 'rate>1' "$one"
equal "thresholds that are met" "$STATUS" 0
contains "and said so" "$T/out" 'met .*required: p99<10s'
bench run -n 20 --script "$count" --require 'p50<1ns' "$one"
equal "one that is missed" "$STATUS" 1
contains "in the table" "$T/out" 'MISSED'
bench run -n 20 --script "$fails" --require 'status=20' --require 'p99<1s' "$one"
equal "without an answer no time is below a threshold" "$STATUS" 1
half=$(script half.php '<?php static $n; if (getmypid() && hrtime(true) % 2) http_response_code(500);')
bench run -n 200 --script "$half" --require 'failures<=100%' "$one"
equal "failures that are allowed" "$STATUS" 0
bench run -n 200 --script "$half" --require 'rate>1' "$one"
equal "failures that nobody has allowed" "$STATUS" 1

# Reports.
bench run -n 20 --script "$count" --json - "$one"
equal "JSON alone on standard output" "$(value "$T/out" schema)" "'berth-bench'"
bench run -n 20 --script "$count" --csv - "$one"
equal "CSV: a head and a line" "$(wc -l <"$T/out")" 2
equal "CSV: as many fields" "$(awk -F, '{print NF}' "$T/out" | sort -u | wc -l)" 1
printf 'longer than any report %0100000d' 0 >"$T/j"
bench run -n 20 --script "$count" --json "$T/j" "$one"
equal "an older report is replaced" "$(value "$T/j" schema)" "'berth-bench'"
widest=$(bench run -n 20 --script "$count" "$one"; awk '{ if (length > n) n = length } END { print n }' "$T/out")
check "80 columns ($widest)" test "$widest" -le 80
equal "nothing on standard error" "$(wc -c <"$T/err")" 0
"$BENCH" run -n 5 --script "$count" "$one" >/dev/full 2>"$T/err"
equal "disk full: status" $? 1
contains "disk full: said" "$T/err" '^berth-bench: standard output: No space left on device$'
bench run -n 5 --script "$count" --json /dev/full "$one"
equal "disk full for JSON: status" "$STATUS" 1
contains "disk full for JSON: said" "$T/err" '^berth-bench: --json: /dev/full: No space left'
contains "disk full for JSON: the table is there" "$T/out" '^Counts'
mkfifo "$T/pipe"
exec {reader}<>"$T/pipe"
exec {writer}>"$T/pipe" {reader}<&-
(
	exec >&"$writer"
	"$BENCH" run -n 5 --script "$count" "$one" 2>"$T/err"
)
equal "closed pipe: status" $? 1
contains "closed pipe: said" "$T/err" '^berth-bench: standard output: Broken pipe$'
exec {writer}>&-
"$BENCH" run -n 5 --script "$count" "$one" >&- 2>"$T/err"
check "without standard output nothing else is written to" test $? -le 1
bench run -n 5 --script "$count" --json "$T/no/such" "$one"
equal "a file that can't be opened: status" "$STATUS" 2
equal "nothing was measured before" "$(wc -c <"$T/out")" 0

# Usage.
usage() {
	bench "${@:2}"
	equal "${*:2}: status" "$STATUS" 2
	contains "${*:2}: said" "$T/err" "^berth-bench: .*$1"
	equal "${*:2}: nothing else" "$(wc -l <"$T/err") $(wc -c <"$T/out")" "1 0"
}
usage 'accepted are compare, run' walk
usage 'run needs an ADDRESS' run
usage 'no port; accepted are' run --script /x 1.2.3.4
usage 'must start with' run --script /x some/path
usage 'there is no process' run --script /x --server-pid 2147483647 /x
usage 'over pipes' run --start php-fpm --transport pipe
usage '--script PATH is needed' run --script "" "$one"
usage '--csv: it is the file of --json' run --json "$T/one" --csv "$T/./one" --script /x "$one"
usage '--connections: .* accepted is a number from 1' run -c 0 /x
usage '--require: .*unit' run --require 'p99<5' /x
usage '--script PATH is needed' run "$one"
printf 'A=b\nno\n' >"$T/bad.request"
usage 'bad.request:2: no parameter' run --request "$T/bad.request" "$one"
for command in compare run floor selftest; do
	bench "$command" --help
	contains "$command --help" "$T/out" "^Usage: berth-bench \[?$command"
done
bench version
contains "version" "$T/out" '^berth-bench [0-9.]+$'
berth_stop
