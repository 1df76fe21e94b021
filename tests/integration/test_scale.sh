#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth scale: the number of workers of a running pool, without a failed request, its limits, and how
# long it lasts.
. "$(dirname "$0")/lib.sh"
socket=$T/c.sock

pid=$(script pid.php '<?php echo getmypid();')
token=$(script token.php '<?php usleep(1000); echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
sleeper=$(script sleep.php '<?php usleep(40000); echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')

berth() { "$BERTH" "$@" --control "$socket"; }
load() { "$HELPERS/fcgi-load" "$@" 2>&1; }
right() { equal "$1" "$(cut -d, -f1-3 <<<"$3")" "answered $2, wrong 0, failed 0"; }
sockets() { local i; for i in 1 2 3 4; do echo "$T/${1:-www}-$i.sock"; done; }
# slots POOL: which of its slots have a worker, by the table of status.
slots() {
	berth status | awk -v p="$1:" '/^pool/ { on = $2 == p; next }
		on && $1 ~ /^[0-9]+$/ && $2 != "empty" { printf "%s ", $1 }' | xargs
}
slots_are() { [ "$(slots "$1")" = "$2" ]; }
# refused TEXT STATUS PATTERN ARG...: scale says no.
refused() {
	berth scale "${@:4}" >"$T/said" 2>&1
	equal "$1: status" $? "$2"
	contains "$1: reason" "$T/said" "$3"
}
# pool NAME MODE [LINE...]
pool() {
	printf '[%s]\nlisten = %s/%s-%%n.sock\npm = %s\npm.max_children = 4\n%s\nprogram = %s\n' \
		"$1" "$T" "$1" "$2" "$USER_LINE" "$PHP"
	[ $# = 2 ] || printf '%s\n' "${@:3}"
}
conf "control = $socket
$(pool www static)
$(pool dyn dynamic 'pm.min_spare_servers = 3' 'pm.max_spare_servers = 4' 'pm.start_servers = 3')
$(pool ond ondemand 'pm.process_idle_timeout = 10s')
$(pool exe static 'spawn = exec')"
berth_start

refused "none" 1 'pool www can have 1 to 4 workers; more take .*pm.max_children' www 0
refused "too many" 1 'pool www can have 1 to 4 workers; more take .*pm.max_children' www 5
refused "another pool" 1 'there is no pool web; there are www, dyn, ond, exe' web 2
refused "executed workers" 1 'pool exe has spawn = exec' exe 2
refused "no number" 100 "scale takes a pool's name and a number" www
refused "half a number" 100 'a number of workers, not 2x' www 2x
refused "a negative one" 100 'invalid option' www -1
refused "a word too many" 100 'more: unexpected' www 2 more
equal "they changed nothing" "$(slots www)" "1 2 3 4"

# Idle kept connections of slots that become empty are answered by those that stay.
for n in 1 2 3 4; do
	hold "kept$n" "$T/www-$n.sock" "$token"
	tell "kept$n" open 1 >"$T/null"
	tell "kept$n" ask >"$T/null"
done
equal "scale" "$(berth scale www 1)" "pool www: 1 of 4 workers, until its next reload"
check "the first slot is left" until_true 10 slots_are www 1
contains "status tells" <(berth status) '^pool www: .*, scaled to 1 of 4 workers$'
equal "and as JSON" "$(berth status --json | grep '"workers"' | head -1 | tr -d ' ,')" '"workers":1'
one=$(get "$T/www-1.sock" "$pid")
for n in 1 2 3 4; do
	equal "kept connection of slot $n" "$(tell "kept$n" ask)" "answered 1, wrong 0, failed 0:  $one"
	equal "new connection to slot $n" "$(get "$T/www-$n.sock" "$pid")" "$one"
done
right "four at once" 4 "$(load -c 4 -n 1 "$sleeper" $(sockets))"

# Another manager goes on with it.
check "upgrade" berth upgrade
equal "it is still so" "$(slots www) $(get "$T/www-4.sock" "$pid")" "1 $one"
check "scale" test -n "$(berth scale www 3)"
check "three are there" until_true 10 slots_are www "1 2 3"

# Under load. The number changes at least four times.
load -c 12 -n 50 -k "$token" $(sockets) >"$T/load-kept" &
one=$!
load -c 12 -n 50 "$token" $(sockets) >"$T/load-new" &
two=$!
changes=0
while alive $one || alive $two || [ $changes -lt 4 ]; do
	berth scale www 1 >"$T/null"
	until_true 10 slots_are www 1 || fail "more than one worker is left"
	berth scale www 4 >"$T/null"
	until_true 10 slots_are www "1 2 3 4" || fail "not every slot has a worker"
	changes=$((changes + 2))
done
wait $one $two
say "      $changes changes"
right "kept connections" 600 "$(cat "$T/load-kept")"
right "new connections" 600 "$(cat "$T/load-new")"
for n in 1 2 3 4; do
	equal "idle kept connection of slot $n" "$(tell "kept$n" ask | cut -d: -f1)" \
		"answered 1, wrong 0, failed 0"
	release "kept$n"
done

# The other kinds: it is the most that there may be.
check "scale dynamic" test -n "$(berth scale dyn 1)"
one_dynamic() { [ "$(slots dyn | wc -w)" = 1 ]; }
check "dynamic: one is left" until_true 10 one_dynamic
right "dynamic: all are served" 8 "$(load -c 4 -n 2 "$sleeper" $(sockets dyn))"
check "dynamic: by one" one_dynamic
check "scale dynamic" test -n "$(berth scale dyn 4)"
three_dynamic() { [ "$(slots dyn | wc -w)" -ge 3 ]; }
check "dynamic: those that should be spare" until_true 10 three_dynamic
equal "scale ondemand" "$(berth scale ond 2)" "pool ond: up to 2 of 4 workers, until its next reload"
right "ondemand: all are served" 8 "$(load -c 4 -n 2 "$sleeper" $(sockets ond))"
equal "ondemand: by two" "$(slots ond | wc -w)" 2

# A reload of another pool leaves it; one of this pool does not.
check "scale" test -n "$(berth scale www 2)"
check "reload of another" berth reload dyn
equal "it is still so" "$(slots www)" "1 2"
check "reload" berth reload www
equal "as configured" "$(slots www)" "1 2 3 4"
right "all are served" 8 "$(load -c 4 -n 2 "$token" $(sockets))"
berth_stop
equal "exit status" "$STATUS" 0
