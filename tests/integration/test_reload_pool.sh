#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth reload POOL: one pool gets new code and settings, the others keep their processes.
#
# 5 reloads under load; 100 if SLOW is set.
. "$(dirname "$0")/lib.sh"
reloads=$([ -n "${SLOW:-}" ] && echo 100 || echo 5)

token=$(script token.php '<?php usleep(rand(0, 1000)); echo $_SERVER["TOKEN"];')
memory=$(script memory.php '<?php echo ini_get("memory_limit");')
OPTIONS="-d opcache.enable=1 -d opcache.validate_timestamps=0 -d opcache.file_update_protection=0"
# pool NAME CHILDREN [LINE...]
pool() {
	printf '%s\n' "[$1]" "listen = $T/$1-%n.sock" "pm = static" "pm.max_children = $2" \
		"$USER_LINE" "program = $PHP $OPTIONS -d apc.enabled=1" "${@:3}"
}
# pools: [global], "www" and "other", and what is given.
global() { printf '%s\n' "[global]" "control = $T/control.sock" "$@"; }
berth() { "$BERTH" "$@" --control "$T/control.sock"; }
json() { berth status --json | tr -d '\n'; }
# pids POOL: its template and its workers.
pids() { json | sed 's/{ *"pool"/\n&/g' | grep -E "\"pool\": \"$1\"" | grep -oE '"(template_)?pid": [0-9]+' | xargs; }
deploy() { # VERSION: a symlink is switched, as deploys do
	echo "<?php echo 'v$1';" >"$T/$1.php"
	chmod 644 "$T/$1.php"
	ln -sf "$1.php" "$T/code.new"
	mv -T "$T/code.new" "$T/code.php"
}
answers() { for s in "$T/$1"-*.sock; do get "$s" "$2"; echo; done | sort | uniq -c | xargs; }

{ global; pool www 3; pool other 2; } >"$T/berth.conf"
deploy 1
berth_start
equal "code of version 1" "$(answers www "$T/code.php"), $(answers other "$T/code.php")" "3 v1, 2 v1"
other=$(pids other) www=$(pids www)
descriptors() { find "/proc/$MANAGER/fd" | wc -l; }
first=$(descriptors)
as_first() { [ "$(descriptors)" = "$first" ]; }
inode=$(stat -c %i "$T/www-1.sock")

deploy 2
berth reload www
equal "reload www" $? 0
equal "www has version 2, other still its own" \
	"$(answers www "$T/code.php"), $(answers other "$T/code.php")" "3 v2, 2 v1"
equal "the other pool's processes" "$(pids other)" "$other"
equal "processes that www kept" "$(comm -12 <(tr ' ' '\n' <<<"$www" | grep '^[0-9]' | sort) \
	<(pids www | tr ' ' '\n' | grep '^[0-9]' | sort))" ""
equal "the same socket" "$(stat -c %i "$T/www-1.sock")" "$inode"
contains "the log says whose" "$LOG" 'notice: reload of pool www: done'

# Only that pool takes what the file says; the rest waits for a whole reload.
log_level='log_level = error'
{ global "$log_level"; pool other 1 'php_value[memory_limit] = 66M'
	pool www 4 'php_value[memory_limit] = 77M'; pool fresh 1; } >"$T/berth.conf"
berth reload www || fail "reload with a new setting"
equal "new settings and size of www" "$(answers www "$memory")" "4 77M"
equal "the other pool has its old size" "$(ls "$T" | grep -c '^other-.*sock$')" 2
equal "the other pool's processes" "$(pids other)" "$other"
check "the pool that is new waits" test ! -e "$T/fresh-1.sock"
equal "so does [global], whose log still takes notices" \
	"$(grep -c 'notice: reload of pool www: done' "$LOG")" 2

# What can't be done changes nothing, and says why.
www=$(pids www)
refused() { # TEXT PATTERN ARG...
	berth reload "${@:3}" 2>"$T/said"
	equal "$1: status" $? 1
	contains "$1: it says why" "$T/said" "$2"
	equal "$1: www's processes" "$(pids www)" "$www"
	equal "$1: the other pool's processes" "$(pids other)" "$other"
}
refused "a pool that is new" 'pool fresh is new in the configuration; a reload without' fresh
refused "no such pool" 'there is no pool nosuch; there are www, other$' nosuch
refused "the longest name" 'there is no pool x+;' "$(printf 'x%.0s' {1..64})"
{ global; pool www 3; } >"$T/berth.conf"
refused "a pool that is gone" 'pool other is not in the configuration any more' other
{ global; pool www 3 'nosuch = 1'; pool other 2; } >"$T/berth.conf"
refused "an error in the file" 'nothing was changed: .*berth.conf:.*nosuch' www
{ global; pool www 3; pool other 2; } | sed 's|^program.*|program = /bin/false|' >"$T/berth.conf"
refused "a template that fails" 'nothing was changed: .*did not get ready' www
{ global; pool other 2 | sed 's|/other-%n|/more-%n|'; pool www 2 "listen = $T/other-%n.sock"; } >"$T/berth.conf"
refused "an address of another pool that runs" 'other-1.sock.*in use' www
for words in 'www more' 'a\ b' "$(printf 'x%.0s' {1..65})"; do
	eval "berth reload $words" 2>"$T/said"
	equal "reload ${words:0:20}: status" $? 100
done
berth status www 2>"$T/said"
equal "status takes no pool" $? 100

# Asked for at once, they follow one another; a whole one goes first.
{ global; pool www 3; pool other 2; } >"$T/berth.conf"
asked=()
for who in www other www "" other; do
	berth reload ${who:+"$who"} >"$T/asked.${#asked[@]}" 2>&1 &
	asked+=("$!")
done
for p in "${asked[@]}"; do wait "$p" || fail "one of several reloads"; done
equal "what they say" "$(cat "$T"/asked.*)" ""
equal "three workers again" "$(answers www "$memory" | cut -d' ' -f1)" 3
# An upgrade goes on with pools of both sorts.
www=$(pids www) other=$(pids other)
berth reload www && berth upgrade
equal "upgrade" $? 0
equal "the other pool's processes" "$(pids other)" "$other"
check "www has other ones" test "$(pids www)" != "$www"
berth reload www || fail "a reload after an upgrade"
equal "www answers" "$(answers www "$memory" | cut -d' ' -f1)" 3

# Under load no request is lost, and old code never answers once the command has returned.
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/other-1.sock" "$T/other-2.sock")
load_until_enough() {
	while [ ! -e "$T/enough" ]; do "$HELPERS/fcgi-load" "$@" "$token" "${sockets[@]}" 2>&1; done
}
load_until_enough -k -c 5 -n 100 >"$T/kept" &
kept=$!
load_until_enough -c 5 -n 100 >"$T/new" &
new=$!
PIDS+=("$kept" "$new")
other=$(pids other)
for ((i = 10; i < 10 + reloads; i++)); do
	deploy "$i"
	berth reload www || fail "reload $i"
	equal "code after reload $i" "$(answers www "$T/code.php")" "3 v$i"
done
touch "$T/enough"
wait "$kept" "$new"
for how in kept new; do
	equal "$how: rounds of load with a fault" "$(grep -vc ', wrong 0, failed 0,' "$T/$how")" 0
	check "$how: there was load" test -s "$T/$how"
done
equal "the other pool's processes" "$(pids other)" "$other"
until_true 10 as_first
equal "descriptors after all that" "$(descriptors)" "$first"

# Stopped in the middle of one, everything ends.
berth reload www >"$T/null" 2>&1 &
PIDS+=("$!")
begun() { tail -1 "$LOG" | grep -q 'reload of pool www: begins'; }
until_true 10 begun
# A variable that is not set must not reload everything.
berth reload "" >"$T/said" 2>&1
equal "an empty name: status" "$?" 100
contains "an empty name: said" "$T/said" "is no name of a pool"

berth_stop
equal "exit status" "$STATUS" 0
equal "sockets that are left" "$(ls "$T" | grep -c 'sock$')" 0
equal "what can't be" "$(grep -c "can't be in state" "$LOG")" 0
