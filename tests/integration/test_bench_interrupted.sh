#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What happens in the middle of a run: signals, a server that dies, a socket that goes. The report is
# true up to then, nothing is left behind, and the exit status says what it was.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"
export TMPDIR=$T
# busy PATH: there is a connection to it.
busy() { ss -xH | grep -qF " $1 "; }
target_gone() { [ -z "$(compgen -G "$T/berth-bench.*")" ]; }
# targets: what berth-bench has started.
targets() { descendants "$RUN" | tail -n +2; }
has_targets() { [ "$(targets | wc -l)" -ge "$1" ]; }

# A signal: the report is whole, and says that it is not all.
respond quick --workers 4
bench_launch run -d 60s -c 2 --script /x --json "$T/j" "$T/quick.sock"
until_true 10 busy "$T/quick.sock" || die "it does not begin"
kill -INT "$RUN"
bench_wait
equal "interrupted: nothing has failed" "$STATUS" 0
contains "interrupted: said" "$T/out" '^Interrupted: this is what was measured until then'
equal "interrupted: in JSON" "$(value "$T/j" run end)" "'interrupted'"
check "interrupted: what was measured" test "$(value "$T/j" cells 0 total answered)" -gt 0

# What was cut off has not failed, but it is counted.
asleep() { grep -q nanosleep "/proc/$RESPONDER_PID/wchan"; }
respond stalls --delay-ms 0,30000
bench_launch run -n 2 --script /x --json "$T/j" "$T/stalls.sock"
until_true 10 asleep || die "the second request does not come"
kill -INT "$RUN"
bench_wait
equal "one answered, one cut off: status" "$STATUS" 0
equal "one answered, one cut off: class" "$(class "$T/j" deadline)" 1

respond slow --delay-ms 30000
bench_launch run -n 1 --script /x --json "$T/j" "$T/slow.sock"
until_true 10 busy "$T/slow.sock"
kill -TERM "$RUN"
bench_wait
equal "nothing was answered: status" "$STATUS" 1
equal "nothing was answered: class" "$(class "$T/j" deadline)" 1

# A second signal, also another one, ends it at once with all that it has started.
bench_launch run -d 60s --start null --workers 3
until_true 10 has_targets 5 || die "no target: $(cat "$T/err")"
mapfile -t started < <(targets)
# Both arrive together, so that the first one has not ended it before.
freeze "$RUN"
kill -INT "$RUN"
kill -TERM "$RUN"
kill -CONT "$RUN"
bench_wait
check "SIGINT and SIGTERM: status $STATUS" test "$STATUS" -gt 128
equal "SIGINT and SIGTERM: no report" "$(wc -c <"$T/out")" 0
check "SIGINT and SIGTERM: targets ended" until_true 10 all_gone "${started[@]}"
check "SIGINT and SIGTERM: nothing is left" until_true 10 target_gone
# A PHP that does not get ready can be waited for, or not.
mkdir "$T/bin"
printf '#!/bin/sh\nexec sleep 1000\n' >"$T/bin/php-cgi"
chmod 755 "$T/bin" "$T/bin/php-cgi"
PATH=$T/bin:$PATH bench_launch run -d 60s --start spawn-fcgi
until_true 10 has_targets 2 || die "no target: $(cat "$T/err")"
mapfile -t started < <(targets)
kill -INT "$RUN"
handled() { grep -q 'SigPnd:.*0000$' "/proc/$RUN/status" && grep -q 'ShdPnd:.*0000$' "/proc/$RUN/status"; }
until_true 5 handled
begun=$SECONDS
kill -INT "$RUN"
bench_wait
equal "SIGINT twice: status" "$STATUS" 130
check "SIGINT twice: at once" test $((SECONDS - begun)) -le 5
check "SIGINT twice: targets ended" until_true 10 all_gone "${started[@]}"
check "SIGINT twice: nothing is left" until_true 10 target_gone
respond slower --delay-ms 30000
bench_launch run -n 1 --timeout 60s --script /x "$T/slower.sock"
until_true 10 busy "$T/slower.sock"
kill -HUP "$RUN"
bench_wait
equal "SIGHUP finishes, too" "$STATUS" 1

# Killed, it leaves nothing either.
bench_launch run -d 60s --start berth --workers 2
until_true 20 has_targets 5 || die "no target: $(cat "$T/err")"
mapfile -t started < <(targets)
kill -KILL "$RUN"
bench_wait
check "SIGKILL: targets ended" until_true 10 all_gone "${started[@]}"
check "SIGKILL: nothing is left" until_true 10 target_gone

# A server that dies: its requests fail, each in its class, and the run goes on to its end.
respond mortal --workers 1
bench_launch run -d 1s -c 2 --new --script /x --json "$T/j" "$T/mortal.sock"
until_true 10 busy "$T/mortal.sock" || die "it does not begin"
kill -KILL "$RESPONDER_PID"
bench_wait
equal "server killed: status" "$STATUS" 1
check "server killed: answers before" test "$(value "$T/j" cells 0 total answered)" -gt 0
check "server killed: refused after" test "$(class "$T/j" refused)" -gt 0
contains "server killed: in the table" "$T/out" '^  unix  refused '

# A socket that is removed: connections that stand go on, new ones do not come to be.
respond kept --workers 2
bench_launch run -d 1s -c 2 --keep --script /x "$T/kept.sock"
until_true 10 busy "$T/kept.sock" || die "it does not begin"
rm "$T/kept.sock"
bench_wait
equal "socket removed, kept: status" "$STATUS" 0
respond fresh --workers 2
bench_launch run -d 1s -c 2 --new --script /x --json "$T/j" "$T/fresh.sock"
until_true 10 busy "$T/fresh.sock" || die "it does not begin"
rm "$T/fresh.sock"
bench_wait
equal "socket removed, new: status" "$STATUS" 1
check "socket removed, new: no_path" test "$(class "$T/j" no_path)" -gt 0

# A comparison that is cut short has no verdict.
bench_launch compare --targets null --budget 60s --json "$T/j"
until_true 20 has_targets 6 || die "no targets: $(cat "$T/err")"
mapfile -t started < <(targets)
kill -INT "$RUN"
bench_wait
equal "comparison interrupted: status" "$STATUS" 3
check "comparison interrupted: targets ended" all_gone "${started[@]}"
check "comparison interrupted: nothing is left" target_gone
