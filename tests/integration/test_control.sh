#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The control socket: status, reload and stop, and who may use it.
. "$(dirname "$0")/lib.sh"

socket=$T/control.sock
pid=$(script pid.php '<?php echo getmypid();')
slow=$(script slow.php '<?php touch(__DIR__ . "/drop/runs");
while (!file_exists(__DIR__ . "/drop/go")) { usleep(5000); clearstatcache(); } echo "slow";')
mkdir "$T/drop"
chmod 777 "$T/drop"
pools() {
	conf "[global]
control = $socket
[www]
listen = $T/www-%n.sock
listen = 127.0.0.1:$PORT
pm = static
pm.max_children = $1
pm.rescue = no
$USER_LINE
program = $PHP
$(printf '%s\n' "${@:2}")"
}
PORT=$(free_port)
berth() { "$BERTH" "$@" --control "$socket"; }
# field EXPRESSION: of the status, by PHP, which knows JSON.
field() {
	berth status --json >"$T/status.json" && chmod 644 "$T/status.json"
	echo '<?php $s = json_decode(file_get_contents("'"$T"'/status.json"), true, 512, JSON_THROW_ON_ERROR);
	echo json_encode('"$1"', JSON_UNESCAPED_SLASHES);' >"$T/field.php"
	"$PHP" -q -n "$T/field.php"
}
pools 2
berth_start
equal "mode of the socket" "$(stat -c %a "$socket")" 600
equal "state" "$(field '[$s["pid"], $s["state"], $s["pools"][0]["pool"], $s["pools"][0]["state"]]')" \
	"[$MANAGER,\"running\",\"www\",\"ready\"]"
worker=$(get "$T/www-1.sock" "$pid")
equal "slot 1 after a request" "$(field 'array_intersect_key($s["pools"][0]["slots"][0],
	["pid" => 1, "requests" => 1, "state" => 1, "method" => 1, "script" => 1])')" \
	"{\"state\":\"idle\",\"pid\":$worker,\"requests\":1,\"method\":\"GET\",\"script\":\"$pid\"}"
get -t 30 "$T/www-1.sock" "$slow" >"$T/slow" &
client=$!
PIDS+=("$client")
check "a slow request runs" until_true 10 test -e "$T/drop/runs"
equal "slot 1 is busy" "$(field '$s["pools"][0]["slots"][0]["state"]')" '"busy"'
for i in 1 2 3; do
	get -t 30 "$T/www-1.sock" "$pid" >"$T/null" &
	PIDS+=("$!")
done
three() { [ "$(field '$s["pools"][0]["slots"][0]["listeners"][0]["queue"]')" = 3 ]; }
check "three clients wait in its queue" until_true 10 three
equal "nobody waits in the shared one" "$(field '$s["pools"][0]["listeners"][0]')" \
	"{\"address\":\"127.0.0.1:$PORT\",\"queue\":0}"
check "the table has it, too" grep -Eq "^ +1 busy +$worker +1 .* 3 +GET /slow.php" <(berth status)
touch "$T/drop/go"
wait "$client"

# A reload is waited for, and its end is told.
pools 3
old=$(workers | xargs)
equal "reload" "$(berth reload 2>&1; echo $?)" 0
equal "three workers when it returns" "$(workers | wc -w)" 3
equal "the old ones have gone" "$(for p in $old; do alive "$p" && echo "$p"; done)" ""
pools 3 'nosuch = 1'
berth reload 2>"$T/said"
equal "a reload that fails: status" $? 1
check "and why" grep -q 'nothing was changed: .*berth.conf:.*nosuch' "$T/said"
"$BERTH" reload -c "$T/berth.conf" 2>"$T/said"
equal "the same, found by that configuration: status" $? 1
check "and why, too" grep -q 'nothing was changed: .*berth.conf:.*nosuch' "$T/said"
pools 3
sed -i 's|^program.*|program = /bin/false|' "$T/berth.conf"
berth reload 2>"$T/said"
equal "a template that fails: status" $? 1
check "and its reason" grep -q 'nothing was changed: .*did not get ready' "$T/said"
pools 2
for i in 1 2 3 4 5; do
	berth reload >"$T/reload-$i" 2>&1 && echo fine >>"$T/reload-$i" &
	asked[i]=$!
done
wait "${asked[@]}"
equal "five at once" "$(cat "$T"/reload-?)" "$(printf 'fine\n%.0s' 1 2 3 4 5)"

# What is wrong.
berth status --nosuch 2>"$T/said"
equal "a wrong option" $? 100
berth reload --json 2>"$T/said"
equal "an option of another verb" $? 100
check "which says so" grep -q 'reload takes no --json' "$T/said"
berth reload www more 2>"$T/said"
equal "a word too many" $? 100
"$BERTH" status --control "$T/nobody.sock" 2>"$T/said"
equal "nobody is there" $? 111
check "which names the socket" grep -q "nobody.sock: No such file" "$T/said"
equal "status by the configuration" "$("$BERTH" status -c "$T/berth.conf" | head -1 | cut -d, -f2)" \
	" pid $MANAGER"
if [ "$(id -u)" = 0 ]; then
	chmod 666 "$socket"
	chmod 755 "$T"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$BERTH" status --control "$socket" \
		>"$T/said" 2>&1
	equal "another user" $? 111
	check "is refused in the log" grep -q 'control: pid .* of uid 65534 may not use it' "$LOG"
fi
# Silent and endless clients hold nobody up.
hold silent "$socket" "$pid"
tell silent open 15 >"$T/null"
check "status beside 15 silent ones" test -n "$(berth status)"
tell silent send params >"$T/null"
check "and after garbage" test -n "$(berth status)"
release silent

berth stop
equal "stop" $? 0
check "the manager has gone when it returns" gone "$MANAGER"
wait "$MANAGER"
equal "exit status" $? 0
check "no socket is left" test ! -e "$socket"

conf "[global]
control = nosuch
[www]
listen = $T/www.sock
pm = static
pm.max_children = 1
$USER_LINE"
check "a bad path" grep -q 'control: .nosuch. is not accepted; accepted is an absolute path or none' \
	<("$BERTH" check -c "$T/berth.conf" 2>&1)
