#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth-bench ramp: how much load is sustained.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"
export TMPDIR=$T
started() { compgen -G "$T/berth-bench.*" >"$T/null"; }
flat() { tr '\n' ' ' <"$T/out" | tr -s ' '; }

# One worker that takes 10 ms an answer can do 100 a second, and with less than half of that arriving
# at random hardly anybody waits.
respond slow --delay-ms 10
start=$SECONDS
bench ramp --budget 10s --rounds 1 --new --script /x --slo 100ms --json "$T/j" "$T/slow.sock"
check "within its budget" test $((SECONDS - start)) -le 15
knee=$(value "$T/j" ramp targets 0 knee)
if [ "$knee" = NULL ] || [ "$knee" = null ]; then
	# A machine that is busy may not get to the end; it says so, and with the right status.
	equal "no knee: status" "$STATUS" 3
	check "no knee: said" grep -qE 'bound not found|no rate has passed' "$T/out"
else
	equal "status" "$STATUS" 0
	check "the knee, $knee" test "${knee%%.*}" -ge 10 -a "${knee%%.*}" -le 115
	contains "said" <(flat) 'unix sustains [0-9]+ requests/s \(1 bracket: [0-9]+ pass, [0-9]+ fail'
fi
# Whatever the machine does, more than 100 a second can't have been sustained.
most=0
for ((i = 0; i < $(value "$T/j" ramp steps); i++)); do
	offered=$(value "$T/j" ramp steps $i offered)
	if [ "$(value "$T/j" ramp steps $i result)" = "'pass'" ] && [ "${offered%%.*}" -gt $most ]; then
		most=${offered%%.*}
	fi
done
check "the most that has passed, $most" test $most -le 120
contains "a line for each step" "$T/out" '^  unix  1 +[0-9,]+ +[0-9,]+ .*[0-9]+\+[0-9]+ .* (pass|p99|behind)'
equal "lines and steps" "$(grep -cE '^  unix  1 ' "$T/out")" "$(value "$T/j" ramp steps)"
contains "short steps are said" <(flat) 'as the budget allowed no more'
check "80 columns" test "$(awk '{ if (length > n) n = length } END { print n }' "$T/out")" -le 80

# What never fails has no bound.
bench ramp --budget 10s --rounds 1 --start null --max-rate 50 --slo 5s --json "$T/j"
equal "no bound: status" "$STATUS" 3
contains "no bound: unix" "$T/out" '^- unix: bound not found: [0-9]+ requests/s pass'
contains "no bound: tcp" "$T/out" '^- tcp: bound not found: [0-9]+ requests/s pass'
equal "no bound: none is made up" "$(value "$T/j" ramp targets 0 knee)" null
equal "nothing is left" "$(compgen -G "$T/berth-bench.*")" ""

# Nobody is there.
bench ramp --budget 5s --script /x "$T/none.sock"
equal "nobody: status" "$STATUS" 1
contains "nobody: said" "$T/err" 'not even one request at a time is answered'

# A signal ends it with a report of what there is.
bench_launch ramp --budget 60s --start null --max-rate 20 --slo 5s --rounds 12
until_true 10 started || die "nothing was started"
kill -INT "$RUN"
bench_wait
check "interrupted: status $STATUS" test "$STATUS" -eq 3 -o "$STATUS" -eq 1
equal "interrupted: nothing is left" "$(compgen -G "$T/berth-bench.*")" ""
