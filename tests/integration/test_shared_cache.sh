#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One opcode cache and one APCu for all workers, each on its own socket, also after kill -9.
. "$(dirname "$0")/lib.sh"

cache=$(script cache.php '<?php $s = opcache_get_status(false)["opcache_statistics"];
echo getmypid(), " ", $s["misses"], " ", $s["hits"], " ", apcu_inc("n"), "\n";')
touch -d '-1 hour' "$cache"

# ask: one line of "pid misses hits counter" from each worker's own socket.
ask() { for i in 1 2 3 4; do get "$T/www-$i.sock" "$cache"; done; }

# judge TEXT WANTED_COUNTER LINES: they are from 4 processes that share everything.
judge() {
	local text=$1 first=$2 lines=$3
	equal "$text: different processes" "$(cut -d' ' -f1 <<<"$lines" | sort -u | wc -l)" 4
	equal "$text: compiled once" "$(cut -d' ' -f2 <<<"$lines" | sort -u | xargs)" 1
	equal "$text: one counter" "$(cut -d' ' -f4 <<<"$lines" | xargs)" "$(seq -s' ' "$first" $((first + 3)))"
}

# Each slot's own worker has to answer, so the others do not help.
pool_conf 'pm.rescue = no'
berth_start
judge "from the start" 1 "$(ask)"

victim=$(get "$T/www-2.sock" "$cache" | cut -d' ' -f1) # counter 5
kill -9 "$victim"
judge "after kill -9 of one worker" 6 "$(ask)"

old=$(workers)
for pid in $old; do kill -9 "$pid"; done
until_true 10 all_gone $old || fail "a killed worker is still there"
judge "after kill -9 of every worker" 10 "$(ask)"

berth_stop
equal "exit status after SIGTERM" "$STATUS" 0
check "the sockets are removed" test -z "$(find "$T" -name '*.sock')"
