#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth-bench compare: options that change how it measures.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"
export TMPDIR=$T
quick=(--rounds 6 -c 1 --sizes 100 --budget 6s --precision 1 --placement free --targets null)

# After each round everything is started anew, in the same places as far as the report goes.
bench compare "${quick[@]}" --budget 15s --transports unix,pipe --modes kept --restart-every 1 --retry-dirty \
	--json "$T/j"
check "restarts" test "$(value "$T/j" run restarts)" -ge 2
equal "restarts: asked for" "$(value "$T/j" options restart_every)" 1
equal "restarts: no failures" "$(for i in 0 1 2; do value "$T/j" cells $i total failed; done)" 000
equal "restarts: none is given up" \
	"$(for i in 0 1 2; do value "$T/j" cells $i dead; done)" falsefalsefalse
contains "restarts: levels" "$T/out" '^  repeated +requests, slices, server starts \([0-9]+ of each'
contains "dirty slices: said" <(tr '\n' ' ' <"$T/out" | tr -s ' ') \
	'measured once more'
equal "restarts: nothing is left" "$(compgen -G "$T/berth-bench.*")" ""
bench compare "${quick[@]}" --transports unix --modes kept
contains "no restarts: levels" "$T/out" '^  repeated +requests, slices; each server started once'

# Each TCP cell without and with TCP_QUICKACK, and as such in table, sentences and JSON.
bench compare "${quick[@]}" --transports tcp,unix --modes kept --quickack both --json "$T/j"
equal "quickack: cells" "$(for i in 0 1 2 3; do value "$T/j" cells $i name; done)" \
	"'tcp kept c=1 100 B''tcp kept c=1 100 B''tcp+qa kept c=1 100 B''unix kept c=1 100 B'"
equal "quickack: in JSON" "$(for i in 0 1 2 3; do value "$T/j" cells $i quickack; done)" \
	falsefalsetruefalse
contains "quickack: in the table" "$T/out" '^  tcp\+qa kept c=1 100 B '
contains "quickack: a sentence" <(tr '\n' ' ' <"$T/out" | tr -s ' ') \
	'tcp\+quickack (is|from tcp|and tcp)|tcp (is|from tcp\+|and tcp\+)'
bench run --start null --transport tcp -n 10 --quickack on --json "$T/j"
equal "quickack: run" "$(value "$T/j" cells 0 quickack)" true
