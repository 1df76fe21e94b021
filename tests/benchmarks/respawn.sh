#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Prints how fast berth replaces a killed worker, and how fast it starts many.
#
# usage: BERTH=path/of/berth HELPERS=folder/of/test/programs respawn.sh [KILLS [CHILDREN]]
#
# "respawn" is the time from kill -9 of a worker to the whole answer of its successor, as a client
# sees it: the death, the manager that learns of it, the fork by the template, the new worker's
# accept(), and one request. "request" is the same request without a kill; the difference is what
# the replacement costs. "start" is from the start of berth to the word "ready" in its log, looked
# at every few milliseconds; all workers are forked by then.
. "$(dirname "$0")/../integration/lib.sh"

kills=${1:-50}
children=${2:-500}
pid=$(script pid.php '<?php echo getmypid();')

# quantiles COLUMN: median, least and most of a column of numbers on stdin, in milliseconds.
quantiles() {
	awk -v c="$1" '{print $c / 1000}' | sort -n | awk '
		{ v[NR] = $1 }
		END {
			m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
			printf "median %.2f ms, least %.2f, most %.2f, of %d\n", m, v[1], v[NR], NR
		}'
}

bench_conf() {
	conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = $1
$USER_LINE
spawn = $2
program = $PHP -d apc.enabled=1"
}

say "$("$PHP" -v | head -1), Linux $(uname -r), $(nproc) processors"
bench_conf 4 template
berth_start
"$HELPERS/respawn-time" "$kills" "$T/www-2.sock" "$pid" >"$T/times" || die "not measured"
say "respawn: $(quantiles 1 <"$T/times")"
say "request: $(quantiles 2 <"$T/times")"
berth_stop

bench_conf "$children" template
start=$(date +%s%N)
berth_launch -c "$T/berth.conf"
until is_ready; do gone "$MANAGER" && die "berth did not start: $(tail -1 "$LOG")"; done
say "start: $children workers in $((($(date +%s%N) - start) / 1000000)) ms"
equal "workers" "$(workers | wc -w)" "$children"
answers=$(for n in 1 $((children / 2)) "$children"; do get "$T/www-$n.sock" "$pid" && echo; done)
equal "first, middle and last answer" "$(sort -u <<<"$answers" | grep -c .)" 3
start=$(date +%s%N)
berth_stop
say "stop: $children workers in $((($(date +%s%N) - start) / 1000000)) ms"
