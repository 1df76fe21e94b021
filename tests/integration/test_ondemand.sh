#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# pm = ondemand: no worker until somebody connects, none for long when nobody does any more, and no
# request is lost while workers come and go.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
token=$(script token.php '<?php echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
sleeper=$(script sleep.php '<?php usleep(300000); echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')

# ondemand WORKERS [LINE...]
ondemand() {
	pool_conf "pm.process_idle_timeout = 300ms" "${@:2}"
	sed -i -e 's/^pm = static/pm = ondemand/' -e "s/^pm.max_children.*/pm.max_children = $1/" \
		"$T/berth.conf"
}
count() { workers | wc -w; }
count_is() { [ "$(count)" = "$1" ]; }
states() {
	"$BERTH" status --json --control "$T/c.sock" | tr -d ' \n' | grep -o '"state":"[a-z]*"' |
		cut -d'"' -f4 | sort | uniq -c | xargs
}

ondemand 4
sed -i "1i control = $T/c.sock" "$T/berth.conf"
berth_start
equal "workers at the start" "$(count)" 0
equal "states" "$(states)" "4 empty 1 ready 1 running"
for n in 1 2 3 4; do
	check "the first client of slot $n is served" test -n "$(get "$T/www-$n.sock" "$pid")"
	check "slot $n's worker leaves" until_true 10 count_is 0
done
equal "states" "$(states)" "4 empty 1 ready 1 running"
same() { [ "$(get "$T/www-1.sock" "$pid")" = "$(get "$T/www-3.sock" "$pid")" ]; }
check "a client of another slot is served by who idles" until_true 10 same
# A kept connection holds its worker, which leaves after it.
hold kept "$T/www-2.sock" "$token"
tell kept open 1 >"$T/null"
tell kept ask >"$T/null"
check "one worker is left" until_true 10 count_is 1
kept=$(workers)
sleep 0.8
equal "it stays while it holds a connection" "$(workers)" "$kept"
equal "and answers there" "$(tell kept ask)" "answered 1, wrong 0, failed 0:  $(xargs <<<"$kept")"
release kept
check "it leaves when that is closed" until_true 10 count_is 0
# As many as are needed.
"$HELPERS/fcgi-load" -c 3 -n 1 "$sleeper" "$T/www-1.sock" >"$T/three" 2>&1
equal "three at one slot" "$(cut -d, -f1-3 "$T/three")" "answered 3, wrong 0, failed 0"
check "they leave" until_true 10 count_is 0
# Another manager goes on with that.
before=$(get "$T/www-2.sock" "$pid")
check "upgrade" "$BERTH" upgrade --control "$T/c.sock"
check "a slot is served after an upgrade" test -n "$(get "$T/www-3.sock" "$pid")"
check "a worker from before the upgrade leaves" until_true 10 gone "$before"
check "and the others" until_true 10 count_is 0
# Reload with another size, while nobody and while somebody is there.
sed -i 's/^pm.max_children.*/pm.max_children = 6/' "$T/berth.conf"
check "reload" "$BERTH" reload --control "$T/c.sock"
check "a slot that is new is served" test -n "$(get "$T/www-6.sock" "$pid")"
sed -i 's/^pm.max_children.*/pm.max_children = 4/' "$T/berth.conf"
check "reload" "$BERTH" reload --control "$T/c.sock"
check "a slot that has stayed is served" test -n "$(get "$T/www-4.sock" "$pid")"
check "they leave" until_true 10 count_is 0
berth_stop
equal "exit status" "$STATUS" 0
