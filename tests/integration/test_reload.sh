#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# SIGHUP: a new configuration, new code and new settings without a lost request; or nothing at all.
#
# 10 reloads under load; 200 if SLOW is set.
. "$(dirname "$0")/lib.sh"
reloads=$([ -n "${SLOW:-}" ] && echo 200 || echo 10)

token=$(script token.php '<?php usleep(rand(0, 1000)); echo $_SERVER["TOKEN"];')
pid=$(script pid.php '<?php echo getmypid();')
memory=$(script memory.php '<?php echo ini_get("memory_limit");')
version=$T/version.php
version() { echo "<?php echo 'v$1';" >"$version.new" && chmod 644 "$version.new" && mv "$version.new" "$version"; }
done_count() { grep -c 'notice: reload: done' "$LOG"; }
has_done() { [ "$(done_count)" -ge "$1" ]; }
reload() {
	local before
	before=$(done_count)
	kill -HUP "$MANAGER"
	until_true 30 has_done $((before + 1)) || fail "the reload does not end: $(tail -3 "$LOG")"
}
# pools CHILDREN [LINE...]
pools() {
	conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = $1
$USER_LINE
program = $PHP -d opcache.enable=1 -d opcache.validate_timestamps=0 -d opcache.file_update_protection=0 -d apc.enabled=1
$(printf '%s\n' "${@:2}")"
}
pools 4
version 1
berth_start
answers() { for s in "$T"/www-*.sock; do get "$s" "$1"; echo; done | sort | uniq -c | xargs; }
equal "code of version 1" "$(answers "$version")" "4 v1"
version 2
equal "its cache does not look" "$(answers "$version")" "4 v1"
descriptors() { find "/proc/$MANAGER/fd" | wc -l; }
first=$(descriptors)
as_first() { [ "$(descriptors)" = "$first" ]; }
old=$(workers | xargs)
template=$(template_pid)
inode=$(stat -c %i "$T/www-1.sock")
reload
equal "only version 2 answers after a reload" "$(answers "$version")" "4 v2"
check "another template" test "$(template_pid)" != "$template"
equal "no worker has stayed" "$(for p in $old; do alive "$p" && echo "$p"; done)" ""
equal "the same sockets" "$(stat -c %i "$T/www-1.sock")" "$inode"
until_true 10 as_first
equal "descriptors of the manager" "$(descriptors)" "$first"

# Under load, kept and new, each request is answered.
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
load_until_enough() {
	while [ ! -e "$T/enough" ]; do "$HELPERS/fcgi-load" "$@" "$token" "${sockets[@]}" 2>&1; done
}
load_until_enough -k -c 8 -n 100 >"$T/kept" &
kept=$!
PIDS+=("$kept")
load_until_enough -c 8 -n 100 >"$T/new" &
new=$!
PIDS+=("$new")
for ((i = 0; i < reloads; i++)); do
	version "$i"
	reload
	[ "$(get "$T/www-$((i % 4 + 1)).sock" "$version")" = "v$i" ] || fail "old code after reload $i"
done
touch "$T/enough"
wait "$kept"
wait "$new"
for how in kept new; do
	equal "$how: rounds of load with a fault" "$(grep -vc ', wrong 0, failed 0,' "$T/$how")" 0
	check "$how: there was load" test "$(wc -l <"$T/$how")" -ge 2
done
until_true 10 as_first
equal "descriptors after $reloads reloads" "$(descriptors)" "$first"
equal "processes" "$(workers | wc -w)" 4

# Idle kept connections outlive it, also those of slots that are no more.
for i in 1 2 3 4; do
	hold "idle$i" "$T/www-$i.sock" "$token"
	tell "idle$i" open 5 >"$T/null"
	tell "idle$i" ask >"$T/null"
done
ask_idle() { for i in 1 2 3 4; do tell "idle$i" ask | cut -d: -f1; done | sort | uniq -c | xargs; }
pools 6 'php_value[memory_limit] = 77M'
reload
equal "six workers" "$(ls "$T" | grep -c 'www-.*sock$')" 6
equal "a new setting" "$(answers "$memory")" "6 77M"
equal "kept connections" "$(ask_idle)" "4 answered 5, wrong 0, failed 0"
pools 2
reload
equal "two workers" "$(ls "$T" | grep -c 'www-.*sock$')" 2
equal "kept connections of four slots" "$(ask_idle)" "4 answered 5, wrong 0, failed 0"
for i in 1 2 3 4; do release "idle$i"; done

# What is wrong changes nothing.
refused() { # TEXT WHAT
	local before lines
	before=$(workers | xargs) lines=$(wc -l <"$LOG")
	kill -HUP "$MANAGER"
	said() { tail -n +$((lines + 1)) "$LOG" | grep -q 'reload: nothing was changed'; }
	check "$1: it says so" until_true 20 said
	check "$1: and why" grep -q "$2" <(tail -n +$((lines + 1)) "$LOG")
	equal "$1: the same workers" "$(workers | xargs)" "$before"
	equal "$1: they answer" "$(answers "$version" | cut -c1-3)" "2 v"
}
pools 2 'nosuchkey = 1'
refused "a broken configuration" "berth.conf:.*nosuchkey"
rm "$T/berth.conf"
refused "no configuration" "berth.conf"
pools 2
sed -i 's|^program = .*|program = /bin/false|' "$T/berth.conf"
refused "a program that ends" "did not get ready"
pools 2 "listen = /proc/nosuch/x.sock"
refused "a socket that can't be made" "/proc/nosuch"
pools 2
sed -i '/^spawn/d' "$T/berth.conf" && echo "spawn = exec" >>"$T/berth.conf"
refused "another way to spawn on the same sockets" "in use"
mkdir "$T/blocked.sock"
pools 2 "listen = $T/other-%n.sock" "listen = $T/blocked.sock"
refused "one of several sockets" "blocked.sock"
check "none of them is left" test ! -e "$T/other-1.sock"
rmdir "$T/blocked.sock"

# Pools come and go.
pools 2
cat >>"$T/berth.conf" <<C
[second]
listen = $T/second-%n.sock
pm = static
pm.max_children = 1
$USER_LINE
program = $PHP
C
reload
check "a pool more" test -n "$(get "$T/second-1.sock" "$pid")"
pools 2
sed -i 's/^listen = .*/&\nlisten = '"${T//\//\\/}"'\/more.sock\nlisten.mode = 0600/' "$T/berth.conf"
reload
check "a pool less" test ! -e "$T/second-1.sock"
check "a socket more" test -n "$(get "$T/more.sock" "$pid")"
equal "another mode" "$(stat -c %a "$T/www-1.sock")" 600

# Asked once more while one goes on, it is done twice; and a stop in the middle stops.
begun() { grep -c 'notice: reload: begins' "$LOG"; }
has_begun() { [ "$(begun)" -ge "$1" ]; }
before=$(done_count)
began=$(begun)
kill -HUP "$MANAGER"
until_true 10 has_begun $((began + 1)) || fail "the reload does not begin"
kill -HUP "$MANAGER"
check "two reloads follow each other" until_true 30 has_done $((before + 2))
began=$(begun)
kill -HUP "$MANAGER"
until_true 10 has_begun $((began + 1)) || fail "the last reload does not begin"
berth_stop
equal "exit status" "$STATUS" 0
equal "sockets that are left" "$(ls "$T" | grep -c 'sock$')" 0
equal "what can't be" "$(grep -c "can't be in state" "$LOG")" 0

# SIGUSR1 opens the log again.
conf "[global]
error_log = $T/berth.log
[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 1
$USER_LINE
program = $PHP"
"$BERTH" run -c "$T/berth.conf" &
MANAGER=$!
PIDS+=("$MANAGER")
until_true 10 grep -qs "ready, pid" "$T/berth.log" || fail "it does not start"
mv "$T/berth.log" "$T/berth.log.1"
kill -USR1 "$MANAGER"
until_true 10 test -e "$T/berth.log"
kill -TERM "$MANAGER"
wait "$MANAGER"
check "the new file has the end" grep -q stopped "$T/berth.log"
equal "the old one has not" "$(grep -c stopped "$T/berth.log.1")" 0
