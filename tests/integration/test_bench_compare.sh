#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth-bench compare, floor and selftest as a user sees them.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"
export TMPDIR=$T
narrow() { [ "$(awk '{ if (length > n) n = length } END { print n }' "$T/out")" -le 80 ]; }
# refused FILE: no verdict; whether there is one is up to the machine.
refused() { [ "$(value "$1" verdicts refused)" = true ]; }

small=(--rounds 6 -c 1 --sizes 100 --budget 15s --precision 0.5)
start=$SECONDS
bench compare "${small[@]}" --json "$T/j" --csv "$T/csv" --seed 7
if refused "$T/j"; then wanted=3; else wanted=0; fi
equal "status" "$STATUS" $wanted
check "within its budget" test $((SECONDS - start)) -le 20
# TCP and unix socket in both ways, the pipe, and two controls.
equal "cells" "$(value "$T/j" cells)" 7
check "rounds" test "$(value "$T/j" run rounds_done)" -ge 6
equal "no failures" "$(for i in 0 1 2 3 4 5 6; do value "$T/j" cells $i total failed; done)" 0000000
equal "the seed is kept" "$(value "$T/j" options seed)" "'7'"
equal "the command is kept" "$(value "$T/j" command)" \
	"'berth-bench compare ${small[*]} --json $T/j --csv $T/csv --seed 7'"
contains "PHP says what it is" "$T/out" 'PHP [0-9.]+, cgi-fcgi, opcache'
contains "a control" "$T/out" 'against itself'
contains "sentences" "$T/out" '^So$'
contains "where it ran" "$T/out" '^  placement +(same|split|free)'
check "80 columns" narrow
check "a line for each cell and round" test "$(wc -l <"$T/csv")" -ge 43
equal "nothing is left" "$(compgen -G "$T/berth-bench.*")" ""
equal "silent without a terminal" "$(wc -c <"$T/err")" 0

# From here on nothing depends on how long a slice is.
small=(--rounds 6 -c 1 --sizes 100 --budget 4s --precision 0.5)

# On a terminal there is a live line, and no trace of it at the end.
# lib.sh has a function of that name.
command script -qec "TERM=xterm '$BENCH' compare --targets null --transports unix --modes kept ${small[*]} 2>&1 >$T/out" \
	"$T/typescript" >/dev/null </dev/null
check "a live line" test "$(grep -c $'\r' "$T/typescript")" -gt 0
contains "that is erased" <(grep -v '^Script' "$T/typescript" | tr '\r\033' 'RE') 'RE\[K$'

# Without PHP it says so, and compares what is there.
PATH=/nowhere bench compare "${small[@]}" --json "$T/j"
contains "without PHP: said" "$T/err" '^berth-bench: without berth: .*package php-cgi'
contains "without PHP: what takes its place" "$T/err" 'the null responder takes its place'
equal "without PHP: cells" "$(value "$T/j" cells)" 7
equal "without PHP: its target" "$(value "$T/j" cells 0 target)" "'null responder'"
PATH=/nowhere bench compare "${small[@]}" --strict
equal "without PHP, but strict" "$STATUS" 3

# Too little time is no verdict, not a wrong one.
bench compare --budget 1s --targets null --json "$T/j"
equal "no time: status" "$STATUS" 3
check "no time: said" test -n "$(value "$T/j" run not_reached)"
bench compare "${small[@]}" --targets null --require 'p50<1ns'
check "a threshold that is missed: status $STATUS" test "$STATUS" -eq 1 -o "$STATUS" -eq 3
contains "a threshold that is missed: said" "$T/err" '^berth-bench: missed: '

bench floor --rounds 6 --json "$T/j"
equal "floor: status" "$STATUS" 0
for kind in pipe 'unix kept' 'tcp kept' 'unix new' 'tcp new'; do
	contains "floor: $kind" "$T/out" "^$kind +[0-9.]+ \["
done
check "floor: JSON" test "$(value "$T/j" schema)" = "'berth-bench'"
bench selftest --rounds 6
contains "selftest: counts" "$T/out" '^ok    counts: '
if grep -q '^FAIL' "$T/out"; then wanted=1; else wanted=0; fi
equal "selftest: status" "$STATUS" $wanted
"$BENCH" selftest --rounds 6 >/dev/full 2>"$T/err"
equal "selftest, disk full" $? 1
