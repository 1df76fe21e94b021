#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Prints how long the first client waits while a pool has no worker, beside php-fpm's ondemand, and
# what memory such a pool takes.
#
# usage: BERTH=path/of/berth HELPERS=folder/of/test/programs ondemand.sh [ROUNDS]
#
# In each round both, in turn the one or the other first, have no worker; then each gets one request,
# whose time is from connect() to the end of the answer. The ratio is berth's time by php-fpm's of
# the same round: its median, and the interval that holds the true median with 95 % or more (order
# statistics). Memory is the sum of PSS of all processes while there is no worker.
. "$(dirname "$0")/../integration/lib.sh"

rounds=${1:-20}
FPM=${FPM:-$(PATH=$PATH:/usr/sbin command -v php-fpm8.2 php-fpm | head -1)}
[ -n "$FPM" ] || skip "php-fpm is not installed"
token=$(script token.php '<?php echo $_SERVER["TOKEN"];')

conf "[www]
listen = $T/www-%n.sock
pm = ondemand
pm.max_children = 50
pm.process_idle_timeout = 1s
$USER_LINE
program = $PHP"
berth_start
cat >"$T/fpm.conf" <<-F
	[global]
	error_log = $T/fpm.log
	daemonize = no
	[www]
	listen = $T/fpm.sock
	$USER_LINE
	pm = ondemand
	pm.max_children = 50
	pm.process_idle_timeout = 1s
F
"$FPM" $([ "$(id -u)" = 0 ] && echo -R) -y "$T/fpm.conf" 2>"$T/fpm.err" &
FPM_PID=$!
PIDS+=("$FPM_PID")
until_true 10 test -S "$T/fpm.sock" || die "php-fpm did not start: $(cat "$T/fpm.err")"

nobody() { [ -z "$(workers)$(children "$FPM_PID")" ]; }
first() { "$HELPERS/first-answer" "$1" "$token" || die "no answer at $1"; }
# pss PID...: KiB.
pss() {
	local p
	for p; do cat "/proc/$p/smaps_rollup"; done | awk '/^Pss:/ { n += $2 } END { print n }'
}

: >"$T/times"
for ((i = 0; i <= rounds; i++)); do
	until_true 20 nobody || die "workers do not leave"
	if ((i % 2)); then
		berth=$(first "$T/www-1.sock") fpm=$(first "$T/fpm.sock")
	else
		fpm=$(first "$T/fpm.sock") berth=$(first "$T/www-1.sock")
	fi
	# The first round warms both up.
	[ "$i" = 0 ] || echo "$berth $fpm" >>"$T/times"
done
until_true 20 nobody

column() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
say "$("$PHP" -v | head -1), Linux $(uname -r), $(nproc) processors, $rounds rounds"
say "first answer: berth $(awk '{print $1}' "$T/times" | column) us, php-fpm $(
	awk '{print $2}' "$T/times" | column) us (medians)"
say "ratio: $(awk '{ printf "%.4f\n", $1 / $2 }' "$T/times" | sort -n | awk '
	{ v[NR] = $1 }
	END {
		# As many of the least and the most are left out as a fair coin shows at most with 2.5 %.
		p = 0.5 ^ NR; sum = p
		for (k = 0; sum <= 0.025 && k < NR / 2; ) { p = p * (NR - k) / (k + 1); sum += p; k++ }
		if (k < 1) k = 1
		printf "%.3f, from %.3f to %.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[k],
			v[NR + 1 - k]
	}')"
say "memory without workers: berth $(pss $(descendants "$MANAGER")) KiB, php-fpm $(pss "$FPM_PID") KiB"
berth_stop
