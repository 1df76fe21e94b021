#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Straight to the workers: kept TCP connections beside php-fpm, idle kept connections, many workers.
#
# usage: BERTH=... HELPERS=... BENCH=path/of/berth-bench direct.sh
. "$(dirname "$0")/lib.sh"
: "${BENCH:?path of berth-bench}"

hello=$(script size.php '<?php header("Content-Type: text/plain"); echo str_repeat("x", (int) ($_GET["size"] ?? 100));')

# column NAME: that column of berth-bench's CSV on stdin, of its only line.
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		NR == 2 { print $c }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

machine
say "kept TCP connection, answers of 9,000 and 100,000 bytes, median time of a request:"
for size in 9000 100000; do
	for target in php-fpm berth; do
		p50=$("$BENCH" run --start $target --transport tcp --keep --size $size -n 100 --csv - |
			column p50_us)
		say "  $target, $size bytes: $p50 us"
		if [ $target = berth ]; then
			check "no 40 ms stall" awk -v t="$p50" 'BEGIN { exit !(t < 20000) }'
		fi
	done
done

pool_conf
berth_start
say "a further client, while each of 4 workers holds 0 or 4 idle kept connections:"
once() {
	"$BENCH" run --new --script "$hello" -n 2000 --placement free --csv - "$T/www-1.sock" |
		column p50_us
}
for ((r = 0; r < ROUNDS; r++)); do
	once >>"$T/idle-0"
	for i in 1 2 3 4; do
		hold "h$i" "$T/www-$i.sock" "$hello"
		tell "h$i" open 4 >"$T/null"
		tell "h$i" ask >"$T/null"
	done
	once >>"$T/idle-4"
	for i in 1 2 3 4; do release "h$i"; done
done
paste "$T/idle-0" "$T/idle-4" | awk '{ print $2 / $1 }' | median >"$T/idle"
say "  $(median <"$T/idle-0") us and $(median <"$T/idle-4") us, ratio $(cat "$T/idle")"
check "as fast as on an idle pool, within a tenth" awk '{ exit !($1 < 1.1) }' "$T/idle"
berth_stop

say "connect() to one of 4 and of 500 workers:"
for children in 4 500; do
	pool_conf
	sed -i "s/^pm.max_children = .*/pm.max_children = $children/" "$T/berth.conf"
	berth_start
	for ((r = 0; r < ROUNDS; r++)); do
		"$BENCH" run --new --script "$hello" -n 2000 --placement free --json - \
			"$T/www-1.sock" >"$T/connect.json"
		chmod 644 "$T/connect.json"
		echo '<?php $h = json_decode(file_get_contents("'"$T"'/connect.json"), true)["cells"][0]
			["total"]["histograms"]["connect"];
		$left = $h["count"] / 2;
		foreach ($h["buckets"] as [$low, $count]) if (($left -= $count) <= 0) break;
		echo $low / 1000;' >"$T/j.php"
		"$PHP" -q -n "$T/j.php" && echo
	done | median >"$T/connect-$children"
	say "  $children workers: $(cat "$T/connect-$children") us"
	berth_stop
done
check "500 workers do not make connect() slower, within a tenth" \
	test "$(awk 'NR == 1 { a = $1 } NR == 2 { print $1 / a < 1.1 }' "$T/connect-4" "$T/connect-500")" = 1
