#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth-bench diff: two saved runs. How many rounds they have is up to the machine.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"
flat() { tr '\n' ' ' <"$1" | tr -s ' '; }

run=(compare --targets null --transports unix --modes kept -c 1 --placement free --budget 6s)
bench "${run[@]}" --rounds 9 --sizes 100 --seed 1 --json "$T/a"
bench "${run[@]}" --rounds 9 --sizes 100,1000000 --seed 2 --json "$T/b"
bench diff "$T/a" "$T/b" --json "$T/j" --delta 1
bench diff "$T/a" "$T/b" --delta 1
if [ "$(value "$T/j" diff refused)" = true ]; then wanted=3; else wanted=0; fi
equal "status" "$STATUS" $wanted
check "80 columns" test "$(awk '{ if (length > n) n = length } END { print n }' "$T/out")" -le 80
contains "what differs" "$T/out" '^  seed +1 \| 2$'
contains "a cell of both" "$T/out" '^  unix kept c=1 100 B .*(\[[0-9.]+, [0-9.]+\]|no interval)'
contains "a cell of one" "$T/out" '^  only in the second run: unix kept c=1 1000000 B'
check "differences come first" test "$(grep -n '^The runs differ' "$T/out" | cut -d: -f1)" -lt \
	"$(grep -n '^Median of the rounds' "$T/out" | cut -d: -f1)"
equal "JSON: cells" "$(value "$T/j" diff cells)" 1
equal "JSON: rounds" "$(value "$T/j" diff cells 0 first_rounds)" "$(value "$T/a" cells 0 rounds)"

# Plain runs have one round and no control, which tell nothing, however different they are.
respond quick
bench run --script /x -n 60 --json "$T/quick" "$T/quick.sock"
respond slow --delay-ms 5
bench run --script /x -n 60 --json "$T/slow" "$T/slow.sock"
bench diff "$T/quick" "$T/slow"
equal "without a control: status" "$STATUS" 3
contains "without a control: said" <(flat "$T/out") 'No verdict: '

bench diff "$T/a" "$T/out"
equal "no JSON: status" "$STATUS" 2
contains "no JSON: said" "$T/err" "^berth-bench: $T/out: it is no JSON: line 1"
bench floor --rounds 6 --json "$T/floor"
bench diff "$T/floor" "$T/a"
equal "floor: status" "$STATUS" 2
contains "floor: said" "$T/err" "^berth-bench: $T/floor: \"cells\" is missing"
bench diff "$T/a" "$T/none"
equal "no file: status" "$STATUS" 2
contains "no file: said" "$T/err" "^berth-bench: $T/none: No such file"
"$BENCH" diff "$T/a" "$T/b" >/dev/full 2>"$T/err"
equal "disk full" $? 1
