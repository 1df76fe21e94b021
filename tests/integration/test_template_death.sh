#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A template that is killed costs no request; a new one takes over, with one cache for all again.
. "$(dirname "$0")/lib.sh"

cache=$(script cache.php '<?php echo getmypid(), " ", apcu_inc("n"), "\n";')
parent_of() { awk '/^PPid/{print $2}' "/proc/$1/status" 2>/dev/null; }
deaths=0
# template_now: the pid of the last new template, by the log.
template_now() {
	sed -n 's/.*pool www: new template, pid \([0-9]*\)$/\1/p' "$LOG" | tail -1
}
ask() { for n in 1 2 3 4; do get "$T/www-$n.sock" "$cache" || fail "slot $n does not answer"; done; }
pids() { ask | cut -d' ' -f1; }

# hammer: requests to all slots until $T/enough exists; what fails goes to $T/lost.
hammer() {
	while [ ! -e "$T/enough" ]; do
		for n in 1 2 3 4; do
			get "$T/www-$n.sock" "$cache" >/dev/null 2>>"$T/lost"
			printf . >>"$T/asked"
		done
	done
}

# replaced OLD_TEMPLATE: the new one is there, and all four workers are its children.
replaced() {
	local new p
	new=$(template_now)
	[ -n "$new" ] && [ "$new" != "$1" ] || return 1
	[ "$(children "$new" | wc -w)" = 4 ] || return 1
	# The old workers have left.
	[ "$(descendants "$MANAGER" | wc -l)" = 6 ]
}

# dies SIGNAL: the template ends by it, under load.
dies() {
	local old new before answers count text=SIG$1
	old=$(template_now)
	[ -n "$old" ] || old=$(template_pid)
	before=$(pids | sort | xargs)
	rm -f "$T/enough"
	: >"$T/lost"
	: >"$T/asked"
	hammer &
	local load=$!
	PIDS+=("$load")
	until_true 20 test -s "$T/asked"
	kill -"$1" "$old"
	check "$text: a new template has four workers" until_true 30 replaced "$old"
	touch "$T/enough"
	wait "$load"
	equal "$text: of $(wc -c <"$T/asked") requests meanwhile, lost" "$(wc -l <"$T/lost")" 0
	new=$(template_now)
	answers=$(ask)
	count=$(head -1 <<<"$answers" | cut -d' ' -f2)
	equal "$text: the slots' parents" \
		"$(for p in $(cut -d' ' -f1 <<<"$answers"); do parent_of "$p"; done | sort -u | xargs)" \
		"$new"
	equal "$text: none of the workers before is left" \
		"$(cut -d' ' -f1 <<<"$answers" | grep -cxF "$(tr ' ' '\n' <<<"$before")")" 0
	equal "$text: one cache, by its counter" "$(cut -d' ' -f2 <<<"$answers" | xargs)" \
		"$(seq -s' ' "$count" $((count + 3)))"
	equal "$text: no zombie" "$(zombies "$MANAGER" | wc -l)" 0
	deaths=$((deaths + 1))
	equal "$text: deaths of a template in the log" \
		"$(grep -c "alert: pool www: its template has ended: " "$LOG")" $deaths
}

pool_conf
berth_start

# SIGUSR1 sets a flag in php-cgi that would end each worker at its birth.
template=$(template_pid)
kill -USR1 "$template"
kill -USR2 "$template"
kill -HUP "$template"
victim=$(get "$T/www-1.sock" "$cache" | cut -d' ' -f1)
kill -9 "$victim"
# Until its successor is there, a sibling may answer for it.
whole() { gone "$victim" && [ "$(children "$template" | wc -w)" = 4 ]; }
check "after SIGUSR1 to the template: a new worker comes" until_true 10 whole
new=$(get "$T/www-1.sock" "$cache" | cut -d' ' -f1)
check "after SIGUSR1 to the template: it answers" test -n "$new" -a "$new" != "$victim"
equal "after SIGUSR1 to the template: and stays" "$(get "$T/www-1.sock" "$cache" | cut -d' ' -f1)" \
	"$new"
check "after SIGUSR1, SIGUSR2, SIGHUP the template lives" alive "$template"
equal "after that: ends in the log" "$(grep -c 'ended' "$LOG")" 1

descriptors=$(fds "$MANAGER")
dies KILL
dies TERM
dies KILL
same_fds() { [ "$(fds "$MANAGER")" = "$descriptors" ]; }
check "descriptors in the manager, as before: $descriptors" until_true 10 same_fds

# Workers that die while there is no template wait for the new one.
old=$(template_now)
before=$(pids)
kill -9 "$old" $before
answers=$(for n in 1 2 3 4; do get -t 30 "$T/www-$n.sock" "$cache"; done)
equal "template and all workers killed: answers" "$(grep -c . <<<"$answers")" 4
check "template and all workers killed: whole again" until_true 30 replaced "$old"

family=$(descendants "$MANAGER")
berth_stop
equal "exit status" "$STATUS" 0
check "all has gone" all_gone $family
