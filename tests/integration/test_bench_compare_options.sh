#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth-bench compare: options that change how it measures.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"
export TMPDIR=$T
quick=(--rounds 6 -c 1 --sizes 100 --budget 6s --precision 1 --placement free --targets null)

# Every two rounds everything is started anew, in the same places as far as the report goes.
bench compare "${quick[@]}" --transports unix,pipe --modes kept --restart-every 2 --retry-dirty \
	--json "$T/j"
check "restarts" test "$(value "$T/j" run restarts)" -ge 2
equal "restarts: asked for" "$(value "$T/j" options restart_every)" 2
equal "restarts: no failures" "$(for i in 0 1 2; do value "$T/j" cells $i total failed; done)" 000
equal "restarts: none is given up" \
	"$(for i in 0 1 2; do value "$T/j" cells $i dead; done)" falsefalsefalse
contains "restarts: levels" "$T/out" '^  repeated +requests, slices, server starts \([0-9]+ of each'
contains "dirty slices: said" <(tr '\n' ' ' <"$T/out" | tr -s ' ') \
	'measured once more'
equal "restarts: nothing is left" "$(compgen -G "$T/berth-bench.*")" ""
bench compare "${quick[@]}" --transports unix --modes kept
contains "no restarts: levels" "$T/out" '^  repeated +requests, slices; each server started once'
