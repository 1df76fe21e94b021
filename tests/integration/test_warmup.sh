#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# warmup: scripts run before a pool's workers serve; one that fails stops a reload, but no start.
. "$(dirname "$0")/lib.sh"

mkdir "$T/out"
chmod 777 "$T/out"
first=$(script first.php '<?php
$n = apcu_inc("count");
file_put_contents(__DIR__ . "/out/first", json_encode([$_SERVER["REQUEST_METHOD"], $_SERVER["SCRIPT_FILENAME"],
	$_SERVER["DOCUMENT_ROOT"], $_SERVER["SCRIPT_NAME"], $_SERVER["REQUEST_URI"], $_GET], JSON_UNESCAPED_SLASHES));
file_put_contents(__DIR__ . "/out/order", "first $n\n", FILE_APPEND);')
second=$(script second.php '<?php header("Location: /elsewhere", true, 302);
file_put_contents(__DIR__ . "/out/order", "second " . apcu_fetch("count") . " " . posix_getuid() . "\n", FILE_APPEND);')
count=$(script count.php '<?php echo apcu_fetch("count");')
pid=$(script pid.php '<?php echo getmypid();')
token=$(script token.php '<?php usleep(rand(0, 1000)); echo $_SERVER["TOKEN"];')
slow=$(script slow.php '<?php touch(__DIR__ . "/out/runs");
while (!file_exists(__DIR__ . "/out/go")) { usleep(2000); clearstatcache(); }')
fatal=$(script fatal.php '<?php nosuch();')
killed=$(script killed.php '<?php posix_kill(getmypid(), SIGKILL);')
noisy=$(script noisy.php '<?php error_log("it is noisy");')
version() { echo "<?php echo 'v$1';" >"$T/v$1.php"; chmod 644 "$T/v$1.php"; ln -sfn "v$1.php" "$T/l"; mv -T "$T/l" "$T/code.php"; }
pools() { # LINE...
	conf "[global]
control = $T/control.sock
[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 3
$USER_LINE
program = $PHP -d apc.enabled=1 -d opcache.enable=1 -d opcache.validate_timestamps=0 -d opcache.file_update_protection=0 -d display_errors=0 -d log_errors=1
$(printf '%s\n' "$@")
[plain]
listen = $T/plain.sock
pm = static
pm.max_children = 1
$USER_LINE
program = $PHP"
}
berth() { "$BERTH" "$@" --control "$T/control.sock"; }
answers() { for s in "$T"/www-*.sock; do get "$s" "$1"; echo; done | sort | uniq -c | xargs; }
new_lines() { tail -n +$((LINES_BEFORE + 1)) "$LOG"; }
mark() { LINES_BEFORE=$(wc -l <"$LOG"); }
uid=$(if [ "$(id -u)" = 0 ]; then id -u www-data; else id -u; fi)

# A start: in order, as the pool's user, and what they leave in memory is there for all workers.
version 1
pools "warmup[] = $first?a=1&b=x" "warmup[] = $second" "warmup = $first"
berth_start
equal "in order" "$(xargs <"$T/out/order")" "first 1 second 1 $uid first 2"
pools "warmup[] = $first?a=1&b=x" "pm.max_requests = 1" "env[PHP_FCGI_MAX_REQUESTS] = 1"
rm "$T/out/order"
berth reload || fail "a reload"
equal "with a request a worker" "$(xargs <"$T/out/order")" "first 1"
equal "what a script is told" "$(cat "$T/out/first")" \
	"[\"GET\",\"$first\",\"$T\",\"/first.php\",\"/first.php?a=1&b=x\",{\"a\":\"1\",\"b\":\"x\"}]"
pools "warmup[] = $first" "warmup[] = $noisy"
berth reload || fail "a reload"
equal "what it left in memory" "$(answers "$count")" "3 1"
contains "how many" "$LOG" 'pool www: warm-up: 2 of 2 scripts in '
contains "what one complains about" "$LOG" "warning: pool www: warm-up $noisy: .*it is noisy"
descriptors() { find "/proc/$MANAGER/fd" | wc -l; }
few=$(descriptors)
as_few() { [ "$(descriptors)" = "$few" ]; }

# A reload waits for it, and old code goes on meanwhile; after its end old code is gone.
pools "warmup[] = $slow" "warmup_timeout = 1m"
equal "version 1" "$(answers "$T/code.php")" "3 v1"
version 2
"$HELPERS/fcgi-load" -k -c 4 -n 100 "$token" "$T"/www-[123].sock >"$T/load.1" 2>&1 &
load=$!
PIDS+=("$load")
berth reload www >"$T/said" 2>&1 &
reload=$!
PIDS+=("$reload")
check "the script runs" until_true 20 test -e "$T/out/runs"
equal "old code meanwhile" "$(answers "$T/code.php")" "3 v1"
check "the reload has not returned" alive "$reload"
equal "its state" "$(berth status | head -1 | sed 's/.*, //')" reloading
touch "$T/out/go"
wait "$reload"
equal "the reload" "$?" 0
equal "new code after it" "$(answers "$T/code.php")" "3 v2"
wait "$load"
equal "load meanwhile" "$(grep -c ', wrong 0, failed 0,' "$T/load.1")" 1
rm "$T/out/go" "$T/out/runs"

# One that fails refuses a reload, of all and of one pool.
refused() { # TEXT PATTERN LINE...
	local before
	before=$(descendants "$MANAGER" | xargs)
	for pool in "" www; do
		pools "${@:3}"
		berth reload ${pool:+"$pool"} 2>"$T/said"
		equal "$1: reload $pool: status" $? 1
		contains "$1: why" "$T/said" "nothing was changed: pool www: .*did not get ready: warm-up $2"
	done
	until_true 10 as_before "$before"
	equal "$1: the same processes" "$(descendants "$MANAGER" | xargs)" "$before"
	equal "$1: they answer" "$(answers "$T/code.php")" "3 v2"
}
as_before() { [ "$(descendants "$MANAGER" | xargs)" = "$1" ]; }
version 3
refused "no such script" "$T/nosuch.php: status 404" "warmup[] = $first" "warmup[] = $T/nosuch.php"
refused "a fatal error" "$fatal: status 500 .*: .*nosuch\(\)" "warmup[] = $fatal" "warmup[] = $first"
refused "a crash" "$killed: its process ended with signal 9" "warmup[] = $killed"
refused "no end" "$slow: no answer within warmup_timeout \(0.1 s\)" "warmup[] = $slow" "warmup_timeout = 100ms"
check "descriptors" until_true 10 as_few

# A new template is warmed up, too, and old workers go on meanwhile.
pools "warmup[] = $first" "warmup[] = $slow"
touch "$T/out/go"
berth reload www || fail "a reload"
rm "$T/out/go" "$T/out/runs" "$T/out/order"
workers_of_www() { for s in "$T"/www-*.sock; do get "$s" "$pid"; echo; done | sort | xargs; }
before=$(workers_of_www)
template=$(awk '/^PPid:/ { print $2 }' "/proc/${before%% *}/status")
mark
kill -KILL "$template"
check "it runs again" until_true 20 test -e "$T/out/runs"
equal "the old workers answer" "$(workers_of_www)" "$before"
touch "$T/out/go"
replaced() { [ "$(comm -12 <(tr ' ' '\n' <<<"$before") <(workers_of_www | tr ' ' '\n'))" = "" ]; }
check "then all are replaced" until_true 20 replaced
equal "once" "$(xargs <"$T/out/order")" "first 1"
rm "$T/out/go" "$T/out/runs"

# A stop in the middle of it.
berth reload >"$T/said" 2>&1 &
PIDS+=("$!")
check "it runs" until_true 20 test -e "$T/out/runs"
runs=$(descendants "$MANAGER" | xargs)
berth_stop
equal "exit status" "$STATUS" 0
equal "processes that are left" "$(for p in $runs; do alive "$p" && echo "$p"; done)" ""

# A start does without those that fail.
pools "warmup[] = $T/nosuch.php" "warmup[] = $first" "warmup[] = $slow" "warmup[] = $killed" \
	"warmup_timeout = 100ms"
rm -f "$T/out/order"
berth_start
equal "ready with those that work" "$(cat "$T/out/order")" "first 1"
for what in "$T/nosuch.php: status 404" "$slow: no answer within" "$killed: its process ended"; do
	contains "a warning" "$LOG" "warning: pool www: warm-up $what.*; its workers start all the same"
done
contains "how many of them" "$LOG" 'pool www: warm-up: 1 of 4 scripts in '
equal "they answer" "$(answers "$T/code.php")" "3 v3"
mark
berth_stop
equal "exit status" "$STATUS" 0
equal "what can't be" "$(grep -c "can't be in state" "$T"/log.* | grep -cv ':0$')" 0

# What can't be.
wrong() { # TEXT PATTERN LINE...
	pools "${@:3}"
	contains "$1" <("$BERTH" check -c "$T/berth.conf" 2>&1) "$2"
}
wrong "no path" "berth.conf:9: warmup\[\]: 'x.php' is not accepted; accepted is the absolute path" "warmup[] = x.php"
wrong "a folder" "warmup: '/srv/' is not accepted" "warmup = /srv/"
wrong "a name in brackets" "warmup\[a\]: takes nothing in its brackets: warmup\[\] = VALUE" "warmup[a] = /x"
wrong "spawn = exec" "warmup\[\]: is not accepted with spawn = exec" "warmup[] = /x.php" "spawn = exec"
wrong "no time" "warmup_timeout: '0' is not accepted" "warmup_timeout = 0"
conf "[www]
listen = pipe:$T/www
pm.max_children = 1
$USER_LINE
warmup = /x.php"
contains "pipes" <("$BERTH" check -c "$T/berth.conf" 2>&1) 'warmup: is not accepted in a pool on pipes'
