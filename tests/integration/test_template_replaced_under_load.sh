#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of the template under load: all workers are replaced, and no request notices.
. "$(dirname "$0")/lib.sh"

work=$(script work.php '<?php usleep(rand(0, 2000)); echo $_SERVER["TOKEN"];')
token=$(script token.php '<?php echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
pid=$(script pid.php '<?php echo getmypid();')
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
load_until_enough() {
	while [ ! -e "$T/enough" ]; do "$HELPERS/fcgi-load" "$@" "$work" "${sockets[@]}" 2>&1; done
}
pids() { for s in "${sockets[@]}"; do get -t 20 "$s" "$pid" && echo; done | sort -u; }

pool_conf
berth_start
hold idle "${sockets[3]}" "$token"
for i in 1 2 3 4; do tell idle open 1 && tell idle ask; done >"$T/null"
load_until_enough -k -c 12 -n 50 >"$T/kept" &
kept=$!
PIDS+=("$kept")
load_until_enough -c 4 -n 50 >"$T/new" &
new=$!
PIDS+=("$new")
for round in 1 2 3; do
	old=$(workers)
	template=$(template_pid)
	kill -9 "$template"
	new_template() { [ "$(grep -c 'new template, pid' "$LOG")" = $round ]; }
	check "round $round: a new template" until_true 30 new_template
	check "round $round: the old workers have gone" until_true 30 all_gone $old
	four() { [ "$(workers | wc -w)" = 4 ]; }
	check "round $round: four new ones" until_true 20 four
done
touch "$T/enough"
wait "$kept"
wait "$new"
for how in kept new; do
	read -r rounds right <<<"$(awk '/, wrong 0, failed 0,/ { r++ } { n++ }
		END { print n + 0, r + 0 }' "$T/$how")"
	equal "$how: rounds of load without a fault" "$right" "$rounds"
	grep -v ', wrong 0, failed 0,' "$T/$how" | sed 's/^/      | /' | head -5
	check "$how: there was load: $rounds rounds" test "$rounds" -ge 3
done
equal "idle kept connections" "$(tell idle state)" "open 4, ended 0"
equal "they are served" "$(tell idle ask | cut -d: -f1)" "answered 4, wrong 0, failed 0"
equal "each slot has its worker" "$(pids | xargs)" "$(workers | xargs -n1 | sort -u | xargs)"
equal "nobody was killed by us" "$(grep -c 'did not leave' "$LOG")" 0
berth_stop
equal "exit status" "$STATUS" 0
