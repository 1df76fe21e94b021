#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of random workers under load through nginx: the pool is whole after each one.
#
# 100 kills; 1000 if SLOW is set.
. "$(dirname "$0")/lib.sh"

command -v ab >/dev/null || skip "ab (apache2-utils) is not installed"
kills=$([ -n "${SLOW:-}" ] && echo 1000 || echo 100)
pid=$(script pid.php '<?php echo getmypid();')
# Slow enough for many of the kills to hit a worker in the middle of a request.
work=$(script work.php '<?php usleep(8000); echo "done";')

pool_conf
berth_start
nginx_start "$(upstream_servers 4)"
descriptors=$(fds "$MANAGER")
# whole: four workers, none of them dead, none of them VICTIM.
whole() {
	local p list
	list=($(workers))
	[ ${#list[@]} = 4 ] || return 1
	for p in "${list[@]}"; do [ "$p" != "$victim" ] && alive "$p" || return 1; done
}
load() {
	while [ ! -e "$T/enough" ]; do
		ab -q -r -c 8 -n 400 "http://127.0.0.1:$NGINX_PORT/${work##*/}" >"$T/ab" 2>&1 &&
			awk '/^Complete requests/{print $3}' "$T/ab" >>"$T/complete"
	done
}
load &
LOAD=$!
PIDS+=("$LOAD")
not_whole=0 silent=0 zombie=0
for ((i = 0; i < kills; i++)); do
	list=($(workers))
	victim=${list[RANDOM % ${#list[@]}]}
	kill -9 "$victim"
	until_true 20 whole || { not_whole=$((i + 1)) && break; }
	# Every tenth time look closer.
	[ $((i % 10)) = 9 ] || continue
	for n in 1 2 3 4; do
		[ -n "$(get -t 20 "$T/www-$n.sock" "$pid" 2>/dev/null)" ] || silent=$((silent + 1))
	done
	none() { [ -z "$(zombies "$MANAGER")" ]; }
	until_true 10 none || zombie=$((zombie + 1))
done
touch "$T/enough"
wait "$LOAD"
victim=0

equal "of $kills kills, the one after which the pool did not get whole" $not_whole 0
equal "slots that did not answer" $silent 0
equal "times that zombies stayed" $zombie 0
check "the manager lives" alive "$MANAGER"
complete=$(awk '{n += $1} END {print n + 0}' "$T/complete")
check "the load went on: $complete requests" test "$complete" -ge $((kills * 5))
check "four workers at the end" until_true 10 whole
equal "each slot has a worker of its own" "$(for n in 1 2 3 4; do
	for i in 1 2 3 4 5; do get "$T/www-$n.sock" "$pid" && echo; done | sort -u
done | sort | uniq -c | awk '{print $1}' | xargs)" "1 1 1 1"
equal "they are all the workers there are" \
	"$(for n in 1 2 3 4; do get "$T/www-$n.sock" "$pid" && echo; done | sort | xargs)" \
	"$(workers | xargs -n1 | sort | xargs)"
same_fds() { [ "$(fds "$MANAGER")" = "$descriptors" ]; }
check "descriptors in the manager, as before: $descriptors" until_true 10 same_fds
equal "one template all the time" "$(grep -c 'its template has ended' "$LOG")" 0
berth_stop
equal "exit status" "$STATUS" 0
