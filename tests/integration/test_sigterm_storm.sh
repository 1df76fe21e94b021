#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# SIGTERM to random workers under load loses no request, kept or new; nor does it end connections.
#
# 40 signals; 400 if SLOW is set.
. "$(dirname "$0")/lib.sh"
signals=$([ -n "${SLOW:-}" ] && echo 400 || echo 40)

token=$(script token.php '<?php echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
work=$(script work.php '<?php usleep(rand(0, 4000)); echo $_SERVER["TOKEN"];')
pid=$(script pid.php '<?php echo getmypid();')
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
# load_until_enough ARG...: rounds of load; a line of fcgi-load each.
load_until_enough() {
	while [ ! -e "$T/enough" ]; do "$HELPERS/fcgi-load" "$@" "$work" "${sockets[@]}" 2>&1; done
}
has_worker() { [ "$(workers | wc -w)" = 4 ]; }

pool_conf
berth_start
template=$(template_pid)
load_until_enough -k -c 12 -n 50 >"$T/kept" &
kept=$!
PIDS+=("$kept")
load_until_enough -c 6 -n 50 >"$T/new" &
new=$!
PIDS+=("$new")
sent=0 stayed=0
for ((i = 0; i < signals; i++)); do
	until_true 20 has_worker || break
	list=($(workers))
	victim=${list[RANDOM % 4]}
	kill -TERM "$victim" && sent=$((sent + 1))
	until_true 20 gone "$victim" || stayed=$((stayed + 1))
done
touch "$T/enough"
wait "$kept"
wait "$new"
equal "signals that were sent" $sent "$signals"
equal "workers that stayed" $stayed 0
for how in kept new; do
	read -r rounds right <<<"$(awk '/, wrong 0, failed 0,/ { r++ } { n++ }
		END { print n + 0, r + 0 }' "$T/$how")"
	equal "$how: rounds of load without a fault" "$right" "$rounds"
	grep -v ', wrong 0, failed 0,' "$T/$how" | sed 's/^/      | /' | head -5
	check "$how: there was load: $rounds rounds" test "$rounds" -ge 1
done
check "the pool is whole" until_true 20 has_worker
equal "the template stayed" "$(template_pid)" "$template"
equal "nobody was killed" "$(grep -cE 'did not leave|killed|SIGKILL' "$LOG")" 0
equal "each slot answers" "$(for s in "${sockets[@]}"; do get "$s" "$pid" && echo; done |
	grep -c '^[0-9]')" 4

# Idle kept connections outlive the worker.
hold idle "${sockets[0]}" "$token"
for i in 1 2 3 4 5 6 7 8; do tell idle open 1 && tell idle ask; done >"$T/null"
for round in 1 2 3; do
	old=$(get "${sockets[0]}" "$pid")
	kill -TERM "$old"
	check "round $round: it leaves" until_true 20 gone "$old"
	equal "round $round: its connections" "$(tell idle state)" "open 8, ended 0"
	answer=$(tell idle ask)
	equal "round $round: are served" "${answer%%:*}" "answered 8, wrong 0, failed 0"
	check "round $round: by another worker" test "${answer##*: }" != "$old"
done
# Also one whose last request came over a kept connection: it does not wait in accept().
tell idle ask >"$T/null"
old=$(tell idle ask)
old=${old##*: }
kill -TERM "$old"
check "idle on kept connections: it leaves" until_true 20 gone "$old"
# One that is busy finishes first.
slow=$(script slow.php '<?php touch(__DIR__ . "/drop/runs"); usleep(400000);
echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
mkdir "$T/drop"
chmod 777 "$T/drop"
old=$(get "${sockets[1]}" "$pid")
hold busy "${sockets[1]}" "$slow"
tell busy open 1 >"$T/null"
tell busy send kept >"$T/null"
until_true 10 test -e "$T/drop/runs" || fail "the slow request does not start"
kill -TERM "$old"
equal "busy: the request is answered to its end" "$(tell busy read)" \
	"answered 1, wrong 0, failed 0:  $old"
check "busy: then it leaves" until_true 20 gone "$old"
equal "busy: the connection goes on" "$(tell busy ask | cut -d: -f1)" "answered 1, wrong 0, failed 0"
release busy
release idle

# As many as a worker can hold.
hold many "${sockets[2]}" "$token"
tell many open 900 >"$T/null"
equal "900 kept connections" "$(tell many ask | cut -d: -f1)" "answered 900, wrong 0, failed 0"
old=$(get "${sockets[2]}" "$pid")
kill -TERM "$old"
check "many: it leaves" until_true 20 gone "$old"
equal "many: are served by its successor" "$(tell many ask | cut -d: -f1)" \
	"answered 900, wrong 0, failed 0"
release many

# All workers at once, with half of what their tables hold.
for i in 0 1 2 3; do
	hold "all$i" "${sockets[i]}" "$token"
	tell "all$i" open 500 >"$T/null"
	tell "all$i" ask >"$T/null"
done
ask_all() {
	for i in 0 1 2 3; do tell "all$i" send kept >"$T/null"; done
	for i in 0 1 2 3; do tell "all$i" read | cut -d: -f1; done | sort | uniq -c | xargs
}
equal "500 kept connections on each of four" "$(ask_all)" "4 answered 500, wrong 0, failed 0"
for ((round = 0; round < $([ -n "${SLOW:-}" ] && echo 20 || echo 3); round++)); do
	old=($(workers))
	kill -TERM "${old[@]}"
	for o in "${old[@]}"; do until_true 20 gone "$o" || fail "worker $o stays"; done
	equal "all at once, round $round" "$(ask_all)" "4 answered 500, wrong 0, failed 0"
done
for i in 0 1 2 3; do release "all$i"; done
berth_stop
equal "exit status" "$STATUS" 0
