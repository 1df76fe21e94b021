#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The shared opcode cache is full, or starts anew under load: every answer stays right, nobody dies.
. "$(dirname "$0")/lib.sh"

scripts=260
for ((i = 0; i < scripts; i++)); do
	printf '<?php function f%d() { return "answer %d"; } echo f%d();' $i $i $i >"$T/s$i.php"
done
reset=$(script reset.php '<?php echo opcache_reset() ? "reset" : "no";')
figure=$(script figure.php '<?php $s = opcache_get_status(false);
	echo $s["opcache_statistics"]["hash_restarts"] + (int) $s["cache_full"], " ",
	$s["opcache_statistics"]["manual_restarts"];')

# The least that opcache takes: 223 scripts have room.
pool_conf "program = $PHP -d opcache.enable=1 -d opcache.interned_strings_buffer=1 -d opcache.memory_consumption=8 -d opcache.max_accelerated_files=200 -d opcache.file_update_protection=0 -d opcache.validate_timestamps=0"
sed -i "0,/^program/{/^program/d}" "$T/berth.conf"
berth_start

# ask SLOT: every script once; what is wrong goes to $T/wrong.
ask() {
	local i
	for ((i = 0; i < scripts; i++)); do
		[ "$(get "$T/www-$1.sock" "$T/s$i.php" 2>&1)" = "answer $i" ] || echo "slot $1: $i" >>"$T/wrong"
	done
}
: >"$T/wrong"
ask 1
equal "wrong answers with more scripts than have room" "$(wc -l <"$T/wrong")" 0
read -r full _ <<<"$(get "$T/www-1.sock" "$figure")"
check "and it really was full" [ "${full:-0}" -ge 1 ]

jobs=()
for n in 1 2 3; do
	ask $n &
	jobs+=($!)
done
resets=0
while alive "${jobs[0]}" || [ $resets -lt 5 ]; do
	[ "$(get "$T/www-4.sock" "$reset")" = reset ] || fail "opcache_reset() failed"
	resets=$((resets + 1))
done
for job in "${jobs[@]}"; do wait "$job"; done
equal "wrong answers while the cache was reset $resets times" "$(wc -l <"$T/wrong")" 0
read -r _ manual <<<"$(get "$T/www-1.sock" "$figure")"
check "and it really started anew" [ "${manual:-0}" -ge 1 ]
equal "workers that ended" "$(grep -c 'ended with' "$LOG")" 0
berth_stop
