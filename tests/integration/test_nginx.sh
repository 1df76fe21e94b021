#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nginx in front of one socket a worker: all work, one that dies and a restart lose nothing.
. "$(dirname "$0")/lib.sh"
command -v ab >/dev/null || die "ab (apache2-utils) is not installed"

script work.php '<?php apcu_inc("p" . getmypid()); usleep(3000); echo "ok";' >/dev/null
count=$(script count.php '<?php foreach (new APCUIterator("/^p/") as $e)
	echo substr($e["key"], 1), " ", $e["value"], PHP_EOL;')
gated=$(script gated.php '<?php file_put_contents($_GET["d"] . "/pid", getmypid());
while (!file_exists($_GET["d"] . "/gate")) { usleep(5000); clearstatcache(); }
echo "done";')
pid=$(script pid.php '<?php echo getmypid();')
mkdir "$T/drop"
chmod 777 "$T/drop"
url() { echo "http://127.0.0.1:$NGINX_PORT/$1"; }
# load TEXT REQUESTS CLIENTS: that many through nginx; every one must be answered with 200.
load() {
	ab -q -n "$2" -c "$3" -s 15 "$(url work.php)" >"$T/ab.txt" 2>&1
	equal "$1: answered, failed, not 200" "$(judge)" "$2 0 0"
}
judge() {
	awk '/^Complete requests/ { c = $3 } /^Failed requests/ { f = $3 } /^Non-2xx/ { n = $3 }
		END { print c + 0, f + 0, n + 0 }' "$T/ab.txt"
}

pool_conf
berth_start
nginx_start "$(upstream_servers 4)"
load "concurrent load" 400 8
get "$T/www-1.sock" "$count" | sort -n >"$T/counts"
equal "all four workers answered" "$(cut -d' ' -f1 "$T/counts" | xargs)" \
	"$(workers | tr ' ' '\n' | sort -n | xargs)"
equal "400 requests" "$(awk '{ n += $2 } END { print n }' "$T/counts")" 400
check "none had less than half of its share" \
	awk '$2 < 50 { exit 1 }' "$T/counts" || sed 's/^/      | /' "$T/counts"

# While one worker is busy, nginx sends nothing to it: its socket's requests would wait.
curl -s -m 60 -G --data-urlencode "d=$T/drop" "$(url gated.php)" >"$T/answer" &
client=$!
until_true 20 test -s "$T/drop/pid" || die "the script does not start"
load "with a busy worker" 100 3
touch "$T/drop/gate"
wait "$client"
equal "the busy one's answer" "$(cat "$T/answer")" done

# An idle worker is killed: its socket stays open, so nothing fails.
for slot in 1 2 3 4; do
	kill -KILL "$(get "$T/www-$slot.sock" "$pid")"
	load "the idle worker of slot $slot was killed" 60 6
done
# All at once: requests wait for the new ones.
kill -KILL $(workers)
load "all idle workers were killed" 60 6
check "nginx found nothing to complain about" test ! -s "$T/nginx.log" ||
	sed 's/^/      | /' "$T/nginx.log"

# Killed under load a worker loses the request that it held and no other.
lost=0
ab -q -n 2000 -c 8 -s 15 "$(url work.php)" >"$T/ab.txt" 2>&1 &
bench=$!
for slot in 1 2 3; do
	kill -KILL "$(get "$T/www-$slot.sock" "$pid")" && lost=$((lost + 1))
done
check "they were killed while requests came" alive "$bench"
wait "$bench"
read -r answered failed not_ok <<<"$(judge)"
equal "three were killed under load: all answered" "$answered" 2000
check "at most the three requests that they held are lost" \
	test "$((failed > not_ok ? failed : not_ok))" -le $lost

# berth is restarted under nginx: max_fails=0, so it is used again at once.
berth_stop
equal "while berth is away" "$(curl -s -o "$T/page" -w '%{http_code}' "$(url work.php)")" 502
for i in 1 2 3 4 5 6 7 8; do curl -s -o "$T/page" "$(url work.php)"; done
berth_start
load "berth is back, every request from the first on" 40 4
berth_stop
