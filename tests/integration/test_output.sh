#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the template and the workers print goes to the log, whole, with who printed it; nobody waits
# for a log that is not read.
. "$(dirname "$0")/lib.sh"

print=$(script print.php '<?php $f = fopen("php://" . $_SERVER["TO"], "w");
fwrite($f, str_replace(["\\n", "\\0"], ["\n", "\0"], $_SERVER["TEXT"])); echo getmypid(), "\n";')
long=$(script long.php '<?php fwrite(STDERR_OF(), str_repeat("0123456789", 30000) . "\n");
function STDERR_OF() { return fopen("php://stderr", "w"); } echo getmypid(), "\n";')
shell=$(script shell.php '<?php system("echo from a command >/proc/self/fd/2; echo and its output >&2");
echo getmypid(), "\n";')
flood=$(script flood.php '<?php $f = fopen("php://stderr", "w"); $line = str_repeat("f", 199) . "\n";
for ($i = 0; $i < 100000; $i++) fwrite($f, $line); echo "done\n";')
preload=$(script preload.php '<?php $f = fopen("php://stderr", "w"); fwrite($f, "the template speaks\n");')

# logged SLOT PID TEXT: a regular expression of a whole line of that worker.
logged() {
	contains "slot $1: $3" "$LOG" "^[-0-9]+ [0-9:.]+ warning: pool www slot $1 pid $2: $3\$"
}
in_log() { grep -q -- "$1" "$LOG"; }

pool_conf
sed -i "s|^program = .*|program = $PHP -d opcache.enable=1 -d 'opcache.preload=$preload'|" "$T/berth.conf"
berth_start
contains "the template's words" "$LOG" \
	"warning: pool www template pid $(template_pid): the template speaks\$"

pid=$(get "$T/www-1.sock" "$print" TO=stderr 'TEXT=an error\n')
until_true 10 in_log 'an error'
logged 1 "$pid" 'an error'
pid=$(get "$T/www-2.sock" "$print" TO=stdout 'TEXT=two\nlines\n')
until_true 10 in_log ': lines$'
logged 2 "$pid" 'two'
logged 2 "$pid" 'lines'
pid=$(get "$T/www-3.sock" "$print" TO=stderr $'TEXT=bell\a nul\\0 esc\e[31m high\xff tab\t end\r\n')
until_true 10 in_log 'bell'
LC_ALL=C logged 3 "$pid" $'bell\\? nul\\? esc\\?\\[31m high\xff tab\t end'
equal "no control character gets through" "$(LC_ALL=C tr -d '\t\n' <"$LOG" | LC_ALL=C grep -c '[[:cntrl:]]')" 0
pid=$(get "$T/www-4.sock" "$shell")
until_true 10 in_log 'and its output'
logged 4 "$pid" 'from a command'
logged 4 "$pid" 'and its output'

pid=$(get "$T/www-1.sock" "$long")
until_true 10 in_log 0123456789
equal "a line of 300 kB is one line" "$(awk '/: 0123456789/ { sub(/.*: /, ""); print length, ($0 ~ /^(0123456789)+$/) }' "$LOG")" "300000 1"

# Without a newline it waits for the rest, or for the process's end.
pid=$(get "$T/www-2.sock" "$print" TO=stderr 'TEXT=begin')
get "$T/www-2.sock" "$print" TO=stderr 'TEXT= and end\nunfinished' >/dev/null
until_true 10 in_log 'begin'
logged 2 "$pid" 'begin and end'
equal "a partial line waits" "$(grep -c unfinished "$LOG")" 0
kill -KILL "$pid"
until_true 10 in_log 'unfinished'
logged 2 "$pid" 'unfinished'

get -t 60 "$T/www-3.sock" "$flood" >"$T/answer"
equal "20 MB of output: the request" "$(cat "$T/answer")" done
flood_is_logged() { [ "$(grep -c ': f\{199\}$' "$LOG")" = 100000 ]; }
check "20 MB of output: every line is in the log" until_true 60 flood_is_logged
berth_stop
equal "exit status" "$STATUS" 0

# Nobody reads berth's standard error.
mkfifo "$T/fifo"
exec 9<>"$T/fifo"
pool_conf
env --default-signal=INT,QUIT "$BERTH" run -c "$T/berth.conf" >/dev/null 2>"$T/fifo" 9>&- </dev/null &
MANAGER=$!
PIDS+=("$MANAGER")
answers() { get -t 5 "$T/www-$1.sock" "$print" TO=stderr 'TEXT=x\n' >/dev/null 2>&1; }
until_true 40 answers 1 || die "berth does not answer"
for slot in 1 2; do
	get -t 60 "$T/www-$slot.sock" "$flood" >"$T/answer.$slot" &
	eval "flood_$slot=\$!"
done
for slot in 1 2; do
	eval "wait \$flood_$slot"
	equal "log not read: slot $slot prints 20 MB and answers" "$(cat "$T/answer.$slot")" done
done
for slot in 1 2 3 4; do check "log not read: slot $slot goes on" answers "$slot"; done
# A sanitized program keeps what it freed for some time.
ldd "$BERTH" | grep -q libasan || check "log not read: the manager keeps little" \
	test "$(awk '/^VmRSS/ { print $2 }' "/proc/$MANAGER/status")" -lt 60000
kill -KILL "$(children "$(template_pid)" | awk '{print $1}')"
for slot in 1 2 3 4; do check "log not read: slot $slot after a kill" until_true 10 answers "$slot"; done
: >"$T/seen"
cat <&9 >"$T/seen" 9>&- &
reader=$!
PIDS+=("$reader")
seen() { grep -Eq "$1" "$T/seen"; }
check "read again: it says that lines are missing" until_true 20 seen \
	'warning: the log was not read in time: [0-9]+ lines are missing here'
answers 4
get "$T/www-4.sock" "$print" TO=stderr 'TEXT=still here\n' >/dev/null
check "read again: new lines come" until_true 20 seen 'slot 4 pid [0-9]+: still here'
equal "read again: every line is whole" \
	"$(grep -Evc '^[0-9]{4}-[-0-9]+ [0-9:.]+ (notice|warning): ' "$T/seen")" 0
berth_stop
equal "log not read: exit status" "$STATUS" 0
kill "$reader"
exec 9>&-

# Its reader goes away for good: berth must neither end nor spin.
mkfifo "$T/fifo2"
exec 9<>"$T/fifo2"
env --default-signal=INT,QUIT "$BERTH" run -c "$T/berth.conf" >/dev/null 2>"$T/fifo2" 9>&- </dev/null &
MANAGER=$!
PIDS+=("$MANAGER")
until_true 40 answers 1 || die "berth does not answer"
get -t 60 "$T/www-1.sock" "$flood" >/dev/null
exec 9>&-
for slot in 1 2 3 4; do check "reader gone: slot $slot" answers "$slot"; done
wakeups() { awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$MANAGER/status"; }
ticks() { sed 's/.*) //' "/proc/$MANAGER/stat" | awk '{ print $12 + $13 }'; }
first=$(wakeups) cpu=$(ticks)
sleep 0.5 # Nothing is to happen for that time.
check "reader gone: the manager sleeps" test $(($(wakeups) - first)) -lt 20
check "reader gone: and takes no time" test $(($(ticks) - cpu)) -lt 20
berth_stop
equal "reader gone: exit status" "$STATUS" 0

# A file, and levels.
log_to() {
	conf "[global]
error_log = $T/file
log_level = $1
[www]
listen = $T/www-%n.sock
pm.max_children = 1
$USER_LINE
program = $PHP"
}
answered() { get -t 5 "$T/www-1.sock" "$print" TO=stderr 'TEXT=to the file\n' >/dev/null 2>&1; }
in_file() { grep -q -- "$1" "$T/file"; }
log_to notice
berth_launch -c "$T/berth.conf"
until_true 40 answered || die "berth does not answer"
check "file: a worker's words" until_true 10 in_file 'warning: pool www slot 1 pid [0-9]*: to the file$'
contains "file: a notice" "$T/file" 'notice: ready, pid'
equal "file: its mode" "$(stat -c %a "$T/file")" 600
berth_stop
contains "file: the last words" "$T/file" 'notice: stopped$'
equal "file: nothing went to standard error" "$(cat "$LOG")" ""

log_to debug
before=$(wc -l <"$T/file") first_line=$(head -1 "$T/file")
berth_launch -c "$T/berth.conf"
until_true 40 answered || die "berth does not answer"
berth_stop
check "file: it is appended to" test "$(wc -l <"$T/file")" -gt "$before"
equal "file: what stood there" "$(head -1 "$T/file")" "$first_line"
contains "debug: more is told" "$T/file" 'debug: pool www template pid'
rm "$T/file"

log_to error
berth_launch -c "$T/berth.conf"
until_true 40 answered || die "berth does not answer"
kill -KILL "$(workers)"
until_true 10 answered
berth_stop
equal "error: nothing below is told" "$(cat "$T/file")" ""

log_to notice
sed -i 's/^program = .*/program = false/' "$T/berth.conf"
berth_fails
equal "failed start: exit status" "$STATUS" 111
contains "failed start: the file has the reason" "$T/file" 'error: pool www: .*did not get ready: .*exit status 1'
contains "failed start: so has standard error" "$LOG" 'pool www: .*did not get ready: .*exit status 1'
equal "failed start: but nothing else" "$(grep -c notice "$LOG")" 0

log_to notice
sed -i "s|^error_log = .*|error_log = $T/no folder/file|" "$T/berth.conf"
berth_fails
equal "file that can't be opened: exit status" "$STATUS" 111
contains "file that can't be opened: the reason" "$LOG" "error_log $T/no folder/file: No such file or directory"
